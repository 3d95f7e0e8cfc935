/* SPDX-License-Identifier: ISC */
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

bool
room_for_one(void *list, size_t n, size_t size)
{
	void *v, *grown;

	/* There is room for 1, 2, 4, 8... elements. */
	if ((n & (n - 1)) != 0)
		return true;
	memcpy(&v, list, sizeof(v));
	if ((grown = reallocarray(v, n > 0 ? 2 * n : 1, size)) == NULL)
		return false;
	memcpy(list, &grown, sizeof(grown));
	return true;
}
