/* SPDX-License-Identifier: ISC */
/*
 * sshd/protection: the guards, PAM services and keyveto.confs that "keyveto
 * sshd status" meets while it reads sshd's settings. Each is checked once.
 */
#ifndef CLI_SSHD_PROTECTION_H
#define CLI_SSHD_PROTECTION_H

#include "sshd/sshd.h"

enum sshd_protector_kind {
	SSHD_PROTECTOR_GUARD,
	SSHD_PROTECTOR_CONFIG,
	SSHD_PROTECTOR_SERVICE
};

struct sshd_protector {
	enum sshd_protector_kind kind;
	char *name;  /* a path, or the name of a service */
	char *user;  /* who reads a keyveto.conf; "" for root */
	bool judges; /* the module judges every key in this service */
};

/* Empty if all but o is zero. */
struct sshd_protection {
	const struct sshd_options *o;
	struct sshd_protector *v;
	size_t n;
	bool unknown; /* something could not be checked */
};

/*
 * Adds the guard and its keyveto.conf, if command is the guard. user is who
 * sshd runs command as. Without memory sets unknown.
 */
void sshd_protection_add_guard(struct sshd_protection *m, const char *command,
    const char *user);

/*
 * Adds a PAM service and its module's keyveto.conf. Returns whether the module
 * judges every key there, as ways_find_module says. The first call for a
 * service prints why not.
 */
bool sshd_protection_add_service(struct sshd_protection *m,
    const char *service);

/*
 * Checks all guards and keyveto.confs that were added. False, after a message,
 * if a keyveto.conf lets listed keys in. Sets unknown, after a message, if a
 * guard cannot run or a keyveto.conf cannot be read.
 */
bool sshd_protection_refuses(struct sshd_protection *m,
    const struct accounts *accounts);

void sshd_protection_free(struct sshd_protection *m);

#endif
