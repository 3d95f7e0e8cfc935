/* SPDX-License-Identifier: ISC */
#include "kv_blocklist.h"

#include <sys/stat.h>
#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <sha2.h>
#include <string.h>
#include <unistd.h>

#include "kv_fingerprint.h"
#include "kv_pread.h"

/* One read takes a window of so many records: 4 KiB. */
#define WINDOW 256
/*
 * The first reads go where the hash would be if hashes were spread evenly, as
 * SHA-256 spreads them. In a list of millions two reads suffice. The reads after
 * them halve what is left, so that no order of records costs more than
 * KV_BLOCKLIST_READS_MAX reads.
 */
#define INTERPOLATED_READS 3

_Static_assert(KV_BLOCKLIST_RECORDS_MAX / WINDOW ==
	(uint64_t)1 << (KV_BLOCKLIST_READS_MAX - INTERPOLATED_READS - 1),
    "halving ends within the reads that are left");

typedef uint8_t record[KV_BLOCKLIST_RECORD_BYTES];

/*
 * What a search knows. Records before lo are below the hash; the last of them
 * is low. Records from hi on are not below it; the first of them is high. Where
 * no record was read yet, low is all zeroes and high is all ones.
 */
struct search {
	uint64_t lo, hi;
	record low, high;
	bool have_high;
};

enum kv_err
kv_blocklist_open_fd(int fd, struct kv_blocklist *l)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return KV_ERR_SYSTEM;
	if (!S_ISREG(st.st_mode))
		return KV_ERR_NOT_REGULAR;
	if (st.st_size <= 0 || st.st_size % KV_BLOCKLIST_RECORD_BYTES != 0)
		return KV_ERR_LIST_SIZE;
	l->records = (uint64_t)st.st_size / KV_BLOCKLIST_RECORD_BYTES;
	if (l->records > KV_BLOCKLIST_RECORDS_MAX)
		return KV_ERR_LIST_TOO_LARGE;
	l->fd = fd;
	l->map = NULL;
	return KV_OK;
}

void
kv_blocklist_close(struct kv_blocklist *l)
{
	if (l->fd != -1)
		close(l->fd);
	l->fd = -1;
}

static bool
is_composite(const struct kv_pubkey *key)
{
	return key->type == KV_KEY_MLDSA44_ED25519 ||
	    key->type == KV_KEY_MLDSA44_ED25519_OLD;
}

size_t
kv_blocklist_hash_count(const struct kv_pubkey *key)
{
	if (key->type == KV_KEY_NONE)
		return 0;
	return is_composite(key) ? 2 : 1;
}

void
kv_blocklist_hash_bytes(struct kv_span bytes, struct kv_blocklist_hash *h)
{
	uint8_t digest[KV_SHA256_BYTES];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	if (bytes.len > 0)
		SHA256Update(&ctx, bytes.p, bytes.len);
	SHA256Final(digest, &ctx);
	memcpy(h->byte, digest, sizeof(h->byte));
}

void
kv_blocklist_hash_number(struct kv_span number, struct kv_blocklist_hash *h)
{
	while (number.len > 0 && number.p[0] == 0) {
		number.p++;
		number.len--;
	}
	kv_blocklist_hash_bytes(number, h);
}

void
kv_blocklist_hash_key(const struct kv_pubkey *key, size_t index,
    struct kv_blocklist_hash *h)
{
	struct kv_span number = key->field[0];

	switch (key->type) {
	case KV_KEY_RSA:
		number = key->field[1];
		break;
	case KV_KEY_DSA:
		number = key->field[3];
		break;
	case KV_KEY_ECDSA_P256:
	case KV_KEY_ECDSA_P384:
	case KV_KEY_ECDSA_P521:
	case KV_KEY_SK_ECDSA_P256:
		/* The point is 04 x y. */
		number.p++;
		number.len /= 2;
		break;
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		if (index == 0) {
			kv_blocklist_hash_bytes(number, h);
			return;
		}
		number = key->field[1];
		break;
	case KV_KEY_ED25519:
	case KV_KEY_SK_ED25519:
	case KV_KEY_ED448:
	case KV_KEY_NONE:
		break;
	}
	kv_blocklist_hash_number(number, h);
}

/* As memcmp. Most records differ in their first bytes. */
static int
compare(const uint8_t *a, const uint8_t *b)
{
	uint64_t first = kv_blocklist_leading_bits(a);
	uint64_t other = kv_blocklist_leading_bits(b);

	if (first != other)
		return first < other ? -1 : 1;
	return memcmp(a, b, KV_BLOCKLIST_HASH_BYTES);
}

