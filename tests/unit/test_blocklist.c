/* SPDX-License-Identifier: ISC */
/*
 * Hashes are compared with those of tests/oracle/blocklist.py, and lookups with
 * a search from the first record to the last.
 */
/* With it, pread is an inline function. This file defines pread. */
#undef _FORTIFY_SOURCE

#include "kv_blocklist.h"

#include "testkeys.h"
#include "testlib.h"

#include <sys/stat.h>

#include <fcntl.h>

#define RECORD KV_BLOCKLIST_RECORD_BYTES
#define HASH KV_BLOCKLIST_HASH_BYTES

/*
 * The reads of the code under test, which calls this pread. Read number fails
 * ends in an error. If wanted is a hash, seen says whether it was read.
 */
static unsigned int reads, fails;
static const uint8_t *wanted;
static bool seen;
/* Which records were read, of those at the begin of the list. */
static bool was_read[1024];
/* Writes a record of a list that is in no file. */
static void (*make_record)(uint64_t number, uint8_t *record);

ssize_t
pread(int fd, void *buf, size_t len, off_t offset)
{
	uint8_t *p = buf;
	ssize_t n = (ssize_t)len;

	if (++reads == fails) {
		errno = EIO;
		return -1;
	}
	if (make_record == NULL)
		n = test_pread(fd, buf, len, offset);
	for (ssize_t i = 0; i + RECORD <= n; i += RECORD) {
		if (make_record != NULL)
			make_record((uint64_t)(offset + i) / RECORD, p + i);
		seen |= wanted != NULL && memcmp(p + i, wanted, HASH) == 0;
		if ((uint64_t)(offset + i) / RECORD < COUNT(was_read))
			was_read[(offset + i) / RECORD] = true;
	}
	return n;
}

static int
compare_records(const void *a, const void *b)
{
	return memcmp(a, b, RECORD);
}

/* Random records in order. Each hash begins with a byte below spread. */
static uint8_t *
sorted_records(size_t n, unsigned int spread)
{
	uint8_t *p = test_alloc(n * RECORD);

	for (size_t i = 0; i < n * RECORD; i++)
		p[i] = (uint8_t)rng_next();
	for (size_t i = 0; i < n; i++)
		p[i * RECORD] = (uint8_t)(p[i * RECORD] % spread);
	qsort(p, n, RECORD, compare_records);
	return p;
}

static void
open_list(const uint8_t *p, size_t n, struct kv_blocklist *l)
{
	const char *path = tmp_file("list", p, n * RECORD);

	make_record = NULL;
	assert_ok(kv_blocklist_open_fd(open_read(path), l));
	assert_int_equal(l->records, n);
}

static struct kv_blocklist_hash
hash_in(const uint8_t *record)
{
	struct kv_blocklist_hash h;

	memcpy(h.byte, record, HASH);
	return h;
}

/* What the last lookup that had no error said. */
static bool listed;
static uint8_t id;

/* Looks h up, and counts its reads. */
static enum kv_err
lookup(const struct kv_blocklist *l, const struct kv_blocklist_hash *h)
{
	enum kv_err r;

	reads = 0;
	listed = true;
	wanted = h->byte;
	seen = false;
	r = kv_blocklist_lookup(l, h, &listed, &id);
	wanted = NULL;
	assert_between(reads, 1, KV_BLOCKLIST_READS_MAX);
	/* What was read counts, whatever is wrong elsewhere. */
	assert_int_equal(listed, seen);
	if (seen)
		assert_ok(r);
	return r;
}

/* The lookup of h must agree with a search in the records at p. */
static void
assert_agrees(const struct kv_blocklist *l, const uint8_t *p, size_t n,
    const struct kv_blocklist_hash *h)
{
	struct kv_blocklist mapped = *l;
	size_t i = 0;

	while (i < n && memcmp(p + i * RECORD, h->byte, HASH) != 0)
		i++;
	assert_ok(lookup(l, h));
	assert_int_equal(listed, i < n);
	if (listed)
		assert_int_equal(id, p[i * RECORD + HASH]);
	/* Mapped, as keyveto-reader has it, it is not read. */
	mapped.map = p;
	reads = 0;
	assert_ok(kv_blocklist_lookup(&mapped, h, &listed, &id));
	assert_int_equal(listed, i < n);
	if (listed)
		assert_int_equal(id, p[i * RECORD + HASH]);
	assert_int_equal(reads, 0);
}

