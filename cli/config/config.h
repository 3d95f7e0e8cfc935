/* SPDX-License-Identifier: ISC */
/* config/config: shared by keyveto config and keyveto allow. */
#ifndef CLI_CONFIG_CONFIG_H
#define CLI_CONFIG_CONFIG_H

#include "command.h"

#define CONFIG_EDIT_COMMAND "keyveto config edit"

/* Their names are two words ("config check"), for usage and --help. */
extern const struct cli_command config_check, config_edit;

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

/* False after a message if the text was cut: do not write it. */
bool config_text_is_whole(const struct config_text *t, const char *path);

#endif
