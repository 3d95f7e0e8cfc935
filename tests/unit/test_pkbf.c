/* SPDX-License-Identifier: ISC */
#include "kv_pkbf.h"

#include "testkeys.h"
#include "testlib.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>

#include "kv_spki.h"

/* The time in the publisher's example filters. */
#define EXAMPLE_TIME 1555799917

/*
 * The publisher's keys: the SPKI of the RSA key, and those of the EC key with
 * its point uncompressed and compressed.
 */
#define EXAMPLES 3

static const struct {
	uint64_t h1, h2;
	uint64_t p4[2], p6[3], p12[5];
} known[EXAMPLES] = {
	{ 0x7f41d67420810de8, 0x89f7fb41341d0581, { 8, 9 }, { 40, 41, 43 },
	    { 3560, 873, 2283, 3695, 1014 } },
	/* The second hash was even, so 1 was added. */
	{ 0x890fd1597a06a235, 0xf70bde4c65a7a9f5, { 5, 10 }, { 53, 42, 32 },
	    { 565, 3114, 1568, 24, 2579 } },
	{ 0x473f7d4c2d70f3c1, 0xbb9ca61f8da6db25, { 1, 6 }, { 1, 38, 12 },
	    { 961, 3814, 2572, 1332, 95 } },
};

static struct testkey k;
static struct blob b;

static void
example_hashes(struct kv_pkbf_hash h[static EXAMPLES])
{
	uint8_t spki[KV_SPKI_MAX_BYTES];
	struct kv_sshkey key;
	size_t len;

	blob_of_line(rsa_line, &b);
	assert_ok(kv_sshkey_parse(b.p, b.len, &key));
	assert_ok(kv_spki_encode(&key.key, 0, spki, sizeof(spki), &len));
	h[0] = kv_pkbf_hash(spki, len);
	blob_of_line(ec_line, &b);
	assert_ok(kv_sshkey_parse(b.p, b.len, &key));
	assert_ok(kv_spki_encode(&key.key, 0, spki, sizeof(spki), &len));
	h[1] = kv_pkbf_hash(spki, len);
	assert_ok(
	    kv_spki_encode_compressed(&key.key, spki, sizeof(spki), &len));
	h[2] = kv_pkbf_hash(spki, len);
}

/* A filter of the example keys, in memory. *lenp is its size. */
static uint8_t *
example_filter(uint8_t hashes, uint8_t length, size_t *lenp)
{
	const struct kv_pkbf_header header = { .revision = 1,
		.time = EXAMPLE_TIME,
		.entries = EXAMPLES,
		.hashes = hashes,
		.length = length };
	struct kv_pkbf_hash h[EXAMPLES];
	uint8_t *p;

	*lenp = (size_t)kv_pkbf_file_bytes(length);
	p = test_alloc(*lenp);
	kv_pkbf_header_encode(&header, p);
	example_hashes(h);
	for (size_t i = 0; i < EXAMPLES; i++) {
		for (unsigned int j = 0; j < hashes; j++) {
			uint64_t n = kv_pkbf_position(&h[i], j, length);

			p[KV_PKBF_HEADER_BYTES + n / 8] |= (uint8_t)(1U
			    << (7 - n % 8));
		}
	}
	return p;
}

/* Opens a good filter file. */
static void
open_filter(const char *path, struct kv_pkbf *f)
{
	assert_ok(kv_pkbf_open_fd(open_read(path), f));
}

/* The file is refused, and its descriptor is still open. */
static void
assert_refused(const char *path, enum kv_err err)
{
	struct kv_pkbf f = { .fd = -1 };
	int fd = open_read(path);

	assert_err(kv_pkbf_open_fd(fd, &f), err);
	assert_int_equal(close(fd), 0);
}

TEST_CASE(hashes_of_the_example_keys_are_known)
{
	struct kv_pkbf_hash h[EXAMPLES];

	example_hashes(h);
	for (size_t i = 0; i < EXAMPLES; i++) {
		assert_true(h[i].h1 == known[i].h1);
		assert_true(h[i].h2 == known[i].h2);
	}
}

