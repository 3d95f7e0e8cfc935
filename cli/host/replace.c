/* SPDX-License-Identifier: ISC */
#include "host/replace.h"

#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "host/place.h"
#include "base/io.h"

/* What abandon removes: each name only while its flag is set. */
static struct {
	int dir;
	char lock_name[NAME_MAX + 1], new_name[NAME_MAX + 1];
	volatile sig_atomic_t locked, named;
} leftover;

/*
 * Removes .NAME.keyveto-new and the lock file of the open struct replace. For a
 * signal handler that ends the process.
 */
static void
abandon(void)
{
	if (leftover.named)
		(void)unlinkat(leftover.dir, leftover.new_name, 0);
	if (leftover.locked)
		(void)unlinkat(leftover.dir, leftover.lock_name, 0);
}

static void
abandon_and_raise(int sig)
{
	abandon();
	/* The handler was reset, so this ends the process. */
	raise(sig);
}

static void
catch_signals(void)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM,
		SIGXCPU };

	cli_catch_signals(ending, sizeof(ending) / sizeof(ending[0]),
	    abandon_and_raise);
	/* Beyond the limit, write(2) shall fail with EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
}

/* Sets r->name, and the names that belong to it. False after a message. */
static bool
set_names(struct replace *r, const char *name)
{
	if (strlen(name) > NAME_MAX - 16)
		return cli_error("%s: the name is too long", r->path);
	snprintf(r->name, sizeof(r->name), "%.240s", name);
	snprintf(r->lock_name, sizeof(r->lock_name), ".%.240s.lock", name);
	snprintf(r->new_name, sizeof(r->new_name), ".%.240s.keyveto-new", name);
	snprintf(r->old_name, sizeof(r->old_name), ".%.240s.keyveto-old", name);
	snprintf(r->previous_name, sizeof(r->previous_name), "%.240s.previous",
	    name);
	return fstat(r->dir, &r->dir_st) == 0 ||
	    cli_failed(r->path, "its directory");
}

/*
 * Opens the lock file, which its holder may remove, or makes it: *madep. In
 * another user's directory root makes it that user's. False with errno.
 */
static bool
open_lock(struct replace *r, bool *madep)
{
	const int how = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
	const uid_t owner = r->dir_st.st_uid;

	do {
		r->lock = openat(r->dir, r->lock_name, how | O_CREAT | O_EXCL,
		    0600);
		if ((*madep = r->lock != -1))
			return fchmod(r->lock, 0600) == 0 &&
			    (geteuid() != 0 || owner == 0 ||
				fchown(r->lock, owner, (gid_t)-1) == 0);
		if (errno != EEXIST)
			return false;
		r->lock = openat(r->dir, r->lock_name, how | O_NONBLOCK);
	} while (r->lock == -1 && errno == ENOENT);
	return r->lock != -1;
}

/* Whether only users who may write the file can hold the lock. */
static bool
lock_is_safe(const struct replace *r)
{
	struct stat st;

	if (fstat(r->lock, &st) == -1)
		return cli_failed(r->path, "its lock file");
	if (S_ISREG(st.st_mode) && (st.st_mode & 077) == 0 &&
	    (st.st_uid == 0 || st.st_uid == geteuid() ||
		st.st_uid == r->dir_st.st_uid))
		return true;
	return cli_error(
	    "%s: the lock file %s beside it is somebody else's, or not "
	    "a file of mode 0600; remove it",
	    r->path, r->lock_name);
}

static bool
wait_for_lock(const struct replace *r, bool *announcedp)
{
	int how = LOCK_EX | LOCK_NB;

	while (flock(r->lock, how) == -1) {
		if (errno == EWOULDBLOCK) {
			how = LOCK_EX;
			if (!*announcedp && isatty(STDERR_FILENO) == 1)
				cli_error("%s: waiting for another keyveto "
					  "that writes it",
				    r->path);
			*announcedp = true;
		} else if (errno != EINTR)
			return cli_failed(r->path, "cannot be locked");
	}
	return true;
}

