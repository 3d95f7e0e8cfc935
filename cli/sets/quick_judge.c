/* SPDX-License-Identifier: ISC */
#include "sets/quick_judge.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(QUICK_LINES <= PKBF_MAP_BATCH,
    "all keys of quick_hash are looked up in one call");

static bool
open_maps(struct quick *q, struct kv_judge *j)
{
	for (size_t i = 0; i < j->n_filters; i++) {
		if (j->filter[i].pkbf.fd == -1 ||
		    !pkbf_map_open(&q->map[i], &j->filter[i].pkbf))
			return false;
		j->filter[i].arg = &q->map[i];
		j->filter[i].lookup = pkbf_map_lookup_one;
		q->n_maps++;
	}
	return true;
}

static bool
open_lists(struct quick *q, const struct kv_judge *j)
{
	/* calloc(0) may return NULL. */
	q->list = calloc(j->n_lists + 1, sizeof(*q->list));
	for (size_t i = 0; q->list != NULL && i < j->n_lists; i++) {
		if (j->list[i].blocklist.fd == -1)
			return false;
		list_index_open(&q->list[i], &j->list[i].blocklist);
		q->n_lists++;
	}
	return q->list != NULL;
}

bool
quick_open(struct quick *q, struct kv_judge *j)
{
	q->judge = j;
	q->n_maps = q->n_lists = 0;
	q->list = NULL;
	/* A DenyKey line names a fingerprint, which this computes of no key. */
	if (j->broken[0] != '\0' || j->n_filters + j->n_lists == 0 ||
	    j->config.denied.n > 0)
		return false;
	j->digest = quick_digest;
	if (open_maps(q, j) && open_lists(q, j))
		return true;
	quick_close(q);
	return false;
}

void
quick_close(struct quick *q)
{
	q->judge->digest = NULL;
	while (q->n_maps > 0) {
		pkbf_map_close(&q->map[--q->n_maps]);
		q->judge->filter[q->n_maps].lookup = NULL;
	}
	while (q->n_lists > 0)
		list_index_close(&q->list[--q->n_lists]);
	free(q->list);
}

size_t
quick_judge(struct quick *q, struct kv_span text,
    struct quick_line line[static QUICK_LINES], size_t *cleanp)
{
	struct kv_pkbf_hash spki[QUICK_LINES];
	struct kv_blocklist_hash number[QUICK_LINES];
	struct quick_hashes h = {
		.spki = q->n_maps > 0 ? spki : NULL,
		.number = q->n_lists > 0 ? number : NULL,
	};
	bool one[QUICK_LINES], any[QUICK_LINES];
	size_t n, at = 0;

	n = quick_hash(text, QUICK_ECDSA, line, &h);
	memset(any, 0, sizeof(any));
	for (size_t i = 0; i < q->n_maps; i++) {
		pkbf_map_lookup(&q->map[i], spki, h.n, one);
		for (size_t k = 0; k < h.n; k++)
			any[k] |= one[k];
	}
	for (size_t i = 0; i < q->n_lists; i++)
		list_index_lookup(&q->list[i], number, h.n, any);
	*cleanp = 0;
	for (size_t i = 0; i < n; i++) {
		if (line[i].done)
			line[i].done = !any[at++];
		*cleanp += line[i].done;
	}
	return n;
}
