/* SPDX-License-Identifier: ISC */
/*
 * config/copy: the copy of keyveto.conf that somebody edits, NAME.edit beside
 * it, mode 0600. A lock on .NAME.edit.lock lets one person edit at a time; it
 * ends with the process. What is in a copy is never lost: whoever finds one
 * that a killed run left is asked what to do with it.
 */
#ifndef CLI_CONFIG_COPY_H
#define CLI_CONFIG_COPY_H

#include <limits.h>

#include "config/config.h"

struct config_copy {
	char path[PATH_MAX]; /* for the editor, and for messages */
	char name[NAME_MAX + 1], lock_name[NAME_MAX + 1];
	int dir; /* that both are in; links are followed */
	int lock;
};

/*
 * Takes the lock of the copy of the file at path. Ended by config_copy_close,
 * also after false. False comes after a message, here and below.
 */
bool config_copy_open(struct config_copy *c, const char *path);

enum config_copy_made {
	CONFIG_COPY_FAILED,
	CONFIG_COPY_NEW,
	CONFIG_COPY_THERE, /* a run that was killed left another text */
};

/* Makes it; a copy of the same text that is there already is taken over. */
enum config_copy_made config_copy_make(const struct config_copy *c,
    const struct config_text *t);

/* Reads it again: an editor may have put another file in its place. */
bool config_copy_read(const struct config_copy *c, struct config_text *t);

void config_copy_remove(const struct config_copy *c);
void config_copy_close(struct config_copy *c);

#endif
