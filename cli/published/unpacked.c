/* SPDX-License-Identifier: ISC */
/* What came of unpacking, as a record. */
#include "published/unpack.h"

#define ERROR_MAX 4095 /* no errno is higher */

void
unpack_put(struct record_out *o, const struct unpacked *u)
{
	record_add_number(o, (uint64_t)u->end);
	record_add_number(o, (uint64_t)u->error);
	record_add_text(o, u->why);
}

bool
unpack_get(struct kv_bytes b, struct unpacked *u)
{
	uint64_t end, error;

	if (!record_get_limited(&b, UNPACK_END_MAX, &end) ||
	    !record_get_limited(&b, ERROR_MAX, &error) ||
	    !record_get_text(&b, u->why, sizeof(u->why)) || b.left != 0)
		return false;
	u->end = (enum unpack_end)end;
	u->error = (int)error;
	return (u->end == UNPACK_DAMAGED || u->end == UNPACK_NO_LIST) ==
	    (u->why[0] != '\0');
}