/* Hashes that are listed, their neighbours, and random ones. */
static void
probe(const uint8_t *p, size_t n)
{
	struct kv_blocklist l;
	struct kv_blocklist_hash h;

	open_list(p, n, &l);
	for (size_t round = 0; round < 400; round++) {
		size_t i = round < 4 ? round % 2 * (n - 1) : rng_below(n);

		h = hash_in(p + i * RECORD);
		if (round % 4 == 1)
			h.byte[HASH - 1]++;
		else if (round % 4 == 2)
			h.byte[HASH - 1]--;
		else if (round % 4 == 3)
			h.byte[rng_below(HASH)] ^= (uint8_t)(1U
			    << rng_below(8));
		assert_agrees(&l, p, n, &h);
	}
	memset(&h, 0, sizeof(h));
	assert_agrees(&l, p, n, &h);
	memset(&h, 0xff, sizeof(h));
	assert_agrees(&l, p, n, &h);
	kv_blocklist_close(&l);
}

TEST_CASE(lookups_agree_with_a_linear_search)
{
	static const size_t sizes[] = { 1, 2, 3, 255, 256, 257, 511, 512, 513,
		1000, 5000, 70000 };

	for (size_t i = 0; i < COUNT(sizes); i++) {
		probe(sorted_records(sizes[i], 256), sizes[i]);
		/* Hashes that crowd at one end. */
		probe(sorted_records(sizes[i], 1), sizes[i]);
		probe(sorted_records(sizes[i], 3), sizes[i]);
	}
}

TEST_CASE(first_of_several_records_with_one_hash_counts)
{
	size_t n = 3000;
	uint8_t *p = sorted_records(n, 256);

	for (size_t i = 700; i < 1900; i++) {
		memcpy(p + i * RECORD, p + 700 * RECORD, HASH);
		p[i * RECORD + HASH] = (uint8_t)(i / 8);
	}
	probe(p, n);
	/* A list of nothing but one hash. */
	for (size_t i = 0; i < n; i++)
		memcpy(p + i * RECORD, p, HASH);
	probe(p, n);
}

TEST_CASE(an_even_list_of_a_million_takes_few_reads)
{
	size_t n = 1000000;
	const uint8_t *p = sorted_records(n, 256);
	unsigned int sum = 0;
	struct kv_blocklist l;

	open_list(p, n, &l);
	for (int i = 0; i < 1000; i++) {
		struct kv_blocklist_hash h = hash_in(p + rng_below(n) * RECORD);

		h.byte[HASH - 1] ^= (uint8_t)(i % 2);
		assert_ok(lookup(&l, &h));
		sum += reads;
	}
	kv_blocklist_close(&l);
	assert_true(sum < 3000);
}

/* All records but the last crowd at one end: interpolation leads nowhere. */
static void
crowd(uint64_t number, uint8_t *record)
{
	memset(record, 0xfe, RECORD);
	if (number == KV_BLOCKLIST_RECORDS_MAX - 1)
		return;
	memset(record, 0, RECORD);
	for (int i = 0; i < 4; i++)
		record[10 + i] = (uint8_t)(number >> 8 * (3 - i));
	record[HASH - 1] = 1;
}

TEST_CASE(the_longest_list_takes_24_reads)
{
	struct kv_blocklist l = { .fd = -1,
		.records = KV_BLOCKLIST_RECORDS_MAX };
	struct kv_blocklist_hash h;
	uint8_t record[RECORD];
	unsigned int most = 0;

	make_record = crowd;
	for (int i = 0; i < 2000; i++) {
		crowd(i == 0 ? KV_BLOCKLIST_RECORDS_MAX - 1 :
			       rng_below(KV_BLOCKLIST_RECORDS_MAX),
		    record);
		h = hash_in(record);
		h.byte[HASH - 1] ^= (uint8_t)(i % 2);
		assert_ok(lookup(&l, &h));
		assert_int_equal(listed, i % 2 == 0);
		most = reads > most ? reads : most;
	}
	assert_between(most, 20, KV_BLOCKLIST_READS_MAX);
}

