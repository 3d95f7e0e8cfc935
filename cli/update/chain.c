/* SPDX-License-Identifier: ISC */
#include "update/chain.h"

#include <string.h>

#define NONE SIZE_MAX

/* What is known of a delta as the last step: the cheapest way up to it. */
struct way {
	uint64_t bytes; /* UINT64_MAX: no way is known */
	size_t before;	/* the step before it; NONE: it is the first */
	bool final;	/* no cheaper way will be found */
};

static uint64_t
add_bytes(uint64_t a, uint64_t b)
{
	return a < UINT64_MAX - 1 - b ? a + b : UINT64_MAX - 1;
}

/* The cheapest of those that are not final; NONE: there is none. */
static size_t
find_cheapest(const struct way *way, size_t n)
{
	size_t best = NONE;

	for (size_t i = 0; i < n; i++)
		if (!way[i].final && way[i].bytes < UINT64_MAX &&
		    (best == NONE || way[i].bytes < way[best].bytes))
			best = i;
	return best;
}

static void
write_chain(const struct index_file *f, const struct way *way, size_t last,
    struct update_chain *c)
{
	size_t at;

	c->bytes = way[last].bytes;
	for (at = last; at != NONE; at = way[at].before)
		c->n++;
	for (size_t i = c->n; i-- > 0; last = way[last].before)
		c->step[i] = &f->delta[last];
}

/* Dijkstra's algorithm, with deltas for nodes. */
bool
update_chain_find(const struct index_file *f, const char *from,
    struct update_chain *c)
{
	struct way way[INDEX_DELTAS] = { { 0 } };
	const size_t n = f->n_deltas < INDEX_DELTAS ?
	    f->n_deltas :
	    INDEX_DELTAS;
	size_t at;

	c->n = 0;
	c->bytes = 0;
	for (size_t i = 0; i < n; i++)
		way[i] = (struct way){ .bytes = strcmp(f->delta[i].from,
						    from) == 0 ?
			    f->delta[i].size :
			    UINT64_MAX,
			.before = NONE };
	while ((at = find_cheapest(way, n)) != NONE) {
		const struct index_delta *d = &f->delta[at];

		way[at].final = true;
		if (strcmp(d->to, f->sha256) == 0) {
			write_chain(f, way, at, c);
			return true;
		}
		for (size_t i = 0; i < n; i++) {
			const uint64_t bytes = add_bytes(way[at].bytes,
			    f->delta[i].size);

			if (!way[i].final && bytes < way[i].bytes &&
			    strcmp(d->to, f->delta[i].from) == 0) {
				way[i].bytes = bytes;
				way[i].before = at;
			}
		}
	}
	return false;
}
