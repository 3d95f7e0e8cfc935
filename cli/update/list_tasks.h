/* SPDX-License-Identifier: ISC */
/*
 * update/list_tasks: has keyveto-worker, behind the wall, read exact lists and
 * what goes with them. What it tells may be a lie of who wrote the file: all
 * but its form is the caller's to check.
 */
#ifndef CLI_UPDATE_LIST_TASKS_H
#define CLI_UPDATE_LIST_TASKS_H

#include "published/manifest.h"

/*
 * Parses the manifest that fd holds. False after a message about shown.
 * *parsedp is whether it is a good one; why is a sentence if not.
 */
bool update_task_manifest(const char *shown, int fd, struct manifest *m,
    bool *parsedp, char why[static MANIFEST_WHY_BYTES]);

/*
 * Reads the lines about sources of the file that fd holds, at most max bytes of
 * them, into a text that the caller frees. NULL after a message about shown.
 */
char *update_task_sources(const char *shown, int fd, size_t max);

#endif