static void
all_alike(uint64_t number, uint8_t *record)
{
	(void)number;
	memset(record, 1, RECORD);
}

/* kv_blocklist_open_fd refuses it, so no login searches it. */
TEST_CASE(a_list_that_is_too_long_takes_no_more_reads)
{
	const struct kv_blocklist l = { .fd = -1,
		.records = (uint64_t)1 << 36 };
	const struct kv_blocklist_hash h = { { 2 } };

	make_record = all_alike;
	assert_err(lookup(&l, &h), KV_ERR_INTERNAL);
	assert_int_equal(reads, KV_BLOCKLIST_READS_MAX);
}

TEST_CASE(a_list_of_more_than_4_gib_is_refused)
{
	off_t size = (off_t)(KV_BLOCKLIST_RECORDS_MAX * RECORD);
	int fd = open(tmp_file("list", "", 0), O_RDWR | O_CLOEXEC);
	struct kv_blocklist l;

	assert_int_equal(ftruncate(fd, size + RECORD), 0);
	assert_err(kv_blocklist_open_fd(fd, &l), KV_ERR_LIST_TOO_LARGE);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_ok(kv_blocklist_open_fd(fd, &l));
	assert_int_equal(l.records, KV_BLOCKLIST_RECORDS_MAX);
	kv_blocklist_close(&l);
}

/* A record that was read must not make the key clean if it is out of order. */
TEST_CASE(unordered_records_are_an_error_and_never_clean)
{
	size_t n = 2000, errors = 0;
	uint8_t *good = sorted_records(n, 256), *p = test_alloc(n * RECORD);

	for (int round = 0; round < 300; round++) {
		size_t a = rng_below(n), b = rng_below(n);
		struct kv_blocklist l;
		struct kv_blocklist_hash h;
		enum kv_err r;

		memcpy(p, good, n * RECORD);
		memcpy(p + a * RECORD, good + b * RECORD, RECORD);
		memcpy(p + b * RECORD, good + a * RECORD, RECORD);
		open_list(p, n, &l);
		for (size_t i = 0; i < 40; i++) {
			h = hash_in(good + rng_below(n) * RECORD);
			r = lookup(&l, &h);
			errors += r != KV_OK;
			if (r != KV_OK)
				assert_err(r, KV_ERR_LIST_ORDER);
		}
		/* Next to the record that moved, every search reads it. */
		h = hash_in(p + a * RECORD);
		r = lookup(&l, &h);
		assert_true(r == KV_ERR_LIST_ORDER || listed);
		kv_blocklist_close(&l);
	}
	assert_true(errors > 10);
}

static bool
all_bytes_are(const uint8_t *record, uint8_t byte)
{
	for (size_t i = 0; i < HASH; i++) {
		if (record[i] != byte)
			return false;
	}
	return true;
}

/*
 * What is wrong with the records of p that were read, one after the other: two
 * are not in order, or one is blank and not at the end where blanks belong, or
 * has another blank one beside it.
 */
static enum kv_err
wrong_with(const uint8_t *p, size_t n)
{
	const uint8_t *before = NULL;
	enum kv_err r = KV_OK;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *record = p + i * RECORD;

		if (!was_read[i])
			continue;
		if (before != NULL && memcmp(before, record, HASH) > 0)
			return KV_ERR_LIST_ORDER;
		before = record;
		if ((i > 0 && all_bytes_are(record, 0)) ||
		    (i < n - 1 && all_bytes_are(record, 0xff)))
			r = KV_ERR_LIST_HOLE;
	}
	return r;
}

static const uint8_t *in_memory;

