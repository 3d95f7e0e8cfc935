/* SPDX-License-Identifier: ISC */
/*
 * sshd/state: what "keyveto enable" found: the bytes, mode and owner of
 * each file that it changes. They stay until "disable", in a directory that
 * only root can read. sshd_state_save writes all of it or nothing; enable calls
 * it before it changes a file.
 */
#ifndef CLI_SSHD_STATE_H
#define CLI_SSHD_STATE_H

#include "sshd/files.h"

#define SSHD_STATE_DIR KV_STATEDIR "/sshd-state"

/* A file as it was before enable. */
struct sshd_kept {
	char *path;
	bool there;
	char *text; /* without keyveto's lines; NULL if there is false */
	size_t len;
};

/* A struct of zeroes is empty. */
struct sshd_state {
	bool found; /* enable has kept files */
	struct sshd_kept *v;
	size_t n;
};

/*
 * Takes the lock that keeps two runs from undoing each other. Does not wait.
 * *fdp is for sshd_state_unlock. False after a message.
 */
bool sshd_state_lock(int *fdp);
void sshd_state_unlock(int fd);

/*
 * Reads the state. If there is none: true, and s->found is false. False after a
 * message. Always call sshd_state_free, even after a failure.
 */
bool sshd_state_load(struct sshd_state *s);
void sshd_state_free(struct sshd_state *s);

/*
 * Replaces the state by the base of each file that has a next; with now true,
 * of each file that has keyveto's lines now. False after a message.
 */
bool sshd_state_save(const struct sshd_files *fs, bool now);
/* Removes the state, if there is one. False after a message. */
bool sshd_state_remove(void);

#endif
