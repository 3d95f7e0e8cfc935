/* SPDX-License-Identifier: ISC */
/* config/editor: runs the user's editor. */
#ifndef CLI_CONFIG_EDITOR_H
#define CLI_CONFIG_EDITOR_H

#include <stdbool.h>

/*
 * Runs $VISUAL, else $EDITOR, else sensible-editor, editor or vi, on the file
 * at path, and waits for its end. The variables may have arguments, with quotes
 * around blanks; no shell is used. False after a message unless the editor
 * ended with status 0.
 */
bool editor_run(const char *path);

#endif
