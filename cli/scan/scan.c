/* SPDX-License-Identifier: ISC */
/* keyveto scan: judges the host keys of live servers. */
#include <sys/wait.h>

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "kv_base64.h"
#include "kv_lines.h"
#include "reading/report.h"
#include "scan/host.h"

#define JOBS_DEFAULT 16
#define JOBS_MAX 512
#define TIMEOUT_DEFAULT 10
#define TIMEOUT_MAX 3600
#define LINE_BYTES 4096
#define PORT_DEFAULT "22"

/* A server that is being asked. */
struct slot {
	struct scan_job job;
	struct child child;
	struct record_in in;
};

struct scan {
	struct report report;
	unsigned int timeout;
	struct slot *slot;
	size_t n_slots, n_busy;
	/* The hosts: arguments, and lines of standard input for "-". */
	char **argument;
	bool reading;
	struct kv_lines lines;
	uint8_t line[LINE_BYTES];
};

static void
report_reason(struct scan *s, const char *name, const char *reason)
{
	const struct input_problem p = { .path = name, .reason = reason };

	report_problem(&s->report, &p);
}

/* Reports one record of a child; not SCAN_PHASE. */
static void
report_record(struct scan *s, const char *name, uint8_t tag,
    struct kv_span text)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	char copy[4096];
	struct input_problem problem = { .path = name, .reason = copy };
	struct input_key key = { .path = name };
	struct kv_sshkey parsed;
	size_t len;
	enum kv_err r;

	snprintf(copy, sizeof(copy), "%.*s", (int)text.len,
	    (const char *)text.p);
	if (tag == SCAN_UNKNOWN) {
		problem.unknown_type = true;
		problem.type = copy;
		problem.reason = kv_strerror(KV_ERR_TYPE_UNKNOWN);
	} else if (tag == SCAN_KEY) {
		r = kv_base64_decode((const char *)text.p, text.len, blob,
		    sizeof(blob), &len);
		if (r == KV_OK)
			r = kv_sshkey_parse(blob, len, &parsed);
		if (r == KV_OK) {
			key.key = parsed.key;
			key.type = kv_keytype_name(parsed.key.type);
			key.bits = kv_pubkey_bits(&parsed.key);
			report_key(&s->report, &key);
			return;
		}
		problem.reason = kv_strerror(r);
	}
	report_problem(&s->report, &problem);
}

/* Reports all records of a child, after its end. */
static void
finish_slot(struct scan *s, struct slot *slot, bool too_much)
{
	const char *name = slot->job.target.name;
	struct kv_span text, phase = { (const uint8_t *)"starting", 8 };
	struct kv_bytes payload;
	char why[512];
	uint8_t tag;
	bool bad;
	int status = 0;

	if (too_much)
		child_kill(&slot->child);
	else
		status = child_wait(&slot->child);
	s->n_busy--;
	s->report.files++;
	while (record_next(&slot->in, &tag, &payload, &bad)) {
		if (kv_bytes_get_string(&payload, &text) != KV_OK)
			continue;
		if (tag == SCAN_PHASE)
			phase = text;
		else
			report_record(s, name, tag, text);
	}
	if (too_much)
		report_reason(s, name, "the server sent too much");
	else if (status != 0) {
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
			snprintf(why, sizeof(why),
			    "no answer within %u second%s, "
			    "while %.*s (--timeout)",
			    s->timeout, cli_plural(s->timeout, "", "s"),
			    (int)phase.len, (const char *)phase.p);
		else
			snprintf(why, sizeof(why),
			    "the scan of it ended while %.*s", (int)phase.len,
			    (const char *)phase.p);
		report_reason(s, name, why);
	}
	record_in_free(&slot->in);
	fflush(stdout);
}

/*
 * Parses HOST, HOST:PORT, ADDRESS and [ADDRESS]:PORT. Text with two or more
 * colons and no brackets is an IPv6 address. Returns NULL, or what is wrong.
 */
