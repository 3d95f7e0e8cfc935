/* SPDX-License-Identifier: ISC */
#include "report/intake.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "host/files.h"
#include "keys/input.h"
#include "kv_lines.h"
#include "report/clean.h"
#include "report/owners.h"
#include "reading/report.h"

/* A line with more values would need too much memory. No audit has so many. */
#define VALUES_MAX 65536
/* Of each of the next, of one host. */
#define KEYS_MAX 1000000
#define LISTS_MAX 1000
#define FINDINGS_MAX 1000
/* Larger numbers are not the same to all readers of JSON (RFC 8259). */
#define NUMBER_MAX (((json_int_t)1 << 53) - 1)
#define MESSAGES_MAX 10 /* about the lines of one audit */
#define NAMES_SHOWN 256
#define HOST_LINE_BYTES 4096

/* An audit that is read. */
struct intake {
	struct fleet *f;
	const char *path; /* as given, for messages */
	uint64_t line;
	bool begun;	    /* the host of this file */
	bool headed, ended; /* its first and its last line were read */
	bool over;	    /* what follows in the file is not believed */
	bool failed;	    /* the database */
	uint64_t end_line;
	struct fleet_host host;
	uint64_t places, logins, summaries, messages;
	int64_t keys_seen, listed_seen, unchecked_seen, clean_seen;
	/* The account of the line before. */
	bool known_account;
	char account[NAMES_SHOWN];
	bool account_is_null;
	int64_t account_id;
};

/* --- values of JSON ----------------------------------------------------- */

/* A string, made fit to be shown. False, and "", if it is none. */
static bool
get_text(const json_t *o, const char *name, char *out, size_t cap)
{
	const json_t *v = json_object_get(o, name);

	*out = '\0';
	if (!json_is_string(v))
		return false;
	clean_text(json_string_value(v), json_string_length(v), out, cap);
	return true;
}

/* A number from 0 to NUMBER_MAX; FLEET_UNKNOWN for anything else. */
static int64_t
get_number(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);
	const json_int_t n = json_integer_value(v);

	return json_is_integer(v) && n >= 0 && n <= NUMBER_MAX ?
	    (int64_t)n :
	    FLEET_UNKNOWN;
}

static int64_t
get_count(const json_t *o, const char *name)
{
	const int64_t n = get_number(o, name);

	return n == FLEET_UNKNOWN ? 0 : n;
}

static int
get_flag(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	return json_is_boolean(v) ? json_is_true(v) : FLEET_UNKNOWN;
}

/* Whether the object has this mark: "header": true. */
static bool
is_marked(const json_t *o, const char *name)
{
	return json_is_true(json_object_get(o, name));
}

static bool
get_verdict(const json_t *o, enum fleet_verdict *verdictp)
{
	const char *name = json_string_value(json_object_get(o, "verdict"));

	for (*verdictp = 0; name != NULL && *verdictp < FLEET_VERDICTS;
	     ++*verdictp)
		if (strcmp(name, fleet_verdict_name(*verdictp)) == 0)
			return true;
	*verdictp = FLEET_ERROR;
	return false;
}

/* Whether text is begin and then exactly n of these characters. */
static bool
is_digest(const char *text, const char *begin, size_t n, const char *characters)
{
	const size_t len = strlen(begin);

	return strncmp(text, begin, len) == 0 && strlen(text) == len + n &&
	    strspn(text + len, characters) == n;
}

/* --- problems ----------------------------------------------------------- */

static void
keep_problem(struct intake *in, const struct fleet_problem *p)
{
	if (++in->host.problems <= FLEET_PROBLEMS &&
	    !fleet_add_problem(in->f, in->host.id, p))
		in->failed = true;
}

static void begin_host(struct intake *in);

/* The line cannot be used. */
static void
complain(struct intake *in, const char *why)
{
	struct fleet_problem p = { .file = in->host.file, .reason = why };

	begin_host(in);
	in->host.bad_lines++;
	p.line = (int64_t)in->line;
	if (++in->messages <= MESSAGES_MAX)
		cli_error_at(in->path, in->line, why);
	keep_problem(in, &p);
}

/* --- hosts -------------------------------------------------------------- */

/* The bytes of .json or .jsonl at the end of a file's name; 0: neither. */
static size_t
end_of_audit(const char *name)
{
	static const char *const ends[] = { ".json", ".jsonl" };
	const size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		const size_t n = strlen(ends[i]);

		if (len > n && strcmp(name + len - n, ends[i]) == 0)
			return n;
	}
	return 0;
}

