/* SPDX-License-Identifier: ISC */
/*
 * published/patch: a zstd patch (RFC 8878), as zstd --patch-from makes one: a
 * single frame, of which the old file is the prefix. Only programs behind a wall
 * apply one.
 */
#ifndef CLI_PUBLISHED_PATCH_H
#define CLI_PUBLISHED_PATCH_H

#include <stdbool.h>
#include <stdint.h>

/* How many bytes the new file may have. */
struct patch_bounds {
	uint64_t min, max;
};

/*
 * Applies the patch to old, and writes the new file into out, which is empty;
 * all three are descriptors. False if it is no patch of old, or not one of a
 * file within the bounds: without a checksum of the content, with a dictionary,
 * or for a larger window than old can need, it is none. out has anything then.
 */
bool patch_apply(int old, int patch, const struct patch_bounds *bounds,
    int out);

#endif
