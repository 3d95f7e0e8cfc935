/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/copy: a temporary copy of sshd's configuration, and sshd's
 * answers about it. The copy may have changes that are not made yet.
 *
 * Only the Include lines differ: they name other files of the copy. Paths in
 * other lines do not change: to print its settings, sshd opens none of those
 * files except host keys.
 */
#ifndef CLI_SSHD_CONFIG_COPY_H
#define CLI_SSHD_CONFIG_COPY_H

#include "host/temporary.h"
#include "sshd_config/tree.h"

struct sshd_copy {
	struct sshd_tree tree; /* what was copied */
	struct temporary folder;
	char *top;	/* the path of the copy of the first file */
	char *host_key; /* the path of a key made for sshd, or NULL */
};

/*
 * Reads SSHD_TREE_TOP with n changes, and copies it. False with a sentence in
 * why; then sshd_copy_ask and sshd_copy_is_valid fail. Always call
 * sshd_copy_close, even after a failure: it removes the copy.
 */
bool sshd_copy_open(struct sshd_copy *c, const struct sshd_change *change,
    size_t n, char *why, size_t cap);
void sshd_copy_close(struct sshd_copy *c);

/*
 * What "sshd -T" prints about the copy for user, or with user NULL for a login
 * that no Match line matches; the caller frees it. NULL with a sentence in why,
 * which has the files' real names. Makes a host key if sshd finds none.
 */
char *sshd_copy_ask(const char *sshd, struct sshd_copy *c, const char *user,
    char *why, size_t cap);

/* Whether "sshd -t" accepts the copy, so that sshd would start. As above. */
bool sshd_copy_is_valid(const char *sshd, struct sshd_copy *c, char *why,
    size_t cap);

#endif
