/* SPDX-License-Identifier: ISC */
/* host/sshd_process: which processes are an sshd of this machine. */
#ifndef CLI_HOST_SSHD_PROCESS_H
#define CLI_HOST_SSHD_PROCESS_H

enum sshd_process {
	SSHD_PROCESS_OTHER,
	SSHD_PROCESS_SSHD,
	SSHD_PROCESS_ELSEWHERE, /* one in a chroot, with an sshd_config there */
	SSHD_PROCESS_UNSEEN,	/* the kernel does not tell; errno says why */
};

/*
 * By the kernel's word, whatever the process calls itself: its real user is
 * root, it runs a file named sshd that is root's, and it is in no container.
 * UNSEEN is only for a process of root's that is called sshd.
 */
enum sshd_process sshd_process_look(const char *pid);

#endif
