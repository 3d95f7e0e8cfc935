/* SPDX-License-Identifier: ISC */
/*
 * sshd/state: what "keyveto sshd enable" found, kept until "disable": the
 * bytes, mode and owner of each file that it changes, in a directory for root
 * alone. It is there before anything is changed, and whole or not at all.
 */
#ifndef CLI_SSHD_STATE_H
#define CLI_SSHD_STATE_H

#include "sshd/files.h"

#define SSHD_STATE_DIR KV_STATEDIR "/sshd-state"

/* One that was kept. */
struct sshd_kept {
	char *path;
	bool there;
	char *text; /* NULL unless it was there */
	size_t len;
};

/* Zeroes are none. */
struct sshd_state {
	bool found;
	struct sshd_kept *v;
	size_t n;
};

/* Two runs at a time would undo each other. False after a message. */
bool sshd_state_lock(const char *root, int *fdp);
void sshd_state_unlock(const char *root, int fd);

/* False after a message if there is one that cannot be read. */
bool sshd_state_load(const char *root, struct sshd_state *s);
void sshd_state_free(struct sshd_state *s);
const struct sshd_kept *sshd_state_find(const struct sshd_state *s,
    const char *path);

/*
 * Keeps the base of each file that has a next, or with now of each file that
 * holds keyveto's lines now, in the place of what was kept before. False after
 * a message.
 */
bool sshd_state_save(const struct sshd_files *fs, bool now);
bool sshd_state_remove(const char *root);

#endif
