/* SPDX-License-Identifier: ISC */
#include "sets/list_index.h"

#include <stdlib.h>
#include <string.h>

#include "kv_pread.h"
#include "sets/list_reader.h"

/*
 * The bits are in words of 64. The first bits of a hash say which word, later
 * ones say which four bits of it. With 16 to 32 bits a record, one hash in
 * 200 or fewer has all its bits from others. More bits would cost more: they and
 * their page tables would push those of a filter out of the cache.
 */
#define RECORDS_A_WORD 4
#define WORDS_MAX ((uint64_t)1 << 24) /* 128 MiB */
/*
 * The records of so many words are a bucket. Of each, start has the number of
 * its first record; one element more is the number of all. A longer bucket than
 * BUCKET_MAX is left to kv_blocklist_lookup.
 */
#define WORDS_A_BUCKET 4
#define BUCKET_MAX 256
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
	free(x->start);
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

/*
 * Sets the bits of n records, of which first is the number of the first, and
 * the starts of their buckets, up to *buckets.
 */
static void
add_records(struct list_index *x, uint64_t *bits, list_record *record, size_t n,
    uint64_t first, uint64_t *buckets)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t word = kv_blocklist_leading_bits(record[i]) >>
		    x->shift;

		bits[word] |= marks(record[i]);
		while (*buckets <= word / WORDS_A_BUCKET)
			x->start[(*buckets)++] = (uint32_t)(first + i);
	}
}

/* Reads the list. NULL if it is not in order, or memory runs out. */
static uint64_t *
make_bits(struct list_index *x)
{
	struct list_reader *r = malloc(sizeof(*r));
	list_record *run;
	uint64_t buckets = 0, *made = NULL;
	size_t n, words = WORDS_A_BUCKET;

	_Static_assert(KV_BLOCKLIST_RECORDS_MAX <= UINT32_MAX, "start");
	for (x->shift = 62;
	     words < WORDS_MAX && words * RECORDS_A_WORD < x->list->records;
	     words *= 2)
		x->shift--;
	x->start = malloc((words / WORDS_A_BUCKET + 1) * sizeof(*x->start));
	if (r != NULL && x->start != NULL &&
	    list_reader_adopt(r, "", x->list->fd))
		made = calloc(words, sizeof(*made));
	while (made != NULL && (run = list_reader_next_run(r, &n)) != NULL)
		add_records(x, made, run, n, r->next - n, &buckets);
	if (made != NULL &&
	    (r->why[0] != '\0' || r->next != x->list->records)) {
		free(made);
		made = NULL;
	}
	while (made != NULL && buckets <= words / WORDS_A_BUCKET)
		x->start[buckets++] = (uint32_t)x->list->records;
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

/* The first bucket is 0; *lastp is the number of the last one. */
static uint64_t
bucket_of(const struct list_index *x, const uint8_t *hash, uint64_t *lastp)
{
	*lastp = (UINT64_MAX >> x->shift) / WORDS_A_BUCKET;
	return (kv_blocklist_leading_bits(hash) >> x->shift) / WORDS_A_BUCKET;
}

/*
 * Reads the bucket of a hash. If the list was changed since the bits were made,
 * it may be short, or have other records there: kv_blocklist_lookup says whether
 * it is still a list. In the first and the last bucket, a hole of the file would
 * look like records.
 */
static bool
may_be_in_bucket(const struct list_index *x, const struct kv_blocklist_hash *h)
{
	uint64_t last, bucket = bucket_of(x, h->byte, &last);
	const uint32_t *start = x->start + bucket;
	const size_t n = start[1] - start[0];
	list_record record[BUCKET_MAX];

	if (n > BUCKET_MAX || bucket == 0 || bucket == last)
		return may_be_listed(x, h);
	if (n > 0 &&
	    kv_pread(x->list->fd, record, n * sizeof(list_record),
		(off_t)start[0] * (off_t)sizeof(list_record),
		KV_ERR_LIST_SIZE) != KV_OK)
		return true;
	for (size_t i = 0; i < n; i++) {
		if (list_same_hash(record[i], h->byte))
			return true;
		if (bucket_of(x, record[i], &last) != bucket)
			return may_be_listed(x, h);
	}
	return false;
}

void
list_index_lookup(struct list_index *x, const struct kv_blocklist_hash *h,
    size_t n, bool *listed)
{
	const uint64_t *bits = get_bits(x, n);

	for (size_t i = 0; bits != NULL && i < n; i++)
		__builtin_prefetch(word_of(x, bits, &h[i]));
	for (size_t i = 0; i < n; i++) {
		if (bits == NULL)
			listed[i] |= may_be_listed(x, &h[i]);
		else if (has_marks(x, bits, &h[i]))
			listed[i] |= may_be_in_bucket(x, &h[i]);
	}
}