TEST_CASE(xxh64_has_its_published_values)
{
	static const struct {
		const char *text;
		uint64_t hash;
	} values[] = {
		{ "", 0xef46db3751d8e999 },
		{ "a", 0xd24ec4f1a98c6e5b },
		{ "abc", 0x44bc2cf5ad770999 },
		{ "Nobody inspects the spammish repetition",
		    0xfbcea83c8a378bf1 },
	};

	for (size_t i = 0; i < COUNT(values); i++) {
		struct kv_pkbf_hash h = kv_pkbf_hash(
		    (const uint8_t *)values[i].text, strlen(values[i].text));

		assert_true(h.h1 == values[i].hash);
	}
	assert_true(
	    kv_pkbf_hash((const uint8_t *)"", 0).h2 == 0xd5afba1336a3be4b);
}

TEST_CASE(second_hash_is_odd)
{
	uint8_t data[40];

	for (int i = 0; i < 200; i++) {
		fresh_bytes(data, sizeof(data));
		assert_true(kv_pkbf_hash(data, sizeof(data)).h2 % 2 == 1);
	}
}

TEST_CASE(positions_of_the_example_keys_are_known)
{
	struct kv_pkbf_hash h[EXAMPLES];

	example_hashes(h);
	for (size_t i = 0; i < EXAMPLES; i++) {
		for (unsigned int j = 0; j < 2; j++)
			assert_int_equal(kv_pkbf_position(&h[i], j, 4),
			    known[i].p4[j]);
		for (unsigned int j = 0; j < 3; j++)
			assert_int_equal(kv_pkbf_position(&h[i], j, 6),
			    known[i].p6[j]);
		for (unsigned int j = 0; j < 5; j++)
			assert_int_equal(kv_pkbf_position(&h[i], j, 12),
			    known[i].p12[j]);
	}
}

TEST_CASE(positions_follow_the_formula_without_overflow)
{
	for (int round = 0; round < 300; round++) {
		struct kv_pkbf_hash h = { rng_next(), rng_next() | 1 };
		uint8_t p = (uint8_t)(3 + rng_below(38));
		const uint64_t bits = (uint64_t)1 << p;
		/* h1 + i * h2, of which no sum is as large as 2^42. */
		uint64_t sum = h.h1 % bits;

		for (unsigned int i = 0; i < 256; i++) {
			const uint64_t n = sum + ((uint64_t)i * i * i - i) / 6;

			assert_true(kv_pkbf_position(&h, i, p) == n % bits);
			sum = (sum + h.h2 % bits) % bits;
		}
	}
}

TEST_CASE(example_filters_have_their_published_digests)
{
	static const struct {
		uint8_t hashes, length;
		const char *bits, *sha256;
	} filters[] = {
		{ 2, 4, "46e0",
		    "2940693fc9323eb32c667a815f509cbd"
		    "8a1ea76db19a4c81360ccabfe7a23b9b" },
		{ 3, 6, "4008000082f00400",
		    "ff43f04da5688bec98f26f3753ca4493"
		    "200fc89129b96d4b39893be22a1bfe8b" },
		{ 5, 12, NULL,
		    "f0c0b0c9ddd052ceea4b95adbfd39d5c"
		    "56ffc2136e3a4f0d095079757d287f34" },
		{ 12, 18, NULL,
		    "9186b2081855bf9c2942c8a6ae7466c8"
		    "aee9ffa8a20126901a9589f8323a51c3" },
	};

	for (size_t i = 0; i < COUNT(filters); i++) {
		size_t len;
		const uint8_t *p = example_filter(filters[i].hashes,
		    filters[i].length, &len);

		assert_sha256(p, len, filters[i].sha256);
		if (filters[i].bits != NULL)
			assert_string_equal(hex_of(p + KV_PKBF_HEADER_BYTES,
						len - KV_PKBF_HEADER_BYTES),
			    filters[i].bits);
	}
}

