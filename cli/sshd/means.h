/* SPDX-License-Identifier: ISC */
/*
 * sshd/means: what stands in front of the ways in, and by which keyveto.conf:
 * guards, and the module in PAM's services. Each is looked at once.
 */
#ifndef CLI_SSHD_MEANS_H
#define CLI_SSHD_MEANS_H

#include "sshd/sshd.h"

enum sshd_mean_kind { SSHD_MEAN_GUARD, SSHD_MEAN_CONFIG, SSHD_MEAN_SERVICE };

struct sshd_mean {
	enum sshd_mean_kind kind;
	char *name;  /* a path, or that of a service */
	char *user;  /* who reads a keyveto.conf; "" for root */
	bool judges; /* of a service: it does */
};

/* Zeroes but for o are none. */
struct sshd_means {
	const struct sshd_options *o;
	struct sshd_mean *v;
	size_t n;
	bool unknown; /* something could not be looked at */
};

/* Takes a guard in, as sshd runs it: a command, and the user it runs as. */
void sshd_means_guard(struct sshd_means *m, const char *command,
    const char *user);

/*
 * Whether in that service the module is where it sees every key, and its no
 * counts. Why not is told once.
 */
bool sshd_means_service(struct sshd_means *m, const char *service);

/*
 * Looks at all guards and configurations that were met. False, after a message,
 * if a listed key is let in by one; what does not work is unknown.
 */
bool sshd_means_refuse(struct sshd_means *m, const struct accounts *accounts);

void sshd_means_free(struct sshd_means *m);

#endif
