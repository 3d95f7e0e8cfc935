/* SPDX-License-Identifier: ISC */
#include "host/root_file.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/openat2.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <nss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/become.h"
#include "host/child.h"

#define REASON_BYTES 1024
/*
 * How often openat2 is repeated after EAGAIN: it fails so for a path with "..",
 * while any file of the machine is renamed.
 */
#define TRIES_MAX 1000

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

static bool
is_own_root(int fd)
{
	struct stat st, own;

	return fstat(fd, &st) == 0 && stat("/", &own) == 0 &&
	    st.st_dev == own.st_dev && st.st_ino == own.st_ino;
}

bool
root_hold(const char *root, char *why, size_t cap)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), probe;

	if (fd == -1) {
		snprintf(why, cap, "%s: %s", root, strerror(errno));
		return false;
	}
	if (is_own_root(fd)) {
		snprintf(why, cap,
		    "%s: this is the root directory of this machine; "
		    "leave out --root",
		    root);
		close(fd);
		return false;
	}
	probe = open_below(fd, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (probe == -1 ||
	    (size_t)snprintf(held.name, sizeof(held.name), "%s", root) >=
		sizeof(held.name)) {
		snprintf(why, cap, "%s: %s", root,
		    probe != -1 ?
			"too long a name" :
			errno == ENOSYS ?
			"a directory other "
			"than / needs openat2(2), of Linux 5.6 and later" :
			strerror(errno));
		if (probe != -1)
			close(probe);
		close(fd);
		return false;
	}
	close(probe);
	if ((held.fd = child_keep(fd)) == -1)
		snprintf(why, cap, "%s: %s", root, strerror(errno));
	return held.fd != -1;
}

int
root_open(const char *root, const char *path, int flags)
{
	const int all = flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int dir, fd, saved;

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
	saved = errno;
	close(dir);
	errno = saved;
	return fd;
}

/* Sets place to the path of fd, and closes fd. False with errno. */
static bool
resolve_and_close(int fd, char place[static PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, place, PATH_MAX - 1);
	close(fd);
	if (n == -1)
		return false;
	place[n] = '\0';
	return true;
}

bool
root_resolve(const char *root, const char *path, char place[static PATH_MAX])
{
	const char *name = strrchr(path, '/');
	char dir[PATH_MAX];
	struct stat st;
	size_t len;
	int fd;

	if ((fd = root_open(root, path, O_PATH)) != -1)
		return resolve_and_close(fd, place);
	if (errno != ENOENT || name == NULL || name[1] == '\0')
		return false;
	/* root_open followed a link to a file that does not exist. */
	fd = root_open(root, path, O_PATH | O_NOFOLLOW);
	if (fd != -1) {
		if (fstat(fd, &st) == 0)
			errno = ENOENT;
		close(fd);
		return false;
	}
	snprintf(dir, sizeof(dir), "%.*s", (int)(name - path + 1), path);
	if ((fd = root_open(root, dir, O_PATH | O_DIRECTORY)) == -1 ||
	    !resolve_and_close(fd, place))
		return false;
	len = strlen(place);
	if (len + strlen(name) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return false;
	}
	/* If place is "/", its slash is overwritten by that of name. */
	memcpy(place + len - (len == 1), name, strlen(name) + 1);
	return true;
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
	struct stat st;
	int dir, links, saved;

	if (snprintf(place, sizeof(place), "%s", path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (links = 0; links < LINKS_MAX; links++) {
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
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
			if (errno == ENOENT && links == 0)
				return dir;
			break;
		}
		if (!S_ISLNK(st.st_mode))
			return dir;
		if (!follow_link(dir, name, place))
			break;
		close(dir);
	}
	if (links == LINKS_MAX) {
		errno = ELOOP;
		return -1;
	}
	saved = errno;
	close(dir);
	errno = saved;
	return -1;
}

static char *
read_contents(int fd, size_t size, size_t *lenp)
{
	char *text = malloc(size + 2);
	size_t len = 0;
	ssize_t n = 1;

	while (text != NULL && n > 0 && len <= size) {
		n = read(fd, text + len, size + 1 - len);
		if (n > 0)
			len += (size_t)n;
		else if (n == -1 && errno == EINTR)
			n = 1;
	}
	if (text == NULL || n == -1 || len > size) {
		if (text != NULL && n != -1)
			errno = EAGAIN; /* it grew */
		free(text);
		return NULL;
	}
	text[len] = '\0';
	*lenp = len;
	return text;
}

char *
root_read(const char *root, const char *path, size_t *lenp)
{
	int fd = root_open(root, path, O_RDONLY), saved;
	char *text = NULL;
	struct stat st;

	*lenp = 0;
	if (fd == -1)
		return NULL;
	if (fstat(fd, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			errno = EINVAL;
		else if (st.st_size > ROOT_FILE_MAX_BYTES)
			errno = EMSGSIZE;
		else
			text = read_contents(fd, (size_t)st.st_size, lenp);
	}
	saved = errno;
	close(fd);
	errno = saved;
	return text;
}

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

bool
root_enter(const char *root)
{
	const int dir = root_open(root, "/", O_PATH | O_DIRECTORY);
	const bool there = dir != -1 && fchdir(dir) == 0 && chroot(".") == 0;

	if (dir != -1)
		close(dir);
	return there && __nss_configure_lookup("passwd", "files") == 0 &&
	    __nss_configure_lookup("group", "files") == 0 &&
	    __nss_configure_lookup("initgroups", "files") == 0;
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
		    "%s: cannot become the root "
		    "directory: %s",
		    q->root, strerror(errno));
	else if (geteuid() != q->uid && !become_account(NULL, q->uid, q->gid))
		snprintf(why, sizeof(why), "cannot become user %u: %s",
		    (unsigned int)q->uid, strerror(errno));
	else
		yes = q->f(q->arg, why, sizeof(why));
	record_begin(out, yes ? TAG_YES : TAG_NO);
	record_add_text(out, why);
	record_end(out);
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
	struct record_in in = { 0 };
	struct kv_bytes payload;
	struct kv_span text;
	struct child child;
	uint8_t tag = 0;
	bool bad;

	if (!child_start(&child, answer_question, &q)) {
		snprintf(why, cap, "%s", strerror(errno));
		return false;
	}
	while (record_fill(&in, child.fd) > 0)
		;
	snprintf(why, cap, "the process that checked this was killed");
	if (record_next(&in, &tag, &payload, &bad) &&
	    kv_bytes_get_string(&payload, &text) == KV_OK)
		snprintf(why, cap, "%.*s", (int)text.len, (const char *)text.p);
	record_in_free(&in);
	return child_wait(&child) == 0 && tag == TAG_YES;
}
