/* SPDX-License-Identifier: ISC */
/* Finds the regular files in a directory. */
#include "keys/input.h"

#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

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

/* As much of a directory is read at a time. */
#define READ_BYTES ((size_t)32 * 1024)

/* What the levels of a walk share. */
struct walk {
	const struct input_walk *to;
	char path[PATH_MAX]; /* of the entry being visited */
};

/* A directory being walked. */
struct level {
	int dir;
	dev_t dev;
	size_t path_len; /* of its name in walk->path */
	int depth;	 /* 0 for the first directory */
};

/*
 * The name ("proc") of the file system of fd, if the kernel makes its contents
 * up, such as /proc and /sys; else NULL.
 */
static const char *
find_kernel_name(int fd)
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

static void
report(const struct input_walk *to, const char *path, const char *reason)
{
	const struct input_problem p = { .path = path, .reason = reason };

	to->problem(&p, to->arg);
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
	io_close(fd);
	return -1;
}

static void
visit_file(struct walk *w, const struct walk_file *file)
{
	const char *why;
	struct stat st;
	int fd;

	if (w->to->found != NULL) {
		w->to->found(file, w->to->arg);
	} else if ((fd = walk_open(file, &st, &why)) != -1) {
		w->to->file(fd, file->path, true, w->to->arg);
		close(fd);
	} else if (why != NULL) {
		report(w->to, file->path, why);
	}
}

static void walk_level(struct walk *w, const struct level *level);