/* The audit's file without its directory and .json. */
static void
name_by_file(const char *path, char *name, size_t cap)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;

	clean_text(base, strlen(base) - end_of_audit(base), name, cap);
}

/* Begins the file's host, named after the file, unless it is begun. */
static void
begin_host(struct intake *in)
{
	struct fleet_host *h = &in->host;

	if (in->begun)
		return;
	*h = (struct fleet_host){
		.id = fleet_new_host(in->f),
		.answered = true,
		.time = FLEET_UNKNOWN,
		.guarded = FLEET_UNKNOWN,
		.doctor = FLEET_UNKNOWN,
		.accounts = FLEET_UNKNOWN,
		.keys = FLEET_UNKNOWN,
		.listed = FLEET_UNKNOWN,
		.unchecked = FLEET_UNKNOWN,
		.clean = FLEET_UNKNOWN,
	};
	in->begun = true;
	clean_text(in->path, strlen(in->path), h->file, sizeof(h->file));
	name_by_file(in->path, h->alias, sizeof(h->alias));
	snprintf(h->name, sizeof(h->name), "%s", h->alias);
}

/*
 * The totals of the last line count, as far as it has them; else what was read.
 * More listed keys in the last line than in the others means that some are lost.
 */
static void
close_host(struct intake *in)
{
	struct fleet_host *h = &in->host;

	if (in->ended)
		in->line = in->end_line;
	if (h->listed != FLEET_UNKNOWN && h->listed != in->listed_seen) {
		complain(in,
		    "its last line counts another number of listed keys than "
		    "the audit has: it was changed, or a part is lost");
		h->complete = false;
	}
	h->listed = in->listed_seen;
	if (h->keys == FLEET_UNKNOWN)
		h->keys = in->keys_seen;
	if (h->accounts == FLEET_UNKNOWN)
		h->accounts = (int64_t)in->summaries;
	if (h->unchecked == FLEET_UNKNOWN)
		h->unchecked = in->unchecked_seen;
	if (h->clean == FLEET_UNKNOWN)
		h->clean = in->clean_seen;
	/* A million of such numbers can be added. */
	if (h->clean > INT32_MAX)
		h->clean = INT32_MAX;
	if (h->no_list)
		h->uncovered += h->clean;
	if (!fleet_add_host(in->f, h))
		in->failed = true;
}

static void
add_list(struct intake *in, const json_t *o)
{
	char kind[16], file[1024], sha256[65];
	const struct fleet_list l = {
		.kind = kind,
		.file = file,
		.sha256 = sha256,
		.revision = get_number(o, "revision"),
		.time = get_number(o, "time_seconds"),
		.entries = get_number(o, "entries"),
	};

	(void)get_text(o, "sha256", sha256, sizeof(sha256));
	if (!get_text(o, "kind", kind, sizeof(kind)) ||
	    !get_text(o, "file", file, sizeof(file)) ||
	    (strcmp(kind, "filter") != 0 && strcmp(kind, "list") != 0))
		complain(in, "a list has no kind or no file");
	else if (!fleet_add_list(in->f, in->host.id, &l))
		in->failed = true;
}

/* Sets *statusp by its name as keyveto doctor prints it. */
static bool
get_status(const json_t *o, enum fleet_doctor *statusp)
{
	const char *name = json_string_value(json_object_get(o, "status"));

	*statusp = FLEET_PROBLEM;
	if (name == NULL)
		return false;
	if (strcmp(name, "ok") == 0)
		*statusp = FLEET_OK;
	else if (strcmp(name, "warning") == 0)
		*statusp = FLEET_WARNING;
	else
		return strcmp(name, "broken") == 0;
	return true;
}

static void
add_finding(struct intake *in, const json_t *o)
{
	char check[64], found[1024], remedy[1024];
	enum fleet_doctor status;
	const bool remedied = get_text(o, "remedy", remedy, sizeof(remedy));

	if (!get_status(o, &status) ||
	    !get_text(o, "check", check, sizeof(check)) ||
	    !get_text(o, "found", found, sizeof(found)))
		complain(in, "a finding of the doctor lacks a part");
	else if (status != FLEET_OK &&
	    !fleet_add_finding(in->f, in->host.id, check, status, found,
		remedied ? remedy : NULL))
		in->failed = true;
}

