/* SPDX-License-Identifier: ISC */
/*
 * config/swap: keyveto.conf replaced in one step, by host/replace. Owner and
 * mode stay; a file where there was none is root's, mode 0644.
 */
#ifndef CLI_CONFIG_SWAP_H
#define CLI_CONFIG_SWAP_H

#include "config/config.h"
#include "host/replace.h"

struct config_swap {
	struct replace r;
	struct config_text was; /* what the file holds; empty without one */
};

/*
 * Takes the lock, and reads the file if there is one. Ended by
 * config_swap_close, also after false. False comes after a message, here and
 * below.
 */
bool config_swap_open(struct config_swap *s, const char *path);

/* Puts the text in its place, flushed to disk. */
bool config_swap_commit(struct config_swap *s, const char *text, size_t len);

void config_swap_close(struct config_swap *s);

/*
 * Whether this process is root, and the file one that a login would read, or a
 * new one in a folder that is safe. False after a message that says what to
 * type.
 */
bool config_may_be_changed(const char *path);

#endif