/* Walks the directory w->path, which is name in the one above. */
static void
visit_directory(struct walk *w, const char *name, const struct level *above)
{
	struct level level = {
		.dir = openat(above->dir, name,
		    O_RDONLY | O_NOFOLLOW | O_DIRECTORY | O_NONBLOCK |
			O_CLOEXEC),
		.path_len = strlen(w->path),
		.depth = above->depth + 1,
	};
	struct stat st;

	if (level.dir == -1 || fstat(level.dir, &st) == -1) {
		/* It is something else by now, or was just removed. */
		if (errno != ELOOP && errno != ENOTDIR && errno != ENOENT)
			report(w->to, w->path, strerror(errno));
	} else if (st.st_dev == above->dev ||
	    find_kernel_name(level.dir) == NULL) {
		level.dev = st.st_dev;
		walk_level(w, &level);
	}
	io_close(level.dir);
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

/* Gives or walks an entry of level, whose name is at the start of w->path. */
static void
visit(struct walk *w, const struct dirent *entry, const struct level *level)
{
	const struct walk_file file = {
		.dir = level->dir,
		.name = entry->d_name,
		.path = w->path,
	};
	const bool has_slash = w->path[level->path_len - 1] == '/';
	const size_t start = level->path_len + !has_slash;
	const size_t len = strlen(entry->d_name) + 1;
	unsigned char type = entry->d_type;

	if (start + len > sizeof(w->path)) {
		w->path[level->path_len] = '\0';
		report(w->to, w->path, strerror(ENAMETOOLONG));
		return;
	}
	w->path[start - 1] = '/';
	memcpy(w->path + start, entry->d_name, len);
	/* On anything but a link, a file may be mounted. */
	if (type != DT_REG && type != DT_DIR && type != DT_LNK)
		type = find_type(level->dir, file.name);
	if (type == DT_REG)
		visit_file(w, &file);
	else if (type == DT_DIR)
		visit_directory(w, file.name, level);
}

static bool
is_entry(const struct dirent *d)
{
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

/* A locale would sort otherwise. */
static int
compare_names(const void *a, const void *b)
{
	const struct dirent *const *left = a, *const *right = b;

	return strcmp((*left)->d_name, (*right)->d_name);
}

/*
 * Reads all that the kernel says of a directory: *lenp bytes. Its descriptor is
 * read itself, because scandirat(3) opens a second one. NULL with errno.
 */
static char *
read_directory(int fd, size_t *lenp)
{
	size_t room = 0;
	char *buf = NULL, *grown;
	long n;

	*lenp = 0;
	do {
		if (room - *lenp < READ_BYTES)
			room = 2 * room + READ_BYTES;
		if ((grown = realloc(buf, room)) == NULL)
			break;
		buf = grown;
		n = syscall(SYS_getdents64, fd, buf + *lenp, room - *lenp);
		if (n == 0)
			return buf;
		*lenp += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	free(buf);
	return NULL;
}

/* Sorts the entries that are in buf. NULL with errno. */
static const struct dirent **
sort_entries(const char *buf, size_t len, size_t *np)
{
	/* No entry is shorter than this. */
	const size_t most = len / offsetof(struct dirent, d_name) + 1;
	const struct dirent **entry = malloc(most * sizeof(struct dirent *));
	const struct dirent *d;

	*np = 0;
	if (entry == NULL)
		return NULL;
	for (size_t at = 0; at < len; at += d->d_reclen) {
		d = (const void *)(buf + at);
		if (is_entry(d))
			entry[(*np)++] = d;
	}
	qsort(entry, *np, sizeof(struct dirent *), compare_names);
	return entry;
}

/* Walks the directory w->path. */
static void
walk_level(struct walk *w, const struct level *level)
{
	const struct dirent **entry = NULL;
	char *buf = NULL;
	size_t len, n = 0;

	if (level->depth > WALK_DEPTH_MAX)
		errno = ELOOP;
	else if ((buf = read_directory(level->dir, &len)) != NULL)
		entry = sort_entries(buf, len, &n);
	/* A directory that was just removed is empty. */
	if (entry == NULL && errno != ENOENT)
		report(w->to, w->path, strerror(errno));
	for (size_t i = 0; entry != NULL && i < n; i++)
		visit(w, entry[i], level);
	free(entry);
	free(buf);
}

static void
walk_directory(int fd, const char *path, dev_t dev, const struct input_walk *to)
{
	const struct level level = {
		.dir = fd,
		.dev = dev,
		.path_len = strlen(path),
	};
	struct walk *w = malloc(sizeof(*w));

	if (w == NULL) {
		report(to, path, strerror(errno));
		return;
	}
	/* The kernel opened it, so it fits. */
	w->to = to;
	memcpy(w->path, path, level.path_len + 1);
	walk_level(w, &level);
	free(w);
}

/* Tells if reading a device ends: a terminal's does, and that of /dev/null. */
static bool
is_quiet_device(dev_t device)
{
	const unsigned int n = major(device);

	return (n == 1 && minor(device) == 3) || n == 4 || n == 5 ||
	    (n >= 136 && n <= 143);
}

/*
 * The reason why what path or fd is cannot be read to its end, or NULL. fd is
 * -1 for path, which is not opened: opening a device can do something.
 */
static const char *
refuse_kind(int fd, const char *path)
{
	struct stat st;

	if ((fd == -1 ? stat(path, &st) : fstat(fd, &st)) == -1)
		return NULL;
	if (S_ISSOCK(st.st_mode) && fd == -1)
		return "a socket, not a file";
	if (S_ISBLK(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && !is_quiet_device(st.st_rdev)))
		return "a device, not a file";
	return NULL;
}

/* Passes on what was named: a file, or those of a directory. */
static void
open_named(int fd, const char *path, const struct input_walk *w)
{
	const char *kernel = find_kernel_name(fd);
	char reason[128];
	struct stat st;

	if (fstat(fd, &st) == -1) {
		report(w, path, strerror(errno));
	} else if (S_ISDIR(st.st_mode) && kernel != NULL) {
		snprintf(reason, sizeof(reason),
		    "a file system of the kernel (%s): not searched", kernel);
		report(w, path, reason);
	} else if (S_ISDIR(st.st_mode)) {
		walk_directory(fd, path, st.st_dev, w);
	} else {
		/* A FIFO may have no writer, a file of the kernel no end. */
		if (!(S_ISFIFO(st.st_mode) && kernel == NULL) &&
		    !(S_ISREG(st.st_mode) && kernel != NULL))
			(void)fcntl(fd, F_SETFL, 0);
		w->file(fd, path, false, w->arg);
	}
}

void
input_walk(const char *path, const struct input_walk *w)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	const char *refused = refuse_kind(is_stdin ? STDIN_FILENO : -1, path);
	int fd;

	if (refused != NULL) {
		report(w, path, refused);
	} else if (is_stdin) {
		w->file(STDIN_FILENO, path, false, w->arg);
	} else if ((fd = open(path,
			O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) != -1) {
		open_named(fd, path, w);
		close(fd);
	} else {
		report(w, path, strerror(errno));
	}
}

uint64_t
input_size(const char *path)
{
	struct stat st;

	/* The size of a directory's files would need a second walk. */
	if (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &st) == -1 :
				     stat(path, &st) == -1)
		return 0;
	return S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}
