/* SPDX-License-Identifier: ISC */
/*
 * host/sshd_process: which processes are an sshd of this machine, by what the
 * kernel says of them below /proc.
 */
#ifndef CLI_HOST_SSHD_PROCESS_H
#define CLI_HOST_SSHD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

enum sshd_process {
	SSHD_PROCESS_OTHER,
	SSHD_PROCESS_SSHD,
	SSHD_PROCESS_ELSEWHERE, /* as sshd_process_is_elsewhere has it */
	SSHD_PROCESS_UNSEEN,	/* the kernel refuses to say; see errno */
};

/*
 * Judges the process by what the kernel says of it, not by what it calls
 * itself. SSHD: its real user is root, it is in our PID namespace (in no
 * container), and it runs a file called sshd that root owns. If the kernel does
 * not show root which file that is, the process's name counts. UNSEEN: only for
 * a process of root's that is called sshd, if this one is not root's.
 */
enum sshd_process sshd_process_kind(const char *pid);

/* The same, of a process that may serve a connection: also sshd-session. */
enum sshd_process sshd_process_kind_serving(const char *pid);

/*
 * Whether pid has another root directory, or this process has other mounts than
 * the first one, and pid reads another sshd_config than this process. False if
 * the kernel refuses to say.
 */
bool sshd_process_is_elsewhere(const char *pid);

/* Whether pid sees another sshd_config than this process. False as above. */
bool sshd_process_reads_other(const char *pid);

/*
 * Reads the beginning of /proc/PID/NAME of any process into text, with a NUL
 * after it. False with errno, or if it is empty.
 */
bool sshd_process_read(const char *pid, const char *name, char *text,
    size_t cap);

#endif