static bool
get_lock(struct replace *r)
{
	bool announced = false, made = false;

	for (;;) {
		if (!open_lock(r, &made)) {
			cli_error("%s: cannot make or open the lock file %s "
				  "beside it: %s",
			    r->path, r->lock_name, strerror(errno));
			break;
		}
		if (!lock_is_safe(r) || !wait_for_lock(r, &announced))
			break;
		if (io_is_named(r->lock, r->dir, r->lock_name)) {
			leftover.dir = r->dir;
			memcpy(leftover.lock_name, r->lock_name,
			    sizeof(leftover.lock_name));
			memcpy(leftover.new_name, r->new_name,
			    sizeof(leftover.new_name));
			leftover.locked = 1;
			return true;
		}
		close(r->lock);
	}
	if (made)
		(void)unlinkat(r->dir, r->lock_name, 0);
	io_close(r->lock);
	r->lock = -1;
	return false;
}

/* Renames .NAME.keyveto-old to NAME.previous. False with errno. */
static bool
name_previous(const struct replace *r)
{
	if (renameat(r->dir, r->old_name, r->dir, r->previous_name) == -1)
		return false;
	/* rename(2) does nothing if both names are of one file. */
	return unlinkat(r->dir, r->old_name, 0) == 0 || errno == ENOENT;
}

/* Removes what a killed run left: we hold the lock, so that run is over. */
static bool
clean_up_after_killed_run(const struct replace *r)
{
	struct stat old, named;
	bool done, was_replaced;

	if (unlinkat(r->dir, r->new_name, 0) == -1 && errno != ENOENT)
		return cli_error(
		    "%s: cannot remove %s beside it, left by a run that "
		    "was killed: %s",
		    r->path, r->new_name, strerror(errno));
	if (fstatat(r->dir, r->old_name, &old, AT_SYMLINK_NOFOLLOW) == -1)
		done = errno == ENOENT;
	else {
		/* Not if it is a second name of the present file. */
		was_replaced = S_ISREG(old.st_mode) &&
		    (old.st_uid == 0 || old.st_uid == geteuid()) &&
		    (fstatat(r->dir, r->name, &named, AT_SYMLINK_NOFOLLOW) ==
				0 ?
			    !io_is_same(&old, &named) :
			    errno == ENOENT);
		done = was_replaced ? name_previous(r) :
				      unlinkat(r->dir, r->old_name, 0) == 0;
	}
	if (!done)
		cli_error("%s: cannot rename or remove %s beside it, left by a "
			  "run that was killed: %s",
		    r->path, r->old_name, strerror(errno));
	return done;
}

