/* SPDX-License-Identifier: ISC */
#include "host/sshd_process.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "host/proc.h"

#define STATUS_BYTES 4096
#define CONFIG_PATH "/etc/ssh/sshd_config"

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

	if (!proc_read_start(pid, "comm", text, sizeof(text)) ||
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

	if (!proc_read_start(pid, "status", text, sizeof(text)) ||
	    (p = strstr(text, "\nUid:\t")) == NULL ||
	    strncmp(p + 6, "0\t", 2) != 0)
		return SSHD_PROCESS_OTHER;
	ours = is_in_our_namespace(text);
	if (!proc_read_link(pid, "ns/pid", path) ||
	    !proc_read_link("self", "ns/pid", own) ||
	    (strcmp(path, own) == 0 && !proc_read_link(pid, "exe", path)))
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
	return is_elsewhere(pid) ? SSHD_PROCESS_ELSEWHERE : SSHD_PROCESS_SSHD;
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
