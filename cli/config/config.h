/* SPDX-License-Identifier: ISC */
/*
 * config/config: reads and replaces keyveto.conf, for keyveto config and
 * keyveto allow.
 */
#ifndef CLI_CONFIG_CONFIG_H
#define CLI_CONFIG_CONFIG_H

#include "command.h"
#include "host/replace.h"

#define CONFIG_EDIT_COMMAND "keyveto config edit"

/* Its name is two words, for usage and --help. */
extern const struct cli_command config_edit;

/*
 * Sets absolute to path, below the working directory if it is relative. Links
 * are not resolved: a login judges them too. False after a message.
 */
bool config_absolute(const char *path, char *absolute, size_t cap);

/* A whole configuration file. */
struct config_text {
	char *text; /* with a NUL after it; the caller frees it */
	size_t len;
};

/*
 * Reads fd to its end, at most KV_CONFIG_MAX_BYTES + 1 bytes:
 * config_text_is_whole then reports a file that is too large. path is for
 * messages. False after a message; t->text is NULL then. The caller closes fd.
 */
bool config_read_fd(int fd, const char *path, struct config_text *t);

/*
 * The same for the file at path. *therep: it exists. If it does not, the text
 * is "", unless therep is NULL: then that is a failure, too.
 */
bool config_read_file(const char *path, struct config_text *t, bool *therep);

bool config_text_is_same(const struct config_text *a,
    const struct config_text *b);

/* False after a message if the text was cut: do not write it. */
bool config_text_is_whole(const struct config_text *t, const char *path);

/*
 * Replaces keyveto.conf in one step, by host/replace. Owner and mode stay; a
 * new file has mode 0644.
 */
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

/*
 * Whether a command may make the file at path, which is not there, unasked: no
 * login is judged by it. False after a message.
 */
bool config_may_be_made(const char *path);

#endif
