/* SPDX-License-Identifier: ISC */
#include "sshd/same_keys.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "host/become.h"
#include "host/child.h"
#include "kv_line.h"
#include "kv_lines.h"
#include "kv_wildcards.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/version.h"
#include "sshd_config/words.h"

#define LINE_BYTES (256 * 1024)

/* "sshd -T" for accounts that Match blocks cannot tell apart. */
struct kind {
	char *base, *next; /* without and with keyveto's lines */
};

/* Whether keyveto may change this line of "sshd -T". */
static bool
is_guards_keyword(const char *line)
{
	static const char *const keywords[] = {
		"authorizedkeysfile ",
		"authorizedkeyscommand ",
		"authorizedkeyscommanduser ",
		"authorizedprincipalscommand ",
		"authorizedprincipalscommanduser ",
		"hostkey ",
	};

	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (strncasecmp(line, keywords[i], strlen(keywords[i])) == 0)
			return true;
	return false;
}

static const char *
skip_guards_lines(const char *text)
{
	while (*text != '\0' && is_guards_keyword(text)) {
		text += strcspn(text, "\n");
		text += *text != '\0';
	}
	return text;
}

/*
 * The first line of base that differs in next, except those that keyveto may
 * change. NULL if there is none.
 */
static const char *
find_other_change(const char *base, const char *next)
{
	for (;;) {
		size_t n;

		base = skip_guards_lines(base);
		next = skip_guards_lines(next);
		n = strcspn(base, "\n");
		if (n != strcspn(next, "\n") || memcmp(base, next, n) != 0)
			return base;
		if (*base == '\0')
			return NULL;
		base += n + (base[n] != '\0');
		next += n + (next[n] != '\0');
	}
}

struct reading {
	const struct account *account;
	struct kv_account kv; /* the same account */
	const struct sshd_settings *settings;
	enum kv_strictmodes strictmodes;
	bool wildcards; /* sshd expands wildcards in file names */
	SHA2_CTX hash;
	bool unfinished; /* the last file did not end with a line end */
	bool ca_line;
};

enum { FILES_READ = 1 };

/*
 * Hashes a file. Puts a newline between two files where the first has none at
 * its end, as the guard does. Like sshd, takes a read error for the end.
 */
static void
hash_file(struct reading *r, int fd)
{
	static uint8_t buf[64 * 1024];
	bool empty = true;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		if (empty && r->unfinished)
			SHA256Update(&r->hash, (const uint8_t *)"\n", 1);
		SHA256Update(&r->hash, buf, (size_t)n);
		empty = false;
		r->unfinished = buf[n - 1] != '\n';
		at += n;
	}
}

static bool
has_ca_line(int fd)
{
	static uint8_t buf[LINE_BYTES], blob[KV_BLOB_MAX_BYTES];
	struct kv_lines lines;
	struct kv_span text;
	struct kv_line line;
	bool more = true, found = false;
	enum kv_err r;

	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while (more && !found) {
		r = kv_lines_next(&lines, &text, &more);
		if (r == KV_ERR_SYSTEM)
			break;
		/* A line that is too long to parse may be one. */
		found = r != KV_OK ||
		    (more &&
			kv_line_parse(text, blob, sizeof(blob), &line) ==
			    KV_OK &&
			!line.is_blank &&
			kv_line_has_option(line.options, "cert-authority"));
	}
	return found;
}

/* Skips a file that is missing or that StrictModes refuses, as sshd does. */
static bool
read_file(const char *path, void *arg)
{
	struct reading *r = arg;
	char why[KV_USERFILE_WHY_BYTES];
	int fd;

	if (kv_userfile_open(path, &r->kv, r->strictmodes, &fd, why) != KV_OK)
		return true;
	hash_file(r, fd);
	r->ca_line |= has_ca_line(fd);
	close(fd);
	return true;
}

/* In a child: reads the files as the account, and sends their hash. */
static void
read_files(struct record_out *out, void *arg)
{
	struct reading *r = arg;
	const struct account *a = r->account;
	uint8_t digest[SHA256_DIGEST_LENGTH];
	char path[PATH_MAX];
	int error;

	if (!become_account(a->name, a->uid, a->gid))
		return;
	child_die_with_parent();
	SHA256Init(&r->hash);
	for (size_t i = 0; i < r->settings->n_patterns; i++) {
		/* sshd ends the login: there is no hash to compare. */
		if (kv_userfile_expand(r->settings->pattern[i], &r->kv, path,
			sizeof(path)) != KV_OK)
			return;
		if (r->wildcards)
			(void)!kv_wildcards_find(path, read_file, r, &error);
		else
			(void)read_file(path, r);
	}
	SHA256Final(digest, &r->hash);
	record_begin(out, FILES_READ);
	record_add_number(out, r->ca_line);
	record_add_bytes(out, digest, sizeof(digest));
	record_end(out);
}