TEST_CASE(header_is_big_endian)
{
	static const uint8_t raw[KV_PKBF_HEADER_BYTES] = { 'p', 'k', 'b', 'f',
		'v', '1', 0x81, 0x82, 0x83, 0x84, 0x91, 0x92, 0x93, 0x94, 0x95,
		0x96, 0x97, 0x98, 0xa1, 0xa2, 0xa3, 0xa4, 200, 40 };
	uint8_t again[KV_PKBF_HEADER_BYTES];
	struct kv_pkbf_header h;

	assert_ok(kv_pkbf_header_decode(raw, &h));
	assert_true(h.revision == 0x81828384);
	assert_true(h.time == 0x9192939495969798);
	assert_true(h.entries == 0xa1a2a3a4);
	assert_int_equal(h.hashes, 200);
	assert_int_equal(h.length, 40);
	kv_pkbf_header_encode(&h, again);
	assert_memory_equal(again, raw, sizeof(raw));
}

TEST_CASE(header_values_out_of_range_are_refused)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES] = "pkbfv1";
	struct kv_pkbf_header h;

	for (int hashes = 0; hashes < 256; hashes++) {
		for (int length = 0; length < 256; length++) {
			raw[22] = (uint8_t)hashes;
			raw[23] = (uint8_t)length;
			assert_err(kv_pkbf_header_decode(raw, &h),
			    hashes == 0 ? KV_ERR_FILTER_HASHES :
				length < 3 || length > 40 ?
					  KV_ERR_FILTER_LENGTH :
					  KV_OK);
		}
	}
}

TEST_CASE(other_markers_are_refused)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES] = "pkbfv1";
	struct kv_pkbf_header h;

	raw[22] = 1;
	raw[23] = 3;
	assert_ok(kv_pkbf_header_decode(raw, &h));
	for (size_t i = 0; i < KV_PKBF_MARKER_BYTES; i++) {
		for (unsigned int bit = 0; bit < 8; bit++) {
			raw[i] ^= (uint8_t)(1U << bit);
			assert_err(kv_pkbf_header_decode(raw, &h),
			    KV_ERR_FILTER_MARKER);
			raw[i] ^= (uint8_t)(1U << bit);
		}
	}
}

TEST_CASE(file_sizes_follow_from_the_length)
{
	assert_int_equal(kv_pkbf_file_bytes(3), 25);
	assert_int_equal(kv_pkbf_file_bytes(4), 26);
	assert_int_equal(kv_pkbf_file_bytes(12), 24 + 512);
	assert_int_equal(kv_pkbf_file_bytes(24), 24 + 2097152);
	assert_int_equal(kv_pkbf_file_bytes(33), 24 + 1073741824);
	assert_true(kv_pkbf_file_bytes(40) == 24 + ((off_t)1 << 37));
}

TEST_CASE(good_file_is_opened)
{
	size_t len, before = count_descriptors();
	const uint8_t *p = example_filter(3, 6, &len);
	struct kv_pkbf f;

	open_filter(tmp_file("f", p, len), &f);
	assert_int_equal(count_descriptors(), before + 1);
	assert_int_equal(f.header.revision, 1);
	assert_int_equal(f.header.time, EXAMPLE_TIME);
	assert_int_equal(f.header.entries, EXAMPLES);
	assert_int_equal(f.header.hashes, 3);
	assert_int_equal(f.header.length, 6);
	kv_pkbf_close(&f);
	assert_int_equal(f.fd, -1);
	kv_pkbf_close(&f); /* once more is harmless */
	assert_int_equal(count_descriptors(), before);
}

TEST_CASE(every_other_size_is_refused)
{
	uint8_t bytes[KV_PKBF_HEADER_BYTES + 20] = { 0 };
	const uint8_t *p;
	size_t len;

	p = example_filter(3, 6, &len);
	memcpy(bytes, p, len);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		if (n != len)
			assert_refused(tmp_file("f", bytes, n),
			    KV_ERR_FILTER_SIZE);
	}
}