static void
add_doctor(struct intake *in, const json_t *doctor)
{
	const json_t *checks = json_object_get(doctor, "checks");
	enum fleet_doctor status;

	if (!json_is_object(doctor))
		return;
	if (!get_status(doctor, &status))
		complain(in, "the doctor's status is unknown");
	in->host.doctor = (int)status;
	for (size_t i = 0; i < json_array_size(checks) && i < FINDINGS_MAX; i++)
		add_finding(in, json_array_get(checks, i));
}

static void
read_ways(struct fleet_host *h, const json_t *sshd)
{
	const json_t *ways = json_object_get(sshd, "ways"), *way;
	const char *name;
	size_t i;

	h->guarded = get_flag(sshd, "guarded");
	json_array_foreach(ways, i, way)
	{
		name = json_string_value(json_object_get(way, "way"));
		if (name != NULL && strcmp(name, "TrustedUserCAKeys") == 0)
			h->user_ca = is_marked(way, "open");
	}
}

static void
read_header(struct intake *in, const json_t *o)
{
	const json_t *versions = json_object_get(o, "versions");
	const json_t *lists = json_object_get(o, "lists");
	struct fleet_host *h = &in->host;

	/* A host speaks for itself, and could write the header of another. */
	if (in->headed) {
		complain(in,
		    "a second header: a file is the audit of one host, and "
		    "what follows is not believed");
		in->over = true;
		return;
	}
	begin_host(in);
	in->headed = true;
	if (get_number(o, "format") != AUDIT_FORMAT) {
		complain(in,
		    "its format is unknown here: use the keyveto that made it");
		return;
	}
	h->header = true;
	if (!get_text(o, "host", h->name, sizeof(h->name)) || *h->name == '\0')
		snprintf(h->name, sizeof(h->name), "%s", h->alias);
	h->time = get_number(o, "time_seconds");
	h->whole = is_marked(o, "whole");
	h->every = is_marked(o, "all");
	if (get_flag(o, "answered") == 0) {
		h->answered = false;
		(void)get_text(o, "reason", h->reason, sizeof(h->reason));
		return;
	}
	(void)get_text(versions, "keyveto", h->keyveto, sizeof(h->keyveto));
	(void)get_text(versions, "sshd", h->sshd, sizeof(h->sshd));
	(void)get_text(versions, "os", h->os, sizeof(h->os));
	read_ways(h, json_object_get(o, "sshd"));
	h->no_list = json_is_array(lists) && json_array_size(lists) == 0;
	for (size_t i = 0; i < json_array_size(lists) && i < LISTS_MAX; i++)
		add_list(in, json_array_get(lists, i));
	add_doctor(in, json_object_get(o, "doctor"));
}

static void
read_end(struct intake *in, const json_t *o)
{
	struct fleet_host *h = &in->host;
	struct fleet_problem p = { .file = h->file };
	char reason[512];

	h->complete = h->header;
	h->clean = get_number(o, "clean");
	h->accounts = get_number(o, "accounts");
	h->keys = get_number(o, "keys");
	h->listed = get_number(o, "listed");
	h->unchecked = get_count(o, "unsupported") + get_count(o, "problems");
	if (get_text(o, "reason", reason, sizeof(reason))) {
		p.reason = reason;
		keep_problem(in, &p);
	}
	if (h->unchecked == 0 && get_number(o, "status") == CLI_UNCHECKED)
		h->unchecked = 1;
	in->ended = true;
	in->end_line = in->line;
}

/* --- keys --------------------------------------------------------------- */

/* Sets *idp to the id of the account that the object names, or of none. */
static bool
find_account(struct intake *in, const json_t *o, int64_t *idp)
{
	char name[NAMES_SHOWN];
	const bool null = !get_text(o, "account", name, sizeof(name));

	if (!in->known_account || null != in->account_is_null ||
	    strcmp(name, in->account) != 0) {
		if (!fleet_account(in->f, in->host.id, null ? NULL : name,
			&in->account_id)) {
			in->failed = true;
			return false;
		}
		memcpy(in->account, name, sizeof(name));
		in->account_is_null = null;
		in->known_account = true;
	}
	*idp = in->account_id;
	return true;
}

/* Adds each string of an array by add. Without key only joins them in text. */
static void
add_names(struct intake *in, const json_t *names, int64_t key,
    bool (*add)(struct fleet *f, int64_t key, const char *name))
{
	char name[1024];

	for (size_t i = 0; i < json_array_size(names) && i < LISTS_MAX; i++) {
		const json_t *v = json_array_get(names, i);

		if (!json_is_string(v))
			continue;
		clean_text(json_string_value(v), json_string_length(v), name,
		    sizeof(name));
		if (!add(in->f, key, name))
			in->failed = true;
	}
}

