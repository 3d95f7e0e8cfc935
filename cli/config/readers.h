/* SPDX-License-Identifier: ISC */
/*
 * config/readers: the users as whom sshd runs the guard. Each must be able to
 * read keyveto.conf and the filters, or a login has no verdict.
 */
#ifndef CLI_CONFIG_READERS_H
#define CLI_CONFIG_READERS_H

#include <stddef.h>

/* One user. Root, who reads everything, is not among them. */
struct config_reader {
	char name[256]; /* "%u" for any account */
	unsigned int uid, gid;
};

#define CONFIG_READERS_MAX 32

/* Zeroes are none. */
struct config_readers {
	struct config_reader v[CONFIG_READERS_MAX];
	size_t n;
};

/*
 * Asks sshd for its AuthorizedKeysCommand and AuthorizedPrincipalsCommand, and
 * finds the users of those that are the guard and read the configuration at
 * path. Match blocks are looked at, too. Where sshd cannot be asked there are
 * none, and a note says so.
 */
void config_readers_find(struct config_readers *r, const char *path);

#endif