TEST_CASE(bad_header_in_a_file_is_refused)
{
	uint8_t *p;
	size_t len;

	p = example_filter(3, 6, &len);
	p[22] = 0;
	assert_refused(tmp_file("f", p, len), KV_ERR_FILTER_HASHES);
	p[22] = 3;
	p[23] = 2;
	assert_refused(tmp_file("f", p, len), KV_ERR_FILTER_LENGTH);
	p[23] = 41;
	assert_refused(tmp_file("f", p, len), KV_ERR_FILTER_LENGTH);
	p[23] = 5;
	assert_refused(tmp_file("f", p, len), KV_ERR_FILTER_SIZE);
	p[23] = 40;
	assert_refused(tmp_file("f", p, len), KV_ERR_FILTER_SIZE);
	p[23] = 6;
	p[5] = '2';
	assert_refused(tmp_file("f", p, len), KV_ERR_FILTER_MARKER);
}

TEST_CASE(other_kinds_of_file_are_refused)
{
	assert_int_equal(mkfifo(tmp_path("fifo"), 0600), 0);
	alarm(PATIENCE);
	assert_refused(tmp_path("fifo"), KV_ERR_NOT_REGULAR);
	assert_refused(tmp_dir(), KV_ERR_NOT_REGULAR);
	assert_refused("/dev/null", KV_ERR_NOT_REGULAR);
	alarm(0);
}

TEST_CASE(descriptor_that_cannot_be_read_is_an_error)
{
	struct kv_pkbf f;
	size_t len;
	const uint8_t *p = example_filter(3, 6, &len);
	int fd = open(tmp_file("f", p, len), O_WRONLY);

	errno = 0;
	assert_err(kv_pkbf_open_fd(fd, &f), KV_ERR_SYSTEM);
	assert_int_equal(errno, EBADF);
	close(fd);
	assert_err(kv_pkbf_open_fd(-1, &f), KV_ERR_SYSTEM);
}

static bool
is_listed(const struct kv_pkbf *f, const struct kv_pkbf_hash *h)
{
	bool listed = false;

	assert_ok(kv_pkbf_lookup(f, h, &listed));
	return listed;
}

TEST_CASE(example_keys_are_listed_and_others_are_not)
{
	struct kv_pkbf_hash h[EXAMPLES], other;
	struct kv_pkbf f;
	size_t len;
	const uint8_t *p = example_filter(12, 18, &len);

	open_filter(tmp_file("f", p, len), &f);
	example_hashes(h);
	for (size_t i = 0; i < EXAMPLES; i++)
		assert_true(is_listed(&f, &h[i]));
	for (int i = 0; i < 1000; i++) {
		other = (struct kv_pkbf_hash){ rng_next(), rng_next() | 1 };
		assert_false(is_listed(&f, &other));
	}
	kv_pkbf_close(&f);
}

/* With k = 1 and h1 = n, exactly bit n is read. */
TEST_CASE(bits_are_numbered_from_the_top_of_each_byte)
{
	uint8_t p[KV_PKBF_HEADER_BYTES + 4] = "pkbfv1";
	struct kv_pkbf f;

	p[22] = 1;
	p[23] = 5;
	for (unsigned int set = 0; set < 32; set++) {
		memset(p + KV_PKBF_HEADER_BYTES, 0, 4);
		p[KV_PKBF_HEADER_BYTES + set / 8] = (uint8_t)(1U
		    << (7 - set % 8));
		open_filter(tmp_file("f", p, sizeof(p)), &f);
		for (uint64_t n = 0; n < 32; n++) {
			struct kv_pkbf_hash h = { n + 32, 1 };

			assert_int_equal(is_listed(&f, &h), n == set);
		}
		kv_pkbf_close(&f);
	}
}

