/* SPDX-License-Identifier: ISC */
/*
 * records: compares look-ups in an exact list, many at a time, with reads of
 * single records of the same list at independent random places in memory.
 *
 *   records LIST ROUNDS
 *
 * Prints nanoseconds: of a look-up among a million, with what is made of the
 * list before; of a look-up once that is made; of a look-up of a listed key,
 * likewise; of a read. Medians of ROUNDS.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/quick.h"
#include "sets/list_index.h"
#include "kv_pread.h"
#include "random.h"
#include "timing.h"

#define COUNT 1000000

/* Nanoseconds of each of COUNT look-ups, as keyveto check does them. */
static double
look_up(struct list_index *x, const struct kv_blocklist_hash *h)
{
	bool listed[QUICK_LINES] = { false };
	double begin = now();

	for (size_t i = 0; i < COUNT; i += QUICK_LINES)
		list_index_lookup(x, h + i,
		    COUNT - i < QUICK_LINES ? COUNT - i : QUICK_LINES, listed);
	return 1e3 * (now() - begin) / COUNT;
}

int
main(int argc, char **argv)
{
	struct kv_blocklist_hash *h = malloc(COUNT * sizeof(*h));
	uint32_t *place = malloc(COUNT * sizeof(*place));
	int rounds = argc == 3 ? atoi(argv[2]) : 0;
	double *took[4];
	volatile unsigned int sum = 0;
	struct list_index x;
	struct kv_blocklist l;
	uint8_t(*record)[KV_BLOCKLIST_RECORD_BYTES];

	if (rounds < 1 || h == NULL || place == NULL ||
	    kv_blocklist_open_fd(open(argv[1], O_RDONLY), &l) != KV_OK ||
	    (record = malloc(l.records * sizeof(*record))) == NULL ||
	    kv_pread(l.fd, record, l.records * sizeof(*record), 0,
		KV_ERR_LIST_SIZE) != KV_OK)
		return 2;
	for (size_t i = 0; i < 4; i++)
		took[i] = calloc((size_t)rounds, sizeof(**took));
	for (int r = 0; r < rounds; r++) {
		unsigned int n = 0;
		double begin;

		for (size_t i = 0; i < COUNT; i++) {
			uint64_t v[2] = { next(), next() };

			memcpy(h[i].byte, v, sizeof(h[i].byte));
			place[i] = (uint32_t)(next() % l.records);
		}
		list_index_open(&x, &l);
		took[0][r] = look_up(&x, h);
		took[1][r] = look_up(&x, h);
		begin = now();
		for (size_t i = 0; i < COUNT; i++)
			n += record[place[i]][0];
		took[3][r] = 1e3 * (now() - begin) / COUNT;
		sum = n;
		for (size_t i = 0; i < COUNT; i++)
			memcpy(h[i].byte, record[place[i]], sizeof(h[i].byte));
		took[2][r] = look_up(&x, h);
		list_index_close(&x);
	}
	(void)sum;
	for (size_t i = 0; i < 4; i++)
		printf("%.2f%c", median(took[i], (size_t)rounds),
		    " \n"[i == 3]);
	return 0;
}