/*
 * The SHA-256 of what sshd would read from the account's files. False with a
 * sentence in why.
 */
static bool
digest_files(const struct sshd_same_keys *s, const struct account *account,
    const char *dump, uint8_t digest[static SHA256_DIGEST_LENGTH],
    bool *ca_linep, char *why, size_t cap)
{
	struct reading r = {
		.account = account,
		.wildcards = s->wildcards,
		.kv = { account->name, account->uid, account->home },
	};
	struct sshd_settings *settings = sshd_settings_parse(dump);
	struct record_in in = { 0 };
	struct kv_bytes payload;
	struct kv_span bytes;
	uint64_t ca_line = 0;
	bool bad, ok = false;
	struct child c;
	uint8_t tag;

	if (settings == NULL) {
		snprintf(why, cap, "%s", strerror(errno));
		return false;
	}
	r.settings = settings;
	r.strictmodes = settings->strictmodes ?
	    KV_STRICTMODES_DEFAULT :
	    KV_STRICTMODES_NO;
	if (child_start(&c, read_files, &r)) {
		struct pollfd p = { .fd = c.fd, .events = POLLIN };

		while (poll(&p, 1, (int)s->o->timeout * 1000) == 1 &&
		    record_fill(&in, c.fd) > 0)
			;
		ok = record_next(&in, &tag, &payload, &bad) &&
		    tag == FILES_READ &&
		    record_get_number(&payload, &ca_line) == KV_OK &&
		    kv_bytes_get_string(&payload, &bytes) == KV_OK &&
		    bytes.len == SHA256_DIGEST_LENGTH;
		if (ok)
			memcpy(digest, bytes.p, SHA256_DIGEST_LENGTH);
		record_in_free(&in);
		/* The child may be waiting for a dead file server. */
		if (ok)
			ok = child_wait(&c) == 0;
		else
			child_kill(&c);
	}
	*ca_linep = ca_line != 0;
	if (!ok)
		snprintf(why, cap,
		    "its authorized keys files cannot be read "
		    "as sshd reads them");
	sshd_settings_free(settings);
	return ok;
}

static bool
run_keys_command(const struct sshd_same_keys *s, const char *dump,
    const struct account *account, struct sshd_output *out, char *why,
    size_t cap)
{
	char command[SSHD_VALUE_BYTES], user[SSHD_VALUE_BYTES];

	(void)sshd_text_value(dump, "authorizedkeyscommand", command,
	    sizeof(command));
	(void)sshd_text_value(dump, "authorizedkeyscommanduser", user,
	    sizeof(user));
	return sshd_tryout_command(s->tryout, command, user, account, out, why,
	    cap);
}

/* Whether the guard prints the files that sshd reads now. */
static bool
files_are_same(struct sshd_same_keys *s, const struct kind *k,
    const struct account *account, char *why, size_t cap)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	struct sshd_output out;
	bool ca_line;

	if (!digest_files(s, account, k->base, digest, &ca_line, why, cap) ||
	    !run_keys_command(s, k->next, account, &out, why, cap))
		return false;
	s->ca_lines += ca_line;
	if (out.status == 0 && memcmp(out.digest, digest, sizeof(digest)) == 0)
		return true;
	snprintf(why, cap,
	    out.status != 0 ? "the guard fails for a key that "
			      "no filter lists; the system log says why" :
			      "the guard hands out "
			      "other lines than sshd reads from the files now");
	return false;
}

/* Whether the command prints the same with the guard before it as alone. */
static bool
outputs_are_same(const struct sshd_same_keys *s, const struct kind *k,
    const struct account *account, char *why, size_t cap)
{
	struct sshd_output before, after;

	if (!run_keys_command(s, k->base, account, &before, why, cap) ||
	    !run_keys_command(s, k->next, account, &after, why, cap))
		return false;
	if (before.status == after.status &&
	    memcmp(before.digest, after.digest, sizeof(before.digest)) == 0)
		return true;
	snprintf(why, cap,
	    "AuthorizedKeysCommand prints something else behind "
	    "the guard (exit status %d, before it was %d)",
	    after.status, before.status);
	return false;
}