TEST_CASE(each_missing_bit_makes_a_key_clean)
{
	struct kv_pkbf_hash h[EXAMPLES];
	struct kv_pkbf f;
	uint8_t *p;
	size_t len;

	p = example_filter(12, 18, &len);
	example_hashes(h);
	for (unsigned int i = 0; i < 12; i++) {
		uint64_t n = kv_pkbf_position(&h[0], i, 18);
		uint8_t mask = (uint8_t)(0x80 >> n % 8);

		p[KV_PKBF_HEADER_BYTES + n / 8] ^= mask;
		open_filter(tmp_file("f", p, len), &f);
		assert_false(is_listed(&f, &h[0]));
		kv_pkbf_close(&f);
		p[KV_PKBF_HEADER_BYTES + n / 8] ^= mask;
	}
}

TEST_CASE(sparse_filter_of_a_gigabyte_is_queried)
{
	const struct kv_pkbf_header header = { .hashes = 2, .length = 33 };
	struct kv_pkbf_hash h = { 0x1fffffffe, 0x0f0f0f0f1 };
	struct kv_pkbf f;
	uint8_t raw[KV_PKBF_HEADER_BYTES];
	int fd;

	kv_pkbf_header_encode(&header, raw);
	fd = open(tmp_file("f", raw, sizeof(raw)), O_RDWR);
	assert_done(ftruncate(fd, kv_pkbf_file_bytes(33)));
	assert_ok(kv_pkbf_open_fd(fd, &f));
	assert_false(is_listed(&f, &h));
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t n = kv_pkbf_position(&h, i, 33);
		uint8_t byte = (uint8_t)(0x80 >> n % 8);

		assert_false(is_listed(&f, &h));
		assert_int_equal(pwrite(fd, &byte, 1,
				     (off_t)(KV_PKBF_HEADER_BYTES + n / 8)),
		    1);
	}
	assert_true(is_listed(&f, &h));
	kv_pkbf_close(&f);
}

TEST_CASE(file_that_shrinks_after_opening_is_an_error)
{
	struct kv_pkbf_hash h = { 63, 1 }; /* the last byte first */
	struct kv_pkbf f;
	size_t len;
	const uint8_t *p = example_filter(3, 6, &len);
	const char *path = tmp_file("f", p, len);
	bool listed = true;

	open_filter(path, &f);
	assert_done(truncate(path, (off_t)len - 1));
	assert_err(kv_pkbf_lookup(&f, &h, &listed), KV_ERR_FILTER_SIZE);
	assert_false(listed);
	assert_done(truncate(path, 0));
	assert_err(kv_pkbf_lookup(&f, &h, &listed), KV_ERR_FILTER_SIZE);
	kv_pkbf_close(&f);
	assert_err(kv_pkbf_lookup(&f, &h, &listed), KV_ERR_SYSTEM);
	assert_false(listed);
}

/* The file is cut behind the first bit, which is not set. */
TEST_CASE(lookup_stops_at_the_first_clear_bit)
{
	struct kv_pkbf_hash h = { 0, 33 };
	struct kv_pkbf f;
	size_t len;
	const uint8_t *p = example_filter(3, 6, &len);
	const char *path = tmp_file("f", p, len);

	assert_int_equal(p[KV_PKBF_HEADER_BYTES] & 0x80, 0);
	open_filter(path, &f);
	assert_done(truncate(path, KV_PKBF_HEADER_BYTES + 1));
	assert_false(is_listed(&f, &h));
	kv_pkbf_close(&f);
}

/* As keyveto-reader maps it. */
TEST_CASE(a_filter_that_is_mapped_answers_as_one_that_is_read)
{
	struct kv_pkbf read, mapped;
	size_t len, listed = 0;
	const uint8_t *p = example_filter(12, 9, &len);
	const char *path = tmp_file("f", p, len);

	open_filter(path, &read);
	open_filter(path, &mapped);
	assert_null(mapped.map);
	mapped.map = p;
	close(mapped.fd);
	mapped.fd = -1;
	for (int i = 0; i < 20000; i++) {
		/* Of two hashes many are in the filter by chance. */
		struct kv_pkbf_hash h = { rng_next(), rng_next() | 1 };

		read.header.hashes = mapped.header.hashes = 1 +
		    (uint8_t)rng_below(3);
		assert_int_equal(is_listed(&mapped, &h), is_listed(&read, &h));
		listed += is_listed(&mapped, &h);
	}
	assert_between(listed, 1, 19999);
	kv_pkbf_close(&read);
}

