/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/subject: what sshd_ask needs to know of an sshd: the file that it
 * reads, where it listens, and whether it can answer.
 */
#ifndef CLI_SSHD_CONFIG_SUBJECT_H
#define CLI_SSHD_CONFIG_SUBJECT_H

#include <limits.h>

#include "sshd_config/sshd_config.h"

struct sshd_subject {
	char file[PATH_MAX]; /* that it reads; "" if unknown */
	char address[64];    /* where a client of this machine reaches it */
	unsigned int port;
	unsigned int free_port; /* a port that no Match LocalPort names */
	char refused[1024];	/* why it must not be asked, or "" */
};

/*
 * Reads the sshd's configuration, and asks it with -dd -T, unless the last call
 * was about the same sshd. If it gives no answer: 127.0.0.1 and port 22. The
 * result is valid until the next call.
 */
const struct sshd_subject *sshd_subject(const struct sshd *sshd);

/* Sets refused of the last sshd, so that sshd_ask does not start it again. */
void sshd_subject_refuse(const char *why);

#endif
