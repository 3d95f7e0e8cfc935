/* SPDX-License-Identifier: ISC */
/* config: what the subcommands of keyveto config and keyveto allow share. */
#ifndef CLI_CONFIG_CONFIG_H
#define CLI_CONFIG_CONFIG_H

#include "command.h"

#define CONFIG_EDIT_COMMAND "keyveto config edit"

/* Their names hold both words ("config check"), for usage and --help. */
extern const struct cli_command config_check, config_edit;

/*
 * The absolute form of a path, with links in it as they are: a login judges
 * them too. False after a message.
 */
bool config_absolute(const char *path, char *absolute, size_t cap);

/* A whole configuration file. */
struct config_text {
	char *text; /* with a NUL after it; to be freed */
	size_t len;
};

/*
 * Reads the rest of an open file, called path in messages. One that is larger
 * than any configuration is cut right behind KV_CONFIG_MAX_BYTES, so that it is
 * still seen to be too large. False after a message.
 */
bool config_read_fd(int fd, const char *path, struct config_text *t);

/* False, after a message, for a text that was cut: it must not be written. */
bool config_text_is_whole(const struct config_text *t, const char *path);

#endif
