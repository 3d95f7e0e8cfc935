/* SPDX-License-Identifier: ISC */
#include "accounts/openers.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounts/files.h"
#include "base/io.h"
#include "host/become.h"
#include "host/memory.h"
#include "host/mounts.h"
#include "kv_wildcards.h"
#include "wall/packet.h"

/* The most files of a packet: of all that are under way there is a limit. */
#define FILES_MAX 16
/* More than any record has. */
#define RECORD_BYTES (2 * PATH_MAX + 2048)

/* linux/magic.h: FUSE_SUPER_MAGIC */
#define FUSE_MAGIC 0x65735546
/* More than any file of keys has. */
#define FUSE_MAX_BYTES ((off_t)64 * 1024 * 1024)

/* Files that wait to be handed over. */
struct opener_files {
	int fd[FILES_MAX];
	size_t n;
};

/* A process that opens files, as it sees itself. */
struct opener {
	const struct audit_readers *a;
	size_t n, first; /* it opens every nth account's, from there */
	bool for_good;	 /* the process has become the account for good */
	int socket;
	struct record_out *records;
	struct opener_files *files;
	size_t place;		      /* of the account */
	struct audit_pattern pattern; /* that is opened */
	struct mounts mounts;
	const char *mount; /* that is missing, and was reported */
	struct kv_account kv;
};

/*
 * Sends what was found so far. The kernel may refuse more descriptors until
 * some of those under way have arrived.
 */
static void
send_packet(const struct opener *r)
{
	const struct timespec moment = { .tv_nsec = 1000 * 1000 };

	while (r->records->len > 0 &&
	    !packet_send(r->socket, r->records->buf, r->records->len,
		r->files->fd, r->files->n, 0)) {
		if (errno != ETOOMANYREFS)
			_exit(1);
		(void)nanosleep(&moment, NULL);
	}
	for (size_t i = 0; i < r->files->n; i++)
		close(r->files->fd[i]);
	r->files->n = 0;
	record_clear(r->records);
}

static void
begin_record(const struct opener *r, enum opener_tag tag, const char *path)
{
	if (r->files->n == FILES_MAX ||
	    r->records->len > READING_PACKET_BYTES - RECORD_BYTES)
		send_packet(r);
	record_begin(r->records, (uint8_t)tag);
	record_add_text(r->records, path);
}

static void
send_path(const struct opener *r, enum opener_tag tag, const char *path)
{
	begin_record(r, tag, path);
	record_end(r->records);
}

static void
send_problem(const struct opener *r, const char *path, const char *reason)
{
	begin_record(r, OPENER_PROBLEM, path);
	record_add_text(r->records, reason);
	record_end(r->records);
}

/*
 * Whoever closes a file of FUSE waits for its daemon, which may be a user's: in
 * the process that is handed such a file nothing could end that. So *fdp is now
 * a copy in memory, which the kernel makes. False with errno: it has a part, or
 * is -1.
 */
static bool
copy_if_fuse(int *fdp)
{
	const size_t most = 1024 * 1024;
	struct statfs st;
	off_t total = 0;
	ssize_t n = 0;
	int copy, error;

	if (fstatfs(*fdp, &st) == 0 && st.f_type != FUSE_MAGIC)
		return true;
	if ((copy = memory_file("keys")) != -1) {
		while (total < FUSE_MAX_BYTES &&
		    (n = sendfile(copy, *fdp, NULL, most)) > 0)
			total += n;
		(void)lseek(copy, 0, SEEK_SET);
	}
	error = total >= FUSE_MAX_BYTES ? EFBIG : errno;
	close(*fdp);
	*fdp = copy;
	errno = error;
	return copy != -1 && n == 0;
}

