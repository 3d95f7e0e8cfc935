/* SPDX-License-Identifier: ISC */
/*
 * A read takes WINDOW records here, not 256, and a list has RECORDS records or
 * fewer; the number of reads that suffice shrinks with them. Where a search looks
 * first is any number: window_start makes a place in the list of it. A search knows
 * records by comparing them only, so in a search one byte stands for the 15 of a hash.
 * All of them are compared in the proof of that name.
 *
 * shrink lib/kv_blocklist.c: #define WINDOW 256 -> #define WINDOW 2
 * shrink lib/kv_blocklist.h: KV_BLOCKLIST_RECORDS_MAX ((uint64_t)1 << 28) -> KV_BLOCKLIST_RECORDS_MAX 8
 * shrink lib/kv_blocklist.h: KV_BLOCKLIST_READS_MAX 24 -> KV_BLOCKLIST_READS_MAX 6
 * proof  sorted --replace interpolate:any_place --replace compare:compare_first --unwind 17 --unwindset kv_blocklist_lookup.0:8,narrow.0:3,narrow.1:3,check_window.0:3,kv_pread.0:3: every list in order of up to RECORDS records, every hash
 * proof  unsorted --replace interpolate:any_place --replace compare:compare_first --unwind 17 --unwindset kv_blocklist_lookup.0:8,narrow.0:3,narrow.1:3,check_window.0:3,kv_pread.0:3: every list of up to RECORDS records, in any order, every hash
 * proof  failing --replace interpolate:any_place --replace compare:compare_first --unwind 17 --unwindset kv_blocklist_lookup.0:8,narrow.0:3,narrow.1:3,check_window.0:3,kv_pread.0:3: the same, when reads fail
 * proof  comparing [quick] --unwind 17: any two hashes
 * proof  place --unsigned-overflow-check --unwind 34: every place in a list of up to 2^28 records, every hash
 * proof  open_fd [quick] --unwind 2: every file
 * proof  hash [quick] --unwind 24: RSA keys, numbers of up to NUMBER bytes
 */
#define RECORDS 8
#define NUMBER 20

#include "lib/kv_blocklist.c"

#include <errno.h>

#include "prove.h"

static record list[RECORDS];
static size_t records;
static off_t size;
static bool was_read[RECORDS], may_fail, failed;
static struct kv_blocklist_hash h;
static bool listed;
static uint8_t id;

uint64_t
any_place(const struct search *s, const struct kv_blocklist_hash *hash)
{
	return nondet_u64();
}

/* As kv_pread:all_of_it proves it: all of it, or an error. */
enum kv_err
kv_pread(int fd, void *buf, size_t len, off_t offset, enum kv_err at_end)
{
	size_t start = (size_t)offset / sizeof(record);
	size_t count = len / sizeof(record);
	record *to = buf;

	PROVE(fd == 7 && at_end == KV_ERR_LIST_SIZE, "this list");
	PROVE(start + count <= records && count > 0, "inside the list");
	PROVE((size_t)offset % sizeof(record) == 0 && len % sizeof(record) == 0,
	    "whole records");
	if (may_fail && nondet_bool()) {
		failed = true;
		return nondet_bool() ? KV_ERR_SYSTEM : at_end;
	}
	for (size_t i = 0; i < count; i++) {
		PROVE(!was_read[start + i], "no record is read twice");
		was_read[start + i] = true;
		memcpy(to[i], list[start + i], sizeof(record));
	}
	return KV_OK;
}

/* Instead of compare. */
int
compare_first(const uint8_t *a, const uint8_t *b)
{
	PROVE(__CPROVER_r_ok(a, KV_BLOCKLIST_HASH_BYTES) &&
		__CPROVER_r_ok(b, KV_BLOCKLIST_HASH_BYTES),
	    "hashes");
	return a[0] - b[0];
}

/* As memcmp says it, without the unit's own comparison. */
static bool
in_order(const uint8_t *a, const uint8_t *b)
{
	for (int i = 0; i < KV_BLOCKLIST_HASH_BYTES; i++)
		if (a[i] != b[i])
			return a[i] < b[i];
	return true;
}

void
comparing(void)
{
	uint8_t a[KV_BLOCKLIST_HASH_BYTES], b[KV_BLOCKLIST_HASH_BYTES];
	int order = compare(a, b);

	PROVE((order <= 0) == in_order(a, b), "as memcmp says it");
	PROVE((order >= 0) == in_order(b, a), "in either order");
}

static bool
is_h(const uint8_t *a)
{
	return a[0] == h.byte[0];
}

static enum kv_err
look(void)
{
	const struct kv_blocklist l = { .fd = 7, .records = records };

	return kv_blocklist_lookup(&l, &h, &listed, &id);
}

