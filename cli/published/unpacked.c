/* SPDX-License-Identifier: ISC */
/* What came of unpacking, as a record. */
#include "published/unpack.h"

#define ERROR_MAX 4095 /* no errno is higher */

#define FIELDS(u) \
	R_NUMBER((u)->end, UNPACK_END_MAX), R_NUMBER((u)->error, ERROR_MAX), \
	    R_TEXT((u)->why)

void
unpack_put(struct record_out *o, const struct unpacked *u)
{
	record_add(o, FIELDS(u));
}

bool
unpack_get(struct kv_bytes b, struct unpacked *u)
{
	return record_get_all(&b, FIELDS(u)) &&
	    (u->end == UNPACK_DAMAGED || u->end == UNPACK_NO_LIST) ==
	    (u->why[0] != '\0');
}