static void
send_file(const struct opener *r, const char *path, int fd)
{
	send_path(r, OPENER_FILE, path);
	r->files->fd[r->files->n++] = fd;
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
 * Calls again(r, path) in a process that becomes the account for good, as the
 * guard does, with all its groups. This is for files that again(r, path) could
 * not open here: for want of a group, or because FUSE lets a process in only if
 * its real uid and gid, too, are the account's. False if there can be no such
 * process.
 */
static bool
open_for_good(const struct opener *r,
    void (*again)(const struct opener *r, const char *path), const char *path)
{
	const struct account *a = &r->a->accounts->v[r->place];
	struct opener own = *r;
	int status = 0;
	pid_t pid;

	if (r->for_good || getuid() != 0 || a->uid == 0)
		return false;
	send_packet(r);
	if ((pid = fork()) == -1)
		return false;
	if (pid == 0) {
		own.for_good = true;
		if (!become_root_again() ||
		    !become_account(a->name, a->uid, a->gid))
			_exit(1);
		stay_private();
		again(&own, path);
		send_packet(&own);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	if (status != 0)
		send_problem(r, path, "the process that read it was killed");
	return true;
}

/* Reports that autofs did not mount the file system of a missing file. */
static void
report_awaited_mount(const struct opener *r, const char *path)
{
	if (mounts_awaits(&r->mounts, path))
		send_problem(r, path,
		    "autofs has mounted no file system for it");
}

/*
 * Opens files that sshd refuses for their mode or owner, too: a listed key in
 * them would be let in as soon as somebody corrects the mode.
 */
static void
open_file(const struct opener *r, const char *path)
{
	bool copied;
	char why[KV_USERFILE_WHY_BYTES];
	struct stat st;
	enum kv_err err;
	int fd, error;

	err = kv_userfile_open(path, &r->kv, r->pattern.strictmodes, &fd, why);
	if (err == KV_ERR_INSECURE) {
		send_path(r, OPENER_NOTE, why);
		err = kv_userfile_open(path, &r->kv, KV_STRICTMODES_NO, &fd,
		    why);
	}
	/* A file that does not exist has no keys. */
	if (err == KV_ERR_SYSTEM && (errno == ENOENT || errno == ENOTDIR)) {
		/* Somebody meant a link to be a file. */
		if (lstat(path, &st) == 0)
			send_path(r, OPENER_NOTHING, path);
		else
			report_awaited_mount(r, path);
	} else if (err == KV_ERR_SYSTEM) {
		error = errno;
		if (error != EACCES || !open_for_good(r, open_file, path))
			send_problem(r, path, strerror(error));
	} else if (err != KV_OK)
		send_problem(r, path, kv_strerror(err));
	else {
		copied = copy_if_fuse(&fd);
		error = errno;
		if (fd != -1)
			send_file(r, path, fd);
		if (!copied)
			send_problem(r, path, strerror(error));
	}
}

/* Opens nothing: what was opened twice would be reported twice. */
static bool
count_found_file(const char *path, void *arg)
{
	size_t *np = arg;

	(void)path;
	++*np;
	return true;
}

static bool
open_found_file(const char *path, void *arg)
{
	open_file(arg, path);
	return true;
}

/* Since 10.0 sshd expands wildcards in a pattern. */
static void
open_found_files(const struct opener *r, const char *path)
{
	size_t n = 0;
	int error = 0;
	enum kv_err err;

	err = kv_wildcards_find(path, count_found_file, &n, &error);
	/* A group may open the place that could not be searched. */
	if (err == KV_OK && error == EACCES &&
	    open_for_good(r, open_found_files, path))
		return;
	if (err == KV_OK && n > 0)
		err = kv_wildcards_find(path, open_found_file, (void *)r,
		    &error);
	if (err != KV_OK)
		send_problem(r, path, kv_strerror(err));
	else if (error != 0)
		send_problem(r, path, strerror(error));
	else if (n == 0)
		report_awaited_mount(r, path);
}

/* Reports that the file system of a file is not mounted, once for each. */
static void
report_missing_mount(struct opener *r, const char *path)
{
	const char *mount = mounts_missing(&r->mounts, path);
	char reason[PATH_MAX + 64];

	if (mount == NULL || mount == r->mount)
		return;
	r->mount = mount;
	snprintf(reason, sizeof(reason),
	    "%s is in /etc/fstab, and is not mounted", mount);
	send_problem(r, path, reason);
}

static void
open_pattern(struct opener *r)
{
	const char *pattern = r->pattern.text;
	char path[PATH_MAX];
	enum kv_err err;

	err = kv_userfile_expand(pattern, &r->kv, path, sizeof(path));
	if (err != KV_OK)
		send_problem(r, pattern,
		    err == KV_ERR_CONFIG ?
			"AuthorizedKeysFile has a token unknown to keyveto" :
			"path of the authorized keys file is too long");
	else {
		report_missing_mount(r, path);
		if (kv_wildcards_apply(r->pattern.wildcards, pattern))
			open_found_files(r, path);
		else
			open_file(r, path);
	}
}

/*
 * Whether two patterns are the same files of the account: the same text, and
 * no wildcard that only one of them expands.
 */
static bool
same_files(const struct opener *r, const struct audit_pattern *a,
    const struct audit_pattern *b)
{
	char path[PATH_MAX];

	if (strcmp(a->text, b->text) != 0)
		return false;
	return kv_wildcards_apply(a->wildcards, a->text) ==
	    kv_wildcards_apply(b->wildcards, b->text) ||
	    kv_userfile_expand(a->text, &r->kv, path, sizeof(path)) != KV_OK ||
	    strpbrk(path, "*?[\\") == NULL;
}

static void
open_patterns(struct opener *r, const struct audit_policy *policy)
{
	const struct audit_pattern *v = policy->pattern;
	size_t k;

	for (size_t i = 0; i < policy->n_patterns; i++) {
		for (k = 0; !same_files(r, &v[k], &v[i]); k++)
			;
		if (k < i)
			continue;
		r->pattern = v[i];
		while (++k < policy->n_patterns)
			if (same_files(r, &v[k], &v[i]))
				audit_pattern_join(&r->pattern, &v[k]);
		open_pattern(r);
	}
}

/* Hands over what the commands print for the account. */
static void
ask_commands(const struct opener *r, size_t place)
{
	const struct audit_policy *policy = r->a->policy_of[place];
	const struct account *a = &r->a->accounts->v[place];
	char text[PATH_MAX], why[ASK_WHY_BYTES];
	int fd;

	for (size_t i = 0; i < policy->n_commands; i++) {
		const struct audit_command *c = &policy->command[i];

		if (c->unasked != NULL)
			continue;
		fd = ask_run(&c->as, a, why);
		snprintf(text, sizeof(text), "AuthorizedKeysCommand %.1024s",
		    c->as.text);
		if (fd != -1) {
			send_file(r, text, fd);
			continue;
		}
		snprintf(text, sizeof(text),
		    "AuthorizedKeysCommand %.1024s: of %.255s: %s", c->as.text,
		    a->name, why);
		send_path(r, OPENER_UNASKED, text);
	}
}

static void
open_account(struct opener *r, size_t place)
{
	const struct account *a = &r->a->accounts->v[place];
	const bool root = geteuid() == 0;

	r->place = place;
	r->mount = NULL;
	r->kv = (struct kv_account){
		.name = a->name,
		.uid = a->uid,
		.home = a->home,
	};
	if (root &&
	    !(setgroups(1, &a->gid) == 0 && become_ids_for_now(a->uid, a->gid)))
		send_problem(r, a->name, "cannot become this account");
	else {
		stay_private();
		open_patterns(r, r->a->policy_of[place]);
	}
	if (root && !become_root_again())
		_exit(1);
	stay_private();
	if (root && r->a->asks != NULL && r->a->asks[place])
		ask_commands(r, place);
}

static void
open_accounts(struct record_out *out, void *arg)
{
	static struct record_out records = { .fd = -1 };
	static struct opener_files files;
	const struct rlimit none = { 0, 0 };
	struct opener *r = arg;

	r->socket = out->fd;
	r->records = &records;
	r->files = &files;
	(void)setrlimit(RLIMIT_CORE, &none);
	mounts_read(&r->mounts);
	for (size_t i = r->first; i < r->a->accounts->n; i += r->n) {
		open_account(r, i);
		send_path(r, OPENER_END, "");
		send_packet(r);
	}
	mounts_free(&r->mounts);
}

bool
openers_start(const struct audit_readers *a, struct child *c, size_t n,
    size_t first)
{
	struct opener opener = { .a = a, .n = n, .first = first };

	return child_start_socket(c, open_accounts, &opener);
}
