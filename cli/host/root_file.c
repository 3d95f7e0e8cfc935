/* SPDX-License-Identifier: ISC */
#include "host/root_file.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <linux/openat2.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/become.h"
#include "host/child.h"
#include "host/services.h"
#include "base/io.h"

#define REASON_BYTES 1024
/*
 * How often openat2 is repeated after EAGAIN: it fails so for a path with "..",
 * while any file of the machine is renamed.
 */
#define TRIES_MAX 1000

/* Whether glob(3) can be had to look below a directory. musl's cannot. */
#ifdef GLOB_ALTDIRFUNC
#define CAN_GLOB_BELOW true
#else
#define CAN_GLOB_BELOW false
#endif

/* What root_hold opened. */
static struct {
	int fd;
	char name[PATH_MAX];
} held = { .fd = -1 };

/* openat2(2), with links resolved below dir. */
static int
open_below(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)flags,
		.resolve = RESOLVE_IN_ROOT,
	};
	int fd, tries = 0;

	/* openat2 refuses O_PATH with O_NONBLOCK or O_NOCTTY. */
	if ((flags & O_PATH) != 0)
		how.flags &= ~(uint64_t)(O_NONBLOCK | O_NOCTTY);
	do
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	while (fd == -1 && errno == EAGAIN && tries++ < TRIES_MAX);
	return fd;
}

