/* SPDX-License-Identifier: ISC */
#include "host/sshd_process.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define STATUS_BYTES 4096
#define CONFIG_PATH "/etc/ssh/sshd_config"

/*
 * Reads the beginning of /proc/PID/NAME into text, with a NUL after it. False
 * with errno, or if it is empty.
 */
static bool
read_start(const char *pid, const char *name, char *text, size_t cap)
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
 * Whether pid runs in a chroot that does not hold our sshd_config. False if the
 * kernel refuses to say: then the process counts as ours.
 */
static bool
is_elsewhere(const char *pid)
{
	struct stat its, ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/root/", pid);
	if (stat(path, &its) == -1 || stat("/", &ours) == -1 ||
	    io_is_same(&its, &ours))
		return false;
	snprintf(path, sizeof(path), "/proc/%.20s/root" CONFIG_PATH, pid);
	if (stat(path, &its) == -1)
		return errno == ENOENT;
	return stat(CONFIG_PATH, &ours) == -1 || !io_is_same(&its, &ours);
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

/*
 * Judges a process of root's of which the kernel shows no links: it has
 * capabilities that this one lacks, as in the service of keyveto update. If this
 * process is root's, the name counts that the kernel gave to the other one.
 */
static enum sshd_process
judge_by_name(const char *pid, bool ours)
{
	const int error = errno;
	char text[64];

	if (!read_start(pid, "comm", text, sizeof(text)) ||
	    strcmp(text, "sshd\n") != 0)
		return SSHD_PROCESS_OTHER;
	errno = error;
	if (geteuid() != 0)
		return SSHD_PROCESS_UNSEEN;
	return ours ? SSHD_PROCESS_SSHD : SSHD_PROCESS_OTHER;
}

enum sshd_process
sshd_process_kind(const char *pid)
{
	char text[STATUS_BYTES], path[PATH_MAX], own[PATH_MAX], link[64], *p;
	struct stat st;
	bool ours;

	if (!read_start(pid, "status", text, sizeof(text)) ||
	    (p = strstr(text, "\nUid:\t")) == NULL ||
	    strncmp(p + 6, "0\t", 2) != 0)
		return SSHD_PROCESS_OTHER;
	ours = is_in_our_namespace(text);
	if (!read_link(pid, "ns/pid", path) ||
	    !read_link("self", "ns/pid", own) ||
	    (strcmp(path, own) == 0 && !read_link(pid, "exe", path)))
		return judge_by_name(pid, ours);
	if ((p = strrchr(path, '/')) == NULL)
		return SSHD_PROCESS_OTHER;
	/* After an upgrade of sshd, the path ends in " (deleted)". */
	p[strcspn(p, " ")] = '\0';
	/* This is the file that pid runs, even if it was since deleted. */
	snprintf(link, sizeof(link), "/proc/%.20s/exe", pid);
	if (strcmp(p, "/sshd") != 0 || stat(link, &st) == -1 ||
	    !S_ISREG(st.st_mode) || st.st_uid != 0)
		return SSHD_PROCESS_OTHER;
	return is_elsewhere(pid) ? SSHD_PROCESS_ELSEWHERE : SSHD_PROCESS_SSHD;
}
