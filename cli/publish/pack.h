/* SPDX-License-Identifier: ISC */
/* publish/pack: has keyveto-worker unpack a file, and another one look at it. */
#ifndef CLI_PUBLISH_PACK_H
#define CLI_PUBLISH_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "published/index.h"

#define PACK_WHY_BYTES 256

/*
 * Unpacks the xz behind in, at most max bytes, into out, which is empty, and
 * sets sha256 to what that is. False with a reason in why, which ends with
 * strerror if the disk is at fault; with "" after a message about shown.
 */
bool pack_unpack(const char *shown, int in, int out, uint64_t max,
    char sha256[static INDEX_SHA256_BYTES], char why[static PACK_WHY_BYTES]);

#endif