/* Joins the strings of an array: "debianssl, pkg". */
static void
join_names(const json_t *names, char *text, size_t cap)
{
	char name[128];
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < json_array_size(names); i++) {
		const json_t *v = json_array_get(names, i);

		if (!json_is_string(v) || len + sizeof(name) + 2 > cap)
			continue;
		clean_text(json_string_value(v), json_string_length(v), name,
		    sizeof(name));
		len += (size_t)snprintf(text + len, cap - len, "%s%s",
		    len > 0 ? ", " : "", name);
	}
}

/*
 * Sets fp to what identifies the key: its fingerprint, or the SHA-256 of its
 * SPKI if SSH has no such type.
 */
static bool
get_fingerprint(const json_t *o, char *fp, size_t cap)
{
	char hex[80];

	if (get_text(o, "fingerprint", fp, cap) && *fp != '\0')
		return is_digest(fp, "SHA256:", 43,
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
	if (!get_text(o, "spki_sha256", hex, sizeof(hex)) ||
	    !is_digest(hex, "", 64, "0123456789abcdef"))
		return false;
	snprintf(fp, cap, "SPKI:%.64s", hex);
	return true;
}

static void
add_key(struct intake *in, const json_t *o, enum fleet_verdict verdict)
{
	char fp[80], type[64], file[1024], comment[512], part[8], reason[512];
	char sources[512];
	const json_t *source_names = json_object_get(o, "sources");
	struct fleet_place p = {
		.host = in->host.id,
		.fp = fp,
		.type = type,
		.reason = reason,
		.file = file,
		.comment = comment,
		.part = part,
		.sources = sources,
		.bits = get_count(o, "bits"),
		.line = get_count(o, "line"),
		.verdict = verdict,
	};

	if (!get_fingerprint(o, fp, sizeof(fp)) ||
	    !get_text(o, "type", type, sizeof(type)) ||
	    !get_text(o, "file", file, sizeof(file))) {
		complain(in, "a key without fingerprint, type or file");
		return;
	}
	(void)get_text(o, "comment", comment, sizeof(comment));
	(void)get_text(o, "part", part, sizeof(part));
	(void)get_text(o, "reason", reason, sizeof(reason));
	join_names(source_names, sources, sizeof(sources));
	in->keys_seen++;
	in->listed_seen += verdict == FLEET_LISTED;
	in->clean_seen += verdict == FLEET_CLEAN;
	in->host.uncovered += verdict == FLEET_UNSUPPORTED;
	in->unchecked_seen += verdict == FLEET_UNSUPPORTED ||
	    verdict == FLEET_ERROR;
	if (in->places++ >= KEYS_MAX) {
		if (in->places == KEYS_MAX + 1)
			complain(in,
			    "more than a million keys: the others are "
			    "left out");
		return;
	}
	if (!find_account(in, o, &p.account))
		return;
	if (!fleet_add_place(in->f, &p)) {
		in->failed = true;
		return;
	}
	add_names(in, source_names, p.key, fleet_add_source);
	add_names(in, json_object_get(o, "filters"), p.key, fleet_add_key_list);
	add_names(in, json_object_get(o, "lists"), p.key, fleet_add_key_list);
}

/* What the host could not read or judge. It says so itself. */
static void
add_problem(struct intake *in, const json_t *o, enum fleet_verdict verdict)
{
	char file[1024], reason[512], account[NAMES_SHOWN], type[64];
	const bool null = !get_text(o, "account", account, sizeof(account));
	const struct fleet_problem p = {
		.account = null ? NULL : account,
		.file = file,
		.reason = reason,
		.line = get_count(o, "line"),
		.type = verdict == FLEET_UNSUPPORTED ? type : NULL,
	};

	(void)get_text(o, "type", type, sizeof(type));
	if (!get_text(o, "file", file, sizeof(file)) ||
	    !get_text(o, "reason", reason, sizeof(reason))) {
		complain(in, "a problem without file or reason");
		return;
	}
	in->unchecked_seen++;
	in->host.uncovered += verdict == FLEET_UNSUPPORTED;
	keep_problem(in, &p);
}

static void
add_verdict(struct intake *in, const json_t *o)
{
	enum fleet_verdict verdict;

	if (!get_verdict(o, &verdict))
		complain(in, "its verdict is unknown");
	else if (!json_is_string(json_object_get(o, "fingerprint")) &&
	    (verdict == FLEET_ERROR || verdict == FLEET_UNSUPPORTED))
		add_problem(in, o, verdict);
	else
		add_key(in, o, verdict);
}

static void
add_summary(struct intake *in, const json_t *o)
{
	const int64_t listed = get_count(o, "listed");
	int64_t id, usable = get_number(o, "usable");

	/* Without this count, a key that was not listed may let in. */
	if (usable == FLEET_UNKNOWN)
		usable = get_count(o, "clean") > 0 ||
		    get_count(o, "allowed") > 0 ||
		    get_count(o, "unsupported") > 0;
	if (in->summaries++ >= KEYS_MAX)
		return;
	/* A million sums of such numbers fit. */
	if (find_account(in, o, &id) &&
	    !fleet_add_summary(in->f, id, get_count(o, "keys") % INT32_MAX,
		listed % INT32_MAX, usable > 0))
		in->failed = true;
}

static void
add_login(struct intake *in, const json_t *o)
{
	char fp[80], type[64], from[256], log[1024];
	struct fleet_login l = {
		.host = in->host.id,
		.fp = fp,
		.type = type,
		.from = from,
		.log = log,
		.last = get_number(o, "last_seconds"),
		.in_file = get_flag(o, "in_file") != 0,
	};

	in->host.logins = true;
	(void)get_text(o, "type", type, sizeof(type));
	(void)get_text(o, "from", from, sizeof(from));
	(void)get_text(o, "log", log, sizeof(log));
	if (!get_fingerprint(o, fp, sizeof(fp)) ||
	    !get_verdict(o, &l.verdict)) {
		complain(in, "a login without fingerprint or verdict");
		return;
	}
	/* Without a time it never came in. */
	if (l.last == FLEET_UNKNOWN || in->logins++ >= KEYS_MAX)
		return;
	if (find_account(in, o, &l.account) && !fleet_add_login(in->f, &l))
		in->failed = true;
}

/* --- lines -------------------------------------------------------------- */

/*
 * Whether a line of JSON has no more values than VALUES_MAX. Outside of strings
 * each value but the first follows one of these characters.
 */
static bool
has_few_values(const uint8_t *p, size_t len)
{
	bool quoted = false;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (quoted && p[i] == '\\')
			i++;
		else if (p[i] == '"')
			quoted = !quoted;
		else if (!quoted && (p[i] == ',' || p[i] == '[' || p[i] == '{'))
			n++;
	}
	return n <= VALUES_MAX;
}

