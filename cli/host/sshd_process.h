/* SPDX-License-Identifier: ISC */
/* host/sshd_process: which processes are an sshd of this machine. */
#ifndef CLI_HOST_SSHD_PROCESS_H
#define CLI_HOST_SSHD_PROCESS_H

enum sshd_process {
	SSHD_PROCESS_OTHER,
	SSHD_PROCESS_SSHD,
	SSHD_PROCESS_ELSEWHERE, /* in a chroot without our sshd_config */
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

#endif
