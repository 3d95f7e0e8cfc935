/* SPDX-License-Identifier: ISC */
/* keyveto scan: judges the host keys of live servers. */
#include <sys/wait.h>

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "kv_base64.h"
#include "kv_lines.h"
#include "output/report.h"
#include "scan/host.h"

#define JOBS_DEFAULT 16
#define JOBS_MAX 512
#define TIMEOUT_DEFAULT 10
#define TIMEOUT_MAX 3600
#define LINE_BYTES 4096

struct options {
	struct cli_judge_options judge;
	bool json, all, quiet;
	uint64_t jobs, timeout;
};

/* A server that is being asked. */
struct slot {
	struct scan_target target;
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

static void
report_server_key(struct scan *s, const char *name, struct kv_span text)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	struct kv_sshkey parsed;
	struct input_key key = { .path = name };
	size_t len;
	enum kv_err r;

	if ((r = kv_base64_decode((const char *)text.p, text.len, blob,
		 sizeof(blob), &len)) != KV_OK ||
	    (r = kv_sshkey_parse(blob, len, &parsed)) != KV_OK) {
		report_reason(s, name, kv_strerror(r));
		return;
	}
	key.key = parsed.key;
	key.type = kv_keytype_name(parsed.key.type);
	key.bits = kv_pubkey_bits(&parsed.key);
	report_key(&s->report, &key);
}

/* Reports one record of a child; not SCAN_PHASE. */
static void
report_record(struct scan *s, const char *name, uint8_t tag,
    struct kv_span text)
{
	char copy[4096];
	struct input_problem unknown = {
		.path = name,
		.unknown_type = true,
		.type = copy,
		.reason = kv_strerror(KV_ERR_TYPE_UNKNOWN),
	};

	snprintf(copy, sizeof(copy), "%.*s", (int)text.len,
	    (const char *)text.p);
	switch (tag) {
	case SCAN_KEY:
		report_server_key(s, name, text);
		break;
	case SCAN_PROBLEM:
		report_reason(s, name, copy);
		break;
	case SCAN_UNKNOWN:
		report_problem(&s->report, &unknown);
		break;
	}
}

/* Reports all records of a child, after its end. */
static void
finish_slot(struct scan *s, struct slot *slot, bool too_much)
{
	const char *name = slot->target.name;
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
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
		snprintf(why, sizeof(why),
		    "no answer within %u second%s, "
		    "while %.*s (--timeout)",
		    s->timeout, cli_plural(s->timeout, "", "s"), (int)phase.len,
		    (const char *)phase.p);
		report_reason(s, name, why);
	} else if (status != 0) {
		snprintf(why, sizeof(why), "the scan of it ended while %.*s",
		    (int)phase.len, (const char *)phase.p);
		report_reason(s, name, why);
	}
	record_in_free(&slot->in);
	fflush(stdout);
}

