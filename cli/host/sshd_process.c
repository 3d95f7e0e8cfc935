/* SPDX-License-Identifier: ISC */
#include "host/sshd_process.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/openat2.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define STATUS_BYTES 4096
#define CONFIG_PATH "/etc/ssh/sshd_config"

bool
sshd_process_read(const char *pid, const char *name, char *text, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return false;
	n = read(fd, text, cap - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Sets path to the target of the link /proc/PID/NAME. False with errno. */
static bool
read_link(const char *pid, const char *name, char path[static PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%.20s/%s", pid, name);
	if ((n = readlink(link, path, PATH_MAX - 1)) <= 0)
		return false;
	path[n] = '\0';
	return true;
}

/*
 * Sets its to what pid sees as CONFIG_PATH: a link in its root directory leads to
 * a place there, not to one here. False with errno.
 */
static bool
stat_its_config(const char *pid, struct stat *its)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT,
	};
	char path[64];
	int root, fd;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%.20s/root", pid);
	if ((root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1) {
		/* The process has ended. */
		if (errno == ENOENT)
			errno = ESRCH;
		return false;
	}
	fd = (int)syscall(SYS_openat2, root, CONFIG_PATH, &how, sizeof(how));
	/* Linux before 5.6 lacks it, and some containers refuse it. */
	if (fd == -1 && (errno == ENOSYS || errno == EPERM))
		ok = fstatat(root, &CONFIG_PATH[1], its, 0) == 0;
	else
		ok = fd != -1 && fstat(fd, its) == 0;
	io_close(fd);
	io_close(root);
	return ok;
}

/* Whether pid has another root directory. False if the kernel refuses to say. */
static bool
has_other_root(const char *pid)
{
	struct stat its, ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/root/", pid);
	return stat(path, &its) == 0 && stat("/", &ours) == 0 &&
	    !io_is_same(&its, &ours);
}

bool
sshd_process_reads_other(const char *pid)
{
	struct stat its, ours;

	if (!stat_its_config(pid, &its))
		return errno == ENOENT && stat(CONFIG_PATH, &ours) == 0;
	return stat(CONFIG_PATH, &ours) == -1 || !io_is_same(&its, &ours);
}

/*
 * The mounts are compared with those of the first process, not of pid: an sshd
 * with a copy of sshd_config in mounts of its own is one of this machine.
 */
bool
sshd_process_is_elsewhere(const char *pid)
{
	char mounts[PATH_MAX], own[PATH_MAX];
	struct stat its;

	if (has_other_root(pid))
		return sshd_process_reads_other(pid) ||
		    (!stat_its_config(pid, &its) && errno == ENOENT);
	return read_link("1", "ns/mnt", mounts) &&
	    read_link("self", "ns/mnt", own) && strcmp(mounts, own) != 0 &&
	    sshd_process_reads_other(pid);
}

/*
 * Whether a process with this status is in our PID namespace: a process in a
 * container has a second number there. A kernel that does not say counts as yes:
 * an sshd too many is asked, none is passed over.
 */
static bool
is_in_our_namespace(const char *status)
{
	const char *p = strstr(status, "\nNSpid:\t");

	if (p == NULL)
		return true;
	p += sizeof("\nNSpid:\t") - 1;
	return p[strcspn(p, "\t\n")] == '\n';
}

/* Whether this is sshd's name. serves: also that of what serves a connection. */
static bool
is_sshds(const char *name, bool serves)
{
	return strcmp(name, "sshd") == 0 ||
	    (serves && strcmp(name, "sshd-session") == 0);
}

/*
 * Judges a process of root's of which the kernel shows no links: it has
 * capabilities that this one lacks, as in the service of keyveto update. If this
 * process is root's, the name counts that the kernel gave to the other one.
 */
static enum sshd_process
judge_by_name(const char *pid, bool ours, bool serves)
{
	const int error = errno;
	char text[64], *end;

	if (!sshd_process_read(pid, "comm", text, sizeof(text)) ||
	    (end = strrchr(text, '\n')) == NULL)
		return SSHD_PROCESS_OTHER;
	*end = '\0';
	if (!is_sshds(text, serves))
		return SSHD_PROCESS_OTHER;
	errno = error;
	if (geteuid() != 0)
		return SSHD_PROCESS_UNSEEN;
	return ours ? SSHD_PROCESS_SSHD : SSHD_PROCESS_OTHER;
}

static enum sshd_process
judge(const char *pid, bool serves)
{
	char text[STATUS_BYTES], path[PATH_MAX], own[PATH_MAX], link[64], *p;
	struct stat st;
	bool ours;

	if (!sshd_process_read(pid, "status", text, sizeof(text)) ||
	    (p = strstr(text, "\nUid:\t")) == NULL ||
	    strncmp(p + 6, "0\t", 2) != 0)
		return SSHD_PROCESS_OTHER;
	ours = is_in_our_namespace(text);
	if (!read_link(pid, "ns/pid", path) ||
	    !read_link("self", "ns/pid", own) ||
	    (strcmp(path, own) == 0 && !read_link(pid, "exe", path)))
		return judge_by_name(pid, ours, serves);
	if ((p = strrchr(path, '/')) == NULL)
		return SSHD_PROCESS_OTHER;
	/* After an upgrade of sshd, the path ends in " (deleted)". */
	p[strcspn(p, " ")] = '\0';
	/* This is the file that pid runs, even if it was since deleted. */
	snprintf(link, sizeof(link), "/proc/%.20s/exe", pid);
	if (!is_sshds(p + 1, serves) || stat(link, &st) == -1 ||
	    !S_ISREG(st.st_mode) || st.st_uid != 0)
		return SSHD_PROCESS_OTHER;
	return sshd_process_is_elsewhere(pid) ?
	    SSHD_PROCESS_ELSEWHERE :
	    SSHD_PROCESS_SSHD;
}

enum sshd_process
sshd_process_kind(const char *pid)
{
	return judge(pid, false);
}

enum sshd_process
sshd_process_kind_serving(const char *pid)
{
	return judge(pid, true);
}