static bool
open_old(struct replace *r)
{
	r->old = openat(r->dir, r->name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (r->old == -1 && errno == ENOENT)
		return true;
	if (r->old == -1 || fstat(r->old, &r->old_st) == -1)
		return cli_failed(r->path, "cannot be opened");
	if (!S_ISREG(r->old_st.st_mode))
		return cli_error("%s: not a regular file", r->path);
	/* rename(2) would replace it, but mode 0444 forbids writing. */
	if (faccessat(r->dir, r->name, W_OK, AT_EACCESS) == -1)
		return cli_failed(r->path, "cannot be written");
	return true;
}

bool
replace_find(struct replace *r, const char *path)
{
	char name[NAME_MAX + 1];

	*r = (struct replace){
		.path = path,
		.dir = -1,
		.lock = -1,
		.old = -1,
		.fd = -1,
	};
	return place_find(path, &r->dir, name) && set_names(r, name);
}

bool
replace_open(struct replace *r, const char *path)
{
	if (!replace_find(r, path))
		return false;
	catch_signals();
	return get_lock(r) && clean_up_after_killed_run(r) && open_old(r);
}

/*
 * Makes an empty file in the directory: one without a name, or with the name
 * new_name (*namedp).
 */
static bool
make_file(const struct replace *r, mode_t mode, int *fdp, bool *namedp)
{
	*namedp = false;
	/* Only through /proc can linkat name a file without a name. */
	if (access("/proc/self/fd", X_OK) == 0) {
		*fdp = openat(r->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC,
		    mode);
		if (*fdp != -1)
			return true;
		if (errno != EOPNOTSUPP && errno != EINVAL && errno != EISDIR)
			return cli_failed(r->path,
			    "cannot make a file beside it");
	}
	leftover.named = 1;
	*fdp = openat(r->dir, r->new_name,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (*fdp == -1)
		return cli_failed(r->path, "cannot make a file beside it");
	*namedp = true;
	return true;
}

bool
replace_begin(struct replace *r)
{
	return make_file(r, r->old != -1 ? 0600 : 0644, &r->fd, &r->named);
}

bool
replace_make_scratch(struct replace *r, int *fdp)
{
	/* If it cannot be unlinked, replace_close tries again. */
	if (!make_file(r, 0600, fdp, &r->named))
		return false;
	if (r->named && unlinkat(r->dir, r->new_name, 0) == -1)
		return cli_failed(r->path, "cannot make a file beside it");
	r->named = false;
	leftover.named = 0;
	return true;
}

/*
 * Copies the extended attributes of the old file. False after a message, if not
 * all was written.
 */
static bool
finish_write(const struct replace *r, bool ok)
{
	char names[4096], value[4096];
	ssize_t names_len = 0, n;

	if (!ok)
		return cli_error("%s: cannot be written, and is as it was: %s",
		    r->path, strerror(errno));
	if (r->old != -1)
		names_len = flistxattr(r->old, names, sizeof(names));
	for (const char *name = names;
	     names_len > 0 && name < names + names_len;
	     name += strlen(name) + 1)
		if ((n = fgetxattr(r->old, name, value, sizeof(value))) >= 0)
			(void)fsetxattr(r->fd, name, value, (size_t)n, 0);
	return true;
}

bool
replace_write_text(const struct replace *r, const char *text, size_t len)
{
	return finish_write(r, io_write(r->fd, text, len));
}

bool
replace_write_file(const struct replace *r, int fd, size_t len)
{
	return finish_write(r, io_copy(fd, 0, len, r->fd));
}

/* Copies the data of a file with holes. False with errno. */
static bool
copy_data(int from, int to)
{
	static uint8_t buf[256 * 1024];
	off_t at = 0, end;
	ssize_t n;

	if (ioctl(to, FICLONE, from) == 0)
		return true;
	while ((at = lseek(from, at, SEEK_DATA)) != -1) {
		if ((end = lseek(from, at, SEEK_HOLE)) == -1)
			return false;
		for (; at < end; at += n) {
			const size_t left = (size_t)(end - at);

			n = pread(from, buf,
			    left < sizeof(buf) ? left : sizeof(buf), at);
			if (n == -1)
				return false;
			/* It was cut off meanwhile. */
			if (n == 0)
				break;
			if (!io_write_at(to, buf, (size_t)n, at))
				return false;
		}
		at = end;
	}
	end = lseek(from, 0, SEEK_END);
	return end != -1 && ftruncate(to, end) == 0;
}

/* Opens the new file for reading. -1 with errno. */
static int
reopen_new(const struct replace *r)
{
	return r->named ?
	    openat(r->dir, r->new_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) :
	    io_reopen(r->fd);
}

/* A lease is given only if no process can write the file. */
static bool
has_no_writer(int fd)
{
	return fcntl(fd, F_SETLEASE, F_RDLCK) == 0 &&
	    fcntl(fd, F_SETLEASE, F_UNLCK) == 0;
}

/* Links the new file as name, if that name is free. */
static int
name_new_file(const struct replace *r, const char *name)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", r->fd);
	return linkat(AT_FDCWD, link, r->dir, name, AT_SYMLINK_FOLLOW);
}

/* Makes r->fd a new file with the bytes of another. */
static bool
replace_by_copy(struct replace *r, int from)
{
	if (r->named && unlinkat(r->dir, r->new_name, 0) == -1)
		return cli_failed(r->path, "cannot be written");
	return replace_begin(r) &&
	    (copy_data(from, r->fd) ||
		cli_failed(r->path, "cannot be written"));
}

bool
replace_adopt(struct replace *r, int fd)
{
	r->fd = fd;
	leftover.named = 1;
	r->named = name_new_file(r, r->new_name) == 0;
	if (!r->named)
		return replace_by_copy(r, fd);
	return r->old != -1 || fchmod(fd, 0644) == 0 ||
	    cli_failed(r->path, "cannot be written");
}

bool
replace_detach(struct replace *r)
{
	const int fd = reopen_new(r);
	bool ok;

	if (fd == -1)
		return cli_failed(r->path, "cannot be read");
	close(r->fd);
	r->fd = fd;
	if (has_no_writer(fd))
		return true;
	ok = replace_by_copy(r, fd);
	close(fd);
	return ok;
}

/*
 * Gives the new file its owner, group and mode, and sets *st to these. Without
 * an old file, the new one keeps what it has.
 */
static bool
set_attributes(const struct replace *r, struct stat *st)
{
	const struct stat *old = &r->old_st;
	struct stat now;

	*st = *old;
	if (r->old == -1)
		return !r->readable || fchmod(r->fd, 0644) == 0 ||
		    cli_failed(r->path, "cannot be made readable");
	if (r->root_only && geteuid() == 0) {
		/* If root owned it, only root can have chosen its group. */
		st->st_uid = 0;
		st->st_gid = old->st_uid == 0 ? old->st_gid : 0;
		st->st_mode = old->st_uid == 0 ? old->st_mode & 0755 : 0644;
	}
	if (fstat(r->fd, &now) == -1)
		return cli_failed(r->path, "cannot be written");
	if ((now.st_uid != st->st_uid || now.st_gid != st->st_gid) &&
	    fchown(r->fd, st->st_uid, st->st_gid) == -1)
		return cli_error(
		    "%s: belongs to another user or group, who would "
		    "lose it (%s); run this as root or as its owner",
		    r->path, strerror(errno));
	return fchmod(r->fd, st->st_mode & 07777) == 0 ||
	    cli_failed(r->path, "cannot keep its mode");
}

/* Prints which attributes of the old file the new one, with st, did not get. */
static void
report_changes(const struct replace *r, const struct stat *st)
{
	const unsigned int mode = st->st_mode & 07777;
	const unsigned int old_mode = r->old_st.st_mode & 07777;

	if (st->st_uid != r->old_st.st_uid)
		cli_error("%s: belonged to user %u, and belongs to root now, "
			  "with mode %04o",
		    r->path, (unsigned int)r->old_st.st_uid, mode);
	else if (mode != old_mode && r->root_only)
		cli_error("%s: had mode %04o, and has %04o now: only root may "
			  "write it",
		    r->path, old_mode, mode);
	if (r->kept_name[0] != '\0')
		cli_error("%s: what was there is kept beside it as %s", r->path,
		    r->kept_name);
}

static bool
report_disturbance(const struct replace *r)
{
	return cli_error(
	    "%s: another program changed it meanwhile; nothing was "
	    "written, run this again",
	    r->path);
}

/*
 * Whether nothing changed since replace_open. A change comes from a person, or
 * from a program that ignores the lock: it must not be overwritten.
 */
static bool
check_undisturbed(const struct replace *r)
{
	struct stat old, named;

	if (!io_is_named(r->lock, r->dir, r->lock_name))
		return cli_error(
		    "%s: somebody removed the lock file %s beside it; "
		    "nothing was written, run this again",
		    r->path, r->lock_name);
	return r->old == -1 ||
	    (fstat(r->old, &old) == 0 &&
		fstatat(r->dir, r->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		io_is_same(&named, &r->old_st) &&
		old.st_size == r->old_st.st_size &&
		old.st_ctim.tv_sec == r->old_st.st_ctim.tv_sec &&
		old.st_ctim.tv_nsec == r->old_st.st_ctim.tv_nsec) ||
	    report_disturbance(r);
}

/*
 * Without an old file: links the new file, so that a file that another process
 * made meanwhile is not replaced.
 */
static bool
publish_new(struct replace *r)
{
	int n = r->named ? linkat(r->dir, r->new_name, r->dir, r->name, 0) :
			   name_new_file(r, r->name);

	/* FAT has no links. On it, the race with another writer remains. */
	if (n == -1 && r->named && (errno == EPERM || errno == EOPNOTSUPP)) {
		n = renameat(r->dir, r->new_name, r->dir, r->name);
		if (n == 0)
			r->named = false;
	}
	if (n == -1)
		return cli_failed(r->path, "cannot be made");
	return true;
}

/* Links the old file as r->kept_name, a name that was free. */
static bool
link_kept(struct replace *r)
{
	struct stat kept;
	int n = -1;

	errno = EEXIST;
	for (unsigned int i = 1; n == -1 && errno == EEXIST && i < 1000; i++) {
		snprintf(r->kept_name, sizeof(r->kept_name),
		    i == 1 ? "%.240s.kept" : "%.240s.kept%u", r->name, i);
		n = linkat(r->dir, r->name, r->dir, r->kept_name, 0);
	}
	if (n == -1) {
		r->kept_name[0] = '\0';
		return cli_failed(r->path,
		    "cannot keep what is there; move it away");
	}
	return (fstatat(r->dir, r->kept_name, &kept, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
		   io_is_same(&kept, &r->old_st)) ||
	    report_disturbance(r);
}

static void
unlink_kept(struct replace *r)
{
	if (r->kept_name[0] != '\0')
		(void)unlinkat(r->dir, r->kept_name, 0);
	r->kept_name[0] = '\0';
}

static bool
publish_over_old(struct replace *r)
{
	if (!r->named) {
		leftover.named = 1;
		if (name_new_file(r, r->new_name) == -1)
			return cli_failed(r->path, "cannot name the new file");
		r->named = true;
	}
	if (r->keep_old &&
	    linkat(r->dir, r->name, r->dir, r->old_name, 0) == -1)
		return cli_failed(r->path, "cannot keep the old one");
	if (r->keep_beside && !link_kept(r)) {
		unlink_kept(r);
		return false;
	}
	if (renameat(r->dir, r->new_name, r->dir, r->name) == -1) {
		cli_failed(r->path, "cannot be replaced");
		unlink_kept(r);
		if (r->keep_old)
			(void)unlinkat(r->dir, r->old_name, 0);
		return false;
	}
	r->named = false;
	return true;
}

static bool
flush_directory(const struct replace *r)
{
	/* Some file systems cannot flush a directory. */
	if (fsync(r->dir) == -1 && errno != EINVAL)
		return cli_failed(r->path,
		    "written, but not sure to survive a crash");
	return true;
}

/* The length of what formats begin with, such as pkbfd1 or <!DOCTYPE html>. */
#define BEGIN_BYTES 6

/* Whether the old file is empty, or begins as the new one does. */
static bool
begins_alike(const struct replace *r)
{
	char old[BEGIN_BYTES] = "", new[BEGIN_BYTES] = "";
	const ssize_t n = pread(r->old, old, sizeof(old), 0);

	return n == 0 ||
	    (n > 0 && pread(r->fd, new, sizeof(new), 0) == n &&
		memcmp(old, new, sizeof(old)) == 0);
}

/* Whether the new file may take effect. False after a message. */
static bool
may_take_effect(struct replace *r)
{
	const struct change c = {
		.kind = r->change,
		.path = r->path,
		.fd = r->fd,
		.what = r->change == CHANGE_CONFIG ? "the change" :
						     "the new one",
		.via = r->via,
		.sources = r->sources,
		.yes = r->yes,
	};
	struct change_effect e;

	if (r->change == CHANGE_JUDGED)
		return true;
	if (r->change == CHANGE_NONE && r->old != -1 && !r->keep_beside &&
	    !begins_alike(r))
		return cli_error("%s: is there, and no such file as is written "
				 "here; move it away, or give another name",
		    r->path);
	if (!change_may_take_effect(&c, &e))
		return false;
	r->readable |= e.consulted;
	return true;
}

bool
replace_commit(struct replace *r)
{
	struct stat st;

	if (!may_take_effect(r) || !set_attributes(r, &st))
		return false;
	if (fsync(r->fd) == -1)
		return cli_failed(r->path, "cannot be written");
	if (!check_undisturbed(r) ||
	    !(r->old == -1 ? publish_new(r) : publish_over_old(r)))
		return false;
	r->is_done = true;
	cli_note_change(r->path);
	if (!flush_directory(r))
		return false;
	if (r->old == -1)
		return true;
	report_changes(r, &st);
	if (!r->keep_old)
		return true;
	if (!name_previous(r))
		return cli_failed(r->path,
		    "replaced, but the old one cannot be kept");
	return flush_directory(r);
}

void
replace_close(struct replace *r)
{
	if (r->named)
		(void)unlinkat(r->dir, r->new_name, 0);
	/*
	 * Clear the flags first: once the lock file is removed, another process
	 * may use these names.
	 */
	leftover.named = leftover.locked = 0;
	if (r->lock != -1 && io_is_named(r->lock, r->dir, r->lock_name))
		(void)unlinkat(r->dir, r->lock_name, 0);
	io_close(r->fd);
	io_close(r->old);
	io_close(r->lock);
	io_close(r->dir);
	r->fd = r->old = r->lock = r->dir = -1;
	r->named = false;
}
