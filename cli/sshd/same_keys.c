/* SPDX-License-Identifier: ISC */
/*
 * sshd/same_keys: whether sshd gets the same keys for each account with
 * keyveto's lines as without them.
 */
#include "sshd/reasons.h"

#include <sys/wait.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/become.h"
#include "host/child.h"
#include "kv_wildcards.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"
#include "upkeep/administrators.h"

struct same_keys {
	const struct sshd_options *o;
	const struct sshd_tryout *tryout;
	struct sshd_copy *base, *next; /* without and with our lines */
	bool wildcards;		       /* sshd is 10.0 or later */
};

/* sshd's settings for accounts that Match blocks cannot tell apart. */
struct kind {
	struct sshd_settings *base, *next; /* without and with our lines */
};

struct reading {
	const struct account *account;
	struct kv_account kv; /* the same account */
	const struct sshd_settings *settings;
	enum kv_strictmodes strictmodes;
	bool wildcards; /* sshd expands wildcards in file names */
	SHA2_CTX hash;
	bool unfinished; /* the last file did not end with a line end */
};

enum { FILES_READ = 1, FILES_UNKNOWN };

/* How the reading of an account's files ended. */
enum digested {
	NOT_POSSIBLE, /* sshd cannot read them either, or there is no process */
	NO_ANSWER,    /* in time; or the account has killed the process */
	DIGESTED
};

/*
 * Hashes a file. Skips one that is missing or that StrictModes refuses, as sshd
 * does. Puts a newline between two files where the first has none at its end,
 * as the guard does. Like sshd, takes a read error for the end.
 */
static bool
hash_file(const char *path, void *arg)
{
	static uint8_t buf[64 * 1024];
	struct reading *r = arg;
	char why[KV_USERFILE_WHY_BYTES];
	off_t at = 0;
	ssize_t n;
	int fd;

	if (kv_userfile_open(path, &r->kv, r->strictmodes, &fd, why) != KV_OK)
		return true;
	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		if (at == 0 && r->unfinished)
			SHA256Update(&r->hash, (const uint8_t *)"\n", 1);
		SHA256Update(&r->hash, buf, (size_t)n);
		r->unfinished = buf[n - 1] != '\n';
		at += n;
	}
	close(fd);
	return true;
}

static void
send_unknown(struct record_out *out)
{
	record_begin(out, FILES_UNKNOWN);
	record_end(out);
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

	if (!become_account(a->name, a->uid, a->gid)) {
		send_unknown(out);
		return;
	}
	child_die_with_parent();
	SHA256Init(&r->hash);
	for (size_t i = 0; i < r->settings->n_patterns; i++) {
		/* sshd ends the login: there is no hash to compare. */
		if (kv_userfile_expand(r->settings->pattern[i], &r->kv, path,
			sizeof(path)) != KV_OK) {
			send_unknown(out);
			return;
		}
		if (r->wildcards)
			(void)!kv_wildcards_find(path, hash_file, r, &error);
		else
			(void)hash_file(path, r);
	}
	SHA256Final(digest, &r->hash);
	record_send(out, FILES_READ, R_BYTES(digest));
}

/* Sets digest to the SHA-256 of what sshd reads from the files by settings. */
static enum digested
digest_files(const struct same_keys *s, const struct account *account,
    const struct sshd_settings *settings,
    uint8_t digest[static SHA256_DIGEST_LENGTH])
{
	struct reading r = {
		.account = account,
		.kv = {
			.name = account->name,
			.uid = account->uid,
			.home = account->home,
		},
		.settings = settings,
		.strictmodes = settings->strictmodes ? KV_STRICTMODES_DEFAULT :
						       KV_STRICTMODES_NO,
		.wildcards = s->wildcards,
	};
	struct record_in in = { 0 };
	struct kv_bytes payload;
	struct kv_span bytes;
	struct pollfd p = { .events = POLLIN };
	enum digested result = NO_ANSWER;
	struct child c;
	uint8_t tag;
	bool bad;

	if (!child_start(&c, read_files, &r))
		return NOT_POSSIBLE;
	p.fd = c.fd;
	while (poll(&p, 1, (int)s->o->timeout * 1000) == 1 &&
	    record_fill(&in, c.fd) > 0)
		;
	if (record_next(&in, &tag, &payload, &bad)) {
		result = NOT_POSSIBLE;
		if (tag == FILES_READ &&
		    kv_bytes_get_string(&payload, &bytes) == KV_OK &&
		    bytes.len == SHA256_DIGEST_LENGTH) {
			memcpy(digest, bytes.p, SHA256_DIGEST_LENGTH);
			result = DIGESTED;
		}
	}
	record_in_free(&in);
	/* It may wait for a dead file server; the account may stop it. */
	child_kill(&c);
	return result;
}

/*
 * For an account that keeps its files from being read. Whether the account may
 * be left out; if not, adds to why what can be done.
 */