static const uint8_t zeroes[KV_BLOCKLIST_HASH_BYTES];
static const uint8_t ones[KV_BLOCKLIST_HASH_BYTES] = { 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

bool
kv_blocklist_is_hole(const uint8_t a[static KV_BLOCKLIST_HASH_BYTES],
    const uint8_t b[static KV_BLOCKLIST_HASH_BYTES])
{
	return compare(a, b) == 0 &&
	    (compare(a, zeroes) == 0 || compare(a, ones) == 0);
}

/* Where between lo and hi the hash would be, if hashes were spread evenly. */
static uint64_t
interpolate(const struct search *s, const struct kv_blocklist_hash *h)
{
	uint64_t low = kv_blocklist_leading_bits(s->low),
		 value = kv_blocklist_leading_bits(h->byte);
	uint64_t span = kv_blocklist_leading_bits(s->high) - low,
		 above = value - low;

	/* With 32 bits of span and 28 of records the product has 60 bits. */
	while (span > UINT32_MAX) {
		span >>= 1;
		above >>= 1;
	}
	if (span == 0)
		return s->lo;
	return s->lo + (s->hi - s->lo) * above / span;
}

/* The first record of the next window, which has count records. */
static uint64_t
window_start(const struct search *s, const struct kv_blocklist_hash *h,
    int reads, uint64_t count)
{
	uint64_t middle = reads < INTERPOLATED_READS ?
	    interpolate(s, h) :
	    s->lo + (s->hi - s->lo) / 2;

	if (middle < s->lo + count / 2)
		return s->lo;
	middle -= count / 2;
	return middle < s->hi - count ? middle : s->hi - count;
}

/*
 * Low, the records of the window from start on and high must be hashes in order.
 * In order, only records at the ends of the list can be blank. Behind or before
 * one that is not the outermost there is another one.
 */
static enum kv_err
check_window(const struct kv_blocklist *l, const struct search *s,
    record *window, uint64_t start, uint64_t count)
{
	const uint8_t *before = s->low, *last = window[count - 1];
	const bool begins = start == 0, ends = start + count == l->records;

	for (uint64_t i = 0; i < count; i++) {
		if (compare(before, window[i]) > 0)
			return KV_ERR_LIST_ORDER;
		before = window[i];
	}
	if (compare(last, s->high) > 0)
		return KV_ERR_LIST_ORDER;
	if (count > 1 &&
	    (kv_blocklist_is_hole(window[0], window[1]) ||
		kv_blocklist_is_hole(window[count - 2], last)))
		return KV_ERR_LIST_HOLE;
	if ((!begins && kv_blocklist_is_hole(window[0], zeroes)) ||
	    (!ends && kv_blocklist_is_hole(last, ones)))
		return KV_ERR_LIST_HOLE;
	return KV_OK;
}

/* Takes what the window from start on says about the hash into s. */
static enum kv_err
narrow(const struct kv_blocklist *l, struct search *s,
    const struct kv_blocklist_hash *h, record *window, uint64_t start,
    uint64_t count)
{
	enum kv_err r = check_window(l, s, window, start, count);
	uint64_t below = 0;

	if (r != KV_OK) {
		for (uint64_t i = 0; i < count; i++) {
			if (compare(window[i], h->byte) != 0)
				continue;
			memcpy(s->high, window[i], sizeof(s->high));
			s->have_high = true;
			s->hi = s->lo;
			return KV_OK;
		}
		return r;
	}
	while (below < count && compare(window[below], h->byte) < 0)
		below++;
	if (below < count) {
		memcpy(s->high, window[below], sizeof(s->high));
		s->have_high = true;
		s->hi = start + below;
	}
	if (below > 0) {
		memcpy(s->low, window[below - 1], sizeof(s->low));
		s->lo = start + below;
	}
	return KV_OK;
}

enum kv_err
kv_blocklist_lookup(const struct kv_blocklist *l,
    const struct kv_blocklist_hash *h, bool *listedp, uint8_t *idp)
{
	struct search s = { .lo = 0, .hi = l->records };
	record window[WINDOW];
	enum kv_err r = KV_OK;

	*listedp = false;
	memset(s.high, 0xff, sizeof(s.high));
	for (int reads = 0; r == KV_OK && s.lo < s.hi; reads++) {
		uint64_t count = s.hi - s.lo < WINDOW ? s.hi - s.lo : WINDOW;
		uint64_t start = window_start(&s, h, reads, count);

		/* With RECORDS_MAX records at most, the search ended before. */
		if (reads == KV_BLOCKLIST_READS_MAX)
			return KV_ERR_INTERNAL;
		r = kv_read_at(l->fd, l->map, window,
		    (size_t)count * sizeof(record),
		    (off_t)(start * sizeof(record)), KV_ERR_LIST_SIZE);
		if (r == KV_OK)
			r = narrow(l, &s, h, window, start, count);
	}
	/* What a read said before another one failed counts, too. */
	if (s.have_high && compare(s.high, h->byte) == 0) {
		*listedp = true;
		*idp = s.high[KV_BLOCKLIST_HASH_BYTES];
		return KV_OK;
	}
	return r;
}
