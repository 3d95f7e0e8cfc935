/* SPDX-License-Identifier: ISC */
/*
 * update/patch: receives a new file by what differs from the installed one: by a
 * patch beside the new file, which keyveto-worker applies (published/patch). The
 * caller verifies what came of it as a file that came whole.
 */
#ifndef CLI_UPDATE_PATCH_H
#define CLI_UPDATE_PATCH_H

#include "net/fetch.h"

struct update;

#define UPDATE_PATCH_COST_BYTES 64

/*
 * Receives the file at place, which may be packed there, into u->part, by the
 * patch from the installed file, whose SHA-256 is sha256. A filter stays as long
 * as it was, and a list gets at most twice as long. False, with an empty
 * u->part, if no patch gives such a file: that is no matter for a message.
 */
bool update_patch_receive(struct update *u, const struct fetch_place *place,
    const char *sha256);

/* "; by a patch of 8472 bytes", or "" if the file came whole. */
const char *update_patch_cost(const struct update *u,
    char text[static UPDATE_PATCH_COST_BYTES]);

#endif
