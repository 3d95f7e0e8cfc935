/* SPDX-License-Identifier: ISC */
/*
 * config/readers: the users that sshd runs the guard as. If one of them cannot
 * read keyveto.conf or a filter, a login has no verdict.
 */
#ifndef CLI_CONFIG_READERS_H
#define CLI_CONFIG_READERS_H

#include <stddef.h>

/* One user. Root can read every file, and is not listed. */
struct config_reader {
	char name[256]; /* "%u" for any account */
	unsigned int uid, gid;
};

#define CONFIG_READERS_MAX 32

/* All zeroes: none. */
struct config_readers {
	struct config_reader v[CONFIG_READERS_MAX];
	size_t n;
};

/*
 * Asks sshd for AuthorizedKeysCommand and AuthorizedPrincipalsCommand. Finds
 * the users of those commands that are the guard and read the configuration at
 * path, also in Match blocks. If sshd cannot be asked, there are none, and a
 * note is printed (none if there is no sshd).
 */
void config_readers_find(struct config_readers *r, const char *path);

#endif