static void
copy_record(uint64_t number, uint8_t *record)
{
	memcpy(record, in_memory + number * RECORD, RECORD);
}

/* Looks up hashes, and judges each answer by the records that were read. */
static void
assert_answers(const uint8_t *p, size_t n)
{
	const struct kv_blocklist l = { .fd = -1, .records = n };

	in_memory = p;
	make_record = copy_record;
	for (int i = 0; i < 12; i++) {
		struct kv_blocklist_hash h = hash_in(p + rng_below(n) * RECORD);
		enum kv_err want, r;

		h.byte[i < 6 ? HASH - 1 : 1] ^= (uint8_t)(1 + rng_below(255));
		memset(was_read, 0, sizeof(was_read));
		r = lookup(&l, &h);
		want = wrong_with(p, n);
		/* A list may have a hole where it also lacks order. */
		if (want != KV_ERR_LIST_ORDER || r != KV_ERR_LIST_HOLE)
			assert_err(r, listed ? KV_OK : want);
	}
}

/*
 * A hash is clean if all that was read is in order, and else never. One or two
 * records change to a blank, a low, a high or another one, at each place.
 */
TEST_CASE(answers_are_those_of_the_records_that_were_read)
{
	/* Hashes are spread evenly, or crowd near the lowest or the highest. */
	static const struct {
		size_t n;
		unsigned int spread;
		uint8_t first;
	} lists[] = { { 1, 256, 0 }, { 2, 256, 0 }, { 3, 256, 0 },
		{ 300, 256, 0 }, { 600, 3, 0 }, { 600, 3, 0xfc } };
	static const uint8_t bytes[] = { 0, 1, 0xfe, 0xff };

	for (size_t s = 0; s < COUNT(lists); s++) {
		size_t n = lists[s].n;
		uint8_t *good = sorted_records(n, lists[s].spread);
		uint8_t *p = test_alloc(n * RECORD);

		for (size_t i = 0; i < n; i++)
			good[i * RECORD] += lists[s].first;
		/* A run of one hash is in order. */
		for (size_t i = n / 4; i < n / 2; i++)
			memcpy(good + i * RECORD, good + n / 4 * RECORD, HASH);
		assert_answers(good, n);
		for (size_t i = 0; i < n; i++) {
			for (size_t k = 0; k < 2 * COUNT(bytes); k++) {
				size_t changed = 1 + k % 2;

				if (i + changed > n)
					continue;
				memcpy(p, good, n * RECORD);
				memset(p + i * RECORD, bytes[k / 2],
				    changed * RECORD);
				assert_answers(p, n);
			}
		}
	}
}

/* A record alone has nothing beside it, whatever was read before. */
TEST_CASE(one_blank_record_is_no_hole)
{
	static const uint8_t blank[2 * RECORD];
	struct kv_blocklist l = { .fd = -1, .records = 2 };
	const struct kv_blocklist_hash h = { { 7 } };

	in_memory = blank;
	make_record = copy_record;
	assert_err(lookup(&l, &h), KV_ERR_LIST_HOLE);
	l.records = 1;
	assert_ok(lookup(&l, &h));
	assert_false(listed);
}

/* More records than a window share what tells where to look. */
TEST_CASE(records_that_differ_late_are_found)
{
	size_t n = 3000;
	uint8_t *p = test_alloc(n * RECORD);

	for (size_t i = 0; i < n; i++) {
		memset(p + i * RECORD, 0x55, RECORD);
		p[i * RECORD + HASH - 2] = (uint8_t)(i / 128);
		p[i * RECORD + HASH - 1] = (uint8_t)(i % 128 * 2);
	}
	probe(p, n);
	/* And others do not. */
	memset(p, 0, RECORD);
	memset(p + RECORD, 1, RECORD);
	memset(p + (n - 1) * RECORD, 0xff, RECORD);
	probe(p, n);
}

