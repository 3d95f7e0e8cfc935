/* SPDX-License-Identifier: ISC */
/* keyveto scan: judges the host keys of live servers. */
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "kv_lines.h"
#include "net/network.h"
#include "reading/chosen.h"
#include "upkeep/own_list.h"
#include "working/weak.h"

/* So many servers are asked at a time: most of the time is spent in waiting. */
#define SLOTS 64
#define TIMEOUT_DEFAULT 10
#define TIMEOUT_MAX 3600
#define LINE_BYTES 4096
#define PORT_DEFAULT "22"
/*
 * A scan has a phase for each address and each type of key. It says at the
 * start of each what it is. If it says nothing for longer than a phase may
 * take, or goes on for so many phases, it is ended.
 */
#define PHASES_MAX 64
#define GRACE_SECONDS 10
#define WAIT_MS 1000

struct target {
	char host[NETWORK_HOST_BYTES];
	char port[6];
	/* HOST:PORT or [ADDRESS]:PORT, as printed */
	char name[NETWORK_HOST_BYTES + sizeof("[]:65535")];
};

/* A server that is being asked. */
struct slot {
	struct target target;
	struct wall_process program;
	bool runs;
	int64_t start,
	    spoke; /* io_deadline when it was started, said something */
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
report_key_blob(struct scan *s, const char *name, struct kv_span blob)
{
	struct input_key key = { .path = name };
	struct kv_sshkey parsed;
	const enum kv_err r = kv_sshkey_parse(blob.p, blob.len, &parsed);

	if (r != KV_OK) {
		report_problem_at(&s->report, name, 0, kv_strerror(r));
		return;
	}
	key.key = parsed.key;
	key.type = kv_keytype_name(parsed.key.type);
	key.bits = kv_pubkey_bits(&parsed.key);
	report_key(&s->report, &key);
}

static void
report_unknown_type(struct scan *s, const char *name, const char *type)
{
	const struct input_problem problem = {
		.path = name,
		.unknown_type = true,
		.type = type,
		.reason = kv_strerror(KV_ERR_TYPE_UNKNOWN),
	};

	report_problem(&s->report, &problem);
}

/* What a program said so far of a server. */
struct said {
	const char *name; /* of the server */
	char phase[256];
	bool greeted, scanned;
};

/* Takes one record of a program. False if it never sends such a thing. */
static bool
receive_record(struct scan *s, struct said *said, uint8_t tag,
    struct kv_bytes b)
{
	struct kv_span blob;
	char text[4096];

	if (said->scanned || said->greeted == (tag == NETWORK_HELLO))
		return false;
	if (tag == NETWORK_HELLO) {
		said->greeted = true;
		return network_receive_hello(b, s->report.quiet);
	}
	if (tag == NETWORK_SCANNED) {
		said->scanned = true;
		return b.left == 0;
	}
	if (tag == NETWORK_KEY) {
		if (!record_get_all(&b, R_SPAN(blob)))
			return false;
		report_key_blob(s, said->name, blob);
		return true;
	}
	if (!record_get_all(&b, R_TEXT(text)))
		return false;
	switch (tag) {
	case NETWORK_PHASE:
		snprintf(said->phase, sizeof(said->phase), "%.255s", text);
		return true;
	case NETWORK_PROBLEM:
		report_problem_at(&s->report, said->name, 0, text);
		return true;
	case NETWORK_UNKNOWN:
		report_unknown_type(s, said->name, text);
		return true;
	default:
		return false;
	}
}

/* Reports how a program ended that did not say that it had scanned. */
static void
report_end(struct scan *s, const struct said *said, int status)
{
	char why[512];

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(why, sizeof(why),
		    "no answer within %u second%s, while %s (--timeout)",
		    s->timeout, cli_plural(s->timeout, "", "s"), said->phase);
	else
		snprintf(why, sizeof(why), "the scan of it ended while %s",
		    said->phase);
	report_problem_at(&s->report, said->name, 0, why);
}

/* Ends a program, and reports what it said. why is what is wrong, or NULL. */
static void
finish_slot(struct scan *s, struct slot *slot, const char *why)
{
	struct said said = { .name = slot->target.name, .phase = "starting" };
	struct kv_bytes b;
	uint8_t tag;
	bool bad = false, ok = true;
	int status = 0;

	if (why != NULL)
		wall_kill(&slot->program);
	else
		(void)wall_wait(&slot->program, &status);
	slot->runs = false;
	s->n_busy--;
	s->report.files++;
	while (ok && record_next(&slot->in, &tag, &b, &bad))
		ok = receive_record(s, &said, tag, b);
	if (why == NULL && (bad || !ok))
		why = "keyveto-network sent what it never sends";
	if (why != NULL)
		report_problem_at(&s->report, said.name, 0, why);
	else if (!said.scanned)
		report_end(s, &said, status);
	record_in_free(&slot->in);
	fflush(stdout);
}

/*
 * Parses HOST, HOST:PORT, ADDRESS and [ADDRESS]:PORT. Text with two or more
 * colons and no brackets is an IPv6 address. Returns NULL, or what is wrong.
 */
static const char *
parse_target(const char *text, struct target *t)
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
	struct target *t;
	struct record_out o = { .fd = -1 };
	const char *mistake;
	char why[WALL_WHY_BYTES];