static void
read_object(struct intake *in, const json_t *o)
{
	if (is_marked(o, "header")) {
		read_header(in, o);
		return;
	}
	if (in->ended) {
		complain(in, "follows the last line of an audit");
		return;
	}
	begin_host(in);
	if (!in->host.header && in->line == 1)
		complain(in,
		    "is no first line of keyveto audit --json: the "
		    "host is not known, and has the file's name");
	if (is_marked(o, "end"))
		read_end(in, o);
	else if (is_marked(o, "summary"))
		add_summary(in, o);
	else if (is_marked(o, "login"))
		add_login(in, o);
	else if (json_object_get(o, "verdict") != NULL)
		add_verdict(in, o);
	else
		complain(in, "is no line of keyveto audit --json");
}

static void
read_line(struct intake *in, struct kv_span line)
{
	char text[4 * JSON_ERROR_TEXT_LENGTH], why[sizeof(text) + 32];
	json_error_t error;
	json_t *o;

	if (line.len > 0 && line.p[line.len - 1] == '\r')
		line.len--;
	if (line.len == 0)
		return;
	if (!has_few_values(line.p, line.len)) {
		complain(in, "has more than 65536 values");
		return;
	}
	o = json_loadb((const char *)line.p, line.len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (json_is_object(o))
		read_object(in, o);
	else {
		/* jansson quotes the line as it is. */
		if (o == NULL)
			clean_text(error.text, strlen(error.text), text,
			    sizeof(text));
		snprintf(why, sizeof(why), "is no JSON object: %s",
		    o == NULL ? text : "another value");
		complain(in, why);
	}
	json_decref(o);
}

static void
read_lines(struct intake *in, int fd, uint8_t *buf)
{
	struct kv_lines lines;
	struct kv_span line;
	bool more = true;

	kv_lines_init(&lines, fd, buf, INTAKE_LINE_BYTES);
	while (more && !in->failed && !in->over) {
		const enum kv_err err = kv_lines_next(&lines, &line, &more);

		in->line = lines.number;
		if (err == KV_ERR_SYSTEM) {
			complain(in, strerror(errno));
			return;
		}
		if (err != KV_OK)
			complain(in, "is longer than 2 MiB");
		else if (more)
			read_line(in, line);
	}
}

/* An audit that cannot be opened is of a host that is not known. */
static void
refuse(struct intake *in, const char *why)
{
	begin_host(in);
	in->host.answered = false;
	snprintf(in->host.reason, sizeof(in->host.reason),
	    "its audit cannot be read: %s", why);
	complain(in, why);
}

/* Reads an open file; if it could not be opened, fd is -1, and why says why. */
static bool
read_audit(struct fleet *f, const char *path, int fd, const char *why)
{
	struct intake in = { .f = f, .path = path };
	uint8_t *buf = malloc(INTAKE_LINE_BYTES);

	if (buf == NULL)
		cli_error("%s", strerror(errno));
	else if (fd == -1)
		refuse(&in, why);
	else
		read_lines(&in, fd, buf);
	/* An empty file is an audit that was cut off. */
	begin_host(&in);
	if (in.messages > MESSAGES_MAX)
		cli_error("%s: %" PRIu64 " more lines cannot be used", path,
		    in.messages - MESSAGES_MAX);
	close_host(&in);
	in.failed |= buf == NULL;
	free(buf);
	return !in.failed;
}

bool
intake_audit(struct fleet *f, const char *path)
{
	const int fd = files_open(path, 0);
	const bool ok = read_audit(f, path, fd, strerror(errno));

	io_close(fd);
	return ok;
}

/* A folder whose audits are read. */
struct folder {
	struct fleet *f;
	bool any, ok;
};

static void
read_found(int fd, const char *path, bool walked, void *arg)
{
	struct folder *folder = arg;

	(void)walked;
	if (!folder->ok || end_of_audit(path) == 0)
		return;
	folder->any = true;
	folder->ok = read_audit(folder->f, path, fd, "");
}

static void
refuse_found(const struct input_problem *problem, void *arg)
{
	struct folder *folder = arg;

	folder->ok = folder->ok &&
	    read_audit(folder->f, problem->path, -1, problem->reason);
}

bool
intake_audits(struct fleet *f, const char *path)
{
	struct folder folder = { .f = f, .ok = true };
	const struct input_walk walk = {
		.file = read_found,
		.problem = refuse_found,
		.arg = &folder,
	};
	struct stat st;

	if (files_is_standard_input(path) || !files_stat(path, &st) ||
	    !S_ISDIR(st.st_mode))
		return intake_audit(f, path);
	input_walk(path, &walk);
	return folder.ok &&
	    (folder.any ||
		read_audit(f, path, -1, "no *.json is in this folder"));
}

/*
 * Has take read each line of a file, without its line end. False after a
 * message, also if take gives a reason.
 */
static bool
each_line(struct fleet *f, const char *path,
    bool (*take)(struct fleet *f, char *line, const char **whyp))
{
	static uint8_t buf[HOST_LINE_BYTES];
	char text[HOST_LINE_BYTES];
	struct kv_lines lines;
	struct kv_span line;
	const char *why = NULL;
	bool more = true, ok = true;
	int fd = files_open(path, 0);

	if (fd == -1)
		return cli_failed(path, "cannot be read");
	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while (ok && more) {
		const enum kv_err err = kv_lines_next(&lines, &line, &more);

		if (err == KV_OK) {
			snprintf(text, sizeof(text), "%.*s", (int)line.len,
			    (const char *)line.p);
			ok = take(f, text, &why);
		} else {
			why = err == KV_ERR_SYSTEM ? strerror(errno) :
						     kv_strerror(err);
			ok = false;
		}
		if (why != NULL && !ok)
			cli_error_at(path, lines.number, why);
	}
	close(fd);
	return ok;
}

static bool
expect_host(struct fleet *f, char *line, const char **whyp)
{
	char name[NAMES_SHOWN];
	size_t len = strcspn(line, "#");

	(void)whyp;
	while (len > 0 && isspace((unsigned char)line[len - 1]))
		len--;
	for (; len > 0 && isspace((unsigned char)*line); len--)
		line++;
	clean_text(line, len, name, sizeof(name));
	return len == 0 || fleet_expect(f, name);
}

bool
intake_hosts(struct fleet *f, const char *path)
{
	return each_line(f, path, expect_host);
}

bool
intake_owners(struct fleet *f, const char *path)
{
	return each_line(f, path, fleet_owners_add);
}
