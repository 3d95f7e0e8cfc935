/* SPDX-License-Identifier: ISC */
/*
 * lookups: compares look-ups in a filter, many at a time, with reads of single
 * bytes of the same memory at independent random places.
 *
 *   lookups FILTER ROUNDS
 *
 * Prints nanoseconds for a look-up and for a byte read: medians of ROUNDS.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "sets/pkbf_map.h"
#include "random.h"
#include "timing.h"

#define COUNT (1 << 20)

int
main(int argc, char **argv)
{
	struct kv_pkbf_hash *h = malloc(COUNT * sizeof(*h));
	uint64_t *place = malloc(COUNT * sizeof(*place));
	int rounds = argc == 3 ? atoi(argv[2]) : 0;
	double *look, *read;
	volatile unsigned int sum;
	struct pkbf_map map;
	struct kv_pkbf f;

	if (rounds < 1 || h == NULL || place == NULL ||
	    kv_pkbf_open_fd(open(argv[1], O_RDONLY), &f) != KV_OK ||
	    !pkbf_map_open(&map, &f))
		return 2;
	look = calloc((size_t)rounds, sizeof(*look));
	read = calloc((size_t)rounds, sizeof(*read));
	for (int r = -1; r < rounds; r++) {
		bool listed[PKBF_MAP_BATCH];
		unsigned int n = 0;
		double begin;

		for (size_t i = 0; i < COUNT; i++) {
			h[i] = (struct kv_pkbf_hash){ next(), next() | 1 };
			place[i] = next() % map.bytes;
		}
		begin = now();
		for (size_t i = 0; i < COUNT; i += PKBF_MAP_BATCH)
			pkbf_map_lookup(&map, h + i, PKBF_MAP_BATCH, listed);
		if (r >= 0)
			look[r] = 1e3 * (now() - begin) / COUNT;
		begin = now();
		for (size_t i = 0; i < COUNT; i++)
			n += map.file[place[i]];
		sum = n;
		if (r >= 0)
			read[r] = 1e3 * (now() - begin) / COUNT;
	}
	(void)sum;
	printf("%.2f %.2f\n", median(look, (size_t)rounds),
	    median(read, (size_t)rounds));
	return 0;
}
