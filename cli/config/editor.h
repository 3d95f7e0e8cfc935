/* SPDX-License-Identifier: ISC */
/* config/editor: the person's editor. */
#ifndef CLI_CONFIG_EDITOR_H
#define CLI_CONFIG_EDITOR_H

#include <stdbool.h>

/*
 * Runs $VISUAL, else $EDITOR, else sensible-editor, editor or vi, on the file
 * at path, and waits for its end. The variables may hold arguments, and quotes
 * around blanks; no shell reads them. False after a message unless the editor
 * ended with status 0.
 */
bool editor_run(const char *path);

#endif