TEST_CASE(two_records_alike_are_a_hole_only_if_they_are_blank)
{
	uint8_t zeroes[HASH] = { 0 }, ones[HASH], other[HASH];

	memset(ones, 0xff, HASH);
	memset(other, 0x55, HASH);
	assert_true(kv_blocklist_is_hole(zeroes, zeroes));
	assert_true(kv_blocklist_is_hole(ones, ones));
	assert_false(kv_blocklist_is_hole(other, other));
	assert_false(kv_blocklist_is_hole(zeroes, other));
	assert_false(kv_blocklist_is_hole(zeroes, ones));
	assert_false(kv_blocklist_is_hole(other, ones));
	for (size_t i = 0; i < HASH; i++) {
		zeroes[i] = 1;
		assert_false(kv_blocklist_is_hole(zeroes, zeroes));
		zeroes[i] = 0;
		ones[i] = 0xfe;
		assert_false(kv_blocklist_is_hole(ones, ones));
		ones[i] = 0xff;
	}
}

TEST_CASE(a_descending_list_is_an_error)
{
	size_t n = 300;
	uint8_t *p = sorted_records(n, 256), *q = test_alloc(n * RECORD);
	struct kv_blocklist_hash h = { { 7 } };
	struct kv_blocklist l;

	for (size_t i = 0; i < n; i++)
		memcpy(q + i * RECORD, p + (n - 1 - i) * RECORD, RECORD);
	open_list(q, n, &l);
	assert_err(lookup(&l, &h), KV_ERR_LIST_ORDER);
	kv_blocklist_close(&l);
}

/* One hash has many records. What stands before them is damaged or unreadable. */
TEST_CASE(a_hash_that_was_read_is_listed_whatever_is_wrong_elsewhere)
{
	size_t n = 2000, errors = 0;
	const uint8_t *good = sorted_records(n, 256);
	uint8_t *p = test_alloc(n * RECORD);
	struct kv_blocklist_hash h;
	struct kv_blocklist l;

	for (size_t start = 3; start + 600 <= n; start++) {
		memcpy(p, good, n * RECORD);
		for (size_t i = start; i < start + 600; i++)
			memcpy(p + i * RECORD, good + (start + 300) * RECORD,
			    HASH);
		h = hash_in(p + start * RECORD);
		for (fails = 1; fails < 4; fails++) {
			open_list(p, n, &l);
			errors += lookup(&l, &h) != KV_OK;
			kv_blocklist_close(&l);
		}
		fails = 0;
		memcpy(p + (start - 1) * RECORD, good, RECORD);
		open_list(p, n, &l);
		errors += lookup(&l, &h) != KV_OK;
		kv_blocklist_close(&l);
	}
	assert_between(errors, 1000, 2000);
}

/* The source is that of the first record, in order or not. */
TEST_CASE(first_record_counts_without_order_too)
{
	uint8_t p[4 * RECORD];
	const struct kv_blocklist l = { .fd = -1, .records = 4 };
	struct kv_blocklist_hash h;

	for (uint8_t i = 0; i < 4; i++) {
		memset(p + i * RECORD, i == 0 ? 9 : 5, HASH);
		p[i * RECORD + HASH] = i;
	}
	h = hash_in(p + RECORD);
	in_memory = p;
	make_record = copy_record;
	assert_ok(lookup(&l, &h));
	assert_true(listed);
	assert_int_equal(id, 1);
}

/* A search for a record that was lost ends beside the hole. */
TEST_CASE(no_hash_is_clean_that_stood_where_there_is_a_hole)
{
	static const size_t sizes[] = { 1, 2, 255, 256, 257, 3000 };
	struct kv_blocklist_hash h;
	struct kv_blocklist l;

	for (size_t round = 0; round < 60; round++) {
		size_t n = sizes[round % COUNT(sizes)];
		const uint8_t *good = sorted_records(n, 256);
		uint8_t *p = exact_copy(good, n * RECORD);
		/* At the begin, at the end, in between, or everything. */
		size_t from = round % 4 == 0 ? 0 : rng_below(n);
		size_t to = round % 4 == 1 ? n : from + 1 + rng_below(n - from);

		if (round % 4 == 3) {
			from = 0;
			to = n;
		}
		/* One record may be one that somebody made. */
		if (to - from < 2)
			continue;
		memset(p + from * RECORD, round / 6 % 2 == 0 ? 0 : 0xff,
		    (to - from) * RECORD);
		open_list(p, n, &l);
		for (size_t i = 0; i < n; i++) {
			h = hash_in(good + i * RECORD);
			if (lookup(&l, &h) == KV_OK)
				assert_true(listed);
			else
				assert_true(to > from);
		}
		kv_blocklist_close(&l);
	}
}

