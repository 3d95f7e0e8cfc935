/* SPDX-License-Identifier: ISC */
#include "sets/losses.h"

#include <string.h>

#include "command.h"
#include "sets/filter_file.h"
#include "sets/list_reader.h"
#include "base/progress.h"

#define BLOCK_BYTES (256 * 1024)

/* Counts the bits that are set in a, and those of them that are not in b. */
static void
count_block(const uint8_t *a, const uint8_t *b, size_t len, uint64_t *setp,
    uint64_t *lostp)
{
	uint64_t x, y;

	for (; len >= sizeof(x);
	     a += sizeof(x), b += sizeof(y), len -= sizeof(x)) {
		memcpy(&x, a, sizeof(x));
		memcpy(&y, b, sizeof(y));
		*setp += (uint64_t)__builtin_popcountll(x);
		*lostp += (uint64_t)__builtin_popcountll(x & ~y);
	}
	for (; len > 0; a++, b++, len--) {
		*setp += (uint64_t)__builtin_popcount(*a);
		*lostp += (uint64_t)__builtin_popcount(*a & ~*b & 0xffU);
	}
}

bool
losses_of_bits(const struct losses_side *old, const struct losses_side *fresh,
    uint8_t length, uint64_t *setp, uint64_t *lostp)
{
	static uint8_t a[BLOCK_BYTES], b[BLOCK_BYTES];
	const off_t end = kv_pkbf_file_bytes(length);
	struct progress progress;
	bool ok = true;

	*setp = *lostp = 0;
	progress_start(&progress, "comparing", (uint64_t)end);
	for (off_t at = KV_PKBF_HEADER_BYTES; ok && at < end;
	     at += BLOCK_BYTES) {
		const size_t len = end - at < BLOCK_BYTES ?
		    (size_t)(end - at) :
		    BLOCK_BYTES;

		progress_add(&progress, len);
		if (filter_is_hole(old->fd, at, len))
			continue;
		ok = cli_read_at(old->shown, old->fd, a, len, at) &&
		    cli_read_at(fresh->shown, fresh->fd, b, len, at);
		if (ok)
			count_block(a, b, len, setp, lostp);
	}
	progress_clear(&progress);
	return ok;
}

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