static const char *
parse_target(const char *text, struct scan_target *t)
{
	const char *host = text, *port = PORT_DEFAULT, *end;
	size_t len = strlen(text);
	uint64_t number;

	if (*text == '[') {
		if ((end = strchr(text, ']')) == NULL)
			return "'[' without ']'";
		host = text + 1;
		len = (size_t)(end - host);
		if (end[1] == ':')
			port = end + 2;
		else if (end[1] != '\0')
			return "only a colon and a port may follow ']'";
	} else if ((end = strchr(text, ':')) != NULL &&
	    strchr(end + 1, ':') == NULL) {
		len = (size_t)(end - text);
		port = end + 1;
	}
	if (len == 0)
		return "a host is missing: give HOST, HOST:PORT or "
		       "[ADDRESS]:PORT";
	if (len >= sizeof(t->host))
		return "the host name is too long";
	memcpy(t->host, host, len);
	t->host[len] = '\0';
	/* "user@host" or a URL is a likely mistake. */
	if (t->host[strcspn(t->host, " \t/@")] != '\0')
		return "not a host name: give HOST, HOST:PORT or "
		       "[ADDRESS]:PORT";
	if (!cli_read_number(port, 1, 65535, &number))
		return "a port is a number from 1 to 65535";
	snprintf(t->port, sizeof(t->port), "%u", (unsigned int)number);
	snprintf(t->name, sizeof(t->name),
	    strchr(t->host, ':') != NULL ? "[%s]:%s" : "%s:%s", t->host,
	    t->port);
	return NULL;
}

static void
start_host(struct scan *s, const char *text)
{
	struct slot *slot = s->slot;
	const char *why;

	while (slot->child.pid != -1)
		slot++;
	if ((why = parse_target(text, &slot->job.target)) != NULL) {
		report_reason(s, text, why);
		return;
	}
	slot->job.timeout = s->timeout;
	if (!child_start(&slot->child, scan_host, &slot->job)) {
		report_reason(s, slot->job.target.name, strerror(errno));
		return;
	}
	s->n_busy++;
}

/* Starts the host on the next line of standard input, if it has one. */
static void
start_line(struct scan *s)
{
	char host[LINE_BYTES];
	struct kv_span text;
	size_t len;
	enum kv_err r;

	r = kv_lines_next(&s->lines, &text, &s->reading);
	if (r != KV_OK) {
		report_reason(s, "-",
		    r == KV_ERR_SYSTEM ? strerror(errno) : kv_strerror(r));
		s->reading &= r != KV_ERR_SYSTEM;
		return;
	}
	snprintf(host, sizeof(host), "%.*s", (int)text.len,
	    text.len > 0 ? (const char *)text.p : "");
	host[strcspn(host, "#")] = '\0';
	for (len = strlen(host); len > 0 && strchr(" \t\r", host[len - 1]);)
		host[--len] = '\0';
	text.len = strspn(host, " \t");
	if (host[text.len] != '\0')
		start_host(s, host + text.len);
}

/*
 * Waits until a child sent something or ended, or, with want_line, until
 * standard input can be read. Returns true for the latter.
 */
static bool
wait_for_input(struct scan *s, struct pollfd *p, bool want_line)
{
	for (size_t i = 0; i < s->n_slots; i++)
		p[i] = (struct pollfd){
			.fd = s->slot[i].child.fd,
			.events = POLLIN,
		};
	p[s->n_slots] = (struct pollfd){
		.fd = want_line ? STDIN_FILENO : -1,
		.events = POLLIN,
	};
	while (poll(p, s->n_slots + 1, -1) == -1 && errno == EINTR)
		;
	for (size_t i = 0; i < s->n_slots; i++) {
		struct slot *slot = &s->slot[i];
		ssize_t n;

		if (p[i].fd == -1 || p[i].revents == 0)
			continue;
		if ((n = record_fill(&slot->in, slot->child.fd)) <= 0)
			finish_slot(s, slot, n == -1);
	}
	return want_line && p[s->n_slots].revents != 0;
}

