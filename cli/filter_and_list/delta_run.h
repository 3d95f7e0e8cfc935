/* SPDX-License-Identifier: ISC */
/*
 * filter_and_list/delta_run: what the subcommands diff and patch of keyveto
 * filter and keyveto list share.
 */
#ifndef CLI_FILTER_AND_LIST_DELTA_RUN_H
#define CLI_FILTER_AND_LIST_DELTA_RUN_H

#include "sets/delta.h"
#include "host/replace.h"

/* Opens a regular file for reading. False after a message. */
bool delta_open(struct delta_file *f, const char *path);
/* Closes it, if it is open. */
void delta_close(struct delta_file *f);

/*
 * Writes the delta between two open files to the file at path, by host/replace.
 * Only with force, another file is replaced; one that is no delta is kept beside
 * it. False after a message.
 */
bool delta_run_diff(const struct delta_file *old,
    const struct delta_file *fresh, const char *path, bool force);

/*
 * Makes the file that is open as r of old, by the delta of this kind at path,
 * and puts it in place. False after a message.
 */
bool delta_run_patch(const struct delta_file *old, const char *path,
    enum delta_kind kind, struct replace *r);

/*
 * Opens the file to patch, at path. If it is the one that r replaces, or path
 * is r's, this is r's old file. Sets *in_placep to whether it is. False after a
 * message.
 */
bool delta_open_old(struct delta_file *old, const char *path,
    const struct replace *r, bool *in_placep);

#endif
