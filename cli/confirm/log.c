/* SPDX-License-Identifier: ISC */
#include "confirm/log.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "host/program.h"
#include "keys/unpack.h"

#define JOURNALCTL "/usr/bin/journalctl"
/* A longer line is not keyveto's. */
#define LINE_BYTES 16384

static int
compare(const void *a, const void *b)
{
	const struct log_key *one = a, *other = b;

	return memcmp(one->digest, other->digest, sizeof(one->digest));
}

struct log_key *
log_keys_find(const struct log_keys *k,
    const uint8_t digest[static KV_SHA256_BYTES])
{
	struct log_key wanted, **found;

	memcpy(wanted.digest, digest, sizeof(wanted.digest));
	found = tfind(&wanted, &k->by_digest, compare);
	return found != NULL ? *found : NULL;
}

static void
add_key(struct log_keys *k, const uint8_t digest[static KV_SHA256_BYTES],
    bool accepted)
{
	struct log_key *key = log_keys_find(k, digest), **grown;

	if (key != NULL) {
		key->accepted |= accepted;
		return;
	}
	if (k->n == LOG_KEYS_MAX) {
		k->full = true;
		return;
	}
	k->failed = true;
	if (k->n == k->room) {
		grown = realloc(k->v,
		    (2 * k->room + 64) * sizeof(struct log_key *));
		if (grown == NULL)
			return;
		k->v = grown;
		k->room = 2 * k->room + 64;
	}
	if ((key = calloc(1, sizeof(*key))) == NULL)
		return;
	memcpy(key->digest, digest, sizeof(key->digest));
	key->accepted = accepted;
	if (tsearch(key, &k->by_digest, compare) == NULL) {
		free(key);
		return;
	}
	k->v[k->n++] = key;
	k->failed = false;
}

/*
 * Takes the next pair off *textp: its name and its value, without quotes. False
 * at the end, or at what is no pair. kv_log writes no quote into a value. In
 * JSON a backslash stands before each quote.
 */
static bool
next_pair(const char **textp, struct kv_span *name, struct kv_span *value)
{
	const char *p = *textp + strspn(*textp, " ");
	size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz_");

	if (n == 0 || p[n] != '=')
		return false;
	*name = (struct kv_span){ (const uint8_t *)p, n };
	p += n + 1;
	if (p[0] == '\\' && p[1] == '"')
		p++;
	if (*p == '"') {
		n = strcspn(++p, "\"");
		if (p[n] != '"')
			return false;
		*textp = p + n + 1;
	} else {
		n = strcspn(p, " ");
		*textp = p + n;
	}
	*value = (struct kv_span){ (const uint8_t *)p, n };
	return true;
}

static bool
is(struct kv_span span, const char *word)
{
	return span.len == strlen(word) && memcmp(span.p, word, span.len) == 0;
}

/*
 * Takes the pairs of a decision off *textp. False if they are about no key of a
 * filter.
 */
static bool
read_pairs(struct log_keys *k, const char **textp)
{
	bool filter = false, list = false, accepted = true, key = false;
	uint8_t digest[KV_SHA256_BYTES] = { 0 };
	struct kv_span name, value;

	while (next_pair(textp, &name, &value)) {
		filter |= is(name, "filter");
		list |= is(name, "list");
		if (is(name, "authorized") && is(value, "no"))
			accepted = false;
		if (is(name, "key_fp"))
			key = kv_fingerprint_parse(value, digest) == KV_OK;
	}
	if (!key || !filter || list)
		return false;
	add_key(k, digest, accepted);
	return true;
}

/*
 * What stands before keyveto's text depends on who wrote the log: a blank,
 * MESSAGE= or a quote of JSON. Another program's text may come first.
 */
void
log_keys_read_line(struct log_keys *k, const char *line)
{
	static const char start[] = "verdict=listed ";
	const char *text = line;
	bool found = false;

	while (!found && (text = strstr(text, start)) != NULL) {
		if (text == line || strchr(" =\"", text[-1]) != NULL)
			found = read_pairs(k, &text);
		else
			text += strlen(start);
	}
}

/* A log that is read. */
struct stream {
	struct unpack unpack;
	uint8_t buf[8 * LINE_BYTES];
	size_t len;
	bool eof;
	bool skip; /* what comes first is the end of a line that is too long */
};

/* False with unpack.why, or errno. */
static bool
read_on(struct stream *s)
{
	ssize_t n;

	s->unpack.why = NULL;
	n = unpack_read(&s->unpack, s->buf + s->len,
	    sizeof(s->buf) - 1 - s->len);
	if (n == -1)
		return errno == EINTR && s->unpack.why == NULL;
	s->eof = n == 0;
	s->len += (size_t)n;
	return true;
}