/* Whether a keyword has the same value with and without keyveto's lines. */
static bool
same_value(const struct kind *k, const char *keyword)
{
	char base[SSHD_VALUE_BYTES], next[SSHD_VALUE_BYTES];

	(void)sshd_text_value(k->base, keyword, base, sizeof(base));
	(void)sshd_text_value(k->next, keyword, next, sizeof(next));
	return strcmp(base, next) == 0;
}

/* Whether sshd gets the same keys for an account; if not, why says why not. */
static bool
account_is_same(struct sshd_same_keys *s, const struct kind *k,
    const struct account *account, char *why, size_t cap)
{
	char was[SSHD_VALUE_BYTES], is[SSHD_VALUE_BYTES];
	char files[SSHD_VALUE_BYTES];
	const char *args;

	/* sshd 10.6 leaves the line out where AuthorizedKeysFile is none. */
	(void)sshd_text_value(k->next, "authorizedkeysfile", files,
	    sizeof(files));
	(void)sshd_text_value(k->base, "authorizedkeyscommand", was,
	    sizeof(was));
	(void)sshd_text_value(k->next, "authorizedkeyscommand", is, sizeof(is));
	/* sshd gets the same keys by the same settings. */
	if (same_value(k, "authorizedkeysfile") && strcmp(was, is) == 0 &&
	    (sshd_words_none(is) || same_value(k, "authorizedkeyscommanduser")))
		return true;
	if (!guard_command(is, &args))
		snprintf(why, cap,
		    "with keyveto's lines sshd would take the account's keys "
		    "from another place: AuthorizedKeysCommand %.500s",
		    is);
	else if (sshd_words_none(was) && !guard_chained(args) &&
	    sshd_words_none(files))
		return files_are_same(s, k, account, why, cap);
	else if (guard_chained(args) && same_value(k, "authorizedkeysfile") &&
	    same_value(k, "authorizedkeyscommanduser"))
		return outputs_are_same(s, k, account, why, cap);
	else
		snprintf(why, cap,
		    "the guard would not stand in front of the files or the "
		    "command that sshd uses now");
	return false;
}

/*
 * Asks sshd for the settings of an account with and without keyveto's lines.
 * False after a message, also if keyveto's lines change another setting.
 */
static bool
dump_settings(const struct sshd_same_keys *s, const char *name, struct kind *k)
{
	const char *change;

	k->base = sshd_ask_copy(s->o, s->base, name);
	k->next = k->base != NULL ? sshd_ask_copy(s->o, s->next, name) : NULL;
	if (k->next == NULL)
		return false;
	if ((change = find_other_change(k->base, k->next)) == NULL)
		return true;
	cli_error("%s: sshd would go by another setting for this account: "
		  "%.*s; nothing was changed",
	    name, (int)strcspn(change, "\n"), change);
	return false;
}

static bool
compare_accounts(struct sshd_same_keys *s, const size_t *like,
    struct kind *kind)
{
	char why[SSHD_WHY_BYTES];

	for (size_t i = 0; i < s->accounts->n; i++) {
		const struct account *account = &s->accounts->v[i];

		if (like[i] == i && !dump_settings(s, account->name, &kind[i]))
			return false;
		if (account_is_same(s, &kind[like[i]], account, why,
			sizeof(why)))
			continue;
		cli_error("%s: %s; nothing was changed", account->name, why);
		return false;
	}
	return true;
}

bool
sshd_same_keys(struct sshd_same_keys *s)
{
	const struct sshd sshd = { .path = s->o->sshd, .config = s->base->top };
	const size_t n = s->accounts->n;
	struct kind *kind = calloc(n + 1, sizeof(*kind));
	struct sshd_overview overview;
	size_t *like;
	bool ok;

	s->wildcards = sshd_version_at_least(s->o->sshd, 10, 0);
	sshd_overview(&sshd, &overview);
	like = sshd_match_alike(s->accounts, &overview.match);
	sshd_overview_free(&overview);
	if (like == NULL || kind == NULL)
		cli_error("%s", strerror(errno));
	ok = like != NULL && kind != NULL && compare_accounts(s, like, kind);
	for (size_t i = 0; kind != NULL && i < n; i++) {
		free(kind[i].base);
		free(kind[i].next);
	}
	free(kind);
	free(like);
	return ok;
}
