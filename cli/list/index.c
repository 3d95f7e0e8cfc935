/* SPDX-License-Identifier: ISC */
#include "list/index.h"

#include <stdlib.h>
#include <string.h>

#include "list/reader.h"

/*
 * The bits are in words of 64. The first bits of a hash say which word, later
 * ones say which four bits of it. With 16 to 32 bits a record, one hash in
 * 200 or fewer has all its bits from others. More bits would cost more: they and
 * their page tables would push those of a filter out of the cache.
 */
#define RECORDS_A_WORD 4
#define WORDS_MAX ((uint64_t)1 << 24) /* 128 MiB */
/*
 * Bits are made once there were so many look-ups in the file. Such a look-up
 * takes 3 us, and making the bits 25 ms for 4 million records. Few inputs have
 * just a few thousand keys: they have less, or far more.
 */
#define RECORDS_A_LOOKUP 4096
#define LOOKUPS_MIN 1024

void
list_index_open(struct list_index *x, const struct kv_blocklist *l)
{
	*x = (struct list_index){ .list = l };
	pthread_mutex_init(&x->lock, NULL);
}

void
list_index_close(struct list_index *x)
{
	free(atomic_load(&x->bits));
	pthread_mutex_destroy(&x->lock);
}

/* The four bits of a hash in its word. */
static uint64_t
marks(const uint8_t *hash)
{
	uint32_t v;

	memcpy(&v, hash + 8, sizeof(v));
	return (uint64_t)1 << (v & 63) | (uint64_t)1 << (v >> 6 & 63) |
	    (uint64_t)1 << (v >> 12 & 63) | (uint64_t)1 << (v >> 18 & 63);
}

/* Reads the list. NULL if it is not in order, or memory runs out. */
static uint64_t *
make_bits(struct list_index *x)
{
	struct list_reader *r = malloc(sizeof(*r));
	list_record *run;
	uint64_t words = 2, *made = NULL;
	size_t n;

	for (x->shift = 63;
	     words < WORDS_MAX && words * RECORDS_A_WORD < x->list->records;
	     words *= 2)
		x->shift--;
	if (r != NULL && list_reader_adopt(r, "", x->list->fd))
		made = calloc(words, sizeof(*made));
	while (made != NULL && (run = list_reader_next_run(r, &n)) != NULL) {
		for (size_t i = 0; i < n; i++)
			made[kv_blocklist_leading_bits(run[i]) >> x->shift] |=
			    marks(run[i]);
	}
	if (made != NULL &&
	    (r->why[0] != '\0' || r->next != x->list->records)) {
		free(made);
		made = NULL;
	}
	free(r);
	return made;
}

/* Makes the bits, if so many look-ups are worth it. */
static const uint64_t *
get_bits(struct list_index *x, size_t n)
{
	const uint64_t *bits = atomic_load(&x->bits);
	uint64_t asked;

	if (bits != NULL)
		return bits;
	asked = atomic_fetch_add(&x->asked, n);
	if (asked < LOOKUPS_MIN || asked < x->list->records / RECORDS_A_LOOKUP)
		return NULL;
	pthread_mutex_lock(&x->lock);
	if (!x->tried)
		atomic_store(&x->bits, make_bits(x));
	x->tried = true;
	bits = atomic_load(&x->bits);
	pthread_mutex_unlock(&x->lock);
	return bits;
}

static const uint64_t *
word_of(const struct list_index *x, const uint64_t *bits,
    const struct kv_blocklist_hash *h)
{
	return bits + (kv_blocklist_leading_bits(h->byte) >> x->shift);
}

static bool
has_marks(const struct list_index *x, const uint64_t *bits,
    const struct kv_blocklist_hash *h)
{
	return (marks(h->byte) & ~*word_of(x, bits, h)) == 0;
}

static bool
may_be_listed(const struct list_index *x, const struct kv_blocklist_hash *h)
{
	bool listed;
	uint8_t id;

	return kv_blocklist_lookup(x->list, h, &listed, &id) != KV_OK || listed;
}

void
list_index_lookup(struct list_index *x, const struct kv_blocklist_hash *h,
    size_t n, bool *listed)
{
	const uint64_t *bits = get_bits(x, n);

	for (size_t i = 0; bits != NULL && i < n; i++)
		__builtin_prefetch(word_of(x, bits, &h[i]));
	for (size_t i = 0; i < n; i++) {
		if (bits == NULL || has_marks(x, bits, &h[i]))
			listed[i] |= may_be_listed(x, &h[i]);
	}
}
