/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/running: the sshd of this machine that let people in by other
 * settings than SSHD_PATH does by its own file: another program, or one with
 * arguments (-f, -o) that count for keys.
 */
#ifndef CLI_SSHD_CONFIG_RUNNING_H
#define CLI_SSHD_CONFIG_RUNNING_H

#include "sshd_config/sshd_config.h"

/* One of them. The strings live until sshd_running_free. */
struct sshd_running_one {
	char *place; /* for messages: a process, a file, a unit */
	struct sshd sshd;
	char *program, *config, *host_key, **option; /* what sshd points to */
};

/* All zeroes: none. */
struct sshd_running {
	struct sshd_running_one *v;
	size_t n;
};

/*
 * Finds them among the processes, and what /etc/default, /etc/sysconfig and
 * systemd's units give to the next one. Each is there once. Calls unseen for
 * each of which it cannot tell the settings. Always call sshd_running_free.
 * False with errno if out of memory.
 */
bool sshd_running_find(struct sshd_running *r,
    void (*unseen)(void *arg, const char *place, const char *why), void *arg);

void sshd_running_free(struct sshd_running *r);

#endif