static bool
leave_out(const struct same_keys *s, const struct account *account, char *why,
    size_t cap)
{
	const bool spared = administrators_has_any(account);
	static const char advice[] =
	    "; if a file system that it has mounted itself gives no answer: "
	    "umount -l PLACE";
	const size_t n = strlen(why);

	if (!spared && (s->o->yes || s->o->dry_run)) {
		cli_error("note: %s: left out, since %s%s", account->name, why,
		    advice);
		return true;
	}
	snprintf(why + n, cap - n,
	    spared ? "%s" : "%s; --yes goes on without this account", advice);
	return false;
}

static bool
run_keys_command(const struct same_keys *s,
    const struct sshd_settings *settings, const struct account *account,
    struct sshd_output *out, char *why, size_t cap)
{
	return sshd_tryout_command(s->tryout, settings->keys_command,
	    settings->keys_user, account, out, why, cap);
}

/* Whether the guard prints the files that sshd reads now. */
static bool
files_are_same(const struct same_keys *s, const struct kind *k,
    const struct account *account, char *why, size_t cap)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	enum digested digested;
	struct sshd_output out;

	digested = digest_files(s, account, k->base, digest);
	if (digested != DIGESTED) {
		snprintf(why, cap,
		    "its authorized keys files cannot be read as sshd reads "
		    "them");
		return digested == NO_ANSWER && leave_out(s, account, why, cap);
	}
	if (!run_keys_command(s, k->next, account, &out, why, cap))
		return out.late && leave_out(s, account, why, cap);
	/* The guard has become the account, which may have killed it. */
	if (WIFSIGNALED(out.status)) {
		snprintf(why, cap, "the guard was killed");
		return leave_out(s, account, why, cap);
	}
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
outputs_are_same(const struct same_keys *s, const struct kind *k,
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

/* Whether sshd gets the same keys for an account; if not, why says why not. */
static bool
account_is_same(const struct same_keys *s, const struct kind *k,
    const struct account *account, char *why, size_t cap)
{
	const char *was = k->base->keys_command, *is = k->next->keys_command;
	const bool same_files = strcmp(k->base->keys_files,
				    k->next->keys_files) == 0;
	const bool same_user = strcmp(k->base->keys_user, k->next->keys_user) ==
	    0;
	const char *args;

	/* sshd gets the same keys by the same settings. */
	if (same_files && strcmp(was, is) == 0 &&
	    (sshd_words_none(is) || same_user))
		return true;
	/* sshd 10.6 leaves the line out where AuthorizedKeysFile is none. */
	if (!guard_command(is, &args))
		snprintf(why, cap,
		    "with keyveto's lines sshd would take the account's keys "
		    "from another place: AuthorizedKeysCommand %.500s",
		    is);
	else if (sshd_words_none(was) && !guard_chained(args) &&
	    sshd_words_none(k->next->keys_files))
		return files_are_same(s, k, account, why, cap);
	else if (guard_chained(args) && same_files && same_user)
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
ask_settings(const struct same_keys *s, const char *name, struct kind *k)
{
	char *base = sshd_ask_copy(s->o, s->base, name);
	char *next = base != NULL ? sshd_ask_copy(s->o, s->next, name) : NULL;
	const char *change = NULL;

	if (next != NULL &&
	    (change = sshd_find_change(base, next, SSHD_KEYWORD_GUARD)) != NULL)
		cli_error("%s: sshd would go by another setting for this "
			  "account: %.*s; nothing was changed",
		    name, (int)strcspn(change, "\n"), change);
	else if (next != NULL) {
		k->base = sshd_settings_parse(base);
		k->next = sshd_settings_parse(next);
		if (k->base == NULL || k->next == NULL)
			cli_error("%s", strerror(errno));
	}
	free(base);
	free(next);
	return k->base != NULL && k->next != NULL;
}

bool
sshd_same_keys(const struct sshd_options *o, const struct sshd_tryout *t,
    struct sshd_copy *base, struct sshd_copy *next,
    const struct accounts *accounts)
{
	const struct same_keys s = {
		.o = o,
		.tryout = t,
		.base = base,
		.next = next,
		.wildcards = sshd_version_at_least(o->sshd, 10, 0),
	};
	const struct sshd sshd = { .path = o->sshd, .config = base->top };
	const size_t n = accounts->n;
	struct kind *kind = calloc(n + 1, sizeof(*kind));
	struct sshd_overview overview;
	char why[SSHD_WHY_BYTES];
	size_t *like;
	bool ok;

	sshd_overview(&sshd, &overview);
	like = sshd_match_alike(accounts, &overview.match);
	sshd_overview_free(&overview);
	ok = like != NULL && kind != NULL;
	if (!ok)
		cli_error("%s", strerror(errno));
	for (size_t i = 0; ok && i < n; i++) {
		const struct account *account = &accounts->v[i];
		struct kind *k = &kind[like[i]];

		/* The first account of a kind is asked about. */
		ok = (k->base != NULL && k->next != NULL) ||
		    ask_settings(&s, account->name, k);
		if (ok && !account_is_same(&s, k, account, why, sizeof(why))) {
			cli_error("%s: %s; nothing was changed", account->name,
			    why);
			ok = false;
		}
	}
	for (size_t i = 0; kind != NULL && i < n; i++) {
		sshd_settings_free(kind[i].base);
		sshd_settings_free(kind[i].next);
	}
	free(kind);
	free(like);
	return ok;
}
