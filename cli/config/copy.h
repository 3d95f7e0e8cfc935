/* SPDX-License-Identifier: ISC */
/*
 * config/copy: NAME.edit, the copy beside keyveto.conf that a person edits,
 * mode 0600. A lock on .NAME.edit.lock lets only one person edit at a time. The
 * lock ends with the process. A copy that a killed run left is never deleted
 * without asking.
 */
#ifndef CLI_CONFIG_COPY_H
#define CLI_CONFIG_COPY_H

#include <limits.h>

#include "config/config.h"

struct config_copy {
	char path[PATH_MAX]; /* for the editor and for messages */
	char name[NAME_MAX + 1], lock_name[NAME_MAX + 1];
	int dir; /* of both, links resolved */
	int lock;
};

/*
 * Takes the lock of the copy of the file at path. Fails if another process has
 * it. Always call config_copy_close, even after a failure. This and the
 * functions below print a message before they fail.
 */
bool config_copy_open(struct config_copy *c, const char *path);

enum config_copy_made {
	CONFIG_COPY_FAILED,
	CONFIG_COPY_NEW,
	CONFIG_COPY_THERE, /* a killed run left a copy with another text */
};

/* Makes the copy, or uses one that is there with the same text. */
enum config_copy_made config_copy_make(const struct config_copy *c,
    const struct config_text *t);

/*
 * Reads the copy, by its name: an editor may have replaced the file. The caller
 * frees t->text.
 */
bool config_copy_read(const struct config_copy *c, struct config_text *t);

void config_copy_remove(const struct config_copy *c);
void config_copy_close(struct config_copy *c);

#endif