static void
start_host(struct scan *s, const char *text)
{
	struct slot *slot = s->slot;
	const char *why;

	while (slot->child.pid != -1)
		slot++;
	if ((why = scan_target_parse(text, &slot->target)) != NULL) {
		report_reason(s, text, why);
		return;
	}
	slot->job = (struct scan_job){
		.target = &slot->target,
		.timeout = s->timeout,
	};
	if (!child_start(&slot->child, scan_host, &slot->job)) {
		report_reason(s, slot->target.name, strerror(errno));
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

static bool
have_hosts(const struct scan *s)
{
	return s->reading || *s->argument != NULL;
}

static void
start_next(struct scan *s)
{
	if (s->reading) {
		start_line(s);
		return;
	}
	if (strcmp(*s->argument, "-") == 0)
		s->reading = true;
	else
		start_host(s, *s->argument);
	s->argument++;
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
	while (have_hosts(s) || s->n_busy > 0) {
		bool can_start = s->n_busy < s->n_slots && have_hosts(s);
		bool at_hand = !s->reading || s->lines.start < s->lines.end;

		if ((can_start && at_hand) || wait_for_input(s, p, can_start))
			start_next(s);
	}
}

static int
scan_hosts(const struct options *o, const struct kv_judge *judge, char **hosts)
{
	struct scan s = {
		.report = {
			.judge = judge, .json = o->json, .all = o->all,
			.quiet = o->quiet, .servers = true,
			.out = stdout, .err = stderr,
			.now = time(NULL),
		},
		.timeout = (unsigned int)o->timeout,
		.n_slots = (size_t)o->jobs,
		.argument = hosts,
	};
	struct pollfd *p = calloc(s.n_slots + 1, sizeof(*p));
	int status = CLI_UNCHECKED;

	s.slot = calloc(s.n_slots, sizeof(*s.slot));
	if (s.slot == NULL || p == NULL) {
		cli_error("%s", strerror(errno));
		goto out;
	}
	for (size_t i = 0; i < s.n_slots; i++)
		s.slot[i].child = (struct child){ .pid = -1, .fd = -1 };
	kv_lines_init(&s.lines, STDIN_FILENO, s.line, sizeof(s.line));
	scan_all(&s, p);
	if (!o->quiet)
		report_summary(&s.report);
	if (cli_stdout_ok())
		status = report_status(&s.report);
out:
	free(s.slot);
	free(p);
	return status;
}

/* Returns 0, or -1 if the process is to exit with *statusp. */
static int
read_options(const struct cli_command *cmd, int argc, char **argv,
    struct options *o, int *statusp)
{
	enum { JSON = 1, ALL, QUIET, JOBS, TIMEOUT };
	static const struct option options[] = {
		{ "json", no_argument, NULL, JSON },
		{ "all", no_argument, NULL, ALL },
		{ "quiet", no_argument, NULL, QUIET },
		{ "jobs", required_argument, NULL, JOBS },
		{ "timeout", required_argument, NULL, TIMEOUT },
		CLI_JUDGE_LONGOPTS,
		{ NULL, 0, NULL, 0 },
	};
	int opt;
	bool ok = true;

	*o = (struct options){ .jobs = JOBS_DEFAULT,
		.timeout = TIMEOUT_DEFAULT };
	*statusp = CLI_UNCHECKED;
	while (ok && (opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		switch (opt) {
		case JSON:
			o->json = true;
			break;
		case ALL:
			o->all = true;
			break;
		case QUIET:
			o->quiet = true;
			break;
		case JOBS:
			ok = cli_option_number("--jobs", JOBS_MAX, &o->jobs);
			break;
		case TIMEOUT:
			ok = cli_option_number("--timeout", TIMEOUT_MAX,
			    &o->timeout);
			break;
		case CLI_OPT_CONFIG:
		case CLI_OPT_FILTER:
			ok = cli_judge_option(&o->judge, opt, optarg);
			break;
		case CLI_OPT_HELP:
			*statusp = cli_help(cmd);
			return -1;
		default:
			return -1;
		}
	}
	return ok ? 0 : -1;
}

static int
run_scan(const struct cli_command *cmd, int argc, char **argv)
{
	struct kv_judge judge;
	struct options o;
	int status;

	if (read_options(cmd, argc, argv, &o, &status) != 0)
		return status;
	if (optind == argc) {
		cli_error("scan needs a host, or - to read hosts from "
			  "standard input");
		return cli_usage_error(cmd);
	}
	if (!cli_judge_open(&judge, &o.judge))
		return CLI_UNCHECKED;
	status = scan_hosts(&o, &judge, argv + optind);
	kv_judge_close(&judge);
	return status;
}

const struct cli_command cli_scan = {
	.name = "scan",
	.synopsis = "[--json] [--all] [--quiet] [--timeout S] [--jobs N] "
		    "[--config FILE] [--filter FILE]... HOST[:PORT]...",
	.help = "Tell which host keys of live servers are listed",
	.details =
	    "HOST is a name or an address; an IPv6 address with a port is "
	    "written [::1]:22.\n"
	    "For HOST - hosts are read from standard input, one a line, # "
	    "starts a comment.\n\n"
	    "  --json           one JSON object a line\n"
	    "  --all            every key with its verdict, not only listed "
	    "ones\n"
	    "  --quiet          print nothing but errors; the exit status "
	    "tells\n"
	    "  --timeout S      seconds that each connection may take "
	    "(default 10)\n"
	    "  --jobs N         ask N servers at a time (default 16)\n" CLI_JUDGE_HELP
	    "\nEach key type a server offers takes a connection, which ends "
	    "before anybody\nlogs in. Exit status: 0 nothing listed, 1 "
	    "something listed, 2 nothing listed but\nsomething could not be "
	    "checked, or bad usage.\n",
	.run = run_scan,
};
