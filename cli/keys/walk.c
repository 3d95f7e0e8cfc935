/* SPDX-License-Identifier: ISC */
/* Finds the regular files in a directory and below it. */
#include "keys/walk.h"

#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the kernel's sources; linux/magic.h lacks them. */
#define CONFIGFS_MAGIC 0x62656570
#define FUSE_CTL_MAGIC 0x65735543
#define MQUEUE_MAGIC 0x19800202
#define NFSD_MAGIC 0x6e667364
#define RPC_PIPEFS_MAGIC 0x67596969

static const struct kernel_filesystem {
	uint32_t magic;
	const char *name;
} kernel_filesystems[] = {
	{ AAFS_MAGIC, "apparmorfs" },
	{ ANON_INODE_FS_MAGIC, "anon_inodefs" },
	{ BDEVFS_MAGIC, "bdev" },
	{ BINDERFS_SUPER_MAGIC, "binder" },
	{ BINFMTFS_MAGIC, "binfmt_misc" },
	{ BPF_FS_MAGIC, "bpf" },
	{ CGROUP_SUPER_MAGIC, "cgroup" },
	{ CGROUP2_SUPER_MAGIC, "cgroup2" },
	{ CONFIGFS_MAGIC, "configfs" },
	{ DAXFS_MAGIC, "dax" },
	{ DEBUGFS_MAGIC, "debugfs" },
	{ DEVPTS_SUPER_MAGIC, "devpts" },
	{ DMA_BUF_MAGIC, "dmabuf" },
	{ EFIVARFS_MAGIC, "efivarfs" },
	{ FUSE_CTL_MAGIC, "fusectl" },
	{ HUGETLBFS_MAGIC, "hugetlbfs" },
	{ MQUEUE_MAGIC, "mqueue" },
	{ NFSD_MAGIC, "nfsd" },
	{ NSFS_MAGIC, "nsfs" },
	{ OPENPROM_SUPER_MAGIC, "openpromfs" },
	{ PIPEFS_MAGIC, "pipefs" },
	{ PROC_SUPER_MAGIC, "proc" },
	{ PSTOREFS_MAGIC, "pstore" },
	{ RDTGROUP_SUPER_MAGIC, "resctrl" },
	{ RPC_PIPEFS_MAGIC, "rpc_pipefs" },
	{ SECURITYFS_MAGIC, "securityfs" },
	{ SELINUX_MAGIC, "selinuxfs" },
	{ SMACK_MAGIC, "smackfs" },
	{ SOCKFS_MAGIC, "sockfs" },
	{ SYSFS_MAGIC, "sysfs" },
	{ TRACEFS_MAGIC, "tracefs" },
	{ XENFS_SUPER_MAGIC, "xenfs" },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* As much of a directory as is read at a time. */
#define READ_BYTES (32 * 1024)

/* What the levels of a walk share. */
struct walk {
	const struct walk_sink *sink;
	char path[PATH_MAX]; /* of the entry being visited */
	_Alignas(struct dirent64) char buf[READ_BYTES];
};

/* A directory being walked. */
struct level {
	int dir;
	dev_t dev;
	size_t path_len; /* of its name in walk->path */
	int depth;	 /* 0 for the first directory */
};

/* The entries of a directory: for each a byte, its d_type, and its name. */
struct names {
	char *text;
	size_t len, cap;
	const char **entry; /* in text, sorted */
	size_t n;
};

const char *
walk_kernel_name(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) == -1)
		return NULL;
	for (size_t i = 0; i < COUNT(kernel_filesystems); i++) {
		if (kernel_filesystems[i].magic == (uint32_t)fs.f_type)
			return kernel_filesystems[i].name;
	}
	return NULL;
}

/* False with errno. */
static bool
add_name(struct names *names, const struct dirent64 *d)
{
	const size_t len = strlen(d->d_name) + 2;
	char *more;

	if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
		return true;
	if (names->cap - names->len < len) {
		names->cap = 2 * (names->cap + len) + 1024;
		if ((more = realloc(names->text, names->cap)) == NULL)
			return false;
		names->text = more;
	}
	names->text[names->len] = (char)d->d_type;
	memcpy(names->text + names->len + 1, d->d_name, len - 1);
	names->len += len;
	names->n++;
	return true;
}

/* A locale would sort otherwise. */
static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a + 1, *(const char *const *)b + 1);
}

/* Reads the entries of fd, in order. False with errno. Free text and entry. */
static bool
read_names(struct walk *w, int fd, struct names *names)
{
	const char *name;
	ssize_t len;

	while ((len = getdents64(fd, w->buf, sizeof(w->buf))) > 0) {
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *d = (const void *)(w->buf + at);

			if (!add_name(names, d))
				return false;
			at += d->d_reclen;
		}
	}
	/* A directory that was just removed is empty. */
	if ((len == -1 && errno != ENOENT) ||
	    (names->entry = calloc(names->n + 1, sizeof(char *))) == NULL)
		return false;
	name = names->text;
	for (size_t i = 0; i < names->n; i++) {
		names->entry[i] = name;
		name += strlen(name + 1) + 2;
	}
	qsort(names->entry, names->n, sizeof(char *), compare_names);
	return true;
}