static void
any_list(void)
{
	h.byte[0] = nondet_byte();
	records = 1 + any_size_up_to(RECORDS - 1);
	for (size_t i = 0; i < RECORDS; i++) {
		list[i][0] = nondet_byte();
		list[i][KV_BLOCKLIST_HASH_BYTES] = nondet_byte();
	}
}

void
sorted(void)
{
	size_t first = RECORDS;
	enum kv_err r;

	any_list();
	for (size_t i = 0; i + 1 < RECORDS; i++) {
		GIVEN(i + 1 >= records || list[i][0] <= list[i + 1][0]);
		/* Two blank records are a hole, which is an error. */
		GIVEN(i + 1 >= records || list[i][0] != list[i + 1][0] ||
		    (list[i][0] != 0 && list[i][0] != 0xff));
	}
	for (size_t i = RECORDS; i-- > 0;)
		if (i < records && is_h(list[i]))
			first = i;
	r = look();
	PROVE(r == KV_OK, "no error");
	PROVE(listed == (first < RECORDS), "what a linear search finds");
	PROVE(!listed || id == list[first][15], "the source of the first");
}

static void
prove_read(enum kv_err r)
{
	size_t i = any_size_up_to(RECORDS - 1), k = any_size_up_to(RECORDS - 1);
	bool found = false, names_id = false;

	for (size_t n = 0; n < RECORDS; n++) {
		if (!was_read[n] || !is_h(list[n]))
			continue;
		found = true;
		names_id = names_id || id == list[n][15];
	}
	PROVE(r != KV_ERR_INTERNAL, "few reads suffice");
	PROVE(r == KV_OK || !listed, "an error lists nothing");
	PROVE(listed == found, "a record that was read counts");
	PROVE(!listed || names_id, "the source of such a record");
	if (r != KV_OK || listed)
		return;
	PROVE(!failed, "never clean after a read that failed");
	PROVE(i >= k || !was_read[i] || !was_read[k] ||
		list[i][0] <= list[k][0],
	    "never clean if records that were read are not in order");
}

void
unsorted(void)
{
	any_list();
	prove_read(look());
}

void
failing(void)
{
	any_list();
	may_fail = true;
	prove_read(look());
}

/* A place is any number, since window_start keeps it inside. */
int
fstat(int fd, struct stat *st)
{
	struct stat any;

	*st = any;
	size = any.st_size;
	return nondet_bool() ? 0 : -1;
}

void
open_fd(void)
{
	struct kv_blocklist l = { .fd = -1 };
	enum kv_err r = kv_blocklist_open_fd(7, &l);

	PROVE(r == KV_OK || l.fd == -1, "an error leaves fd to the caller");
	if (r != KV_OK)
		return;
	PROVE(l.fd == 7 && l.records > 0, "a list has records");
	PROVE(l.records <= KV_BLOCKLIST_RECORDS_MAX, "not too many");
	PROVE((off_t)(l.records * sizeof(record)) == size, "whole records");
}

static const uint8_t *hashed;
static size_t hashed_len, updates;

void
SHA256Init(SHA2_CTX *ctx)
{
}

void
SHA256Update(SHA2_CTX *ctx, const uint8_t *p, size_t len)
{
	PROVE(__CPROVER_r_ok(p, len), "bytes that are there");
	hashed = p;
	hashed_len = len;
	updates++;
}

void
SHA256Final(uint8_t digest[SHA256_DIGEST_LENGTH], SHA2_CTX *ctx)
{
}

void
hash(void)
{
	size_t len = any_size_up_to(NUMBER), at = any_size_up_to(NUMBER);
	struct kv_span n = { any_end(NUMBER, len), len };
	struct kv_pubkey k = { .type = KV_KEY_RSA };

	GIVEN(at < len);
	k.field[1] = n;
	kv_blocklist_hash_key(&k, 0, &h);
	PROVE(updates <= 1, "one number");
	PROVE(updates == 0 ||
		(hashed[0] != 0 && hashed + hashed_len == n.p + len),
	    "without leading zeroes, to the end");
	PROVE(n.p[at] == 0 || (updates == 1 && hashed <= n.p + at),
	    "only zeroes are cut");
}

/* Where a search looks, in a list as large as lists may be. */
void
place(void)
{
	static struct search s;

	for (int i = 0; i < KV_BLOCKLIST_HASH_BYTES; i++) {
		s.low[i] = nondet_byte();
		h.byte[i] = nondet_byte();
		s.high[i] = nondet_byte();
	}
	s.lo = nondet_u32();
	s.hi = nondet_u32();
	GIVEN(s.lo < s.hi && s.hi <= (uint64_t)1 << 28);
	GIVEN(in_order(s.low, h.byte) && in_order(h.byte, s.high));
	PROVE(interpolate(&s, &h) >= s.lo, "not before lo");
}