TEST_CASE(a_list_that_shrinks_is_an_error)
{
	size_t n = 2000;
	const uint8_t *p = sorted_records(n, 256);
	struct kv_blocklist_hash h = hash_in(p + (n - 1) * RECORD);
	struct kv_blocklist l;

	open_list(p, n, &l);
	assert_int_equal(truncate(tmp_path("list"), 100), 0);
	assert_err(lookup(&l, &h), KV_ERR_LIST_SIZE);
	assert_int_equal(truncate(tmp_path("list"), 0), 0);
	assert_err(lookup(&l, &h), KV_ERR_LIST_SIZE);
	kv_blocklist_close(&l);
}

TEST_CASE(files_of_another_form_are_refused)
{
	static const uint8_t bytes[33];
	struct kv_blocklist l = { .fd = -1 };
	int fd;

	for (size_t len = 0; len <= sizeof(bytes); len++) {
		fd = open_read(tmp_file("list", bytes, len));
		assert_err(kv_blocklist_open_fd(fd, &l),
		    len == 16 || len == 32 ? KV_OK : KV_ERR_LIST_SIZE);
		assert_int_equal(close(fd), 0);
	}
	fd = open_read(tmp_dir());
	assert_err(kv_blocklist_open_fd(fd, &l), KV_ERR_NOT_REGULAR);
	assert_int_equal(close(fd), 0);
	assert_err(kv_blocklist_open_fd(-1, &l), KV_ERR_SYSTEM);
}

TEST_CASE(a_list_is_closed_once)
{
	static const uint8_t bytes[RECORD];
	size_t before = count_descriptors();
	struct kv_blocklist l;

	open_list(bytes, 1, &l);
	assert_int_equal(count_descriptors(), before + 1);
	kv_blocklist_close(&l);
	assert_int_equal(count_descriptors(), before);
	assert_int_equal(l.fd, -1);
	kv_blocklist_close(&l);
	assert_int_equal(count_descriptors(), before);
}

/* The hashes of the key in a line of text, as the oracle prints them. */
static void
assert_hashes(const char *line)
{
	const char *path = tmp_text("key.pub", format("%s\n", line));
	const char *want =
	    output_of("python3 -B tests/oracle/blocklist.py hashes %s/none %s",
		tmp_dir(), path);
	struct kv_blocklist_hash h;
	struct kv_sshkey key;
	struct blob b;
	char *got = format("%.*s", (int)strcspn(want, " "), want);

	blob_of_line(line, &b);
	assert_ok(kv_sshkey_parse(b.p, b.len, &key));
	for (size_t i = 0; i < kv_blocklist_hash_count(&key.key); i++) {
		kv_blocklist_hash_key(&key.key, i, &h);
		got = format("%s %s", got, hex_of(h.byte, HASH));
	}
	assert_string_equal(format("%s\n", got), want);
}

TEST_CASE(hashes_of_each_type_agree_with_the_oracle)
{
	static const enum kv_keytype types[] = { KV_KEY_RSA, KV_KEY_DSA,
		KV_KEY_ECDSA_P256, KV_KEY_ECDSA_P384, KV_KEY_ECDSA_P521,
		KV_KEY_ED25519, KV_KEY_ED448 };
	struct testkey k, sk;

	for (size_t i = 0; i < COUNT(types); i++) {
		testkey_new(&k, types[i]);
		assert_hashes(testkey_line(&k));
		if (types[i] == KV_KEY_ED25519 ||
		    types[i] == KV_KEY_ECDSA_P256) {
			testkey_sk(&sk, &k, "ssh:");
			assert_hashes(testkey_line(&sk));
		}
	}
	assert_hashes(rsa_line);
	assert_hashes(ec_line);
	assert_hashes(line_of_openssh_10_6("composite"));
}

