/* SPDX-License-Identifier: ISC */
#include "publish/pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tasks/list.h"
#include "working/hash.h"

bool
pack_unpack(const char *shown, int in, int out, uint64_t max,
    char sha256[static INDEX_SHA256_BYTES], char why[static PACK_WHY_BYTES])
{
	struct unpacked x;
	off_t size;

	why[0] = '\0';
	if (!tasks_unpack(shown, in, out, max, false, NULL, &size, &x))
		return false;
	if (x.end == UNPACK_TOO_LARGE)
		snprintf(why, PACK_WHY_BYTES,
		    "unpacks to more than its %" PRIu64 " bytes", max);
	else if (x.end == UNPACK_DONE)
		/* Who unpacked it does not say what it is. */
		return working_hash(out, shown, sha256);
	else if (x.end == UNPACK_NOT_READ || x.end == UNPACK_NOT_WRITTEN)
		snprintf(why, PACK_WHY_BYTES, "cannot be %s: %s",
		    x.end == UNPACK_NOT_READ ? "read" : "unpacked",
		    strerror(x.error));
	else
		snprintf(why, PACK_WHY_BYTES, "%s", x.why);
	return false;
}
