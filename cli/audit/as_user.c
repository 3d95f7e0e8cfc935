/* SPDX-License-Identifier: ISC */
#include "audit/as_user.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/become.h"
#include "host/root_file.h"
#include "kv_lines.h"
#include "kv_wildcards.h"

/* sshd is never offered a key as long as this. */
#define LINE_BYTES (256 * 1024)

#define INVALID_DATA "the process that read its files sent invalid data"

enum tag {
	TAG_FILE = 1,	  /* path */
	TAG_KEY,	  /* path, line, part, blob, comment */
	TAG_PROBLEM,	  /* path, line, reason */
	TAG_UNKNOWN_TYPE, /* path, line, name */
	TAG_NOTE,	  /* text */
};

struct reader {
	struct record_out *out;
	const struct as_user *u;
	struct kv_account account;
};

static void
begin_record(const struct reader *r, enum tag tag, const char *path)
{
	record_begin(r->out, (uint8_t)tag);
	record_add_text(r->out, path);
}

static void
send_problem(const struct reader *r, const char *path, uint64_t line,
    const char *reason)
{
	begin_record(r, TAG_PROBLEM, path);
	record_add_number(r->out, line);
	record_add_text(r->out, reason);
	record_end(r->out);
}

/* The account must not be able to trace the reader, or read its core dump. */
static void
forbid_tracing(void)
{
	const struct rlimit none = { 0, 0 };

	/* A process may always do this to itself. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
	child_die_with_parent();
}

static void
send_key(const struct reader *r, const char *path, uint64_t number,
    const struct kv_line *line)
{
	bool is_ca = kv_line_has_option(line->options, "cert-authority");

	begin_record(r, TAG_KEY, path);
	record_add_number(r->out, number);
	record_add_number(r->out, is_ca ? KV_PART_CA : KV_PART_KEY);
	record_add_bytes(r->out, line->blob.p, line->blob.len);
	record_add_bytes(r->out, line->comment.p, line->comment.len);
	record_end(r->out);
}

static void
read_line(const struct reader *r, const char *path, uint64_t number,
    struct kv_span text)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	struct kv_line line;
	enum kv_err err = kv_line_parse(text, blob, sizeof(blob), &line);

	if (err == KV_OK) {
		if (!line.is_blank)
			send_key(r, path, number, &line);
	} else if (err == KV_ERR_TYPE_UNKNOWN && line.type.len > 0 &&
	    kv_keyname_find(line.type) == NULL) {
		begin_record(r, TAG_UNKNOWN_TYPE, path);
		record_add_number(r->out, number);
		record_add_bytes(r->out, line.type.p, line.type.len);
		record_end(r->out);
	} else
		send_problem(r, path, number, kv_strerror(err));
}

/* Reads line by line as sshd does, whatever form the file seems to have. */
static void
read_lines(const struct reader *r, int fd, const char *path)
{
	static uint8_t buf[LINE_BYTES];
	struct kv_lines lines;
	struct kv_span text;
	bool more = true;

	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while (more) {
		enum kv_err err = kv_lines_next(&lines, &text, &more);

		if (err == KV_ERR_SYSTEM) {
			send_problem(r, path, 0, strerror(errno));
			return;
		}
		if (err != KV_OK)
			send_problem(r, path, lines.number, kv_strerror(err));
		else if (more)
			read_line(r, path, lines.number, text);
	}
}

/*
 * A file that does not exist has no keys. A link to nothing is reported:
 * somebody meant it to be a file.
 */
static void
send_unreadable(const struct reader *r, const char *path, int error)
{
	struct stat st;

	if (error != ENOENT && error != ENOTDIR)
		send_problem(r, path, 0, strerror(error));
	else if (lstat(path, &st) == 0)
		send_problem(r, path, 0, "symbolic link to nothing");
}

/*
 * Reads files that sshd refuses for their mode or owner, too: a listed key in
 * them would be let in as soon as somebody corrects the mode.
 */
static void
read_file(const struct reader *r, const char *path)
{
	char why[KV_USERFILE_WHY_BYTES];
	enum kv_err err;
	int fd;

	err = kv_userfile_open(path, &r->account, r->u->strictmodes, &fd, why);
	if (err == KV_ERR_INSECURE) {
		begin_record(r, TAG_NOTE, why);
		record_end(r->out);
		err = kv_userfile_open(path, &r->account, KV_STRICTMODES_NO,
		    &fd, why);
	}
	if (err == KV_ERR_SYSTEM)
		send_unreadable(r, path, errno);
	else if (err != KV_OK)
		send_problem(r, path, 0, kv_strerror(err));
	else {
		begin_record(r, TAG_FILE, path);
		record_end(r->out);
		read_lines(r, fd, path);
		close(fd);
	}
}

static bool
read_found_file(const char *path, void *reader)
{
	read_file(reader, path);
	return true;
}

/* Since 10.0 sshd expands wildcards in a pattern. */
static void
read_pattern(const struct reader *r, const char *pattern)
{
	char path[PATH_MAX];
	int error = 0;
	enum kv_err err;

	err = kv_userfile_expand(pattern, &r->account, path, sizeof(path));
	if (err != KV_OK) {
		send_problem(r, pattern, 0,
		    err == KV_ERR_CONFIG ?
			"AuthorizedKeysFile has a token unknown to keyveto" :
			"path of the authorized keys file is too long");
		return;
	}
	if (!kv_wildcards_apply(r->u->wildcards, pattern)) {
		read_file(r, path);
		return;
	}
	err = kv_wildcards_find(path, read_found_file, (void *)r, &error);
	if (err != KV_OK)
		send_problem(r, path, 0, kv_strerror(err));
	else if (error != 0)
		send_problem(r, path, 0, strerror(error));
}

static void
read_account(struct record_out *out, void *arg)
{
	const struct as_user *u = arg;
	const struct account *a = u->account;
	const struct reader r = {
		.out = out,
		.u = u,
		.account = { .name = a->name, .uid = a->uid, .home = a->home },
	};

	/* Links and groups are then those of that machine, too. */
	if (*u->root != '\0' && !root_enter(u->root)) {
		send_problem(&r, u->root, 0,
		    "cannot become the root directory");
		return;
	}
	if (geteuid() == 0 && !become_account(a->name, a->uid, a->gid)) {
		send_problem(&r, a->name, 0, "cannot become this account");
		return;
	}
	forbid_tracing();
	for (size_t i = 0; i < u->n_patterns; i++)
		read_pattern(&r, u->pattern[i]);
}

void
as_user_start(struct as_user *u)
{
	u->error = 0;
	if (!child_start(&u->child, read_account, u))
		u->error = errno;
}

static void
report_problem_of(const struct as_user *u, const struct as_user_sink *sink,
    const char *reason)
{
	const struct input_problem p = {
		.path = u->account->name,
		.reason = reason,
	};

	sink->input.problem(&p, sink->input.arg);
}

/* Copies a string, up to a NUL or cap - 1 bytes, as a C string. */
static enum kv_err
get_text(struct kv_bytes *b, char *text, size_t cap)
{
	struct kv_span s;
	enum kv_err r;

	if ((r = kv_bytes_get_string(b, &s)) != KV_OK)
		return r;
	snprintf(text, cap, "%.*s", (int)s.len, (const char *)s.p);
	return KV_OK;
}

static enum kv_err
parse_key(struct kv_bytes *b, const char *path, const struct as_user_sink *sink)
{
	struct input_key key = { .path = path };
	struct kv_sshkey parsed;
	struct kv_span blob;
	uint64_t part;
	enum kv_err r;

	if ((r = record_get_number(b, &key.line)) != KV_OK ||
	    (r = record_get_number(b, &part)) != KV_OK ||
	    (r = kv_bytes_get_string(b, &blob)) != KV_OK ||
	    (r = kv_bytes_get_string(b, &key.comment)) != KV_OK ||
	    (r = kv_sshkey_parse(blob.p, blob.len, &parsed)) != KV_OK)
		return r;
	key.part = part == KV_PART_CA ? KV_PART_CA : KV_PART_KEY;
	key.key = parsed.key;
	key.type = kv_keytype_name(parsed.key.type);
	key.bits = kv_pubkey_bits(&parsed.key);
	sink->input.key(&key, sink->input.arg);
	if (parsed.is_cert) {
		key.part = KV_PART_CA;
		key.key = parsed.ca;
		key.type = kv_keytype_name(parsed.ca.type);
		key.bits = kv_pubkey_bits(&parsed.ca);
		sink->input.key(&key, sink->input.arg);
	}
	return KV_OK;
}

static enum kv_err
parse_problem(struct kv_bytes *b, const char *path, bool unknown_type,
    const struct as_user_sink *sink)
{
	struct input_problem p = { .path = path };
	char text[1024];
	enum kv_err r;

	if ((r = record_get_number(b, &p.line)) != KV_OK ||
	    (r = get_text(b, text, sizeof(text))) != KV_OK)
		return r;
	p.reason = text;
	if (unknown_type) {
		p.unknown_type = true;
		p.type = text;
		p.reason = kv_strerror(KV_ERR_TYPE_UNKNOWN);
	}
	sink->input.problem(&p, sink->input.arg);
	return KV_OK;
}

static enum kv_err
parse_record(uint8_t tag, struct kv_bytes *b, const struct as_user_sink *sink)
{
	char path[PATH_MAX];
	enum kv_err r;

	if ((r = get_text(b, path, sizeof(path))) != KV_OK)
		return r;
	switch (tag) {
	case TAG_FILE:
		sink->input.file(path, sink->input.arg);
		return KV_OK;
	case TAG_KEY:
		return parse_key(b, path, sink);
	case TAG_PROBLEM:
	case TAG_UNKNOWN_TYPE:
		return parse_problem(b, path, tag == TAG_UNKNOWN_TYPE, sink);
	case TAG_NOTE:
		sink->note(path, sink->input.arg);
		return KV_OK;
	}
	return KV_ERR_INTERNAL;
}

static int64_t
milliseconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * Passes all records to the sink. Returns NULL at the end of the reader's
 * output, else what went wrong.
 */
static const char *
parse_records(struct as_user *u, struct record_in *in, int64_t deadline,
    const struct as_user_sink *sink)
{
	struct pollfd p = { .fd = u->child.fd, .events = POLLIN };
	struct kv_bytes payload;
	uint8_t tag;
	bool bad;
	ssize_t n;

	for (;;) {
		int64_t left = deadline - milliseconds_now();

		if (left <= 0)
			return "reading its files took too long (--timeout)";
		if (poll(&p, 1, (int)left) != 1)
			continue;
		if ((n = record_fill(in, u->child.fd)) == -1)
			return strerror(errno);
		if (n == 0)
			return NULL;
		while (record_next(in, &tag, &payload, &bad))
			if (parse_record(tag, &payload, sink) != KV_OK)
				return INVALID_DATA;
		if (bad)
			return INVALID_DATA;
	}
}

void
as_user_finish(struct as_user *u, unsigned int timeout,
    const struct as_user_sink *sink)
{
	struct record_in in = { 0 };
	const char *wrong;

	if (u->child.pid == -1) {
		report_problem_of(u, sink, strerror(u->error));
		return;
	}
	wrong = parse_records(u, &in, milliseconds_now() + 1000 * timeout,
	    sink);
	if (wrong != NULL)
		child_kill(&u->child);
	else if (child_wait(&u->child) != 0)
		wrong = "the process that read its files was killed";
	if (wrong != NULL)
		report_problem_of(u, sink, wrong);
	record_in_free(&in);
}
