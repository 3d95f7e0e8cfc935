/* SPDX-License-Identifier: ISC */
#include "keys/walk.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 64

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

/* A directory being walked. */
struct level {
	dev_t dev;
	const char *path;
	int depth; /* 0 for the first directory */
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

static int
is_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 &&
	    strcmp(entry->d_name, "..") != 0;
}

/* alphasort would sort by the locale. */
static int
compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void walk_level(int fd, const struct level *level,
    const struct walk_sink *sink);

/* Opens an entry of the directory dir, and walks or gives it. */
static void
visit(int dir, const char *name, const char *path, const struct level *above,
    const struct walk_sink *sink)
{
	struct level level = {
		.path = path,
		.depth = above->depth + 1,
	};
	struct stat st;
	int fd = -1;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return;
	/* Non-blocking: the name may have become a FIFO by now. */
	fd = openat(dir, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1) {
		/* A symbolic link, a socket, or a file just removed. */
		if (errno != ELOOP && errno != ENXIO && errno != ENOENT)
			sink->problem(path, strerror(errno), sink->arg);
	} else if (S_ISREG(st.st_mode)) {
		sink->file(fd, path, sink->arg);
	} else if (S_ISDIR(st.st_mode)) {
		level.dev = st.st_dev;
		if (st.st_dev == above->dev || walk_kernel_name(fd) == NULL)
			walk_level(fd, &level, sink);
	}
	if (fd != -1)
		close(fd);
}

/* Does not close fd. */
static void
walk_level(int fd, const struct level *level, const struct walk_sink *sink)
{
	const char *path = level->path;
	const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
	struct dirent **entry = NULL;
	char below[PATH_MAX];
	int n;

	n = level->depth <= DEPTH_MAX ?
	    scandirat(fd, ".", &entry, is_entry, compare_names) :
	    -1;
	if (n == -1)
		sink->problem(path,
		    strerror(level->depth > DEPTH_MAX ? ELOOP : errno),
		    sink->arg);
	for (int i = 0; i < n; i++) {
		int len = snprintf(below, sizeof(below), "%s%s%s", path, slash,
		    entry[i]->d_name);

		if (len < 0 || (size_t)len >= sizeof(below))
			sink->problem(path, strerror(ENAMETOOLONG), sink->arg);
		else
			visit(fd, entry[i]->d_name, below, level, sink);
		free(entry[i]);
	}
	free(entry);
}

void
walk_directory(int fd, const char *path, const struct walk_sink *sink)
{
	struct level level = { .path = path };
	struct stat st;

	if (fstat(fd, &st) == -1) {
		sink->problem(path, strerror(errno), sink->arg);
	} else {
		level.dev = st.st_dev;
		walk_level(fd, &level, sink);
	}
	close(fd);
}