/* Reads a line of len bytes, of which NUL may be one, and writes one behind. */
static void
read_bytes(struct log_keys *k, uint8_t *line, size_t len)
{
	if (len >= LINE_BYTES)
		return;
	/* A crash, or a rotation in place, leaves NULs before a line. */
	for (size_t i = 0; i < len; i++)
		if (line[i] == '\0')
			line[i] = ' ';
	line[len] = '\0';
	log_keys_read_line(k, (const char *)line);
}

/* Reads the lines that are whole, and keeps the rest. */
static void
read_lines(struct log_keys *k, struct stream *s)
{
	uint8_t *line = s->buf, *nl;
	size_t left = s->len;

	while ((nl = memchr(line, '\n', left)) != NULL) {
		if (!s->skip)
			read_bytes(k, line, (size_t)(nl - line));
		s->skip = false;
		left -= (size_t)(nl + 1 - line);
		line = nl + 1;
	}
	if (s->eof && !s->skip)
		read_bytes(k, line, left);
	if (left >= LINE_BYTES || s->eof) {
		left = 0;
		s->skip = true;
	}
	memmove(s->buf, line, left);
	s->len = left;
}

/* Reads the start of a log, which may be gzip or xz. False as read_on. */
static bool
begin_stream(struct stream *s)
{
	enum unpack_form form = UNPACK_SHORT;
	struct kv_span start;

	while (form == UNPACK_SHORT && !s->eof) {
		if (!read_on(s))
			return false;
		start = (struct kv_span){ s->buf, s->len };
		form = unpack_recognise(start);
		if (form != UNPACK_GZIP && form != UNPACK_XZ)
			continue;
		if (!unpack_add(&s->unpack, form, start))
			return false;
		s->len = 0;
		form = UNPACK_SHORT;
	}
	if (unpack_foreign((struct kv_span){ s->buf, s->len }) == NULL)
		return true;
	s->unpack.why = "packed in a form that keyveto does not read: unpack "
			"it first";
	return false;
}

/* False after a message. */
static bool
read_stream(struct log_keys *k, int fd, const char *path)
{
	static struct stream s;
	bool ok;

	s = (struct stream){ .unpack.fd = fd };
	ok = begin_stream(&s);
	while (ok) {
		read_lines(k, &s);
		if (s.eof)
			break;
		ok = read_on(&s);
	}
	if (!ok && s.unpack.why != NULL)
		cli_error("%s: %s", path, s.unpack.why);
	else if (!ok)
		cli_failed(path, "cannot be read");
	unpack_free(&s.unpack);
	return ok;
}

bool
log_keys_read(struct log_keys *k, const char *path)
{
	const bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO :
			    open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	bool ok;

	if (fd == -1)
		return cli_failed(path, "cannot be read");
	ok = read_stream(k, fd, path);
	if (!standard)
		close(fd);
	return ok;
}

/* journalctl ends with 1 if no entry matches. */
static bool
read_journal(struct log_keys *k)
{
	static const char *const argv[] = { JOURNALCTL, "--quiet", "--no-pager",
		"--output=cat", "--grep=verdict=listed", NULL };
	struct program p = { .argv = argv, .dies_with_us = true };
	struct program_process process;
	int out[2], status = 0, error;
	bool ok;

	if (pipe2(out, O_CLOEXEC) == -1)
		return cli_failed(JOURNALCTL, "cannot be started");
	program_fds(&p, PROGRAM_NULL, out[1], STDERR_FILENO);
	if (!program_start(&p, &process)) {
		close(out[0]);
		close(out[1]);
		return cli_failed(JOURNALCTL, "cannot be started");
	}
	close(out[1]);
	ok = read_stream(k, out[0], JOURNALCTL);
	close(out[0]);
	error = program_wait(&process, &status);
	if (error == 0 && WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		return ok;
	cli_error(JOURNALCTL ": %s; name the file of the log",
	    error != 0 ? strerror(error) : "fails");
	return false;
}

bool
log_keys_read_all(struct log_keys *k)
{
	static const char *const files[] = { "/var/log/auth.log",
		"/var/log/secure" };
	bool any = false, ok = true;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (access(files[i], F_OK) == -1)
			continue;
		any = true;
		ok = log_keys_read(k, files[i]) && ok;
	}
	if (access(JOURNALCTL, X_OK) == 0 &&
	    (access("/run/log/journal", F_OK) == 0 ||
		access("/var/log/journal", F_OK) == 0)) {
		any = true;
		ok = read_journal(k) && ok;
	}
	if (!any)
		cli_error("there is no journal, no /var/log/auth.log and no "
			  "/var/log/secure: name the file of the log");
	return any && ok;
}

static void
free_nothing(void *key)
{
	(void)key;
}

void
log_keys_free(struct log_keys *k)
{
	tdestroy(k->by_digest, free_nothing);
	for (size_t i = 0; i < k->n; i++)
		free(k->v[i]);
	free(k->v);
	*k = (struct log_keys){ .n = 0 };
}
