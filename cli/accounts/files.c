/* SPDX-License-Identifier: ISC */
#include "accounts/files.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounts/revoked.h"
#include "accounts/way_in.h"
#include "host/become.h"
#include "host/child.h"
#include "host/fuse_mounts.h"
#include "host/groups.h"
#include "base/io.h"
#include "host/mounts.h"
#include "host/private_groups.h"
#include "host/root_file.h"
#include "kv_lines.h"
#include "kv_wildcards.h"

#define READERS_MAX 16
/* sshd is never offered a key as long as this. */
#define LINE_BYTES (256 * 1024)

/* How often one account's keys are looked up in RevokedKeys. */
#define REVOKED_MAX 64

#define INVALID_DATA "the process that read its files sent invalid data"
#define TOO_LONG "reading its files took too long (--timeout)"

enum tag {
	TAG_FILE = 1, /* path */
	TAG_KEY,      /* path, line, part, blob, comment, ways, sure, expired */
	TAG_PROBLEM,  /* path, line, reason */
	TAG_UNKNOWN_TYPE, /* path, line, name, ways, sure */
	TAG_NOTE,	  /* text */
	TAG_END,	  /* "": no more of this account */
};

/* What all readers know. */
struct reading {
	const struct audit_readers *a;
	struct groups groups;
	const uint8_t *private_group; /* of each account; may be NULL */
	size_t readers;
};

/*
 * A process that reads the files of one account after the other. With n readers
 * it takes every nth account, from first on.
 */
struct reader {
	const struct reading *all;
	size_t first; /* account */
	struct record_in in;
	struct child child;
	int error; /* errno, if there is no child */
	/* Only in the child. */
	bool for_good; /* the process has become the account for good */
	bool insecure; /* sshd does not use the file that is read */
	struct record_out *out;
	size_t place;			     /* of the account */
	const struct audit_pattern *pattern; /* that is read */
	struct mounts mounts;
	const char *mount; /* that is missing, and was reported */
	int64_t now;
	struct kv_account kv;
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

/* Adds the ways in by a key, and those that are sure. */
static void
add_ways_to_record(const struct reader *r, const struct kv_line *line)
{
	const uint64_t ways = r->pattern->ways;
	/* sshd compares no certificate with the key that a client has. */
	const bool sure = !r->insecure && !line->key.is_cert &&
	    way_in_options(line->options, r->now);

	record_add_number(r->out, ways);
	record_add_number(r->out, sure ? ways : 0);
}

static void
read_line(const struct reader *r, const char *path, uint64_t number,
    struct kv_span text)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	struct kv_line line;
	enum kv_err err = kv_line_parse(text, blob, sizeof(blob), &line);

