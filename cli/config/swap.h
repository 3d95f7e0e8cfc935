/* SPDX-License-Identifier: ISC */
/*
 * config/swap: replaces keyveto.conf in one step, by host/replace. Owner and
 * mode stay; a new file has mode 0644.
 */
#ifndef CLI_CONFIG_SWAP_H
#define CLI_CONFIG_SWAP_H

#include "config/config.h"
#include "host/replace.h"

struct config_swap {
	struct replace r;
	struct config_text was; /* the file's text; empty if there is none */
};

/*
 * Takes the lock, and reads the file if there is one. Always call
 * config_swap_close, even after a failure. This and the functions below print a
 * message before they return false.
 */
bool config_swap_open(struct config_swap *s, const char *path);

/* Replaces the file by text, flushed to disk. */
bool config_swap_commit(struct config_swap *s, const char *text, size_t len);

void config_swap_close(struct config_swap *s);

/*
 * Whether this process is root, and a login would trust a file at path (which
 * may be new, in a safe directory). False after a message that says what to do.
 */
bool config_may_be_changed(const char *path);

#endif