/* Leading zero bytes of a number are cut, of ML-DSA's bytes they are not. */
TEST_CASE(leading_zero_bytes_are_no_part_of_a_number)
{
	static const uint8_t zeroes[4096];
	uint8_t key[KV_ED25519_BYTES] = { 0, 0, 5 };
	struct kv_pubkey ed = {
		.type = KV_KEY_ED25519,
		.field = { { key, sizeof(key) } },
	};
	struct kv_blocklist_hash got, want;

	kv_blocklist_hash_key(&ed, 0, &got);
	kv_blocklist_hash_bytes((struct kv_span){ key + 2, sizeof(key) - 2 },
	    &want);
	assert_bytes(got.byte, HASH, want.byte, HASH);
	kv_blocklist_hash_bytes((struct kv_span){ key, sizeof(key) }, &want);
	assert_memory_not_equal(got.byte, want.byte, HASH);
	/* SHA-256 of nothing. */
	kv_blocklist_hash_number((struct kv_span){ key, 2 }, &got);
	assert_string_equal(hex_of(got.byte, HASH),
	    "e3b0c44298fc1c149afbf4c8996fb9");
	/* What lies behind the number is no part of it. */
	kv_blocklist_hash_number((struct kv_span){ zeroes, 2 }, &got);
	assert_string_equal(hex_of(got.byte, HASH),
	    "e3b0c44298fc1c149afbf4c8996fb9");
	/* SHA-256 of the byte 5. */
	kv_blocklist_hash_number((struct kv_span){ key, 3 }, &got);
	assert_string_equal(hex_of(got.byte, HASH),
	    "e77b9a9ae9e30b0dbdb6f510a264ef");
}

/* kv_blocklist.h: a composite key has a hash of each part. */
TEST_CASE(a_key_has_a_hash_for_each_part)
{
	static const enum kv_keytype one[] = { KV_KEY_RSA, KV_KEY_DSA,
		KV_KEY_ECDSA_P256, KV_KEY_ECDSA_P384, KV_KEY_ECDSA_P521,
		KV_KEY_ED25519, KV_KEY_ED448, KV_KEY_SK_ECDSA_P256,
		KV_KEY_SK_ED25519 };
	struct kv_pubkey key = { .type = KV_KEY_NONE };

	assert_int_equal(kv_blocklist_hash_count(&key), 0);
	for (size_t i = 0; i < COUNT(one); i++) {
		key.type = one[i];
		assert_int_equal(kv_blocklist_hash_count(&key), 1);
	}
	key.type = KV_KEY_MLDSA44_ED25519;
	assert_int_equal(kv_blocklist_hash_count(&key), 2);
	key.type = KV_KEY_MLDSA44_ED25519_OLD;
	assert_int_equal(kv_blocklist_hash_count(&key), 2);
}

TEST_CASE(an_rsa_key_has_one_hash_under_any_exponent)
{
	static const uint8_t three[] = { 3 }, usual[] = { 1, 0, 1 };
	uint8_t n[256];
	struct testkey a, b;
	struct kv_sshkey key;
	struct kv_blocklist_hash ha, hb;

	fresh_bytes(n, sizeof(n));
	n[0] |= 0x80;
	testkey_rsa_numbers(&a, three, sizeof(three), n, sizeof(n));
	testkey_rsa_numbers(&b, usual, sizeof(usual), n, sizeof(n));
	assert_ok(kv_sshkey_parse(a.blob.p, a.blob.len, &key));
	kv_blocklist_hash_key(&key.key, 0, &ha);
	assert_ok(kv_sshkey_parse(b.blob.p, b.blob.len, &key));
	kv_blocklist_hash_key(&key.key, 0, &hb);
	assert_bytes(ha.byte, HASH, hb.byte, HASH);
}