	if (err == KV_OK && line.is_blank)
		return;
	if (err == KV_OK) {
		begin_record(r, TAG_KEY, path);
		record_add_number(r->out, number);
		record_add_number(r->out,
		    kv_line_has_option(line.options, "cert-authority") ?
			KV_PART_CA :
			KV_PART_KEY);
		record_add_bytes(r->out, line.blob.p, line.blob.len);
		record_add_bytes(r->out, line.comment.p, line.comment.len);
		add_ways_to_record(r, &line);
		record_add_number(r->out,
		    way_in_has_expired(line.options, r->now));
		record_end(r->out);
	} else if (err == KV_ERR_TYPE_UNKNOWN && line.type.len > 0 &&
	    kv_keyname_find(line.type) == NULL) {
		begin_record(r, TAG_UNKNOWN_TYPE, path);
		record_add_number(r->out, number);
		record_add_bytes(r->out, line.type.p, line.type.len);
		add_ways_to_record(r, &line);
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
 * After a change of the effective uid, the kernel forgets both. The core dump
 * has what the account's files have.
 */
static void
stay_private(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	child_die_with_parent();
}

/*
 * Calls read(r, path) in a process that becomes the account for good, as the
 * guard does. This is for files that read(r, path) could not open here: FUSE
 * lets a process in only if its real uid and gid, too, are the account's. False
 * if there can be no such process.
 */
static bool
read_for_good(const struct reader *r,
    void (*read)(const struct reader *r, const char *path), const char *path)
{
	const struct account *a = &r->all->a->accounts->v[r->place];
	struct reader own = *r;
	int status = 0;
	pid_t pid;

	if (r->for_good || getuid() != 0 || a->uid == 0)
		return false;
	record_flush(r->out);
	if ((pid = fork()) == -1)
		return false;
	if (pid == 0) {
		own.for_good = true;
		if (!become_root_again() ||
		    !groups_set(&r->all->groups, r->place, a) ||
		    !become_ids(a->uid, a->gid))
			_exit(1);
		stay_private();
		read(&own, path);
		record_flush(r->out);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	if (status != 0)
		send_problem(r, path, 0, "the process that read it was killed");
	return true;
}

/* Reports that autofs did not mount the file system of a missing file. */
static void
report_awaited_mount(const struct reader *r, const char *path)
{
	if (mounts_awaits(&r->mounts, path))
		send_problem(r, path, 0,
		    "autofs has mounted no file system for it");
}

/*
 * Reads files that sshd refuses for their mode or owner, too: a listed key in
 * them would be let in as soon as somebody corrects the mode.
 */
static void
read_file(const struct reader *r, const char *path)
{
	struct reader its = *r;
	char why[KV_USERFILE_WHY_BYTES];
	struct stat st;
	enum kv_err err;
	int fd;

	err = kv_userfile_open(path, &r->kv, r->pattern->strictmodes, &fd, why);
	its.insecure = err == KV_ERR_INSECURE;
	if (its.insecure) {
		begin_record(r, TAG_NOTE, why);
		record_end(r->out);
		err = kv_userfile_open(path, &r->kv, KV_STRICTMODES_NO, &fd,
		    why);
	}
	/* A file that does not exist has no keys. */
	if (err == KV_ERR_SYSTEM && (errno == ENOENT || errno == ENOTDIR)) {
		/* Somebody meant a link to be a file. */
		if (lstat(path, &st) == 0)
			send_problem(r, path, 0, "symbolic link to nothing");
		else
			report_awaited_mount(r, path);
	} else if (err == KV_ERR_SYSTEM) {
		const int error = errno;

		if (error != EACCES || !read_for_good(r, read_file, path))
			send_problem(r, path, 0, strerror(error));
	} else if (err != KV_OK)
		send_problem(r, path, 0, kv_strerror(err));
	else {
		begin_record(r, TAG_FILE, path);
		record_end(r->out);
		read_lines(&its, fd, path);
		close(fd);
	}
}

struct found_files {
	const struct reader *r;
	size_t n;
};

static bool
read_found_file(const char *path, void *arg)
{
	struct found_files *found = arg;

	found->n++;
	read_file(found->r, path);
	return true;
}

/* Since 10.0 sshd expands wildcards in a pattern. */
static void
read_found_files(const struct reader *r, const char *path)
{
	struct found_files found = { .r = r };
	int error = 0;
	enum kv_err err;

	err = kv_wildcards_find(path, read_found_file, &found, &error);
	if (err != KV_OK)
		send_problem(r, path, 0, kv_strerror(err));
	else if (error != 0 &&
	    (error != EACCES || found.n > 0 ||
		!read_for_good(r, read_found_files, path)))
		send_problem(r, path, 0, strerror(error));
	else if (error == 0 && found.n == 0)
		report_awaited_mount(r, path);
}

/* Reports that the file system of a file is not mounted, once for each. */
static void
report_missing_mount(struct reader *r, const char *path)
{
	const char *mount = mounts_missing(&r->mounts, path);
	char reason[PATH_MAX + 64];

	if (mount == NULL || mount == r->mount)
		return;
	r->mount = mount;
	snprintf(reason, sizeof(reason),
	    "%s is in /etc/fstab, and is not mounted", mount);
	send_problem(r, path, 0, reason);
}

static void
read_pattern(struct reader *r)
{
	const char *pattern = r->pattern->text;
	char path[PATH_MAX];
	enum kv_err err;

	err = kv_userfile_expand(pattern, &r->kv, path, sizeof(path));
	if (err != KV_OK)
		send_problem(r, pattern, 0,
		    err == KV_ERR_CONFIG ?
			"AuthorizedKeysFile has a token unknown to keyveto" :
			"path of the authorized keys file is too long");
	else {
		report_missing_mount(r, path);
		if (kv_wildcards_apply(r->pattern->wildcards, pattern))
			read_found_files(r, path);
		else
			read_file(r, path);
	}
}

static void
read_patterns(struct reader *r, const struct audit_policy *policy)
{
	for (size_t i = 0; i < policy->n_patterns; i++) {
		r->pattern = &policy->pattern[i];
		read_pattern(r);
	}
}

static void
read_account(struct reader *r, size_t place)
{
	const struct reading *all = r->all;
	const struct account *a = &all->a->accounts->v[place];
	const bool root = geteuid() == 0;

	r->place = place;
	r->mount = NULL;
	r->now = time(NULL);
	r->kv = (struct kv_account){
		.name = a->name,
		.uid = a->uid,
		.home = a->home,
		.gid = a->gid,
	};
	if (all->private_group != NULL)
		r->kv.private_group = all->private_group[place];
	if (root &&
	    !(groups_set(&all->groups, place, a) &&
		become_ids_for_now(a->uid, a->gid)))
		send_problem(r, a->name, 0, "cannot become this account");
	else {
		stay_private();
		read_patterns(r, all->a->policy_of[place]);
	}
	if (root && !become_root_again())
		_exit(1);
	stay_private();
}

static void
read_accounts(struct record_out *out, void *arg)
{
	const struct rlimit none = { 0, 0 };
	struct reader *r = arg;
	const struct audit_readers *a = r->all->a;
	/* Links and groups are then those of that machine, too. */
	const bool entered = *a->root == '\0' || root_enter(a->root);

	r->out = out;
	(void)setrlimit(RLIMIT_CORE, &none);
	if (*a->root == '\0')
		mounts_read(&r->mounts);
	for (size_t i = r->first; i < a->accounts->n; i += r->all->readers) {
		if (entered)
			read_account(r, i);
		else
			send_problem(r, a->root, 0,
			    "cannot become the root directory");
		begin_record(r, TAG_END, "");
		record_end(out);
		record_flush(out);
	}
	mounts_free(&r->mounts);
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

/* Reads the ways in of a key, and those that are sure. */
static enum kv_err
get_ways(struct kv_bytes *b, uint64_t *ways, uint64_t *sure)
{
	enum kv_err r;

	if ((r = record_get_number(b, ways)) == KV_OK)
		r = record_get_number(b, sure);
	return r;
}

/* Keeps a key that may be revoked. Without memory it is left out. */
static void
add_candidate(struct audit_found *found, struct kv_span blob, uint64_t ways)
{
	struct audit_candidate *c = &found->candidate[found->n_candidates];

	if (ways == 0 || blob.len == 0 ||
	    found->n_candidates == AUDIT_CANDIDATES_MAX ||
	    (c->blob = malloc(blob.len)) == NULL)
		return;
	memcpy(c->blob, blob.p, blob.len);
	c->len = blob.len;
	c->ways = ways;
	found->n_candidates++;
}

/*
 * Adds the ways in by a key to found. sure are those on which nothing in its
 * line stands against it. An empty blob: of an unknown type.
 */
static void
add_sure_ways(struct audit_found *found, uint64_t sure, const char *type,
    unsigned int bits, struct kv_span blob)
{
	const struct audit_policy *policy = found->policy;
	uint64_t revocable = 0;

	/* Those that found has need no second key. */
	sure &= ~found->sure;
	for (size_t i = 0; sure != 0 && i < policy->n_ways; i++) {
		const struct audit_way *way = &policy->way[i];
		const uint64_t bit = (uint64_t)1 << i;

		if ((sure & bit) == 0 ||
		    !way_in_accepts(way->settings, type, bits))
			continue;
		*(way->revokes ? &revocable : &found->sure) |= bit;
	}
	add_candidate(found, blob, revocable);
}

/*
 * Adds the ways on which sshd may let a refused key in: RevokedKeys do not have
 * it. found->checked bounds the time that an account's many keys may take.
 */
static void
add_lost(struct audit_found *found, uint64_t ways, struct kv_span blob)
{
	const struct audit_policy *policy = found->policy;

	ways &= ~found->lost;
	for (size_t i = 0; ways != 0 && i < policy->n_ways; i++) {
		const struct audit_way *way = &policy->way[i];

		if ((ways >> i & 1) == 0)
			continue;
		/* Below another root, the RevokedKeys are of another machine. */
		if (way->doubtful || !way->revokes || *found->root != '\0' ||
		    found->checked >= REVOKED_MAX) {
			found->lost |= (uint64_t)1 << i;
			continue;
		}
		found->checked++;
		if (!revoked_has(way->settings, blob, false))
			found->lost |= (uint64_t)1 << i;
	}
}

static enum kv_err
parse_key(struct kv_bytes *b, const char *path, struct report *report,
    struct audit_found *found)
{
	const struct report before = *report;
	struct input_key key = { .path = path };
	struct kv_sshkey parsed;
	struct kv_span blob;
	uint64_t part, ways, sure, expired;
	enum kv_err r;

	if ((r = record_get_number(b, &key.line)) != KV_OK ||
	    (r = record_get_number(b, &part)) != KV_OK ||
	    (r = kv_bytes_get_string(b, &blob)) != KV_OK ||
	    (r = kv_bytes_get_string(b, &key.comment)) != KV_OK ||
	    (r = get_ways(b, &ways, &sure)) != KV_OK ||
	    (r = record_get_number(b, &expired)) != KV_OK ||
	    (r = kv_sshkey_parse(blob.p, blob.len, &parsed)) != KV_OK)
		return r;
	key.part = part == KV_PART_CA ? KV_PART_CA : KV_PART_KEY;
	key.key = parsed.key;
	key.type = kv_keytype_name(parsed.key.type);
	key.bits = kv_pubkey_bits(&parsed.key);
	report_key(report, &key);
	if (parsed.is_cert) {
		key.part = KV_PART_CA;
		key.key = parsed.ca;
		key.type = kv_keytype_name(parsed.ca.type);
		key.bits = kv_pubkey_bits(&parsed.ca);
		report_key(report, &key);
		/* One of its keys alone lets nobody in. */
		report->usable = before.usable +
		    (report->usable - before.usable == 2);
	}
	if (report->refused > before.refused)
		found->refused |= ways;
	if (report->usable > before.usable)
		add_sure_ways(found, sure, key.type, key.bits, blob);
	if (report->refused > before.refused && expired == 0)
		add_lost(found, ways, blob);
	return KV_OK;
}

static enum kv_err
parse_problem(struct kv_bytes *b, const char *path, struct report *report)
{
	char text[1024];
	struct input_problem p = { .path = path, .reason = text };
	enum kv_err r;

	if ((r = record_get_number(b, &p.line)) != KV_OK ||
	    (r = get_text(b, text, sizeof(text))) != KV_OK)
		return r;
	report_problem(report, &p);
	return KV_OK;
}

static enum kv_err
parse_unknown_type(struct kv_bytes *b, const char *path, struct report *report,
    struct audit_found *found)
{
	char type[1024];
	struct input_problem p = {
		.path = path,
		.unknown_type = true,
		.type = type,
		.reason = kv_strerror(KV_ERR_TYPE_UNKNOWN),
	};
	const uint64_t refused = report->refused;
	uint64_t ways, sure;
	enum kv_err r;

	if ((r = record_get_number(b, &p.line)) != KV_OK ||
	    (r = get_text(b, type, sizeof(type))) != KV_OK ||
	    (r = get_ways(b, &ways, &sure)) != KV_OK)
		return r;
	report_problem(report, &p);
	/* Such a key has no blob to look for in RevokedKeys. */
	if (report->refused > refused) {
		found->refused |= ways;
		found->lost |= ways;
	}
	if (report->judge->config.on_unsupported != KV_ACTION_DENY)
		add_sure_ways(found, sure, type, 0, (struct kv_span){ 0 });
	return KV_OK;
}

/* Reports what a record of a reader says. */
static enum kv_err
parse_record(uint8_t tag, struct kv_bytes *b, struct report *report,
    struct audit_found *found)
{
	char path[PATH_MAX];
	enum kv_err r;

	if ((r = get_text(b, path, sizeof(path))) != KV_OK)
		return r;
	switch (tag) {
	case TAG_FILE:
		report->files++;
		return KV_OK;
	case TAG_KEY:
		return parse_key(b, path, report, found);
	case TAG_PROBLEM:
		return parse_problem(b, path, report);
	case TAG_UNKNOWN_TYPE:
		return parse_unknown_type(b, path, report, found);
	case TAG_NOTE:
		if (!report->quiet)
			cli_error("note: %s: sshd does not use this file; its "
				  "keys are audited all the same",
			    path);
		return KV_OK;
	}
	return KV_ERR_INTERNAL;
}

/*
 * Reports all records about one account. Returns NULL at their end, else what
 * went wrong.
 */
static const char *
parse_records(struct reader *reader, int64_t deadline, struct report *report,
    struct audit_found *found)
{
	struct kv_bytes payload;
	uint8_t tag;
	bool bad;
	ssize_t n;

	for (;;) {
		while (record_next(&reader->in, &tag, &payload, &bad)) {
			if (tag == TAG_END)
				return NULL;
			if (parse_record(tag, &payload, report, found) != KV_OK)
				return INVALID_DATA;
		}
		if (bad)
			return INVALID_DATA;
		if (!io_wait(reader->child.fd, deadline))
			return TOO_LONG;
		if ((n = record_fill(&reader->in, reader->child.fd)) == -1)
			return strerror(errno);
		if (n == 0)
			return "the process that read its files was killed";
	}
}

/* The reader's first account is at this place. */
static void
start_reader(struct reader *reader, const struct reading *all, size_t place)
{
	*reader = (struct reader){ .all = all, .first = place };
	if (!child_start(&reader->child, read_accounts, reader))
		reader->error = errno;
}

static void
kill_reader(struct reader *reader)
{
	if (reader->child.pid != -1)
		child_kill(&reader->child);
	record_in_free(&reader->in);
}

/* Adds to TOO_LONG how to take away a file system that gives no answer. */
static const char *
add_remedy(const struct account *account, const char *root)
{
	static char reason[sizeof(TOO_LONG) + FUSE_MOUNTS_REMEDY_BYTES + 64];
	char remedy[FUSE_MOUNTS_REMEDY_BYTES] = "";

	/* Below another root, the account is another machine's. */
	if (*root == '\0')
		fuse_mounts_remedy(account, remedy);
	if (remedy[0] == '\0')
		return TOO_LONG;
	snprintf(reason, sizeof(reason),
	    TOO_LONG "; if a file system of its own gives no answer: %s",
	    remedy);
	return reason;
}

/* Reports what a reader found of an account. */
static void
report_account(struct reader *reader, struct report *report,
    struct audit_found *found)
{
	const struct audit_readers *a = reader->all->a;
	struct input_problem p = { .path = found->account->name };

	p.reason = reader->child.pid == -1 ?
	    strerror(reader->error) :
	    parse_records(reader, io_deadline(a->timeout), report, found);
	if (p.reason == NULL)
		return;
	if (strcmp(p.reason, TOO_LONG) == 0)
		p.reason = add_remedy(found->account, a->root);
	/* Another one goes on with the next account. */
	kill_reader(reader);
	report_problem(report, &p);
}

/* How many readers run at a time. */
static size_t
count_readers(void)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return processors >= READERS_MAX ? READERS_MAX :
	    processors > 2		 ? (size_t)processors + 1 :
					   3;
}

/* See private_groups_read. */
static uint8_t *
find_private_groups(const struct audit_readers *a)
{
	/* A single account costs less without the table. */
	for (size_t i = 0; a->accounts->n > 1 && i < a->accounts->n; i++) {
		const struct audit_policy *policy = a->policy_of[i];

		for (size_t k = 0; k < policy->n_patterns; k++)
			if (policy->pattern[k].strictmodes ==
			    KV_STRICTMODES_PRIVATE_GROUP)
				return private_groups_read(a->root,
				    a->accounts);
	}
	return NULL;
}

/*
 * Several readers run at a time; each blocks when its pipe is full. So findings
 * come in the order of the accounts, and are not stored.
 */
bool
audit_accounts(struct report *r, const struct audit_readers *a,
    bool (*done)(const struct audit_found *found, void *arg), void *arg)
{
	const size_t n = a->accounts->n, readers = count_readers();
	uint8_t *private = find_private_groups(a);
	struct reading all = {
		.a = a,
		.private_group = private,
		.readers = readers,
	};
	struct reader reader[READERS_MAX];
	bool ok = true;

	for (size_t i = 0; i < readers; i++)
		reader[i] = (struct reader){ .child = { .pid = -1 } };
	groups_read(&all.groups, a->root, a->accounts, false);
	for (size_t i = 0; ok && i < n; i++) {
		struct audit_found found = {
			.account = &a->accounts->v[i],
			.policy = a->policy_of[i],
			.root = a->root,
			.before = *r,
		};

		for (size_t j = i; j < n && j - i < readers; j++)
			if (reader[j % readers].child.pid == -1)
				start_reader(&reader[j % readers], &all, j);
		r->account = found.account->name;
		report_account(&reader[i % readers], r, &found);
		r->account = NULL;
		found.after = *r;
		ok = done(&found, arg);
		for (size_t k = 0; k < found.n_candidates; k++)
			free(found.candidate[k].blob);
	}
	/* Those that have no more accounts end. */
	for (size_t i = 0; i < readers; i++) {
		if (ok && reader[i].child.pid != -1)
			(void)child_wait(&reader[i].child);
		else
			kill_reader(&reader[i]);
		record_in_free(&reader[i].in);
	}
	free(private);
	groups_free(&all.groups);
	return ok;
}

static void
on_key(const struct input_key *key, void *report)
{
	report_key(report, key);
}

static void
on_problem(const struct input_problem *problem, void *report)
{
	report_problem(report, problem);
}

static void
on_file(const char *path, void *report)
{
	struct report *r = report;

	(void)path;
	r->files++;
}

struct input_sink
audit_sink(struct report *r)
{
	return (struct input_sink){
		.key = on_key,
		.problem = on_problem,
		.file = on_file,
		.arg = r,
		.plain = true,
	};
}

static void
on_ca_key(const struct input_key *key, void *arg)
{
	struct input_key ca = *key;

	ca.part = KV_PART_CA;
	report_key(arg, &ca);
}

/* Whether an earlier policy, or this one before its CAs' place i, has it. */
static bool
has_user_ca(const struct audit_policies *policies, size_t policy, size_t i)
{
	const char *path = policies->v[policy]->user_ca[i];

	for (size_t p = 0; p <= policy; p++) {
		const struct audit_policy *other = policies->v[p];
		const size_t n = p < policy ? other->n_user_cas : i;

		for (size_t k = 0; k < n; k++)
			if (strcmp(other->user_ca[k], path) == 0)
				return true;
	}
	return false;
}

static void
audit_user_ca(struct report *r, const char *path, const char *root,
    bool absent_is_problem)
{
	struct input_problem problem = { .path = path };
	struct input_sink sink = audit_sink(r);
	int fd;

	sink.key = on_ca_key;
	if ((fd = root_open(root, path, O_RDONLY)) != -1) {
		input_read_fd(fd, path, &sink);
		close(fd);
	} else if (errno != ENOENT || absent_is_problem) {
		problem.reason = strerror(errno);
		report_problem(r, &problem);
	}
}

void
audit_user_cas(struct report *r, const struct audit_policies *policies,
    const char *root, bool absent_is_problem)
{
	for (size_t i = 0; i < policies->n; i++) {
		const struct audit_policy *policy = policies->v[i];

		for (size_t k = 0; k < policy->n_user_cas; k++)
			if (!has_user_ca(policies, i, k))
				audit_user_ca(r, policy->user_ca[k], root,
				    absent_is_problem);
	}
}
