/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/copy: a copy of sshd's configuration, in a directory that goes
 * away, with changes that are not made yet or for a machine below another root;
 * and what sshd says of it.
 *
 * In the copy nothing differs but the Include lines, which name other files of
 * the copy. Paths in other lines stay as they are: sshd looks at none of those
 * files but the host keys when it is asked for its settings.
 */
#ifndef CLI_SSHD_CONFIG_COPY_H
#define CLI_SSHD_CONFIG_COPY_H

#include <sys/types.h>

#include "sshd_config/tree.h"

struct sshd_copy {
	struct sshd_tree tree; /* what was copied */
	char *folder;
	char *top;	/* the copy of the first file */
	char *host_key; /* one that was made for sshd, or NULL */
	pid_t remover;	/* removes the copy, even if we are killed */
	int alive;	/* what it waits for the end of */
};

/*
 * Reads SSHD_TREE_TOP below root with n changes, and copies it. False with a
 * sentence in why. Ended by sshd_copy_close in any case, which removes the copy.
 */
bool sshd_copy_open(struct sshd_copy *c, const char *root,
    const struct sshd_change *change, size_t n, char *why, size_t cap);
void sshd_copy_close(struct sshd_copy *c);

/*
 * All that "sshd -T" says of the copy: what holds for user, or where no Match
 * line asks for anything (NULL); to be freed. NULL with a sentence in why, in
 * which files go by their real names. Where sshd finds no host key, or shall not
 * look for one (foreign), a key is made for it.
 */
char *sshd_copy_ask(const char *sshd, struct sshd_copy *c, bool foreign,
    const char *user, char *why, size_t cap);

/* The same for "sshd -t": whether sshd would start. */
bool sshd_copy_is_valid(const char *sshd, struct sshd_copy *c, bool foreign,
    char *why, size_t cap);

#endif