bool
root_hold(const char *root, char *why, size_t cap)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), probe = -1;
	struct stat st, own;
	const char *wrong = NULL;

	if (fd == -1)
		wrong = strerror(errno);
	else if (!CAN_GLOB_BELOW)
		wrong = "a directory other than / needs a keyveto with glibc";
	else if (fstat(fd, &st) == 0 && stat("/", &own) == 0 &&
	    io_is_same(&st, &own))
		wrong = "this is the root directory of this machine; "
			"leave out --root";
	else if ((probe = open_below(fd, "/",
		      O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		wrong = errno == ENOSYS ?
		    "a directory other than / needs openat2(2), of Linux 5.6 "
		    "and later" :
		    strerror(errno);
	else if (strlen(root) >= sizeof(held.name))
		wrong = "too long a name";
	io_close(probe);
	if (wrong == NULL) {
		memcpy(held.name, root, strlen(root) + 1);
		if ((held.fd = child_keep(fd)) != -1)
			return true;
		wrong = strerror(errno);
	} else if (fd != -1)
		close(fd);
	snprintf(why, cap, "%s: %s", root, wrong);
	return false;
}

int
root_open(const char *root, const char *path, int flags)
{
	const int all = flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int dir, fd;

	if (*root == '\0')
		return open(path, all);
	if (held.fd != -1) {
		/* root_hold did not check any other root. */
		if (strcmp(held.name, root) == 0)
			return open_below(held.fd, path, all);
		errno = EINVAL;
		return -1;
	}
	if ((dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		return -1;
	fd = open_below(dir, path, all);
	io_close(dir);
	return fd;
}

#define LINKS_MAX 40 /* the kernel's limit */

/* Replaces the path of a link by the path of its target. False with errno. */
static bool
follow_link(int dir, const char *name, char place[static PATH_MAX])
{
	const size_t len = (size_t)(strrchr(place, '/') + 1 - place);
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	if (n == -1)
		return false;
	if ((size_t)n + len >= sizeof(target)) {
		errno = ENAMETOOLONG;
		return false;
	}
	target[n] = '\0';
	memcpy(*target == '/' ? place : place + len, target, (size_t)n + 1);
	return true;
}

int
root_open_place(const char *root, const char *path,
    char name[static NAME_MAX + 1])
{
	char place[PATH_MAX], above[PATH_MAX];
	const char *slash;
	bool there, followed;
	struct stat st;
	int dir;

	if (snprintf(place, sizeof(place), "%s", path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (int links = 0; links < LINKS_MAX; links++) {
		slash = strrchr(place, '/');
		if (slash == NULL || slash[1] == '\0' ||
		    strlen(slash + 1) > NAME_MAX || strcmp(slash, "/..") == 0 ||
		    strcmp(slash, "/.") == 0) {
			errno = EINVAL;
			return -1;
		}
		snprintf(name, NAME_MAX + 1, "%s", slash + 1);
		snprintf(above, sizeof(above), "%.*s", (int)(slash + 1 - place),
		    place);
		dir = root_open(root, above, O_RDONLY | O_DIRECTORY);
		if (dir == -1)
			return -1;
		there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
		if (there ? !S_ISLNK(st.st_mode) :
			    errno == ENOENT && links == 0)
			return dir;
		followed = there && follow_link(dir, name, place);
		io_close(dir);
		if (!followed)
			return -1;
	}
	errno = ELOOP;
	return -1;
}

bool
root_resolve(const char *root, const char *path, char place[static PATH_MAX])
{
	char name[NAME_MAX + 1] = "", link[64];
	int fd = root_open(root, path, O_PATH), len;
	ssize_t n;

	if (fd == -1 && errno == ENOENT)
		fd = root_open_place(root, path, name);
	if (fd == -1)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, place, PATH_MAX - 1);
	close(fd);
	if (n == -1)
		return false;
	place[n] = '\0';
	if (*name == '\0')
		return true;
	/* If place is "/", it ends in a slash. */
	len = snprintf(place + n, PATH_MAX - (size_t)n, "%s%s",
	    n > 1 ? "/" : "", name);
	if (len < PATH_MAX - n)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

char *
root_read(const char *root, const char *path, size_t *lenp)
{
	int fd = root_open(root, path, O_RDONLY);
	char *text = NULL;
	struct stat st;
	ssize_t n = -1;

	*lenp = 0;
	if (fd == -1)
		return NULL;
	if (fstat(fd, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			errno = EINVAL;
		else if (st.st_size > ROOT_FILE_MAX_BYTES)
			errno = EMSGSIZE;
		else if ((text = malloc((size_t)st.st_size + 2)) != NULL)
			n = io_read(fd, text, (size_t)st.st_size + 1);
	}
	if (n != -1 && n > st.st_size) {
		errno = EAGAIN; /* it grew */
		n = -1;
	}
	io_close(fd);
	if (n == -1) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*lenp = (size_t)n;
	return text;
}

/* Whether the file is a link to /dev/null, which an image may lack. */
static bool
is_link_to_null(const char *root, const char *path)
{
	static const char null[] = "/dev/null";
	int fd = root_open(root, path, O_PATH | O_NOFOLLOW);
	char target[sizeof(null)];
	ssize_t n = fd != -1 ? readlinkat(fd, "", target, sizeof(target)) : -1;

	io_close(fd);
	return n == sizeof(null) - 1 && memcmp(target, null, (size_t)n) == 0;
}

bool
root_is_masked(const char *root, const char *path)
{
	int fd = root_open(root, path, O_PATH);
	struct stat st;
	bool masked;

	if (fd == -1)
		return errno == ENOENT && *root != '\0' &&
		    is_link_to_null(root, path);
	masked = fstat(fd, &st) == 0 &&
	    (S_ISDIR(st.st_mode) ||
		(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)));
	close(fd);
	return masked;
}

#ifdef GLOB_ALTDIRFUNC

/* root for glob_opendir and the others: glob(3) passes them only a path. */
static const char *glob_root;

static void *
glob_opendir(const char *path)
{
	int fd = root_open(glob_root, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd != -1 ? fdopendir(fd) : NULL;

	if (dir == NULL && fd != -1)
		close(fd);
	return dir;
}

static struct dirent *
glob_readdir(void *dir)
{
	return readdir(dir);
}

static void
glob_closedir(void *dir)
{
	closedir(dir);
}

static int
glob_stat_with(const char *path, int flags, struct stat *st)
{
	int fd = root_open(glob_root, path, O_PATH | flags), n;

	if (fd == -1)
		return -1;
	n = fstat(fd, st);
	close(fd);
	return n;
}

static int
glob_stat(const char *path, struct stat *st)
{
	return glob_stat_with(path, 0, st);
}

static int
glob_lstat(const char *path, struct stat *st)
{
	return glob_stat_with(path, O_NOFOLLOW, st);
}

int
root_glob(const char *root, const char *pattern, glob_t *found)
{
	*found = (glob_t){
		.gl_opendir = glob_opendir,
		.gl_readdir = glob_readdir,
		.gl_closedir = glob_closedir,
		.gl_stat = glob_stat,
		.gl_lstat = glob_lstat,
	};
	glob_root = root;
	return glob(pattern, GLOB_ALTDIRFUNC, NULL, found);
}

#else

int
root_glob(const char *root, const char *pattern, glob_t *found)
{
	return *root == '\0' ? glob(pattern, 0, NULL, found) : GLOB_NOSYS;
}

#endif

bool
root_enter(const char *root)
{
	const int dir = root_open(root, "/", O_PATH | O_DIRECTORY);
	const bool there = dir != -1 && fchdir(dir) == 0 && chroot(".") == 0;

	io_close(dir);
	return there && services_choose("passwd", "files") &&
	    services_choose("group", "files") &&
	    services_choose("initgroups", "files");
}

struct question {
	const char *root;
	uid_t uid;
	gid_t gid;
	bool (*f)(void *arg, char *why, size_t cap);
	void *arg;
};

enum { TAG_YES = 1, TAG_NO };

static void
answer_question(struct record_out *out, void *arg)
{
	const struct question *q = arg;
	char why[REASON_BYTES] = "";
	bool yes = false;

	if (*q->root != '\0' && !root_enter(q->root))
		snprintf(why, sizeof(why),
		    "%s: cannot become the root directory: %s", q->root,
		    strerror(errno));
	else if (geteuid() != q->uid && !become_account(NULL, q->uid, q->gid))
		snprintf(why, sizeof(why), "cannot become user %u: %s",
		    (unsigned int)q->uid, strerror(errno));
	else
		yes = q->f(q->arg, why, sizeof(why));
	record_send(out, yes ? TAG_YES : TAG_NO, R_TEXT(why));
}

bool
root_ask(const char *root, unsigned int uid, unsigned int gid,
    bool (*f)(void *arg, char *why, size_t cap), void *arg, char *why,
    size_t cap)
{
	struct question q = {
		.root = root,
		.uid = uid,
		.gid = gid,
		.f = f,
		.arg = arg,
	};
	struct child child;

	if (!child_start(&child, answer_question, &q)) {
		snprintf(why, cap, "%s", strerror(errno));
		return false;
	}
	snprintf(why, cap, "the process that checked this was killed");
	return child_read_text(&child, why, cap) == TAG_YES;
}