TEST_CASE(lookup_takes_no_lock_and_keeps_the_offset)
{
	struct kv_pkbf_hash h[EXAMPLES];
	struct kv_pkbf f;
	size_t len;
	const uint8_t *p = example_filter(3, 6, &len);
	const char *path = tmp_file("f", p, len);
	int locker = open(path, O_RDWR);

	example_hashes(h);
	assert_done(flock(locker, LOCK_EX));
	alarm(PATIENCE);
	open_filter(path, &f);
	assert_true(is_listed(&f, &h[0]));
	alarm(0);
	assert_int_equal(lseek(f.fd, 0, SEEK_CUR), 0);
	kv_pkbf_close(&f);
	close(locker);
}

TEST_CASE(interrupted_reads_are_made_again)
{
	struct kv_pkbf_hash h[EXAMPLES];
	struct kv_pkbf f;
	bool listed;
	size_t len;
	const uint8_t *p = example_filter(3, 6, &len);
	int fd = open_read(tmp_file("f", p, len));

	example_hashes(h);
	interrupt_calls(3);
	assert_ok(kv_pkbf_open_fd(fd, &f));
	assert_int_equal(calls_to_interrupt(), 0);
	interrupt_calls(3);
	assert_true(is_listed(&f, &h[0]));
	assert_int_equal(calls_to_interrupt(), 0);
	for (int n = 1; n <= 3; n++) {
		fail_call("pread", n, EIO);
		errno = 0;
		assert_err(kv_pkbf_lookup(&f, &h[0], &listed), KV_ERR_SYSTEM);
		assert_int_equal(errno, EIO);
		assert_false(listed);
	}
	fail_call("fstat", 1, EIO);
	errno = 0;
	assert_err(kv_pkbf_open_fd(fd, &f), KV_ERR_SYSTEM);
	assert_int_equal(errno, EIO);
	kv_pkbf_close(&f);
}

/* A line of the oracle: fingerprint, digest, positions. */
static void
assert_positions(const char *line, const struct kv_pkbf_hash *h, uint8_t hashes,
    uint8_t length)
{
	const char *p = strchr(strchr(line, ' ') + 1, ' ');
	char *end;

	for (unsigned int i = 0; i < hashes; i++) {
		assert_true(
		    strtoull(p, &end, 10) == kv_pkbf_position(h, i, length));
		p = end;
	}
	assert_int_equal(*p, '\0');
}

static void
assert_oracle_agrees(uint8_t hashes, uint8_t length)
{
	uint8_t spki[KV_SPKI_MAX_BYTES];
	struct kv_sshkey key;
	struct kv_pkbf_hash h;
	size_t len;
	char *text;

	testkey_new(&k, KV_KEY_ED25519);
	assert_ok(kv_sshkey_parse(k.blob.p, k.blob.len, &key));
	assert_ok(kv_spki_encode(&key.key, 0, spki, sizeof(spki), &len));
	h = kv_pkbf_hash(spki, len);
	tmp_text("keys", testkey_line(&k));
	output_of(ORACLE "create %s/f --hashes %u --length %u", tmp_dir(),
	    hashes, length);
	text = output_of(ORACLE "positions %s/f %s/keys", tmp_dir(), tmp_dir());
	text[strcspn(text, "\n")] = '\0';
	assert_positions(text, &h, hashes, length);
}

TEST_CASE(the_oracle_agrees_on_positions)
{
	assert_oracle_agrees(1, 3);
	assert_oracle_agrees(20, 20);
	assert_oracle_agrees(255, 17);
}