	while (slot->runs)
		slot++;
	t = &slot->target;
	if ((mistake = parse_target(text, t)) != NULL) {
		report_problem_at(&s->report, text, 0, mistake);
		return;
	}
	if (!network_start(&slot->program, why)) {
		report_problem_at(&s->report, t->name, 0, why);
		return;
	}
	record_begin(&o, NETWORK_SCAN);
	record_add(&o, R_STRING(t->host), R_STRING(t->port),
	    R_VALUE(s->timeout));
	(void)network_send(&slot->program, &o, -1);
	/* There is no other order, and descriptors may be few. */
	close(slot->program.orders);
	slot->program.orders = -1;
	slot->start = slot->spoke = io_deadline(0);
	slot->runs = true;
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
		report_problem_at(&s->report, "-", 0,
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

/* Ends programs that had more time than any server could cost them. */
static void
stop_late_slots(struct scan *s)
{
	const int64_t now = io_deadline(0);
	const int64_t most = 1000 * ((int64_t)s->timeout + GRACE_SECONDS);

	for (size_t i = 0; i < s->n_slots; i++) {
		struct slot *slot = &s->slot[i];

		if (slot->runs &&
		    (now - slot->spoke > most ||
			now - slot->start > PHASES_MAX * most))
			finish_slot(s, slot,
			    "keyveto-network did not end in time");
	}
}

static void
receive(struct scan *s, struct slot *slot)
{
	const ssize_t n = record_fill(&slot->in, slot->program.answers);

	slot->spoke = io_deadline(0);
	if (n == -1)
		finish_slot(s, slot, "the server sent too much");
	else if (n == 0)
		finish_slot(s, slot, NULL);
}

/*
 * Waits until a program said something or ended, or, with want_line, until
 * standard input can be read. Returns true for the latter.
 */
static bool
wait_for_input(struct scan *s, struct pollfd *p, bool want_line)
{
	int n;

	for (size_t i = 0; i < s->n_slots; i++)
		p[i] = (struct pollfd){
			.fd = s->slot[i].runs ? s->slot[i].program.answers : -1,
			.events = POLLIN,
		};
	p[s->n_slots] = (struct pollfd){
		.fd = want_line ? STDIN_FILENO : -1,
		.events = POLLIN,
	};
	do
		n = poll(p, s->n_slots + 1, s->n_busy > 0 ? WAIT_MS : -1);
	while (n == -1 && errno == EINTR);
	for (size_t i = 0; n > 0 && i < s->n_slots; i++)
		if (p[i].fd != -1 && p[i].revents != 0)
			receive(s, &s->slot[i]);
	stop_late_slots(s);
	return want_line && n > 0 && p[s->n_slots].revents != 0;
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
	struct report_options o = { 0 };
	uint64_t timeout = TIMEOUT_DEFAULT;
	struct scan s = { .reading = false };
	struct pollfd *p = NULL;
	struct judging judging;
	const struct cli_option options[] = {
		{ .name = "timeout",
		    .number = &timeout,
		    .min = 1,
		    .max = TIMEOUT_MAX },
		REPORT_OPTIONS(o),
		{ .name = NULL },
	};
	int status = cli_read_options(cmd, argc, argv, options, &o.judge);
	bool ok = true, partly;

	if (status != -1)
		return status;
	if (optind == argc)
		return cli_wrong_usage(cmd,
		    "scan needs a host, or - to read hosts from "
		    "standard input");
	status = CLI_UNCHECKED;
	if (!own_list_add(&o.judge, o.quiet ? OWN_LIST_QUIETLY : 0) ||
	    !chosen_open_partly(&judging, &o.judge, NULL, &partly))
		return status;
	report_init(&s.report, &judging.judge, &o);
	judging_report(&s.report, &judging.judge);
	s.report.partly = partly;
	s.report.servers = true;
	s.report.weak = weak_new(working_weak);
	s.timeout = (unsigned int)timeout;
	s.argument = argv + optind;
	s.n_slots = SLOTS;
	s.slot = calloc(s.n_slots, sizeof(*s.slot));
	p = calloc(s.n_slots + 1, sizeof(*p));
	if (s.slot == NULL || p == NULL || s.report.weak == NULL) {
		cli_error("%s", strerror(errno));
		goto out;
	}
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
	return chosen_close(&judging) ? status : CLI_UNCHECKED;
}

const struct cli_command cli_scan = {
	.name = "scan",
	.synopsis =
	    "[--json] [--all] [--quiet] [--timeout S] "
	    "[--config FILE] [--filter FILE]... [--blocklist FILE]... HOST[:PORT]...",
	.help = "Tell which host keys of live servers are listed",
	.details = REPORT_HELP
	"  --timeout S      seconds that each connection may take (default "
	"10)\n" CLI_JUDGE_HELP REPORT_STATUS_HELP,
	.run = run_scan,
};