static void
scan_all(struct scan *s, struct pollfd *p)
{
	for (;;) {
		bool have_hosts = s->reading || *s->argument != NULL;
		bool can_start = have_hosts && s->n_busy < s->n_slots;
		bool at_hand = !s->reading || s->lines.start < s->lines.end;

		if (!have_hosts && s->n_busy == 0)
			return;
		if (!(can_start && at_hand) && !wait_for_input(s, p, can_start))
			continue;
		if (s->reading) {
			start_line(s);
			continue;
		}
		if (strcmp(*s->argument, "-") == 0)
			s->reading = true;
		else
			start_host(s, *s->argument);
		s->argument++;
	}
}

static int
run_scan(const struct cli_command *cmd, int argc, char **argv)
{
	enum { JOBS = 1, TIMEOUT };
	static const struct option options[] = {
		{ "jobs", required_argument, NULL, JOBS },
		{ "timeout", required_argument, NULL, TIMEOUT },
		REPORT_LONGOPTS,
		{ NULL, 0, NULL, 0 },
	};
	struct report_options o = { 0 };
	uint64_t jobs = JOBS_DEFAULT, timeout = TIMEOUT_DEFAULT;
	struct scan s = { .reading = false };
	struct pollfd *p = NULL;
	struct kv_judge judge;
	int opt, status = CLI_UNCHECKED;
	bool ok = true, partly;

	while (ok && (opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		if (opt == JOBS)
			ok = cli_option_number("--jobs", JOBS_MAX, &jobs);
		else if (opt == TIMEOUT)
			ok = cli_option_number("--timeout", TIMEOUT_MAX,
			    &timeout);
		else
			ok = report_option(cmd, opt, &o, &status);
	}
	if (!ok)
		return status;
	if (optind == argc) {
		cli_error("scan needs a host, or - to read hosts from "
			  "standard input");
		return cli_usage_error(cmd);
	}
	status = CLI_UNCHECKED;
	if (!cli_judge_open_partly(&judge, &o.judge, &partly))
		return status;
	report_init(&s.report, &judge, &o);
	s.report.partly = partly;
	s.report.servers = true;
	s.report.weak = weak_new();
	s.timeout = (unsigned int)timeout;
	s.argument = argv + optind;
	s.n_slots = (size_t)jobs;
	s.slot = calloc(s.n_slots, sizeof(*s.slot));
	p = calloc(s.n_slots + 1, sizeof(*p));
	if (s.slot == NULL || p == NULL || s.report.weak == NULL) {
		cli_error("%s", strerror(errno));
		goto out;
	}
	for (size_t i = 0; i < s.n_slots; i++)
		s.slot[i].child = (struct child){ .pid = -1, .fd = -1 };
	kv_lines_init(&s.lines, STDIN_FILENO, s.line, sizeof(s.line));
	scan_all(&s, p);
	ok = report_weak(&s.report, 0, !o.quiet, NULL, NULL);
	if (!o.quiet)
		report_summary(&s.report);
	if (cli_stdout_ok() && ok)
		status = report_status(&s.report);
out:
	weak_free(s.report.weak);
	free(s.slot);
	free(p);
	kv_judge_close(&judge);
	return status;
}

const struct cli_command cli_scan = {
	.name = "scan",
	.synopsis =
	    "[--json] [--all] [--quiet] [--timeout S] [--jobs N] "
	    "[--config FILE] [--filter FILE]... [--blocklist FILE]... HOST[:PORT]...",
	.help = "Tell which host keys of live servers are listed",
	.details =
	    "HOST is a name or an address; an IPv6 address with a port is "
	    "written [::1]:22.\n"
	    "For HOST - hosts are read from standard input, one a line, # "
	    "starts a comment.\n\n" REPORT_HELP
	    "  --timeout S      seconds that each connection may take "
	    "(default 10)\n"
	    "  --jobs N         ask N servers at a time (default 16)\n" CLI_JUDGE_HELP
	    "\nEach key type a server offers takes a connection, which ends "
	    "before anybody\nlogs in. Exit status: 0 nothing listed, 1 "
	    "something listed, 2 nothing listed but\nsomething could not be "
	    "checked, or bad usage.\n",
	.run = run_scan,
};