/*
 * Opens a regular file. The directory says that it is one, but a device may be
 * mounted there: in containers, most are. So no mount point is opened unseen.
 */
static int
open_file(int dir, const char *name)
{
	/* Non-blocking: the name may have become a FIFO by now. */
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC;
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)flags,
		.resolve = RESOLVE_NO_XDEV,
	};
	struct stat st;
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));

	/* A mount point, or a kernel before 5.6, or a real error. */
	if (fd == -1 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISREG(st.st_mode))
			fd = openat(dir, name, flags);
		else
			errno = ENOENT;
	}
	return fd;
}

int
walk_open(const struct walk_file *file, struct stat *st, const char **whyp)
{
	int fd = open_file(file->dir, file->name);

	*whyp = NULL;
	if (fd == -1 || fstat(fd, st) == -1) {
		/* A symbolic link, a socket, or a file just removed. */
		if (errno != ELOOP && errno != ENXIO && errno != ENOENT)
			*whyp = strerror(errno);
	} else if (S_ISREG(st->st_mode)) {
		return fd;
	}
	if (fd != -1)
		close(fd);
	return -1;
}

static void walk_level(struct walk *w, int fd, const struct level *level);

/* Walks the directory w->path, which is name in the one above. */
static void
visit_directory(struct walk *w, const char *name, const struct level *above)
{
	struct level level = {
		.path_len = strlen(w->path),
		.depth = above->depth + 1,
	};
	struct stat st;
	int fd = openat(above->dir, name,
	    O_RDONLY | O_NOFOLLOW | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

	if (fd == -1 || fstat(fd, &st) == -1) {
		/* It is something else by now, or was just removed. */
		if (errno != ELOOP && errno != ENOTDIR && errno != ENOENT)
			w->sink->problem(w->path, strerror(errno),
			    w->sink->arg);
	} else if (st.st_dev == above->dev || walk_kernel_name(fd) == NULL) {
		level.dev = st.st_dev;
		walk_level(w, fd, &level);
		return;
	}
	if (fd != -1)
		close(fd);
}

/* The type of an entry, if the directory does not say it for certain. */
static unsigned char
find_type(int dir, const char *name)
{
	struct stat st;

	/* An error is reported when it is opened. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return DT_REG;
	return (unsigned char)IFTODT(st.st_mode);
}

/* Gives or walks an entry. */
static void
visit(struct walk *w, const char *entry, const struct level *level)
{
	const struct walk_file file = {
		.dir = level->dir,
		.name = entry + 1,
		.path = w->path,
	};
	unsigned char type = (unsigned char)entry[0];

	/* On anything but a link, a file may be mounted. */
	if (type != DT_REG && type != DT_DIR && type != DT_LNK)
		type = find_type(level->dir, file.name);
	if (type == DT_REG)
		w->sink->file(&file, w->sink->arg);
	else if (type == DT_DIR)
		visit_directory(w, file.name, level);
}

/* Visits the entries of level, whose name is at the start of w->path. */
static void
visit_all(struct walk *w, const struct names *names, const struct level *level)
{
	const bool has_slash = w->path[level->path_len - 1] == '/';
	const size_t start = level->path_len + !has_slash;

	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->entry[i] + 1;
		const size_t len = strlen(name) + 1;

		if (start + len > sizeof(w->path)) {
			w->path[level->path_len] = '\0';
			w->sink->problem(w->path, strerror(ENAMETOOLONG),
			    w->sink->arg);
			continue;
		}
		w->path[start - 1] = '/';
		memcpy(w->path + start, name, len);
		visit(w, names->entry[i], level);
	}
}

/* Walks the directory w->path. Closes fd. */
static void
walk_level(struct walk *w, int fd, const struct level *here)
{
	struct level level = *here;
	struct names names = { 0 };
	struct stat st;
	bool good = false;

	level.dir = fd;
	if (level.depth > WALK_DEPTH_MAX)
		errno = ELOOP;
	else
		/* One that cannot be searched is a single problem. */
		good = fstatat(fd, ".", &st, 0) == 0 &&
		    read_names(w, fd, &names);
	if (!good)
		w->sink->problem(w->path, strerror(errno), w->sink->arg);
	else
		visit_all(w, &names, &level);
	free(names.text);
	free(names.entry);
	close(fd);
}

void
walk_directory(int fd, const char *path, const struct walk_sink *sink)
{
	struct level level = { .path_len = strlen(path) };
	struct walk *w = malloc(sizeof(*w));
	struct stat st;

	if (w == NULL || fstat(fd, &st) == -1) {
		sink->problem(path, strerror(errno), sink->arg);
		close(fd);
	} else {
		/* The kernel opened it, so it fits. */
		w->sink = sink;
		memcpy(w->path, path, level.path_len + 1);
		level.dev = st.st_dev;
		walk_level(w, fd, &level);
	}
	free(w);
}
