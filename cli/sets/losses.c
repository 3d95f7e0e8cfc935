/* SPDX-License-Identifier: ISC */
#include "sets/losses.h"

#include <string.h>

#include "sets/list_reader.h"

bool
losses_of_records(const struct losses_side *old,
    const struct losses_side *fresh, uint64_t *lostp)
{
	static struct list_reader a, b;
	const uint8_t *x, *y = NULL;

	*lostp = 0;
	(void)list_reader_adopt(&a, old->shown, old->fd);
	(void)list_reader_adopt(&b, fresh->shown, fresh->fd);
	y = list_reader_next(&b);
	while ((x = list_reader_next(&a)) != NULL) {
		while (y != NULL && memcmp(y, x, KV_BLOCKLIST_HASH_BYTES) < 0)
			y = list_reader_next(&b);
		if (y == NULL || !list_same_hash(x, y))
			(*lostp)++;
	}
	/* To its end, since a hole in it is a loss, too. */
	while (y != NULL)
		y = list_reader_next(&b);
	return list_reader_is_good(&b);
}
