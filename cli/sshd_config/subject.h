/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/subject: what has to be known of an sshd before it is asked about
 * an account: the file that it reads, where it listens, and whether asking it
 * makes sense.
 */
#ifndef CLI_SSHD_CONFIG_SUBJECT_H
#define CLI_SSHD_CONFIG_SUBJECT_H

#include <limits.h>

#include "sshd_config/sshd_config.h"

struct sshd_subject {
	char file[PATH_MAX]; /* that it reads; "" if it does not tell */
	char address[64];    /* where a client of this machine reaches it */
	unsigned int port;
	unsigned int free_port; /* that no Match LocalPort names */
	char refused[1024];	/* "" or why it is not to be asked */
};

/*
 * Looks at the sshd and its configuration, if it is another one than the time
 * before. An sshd that cannot be asked at all has the defaults: 127.0.0.1 and
 * port 22. The answer is good until the next call.
 */
const struct sshd_subject *sshd_subject(const struct sshd *sshd);

/* That sshd is not to be asked any more. */
void sshd_subject_refuse(const char *why);

#endif
