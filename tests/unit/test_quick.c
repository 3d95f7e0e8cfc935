/* SPDX-License-Identifier: ISC */
/*
 * Compares the fast reader of many lines with the slow one. If quick says that
 * a line is done, kv_line and kv_spki must find one key with the same hashes.
 * pkbf_map must find what kv_pkbf finds, and list_index what kv_blocklist finds.
 */
#include "sets/quick_judge.h"

#include "testlib.h"

#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keys/base64_vector.h"
#include "keys/pem.h"
#include "kv_base64.h"
#include "kv_line.h"
#include "kv_nosecret.h"
#include "kv_spki.h"

#define LINE_BYTES 8192

static void
fill(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)rng_next();
}

static uint8_t *
put_u32(uint8_t *p, size_t n)
{
	*p++ = (uint8_t)(n >> 24);
	*p++ = (uint8_t)(n >> 16);
	*p++ = (uint8_t)(n >> 8);
	*p++ = (uint8_t)n;
	return p;
}

static uint8_t *
put_string(uint8_t *p, const void *s, size_t len)
{
	p = put_u32(p, len);
	if (len > 0)
		memcpy(p, s, len);
	return p + len;
}

static uint8_t *
put_text(uint8_t *p, const char *s)
{
	return put_string(p, s, strlen(s));
}

/* A positive odd number of len bytes, behind a zero byte if it needs one. */
static uint8_t *
put_number(uint8_t *p, size_t len)
{
	uint8_t n[2048] = { 0 };
	bool zero = rng_below(2) == 0;

	fill(n + 1, len);
	n[1] = (uint8_t)(zero ? n[1] | 0x80 : (n[1] & 0x7f) | 1);
	n[len] |= 3;
	return zero ? put_string(p, n, len + 1) : put_string(p, n + 1, len);
}

/* An exponent and a modulus of a key that needs its secret. */
static uint8_t *
put_rsa(uint8_t *p)
{
	const size_t e_len = 1 + rng_below(7), n_len = 128 + rng_below(900);
	struct kv_pubkey key = { .type = KV_KEY_RSA };
	uint8_t *n, *end;

	do {
		n = put_number(p, e_len);
		end = put_number(n, n_len);
		key.field[0] = (struct kv_span){ n - e_len, e_len };
		key.field[1] = (struct kv_span){ end - n_len, n_len };
	} while (kv_nosecret_source(&key) != NULL);
	return end;
}

static const struct {
	const char *name, *curve;
	size_t len;
} types[] = {
	{ "ssh-ed25519", NULL, 32 },
	{ "ecdsa-sha2-nistp256", "nistp256", 65 },
	{ "ecdsa-sha2-nistp384", "nistp384", 97 },
	{ "ecdsa-sha2-nistp521", "nistp521", 133 },
	{ "ssh-rsa", NULL, 0 },
};

#define TYPES (sizeof(types) / sizeof(types[0]))

/* A key of random numbers, as a line of ssh-keygen. */
static size_t
make_line(size_t type, char *line)
{
	uint8_t blob[4096], key[256], *end;
	size_t len;

	end = put_text(blob, types[type].name);
	if (types[type].curve != NULL)
		end = put_text(end, types[type].curve);
	if (types[type].len == 0) {
		end = put_rsa(end);
	} else {
		fill(key, types[type].len);
		if (types[type].curve != NULL)
			key[0] = 4;
		end = put_string(end, key, types[type].len);
	}
	len = (size_t)sprintf(line, "%s ", types[type].name);
	kv_base64_encode_unpadded(blob, (size_t)(end - blob), line + len);
	len += strlen(line + len);
	for (size_t n = (size_t)(end - blob) % 3; n > 0 && n < 3; n++)
		line[len++] = '=';
	if (rng_below(4) > 0)
		len += (size_t)sprintf(line + len, " somebody@host%zu",
		    rng_below(99));
	return len;
}

/* Damages a line as an attacker, an editor or a broken disk might. */
static size_t
damage(char *line, size_t len)
{
	static const char odd[] = "=\r\t \0\v#\"\\,-AAz09+/_P@\x80\xff";
	size_t at = rng_below(len), n;

	switch (rng_below(7)) {
	case 0:
		line[at] = odd[rng_below(sizeof(odd) - 1)];
		return len;
	case 1:
		memmove(line + at + 1, line + at, len - at);
		line[at] = odd[rng_below(sizeof(odd) - 1)];
		return len + 1;
	case 2:
		memmove(line + at, line + at + 1, len - at - 1);
		return len - 1;
	case 3:
		return at;
	case 4:
		line[at] = (char)rng_below(256);
		return len;
	case 5: /* one bit near the start: type names and lengths */
		at = rng_below(48);
		line[at < len ? at : 0] ^= (char)(1 << rng_below(7));
		return len;
	default: /* bytes behind its end */
		n = rng_below(40);
		memset(line + len, odd[rng_below(sizeof(odd) - 1)], n);
		return len + n;
	}
}

/* Reads a line with kv_line and kv_spki. False if it is not one key. */
static bool
read_slowly(struct kv_span text, struct kv_line *line, struct kv_pkbf_hash *h,
    struct kv_blocklist_hash *number, size_t *spkis)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	uint8_t spki[KV_SPKI_MAX_BYTES];
	size_t len;

	if (pem_is_begin(text) ||
	    kv_line_parse(text, blob, sizeof(blob), line) != KV_OK ||
	    line->is_blank || line->options.len > 0 || line->key.is_cert)
		return false;
	*spkis = kv_spki_count(&line->key.key);
	assert_int_equal(kv_spki_encode(&line->key.key, 0, spki, sizeof(spki),
			     &len),
	    KV_OK);
	*h = kv_pkbf_hash(spki, len);
	assert_int_equal(kv_blocklist_hash_count(&line->key.key), 1);
	kv_blocklist_hash_key(&line->key.key, 0, number);
	return true;
}

/*
 * Compares one line, alone in its text. Returns whether quick says it is done.
 */
static bool
compare_line(const char *line, size_t len)
{
	struct quick_line found[QUICK_LINES];
	struct kv_pkbf_hash quick[QUICK_LINES], careful = { 0 };
	struct kv_blocklist_hash number[QUICK_LINES], careful_number;
	struct quick_hashes h = { .spki = quick, .number = number };
	struct kv_line parsed;
	struct kv_span text;
	size_t n, spkis;
	uint8_t *copy = malloc(len > 0 ? len : 1);

	/*
	 * The memory ends with the text, so a sanitizer sees reads beyond it.
	 */
	assert_non_null(copy);
	memcpy(copy, line, len);
	text = (struct kv_span){ copy, len };
	/* One of them is wanted, or both. */
	if (rng_below(4) == 0)
		h.spki = NULL;
	else if (rng_below(3) == 0)
		h.number = NULL;
	n = quick_hash(text, QUICK_ECDSA, found, &h);
	assert_int_equal(n, len > 0);
	if (n == 1 && found[0].done) {
		assert_int_equal(h.n, 1);
		assert_int_equal(found[0].len, len);
		assert_true(read_slowly(text, &parsed, &careful,
		    &careful_number, &spkis));
		assert_int_equal(spkis, 1);
		assert_true(h.spki == NULL ||
		    (quick[0].h1 == careful.h1 && quick[0].h2 == careful.h2));
		if (h.number != NULL)
			assert_memory_equal(number[0].byte, careful_number.byte,
			    sizeof(number[0].byte));
	} else {
		assert_int_equal(h.n, 0);
	}
	free(copy);
	return n == 1 && found[0].done;
}

static void
plain_lines_are_done(void **state)
{
	char line[LINE_BYTES];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		size_t len = make_line((size_t)i % TYPES, line);

		assert_true(compare_line(line, len));
		line[len] = '\r';
		assert_true(compare_line(line, len + 1));
	}
}

static void
spoilt_lines_agree(void **state)
{
	char line[LINE_BYTES + 64];
	unsigned int done = 0;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		size_t len = make_line(rng_below(TYPES), line);

		for (size_t n = rng_below(3) + 1; n > 0 && len > 0; n--)
			len = damage(line, len);
		/* A line end would make two lines of it. */
		for (size_t k = 0; k < len; k++) {
			if (line[k] == '\n')
				line[k] = ' ';
		}
		done += compare_line(line, len);
	}
	/*
	 * Some lines are done, some not: changes may be in comments or key
	 * bytes.
	 */
	assert_between(done, 1000, 90000);
}

static void
lines_of_a_text(void **state)
{
	static char text[600 * LINE_BYTES / 8];
	struct quick_line line[QUICK_LINES];
	struct kv_pkbf_hash hash[QUICK_LINES];
	struct quick_hashes h = { .spki = hash };
	size_t len = 0, at = 0, lines = 0, keys = 0, n;

	(void)state;
	for (int i = 0; i < 500; i++) {
		if (i % 50 == 7)
			/* A name of a type may begin in the line before. */
			len += (size_t)sprintf(text + len, "# comment\ns");
		else if (i == 300)
			len += (size_t)sprintf(text + len,
			    "-----BEGIN PUBLIC KEY-----");
		else
			len += make_line(0, text + len);
		text[len++] = '\n';
	}
	while (at < len) {
		n = quick_hash((struct kv_span){ (uint8_t *)text + at,
				   len - at },
		    QUICK_ECDSA, line, &h);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(text[at + line[i].len - 1], '\n');
			assert_int_equal(line[i].done,
			    text[at] == 's' && line[i].len > 2);
			at += line[i].len;
			lines++;
			/* A line behind a BEGIN line may be part of a block. */
			if (text[at - line[i].len] == '-')
				assert_int_equal(i, n - 1);
		}
		keys += h.n;
	}
	assert_int_equal(lines, 510);
	assert_int_equal(keys, 489);
}

static void
curves_can_be_left_out(void **state)
{
	char line[LINE_BYTES];
	struct quick_line found[QUICK_LINES];
	struct kv_pkbf_hash hash[QUICK_LINES];
	struct quick_hashes h = { .spki = hash };

	(void)state;
	for (size_t type = 0; type < TYPES; type++) {
		size_t len = make_line(type, line);

		quick_hash((struct kv_span){ (uint8_t *)line, len }, 0, found,
		    &h);
		assert_int_equal(found[0].done, types[type].curve == NULL);
	}
}

static void
base64_is_the_same(void **state)
{
	static const char odd[] = "=\r\n\t \0-_,@[`{:\x80\xc1\xff";
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t one[512 + BASE64_VECTOR_SLACK], two[512];

	(void)state;
	/*
	 * Random texts with every byte at every place of a vector, and every
	 * length.
	 */
	for (int i = 0; i < 200000; i++) {
		size_t len = rng_below(400), cap = rng_below(320), used;
		uint8_t *text = malloc(len > 0 ? len : 1);

		assert_non_null(text);
		for (size_t k = 0; k < len; k++)
			text[k] = (uint8_t)digits[rng_below(64)];
		if (len > 0 && rng_below(4) > 0)
			text[rng_below(len)] = rng_below(2) > 0 ?
			    (uint8_t)rng_below(256) :
			    (uint8_t)odd[rng_below(sizeof(odd) - 1)];
		used = base64_vector_groups(text, len, one, cap);
		assert_int_equal(used,
		    kv_base64_decode_groups(text, len, two, cap));
		assert_memory_equal(one, two, used / 4 * 3);
		free(text);
	}
}

static void
map_finds_the_same(void **state)
{
	const struct kv_pkbf_header header = { .hashes = 5, .length = 16 };
	const size_t len = KV_PKBF_HEADER_BYTES + (1 << 13);
	uint8_t *file = test_alloc(len);
	struct kv_pkbf_hash h[PKBF_MAP_BATCH];
	bool found[PKBF_MAP_BATCH], listed;
	unsigned int hits = 0;
	struct pkbf_map map;
	struct kv_pkbf f;

	(void)state;
	fill(file, len);
	kv_pkbf_header_encode(&header, file);
	assert_err(kv_pkbf_open_fd(open_read(tmp_file("filter", file, len)),
		       &f),
	    KV_OK);
	assert_true(pkbf_map_open(&map, &f));
	for (int i = 0; i < 200; i++) {
		size_t n = rng_below(PKBF_MAP_BATCH + 1);

		for (size_t k = 0; k < n; k++) {
			fill((uint8_t *)&h[k], sizeof(h[k]));
			h[k].h2 |= 1;
		}
		pkbf_map_lookup(&map, h, n, found);
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(kv_pkbf_lookup(&f, &h[k], &listed),
			    KV_OK);
			assert_int_equal(found[k], listed);
			hits += listed;
		}
	}
	/* About one in 2^5. */
	assert_between(hits, 200, 2000);
	pkbf_map_close(&map);
	kv_pkbf_close(&f);
}

#define LENGTH_MAX 36

/*
 * A filter of random numbers, as far as it is small, in which half of the
 * hashes are listed. A large one has holes.
 */
static const char *
make_filter(uint8_t length, uint8_t hashes, const struct kv_pkbf_hash *h,
    size_t n)
{
	const struct kv_pkbf_header header = { .hashes = hashes,
		.length = length };
	const size_t bits = (size_t)1 << (length < 16 ? length : 16);
	uint8_t *start = test_alloc(KV_PKBF_HEADER_BYTES + bits / 8);
	const char *path;
	int fd;

	fill(start + KV_PKBF_HEADER_BYTES, bits / 8);
	kv_pkbf_header_encode(&header, start);
	path = tmp_file("filter", start, KV_PKBF_HEADER_BYTES + bits / 8);
	assert_int_equal(truncate(path, kv_pkbf_file_bytes(length)), 0);
	assert_int_not_equal(fd = open(path, O_RDWR), -1);
	for (size_t k = 0; k < n; k += 2) {
		for (unsigned int i = 0; i < hashes; i++) {
			uint64_t bit = kv_pkbf_position(&h[k], i, length);
			off_t at = KV_PKBF_HEADER_BYTES + (off_t)(bit / 8);
			uint8_t byte;

			assert_int_equal(pread(fd, &byte, 1, at), 1);
			byte |= (uint8_t)(0x80U >> bit % 8);
			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		}
	}
	close(fd);
	return path;
}

/* Returns how many are listed. */
static size_t
compare_one_by_one(const struct kv_filter *f, const struct kv_pkbf_hash *h,
    size_t n)
{
	size_t hits = 0;

	for (size_t k = 0; k < n; k++) {
		bool found = false, listed = false;
		enum kv_err err = kv_pkbf_lookup(&f->pkbf, &h[k], &listed);

		assert_err(pkbf_map_lookup_one(f, &h[k], &found), err);
		assert_int_equal(found, listed);
		hits += listed;
	}
	return hits;
}

/* Also while the file is too short, and once it is long again. */
static void
map_finds_one_as_the_file_does(void **state)
{
	static const uint8_t counts[] = { 1, 2, 20, 255 };
	struct kv_pkbf_hash h[64];
	bool found[64], listed;

	(void)state;
	for (uint8_t p = KV_PKBF_LENGTH_MIN; p <= LENGTH_MAX; p++) {
		uint8_t k = p % 2 == 0 ? counts[p / 2 % COUNT(counts)] :
					 (uint8_t)(1 + rng_below(255));
		struct kv_filter f = { 0 };
		struct pkbf_map map;
		const char *path;

		fill((uint8_t *)h, sizeof(h));
		for (size_t i = 0; i < COUNT(h); i++)
			h[i].h2 |= 1;
		path = make_filter(p, k, h, COUNT(h));
		assert_err(kv_pkbf_open_fd(open_read(path), &f.pkbf), KV_OK);
		if (!pkbf_map_open(&map, &f.pkbf)) {
			/* There is no room for it with 32 bits. */
			assert_true(sizeof(size_t) == 4 && p >= 33);
			kv_pkbf_close(&f.pkbf);
			continue;
		}
		f.arg = &map;
		assert_between(compare_one_by_one(&f, h, COUNT(h)),
		    COUNT(h) / 2, COUNT(h));
		pkbf_map_lookup(&map, h, COUNT(h), found);
		for (size_t i = 0; i < COUNT(h); i++) {
			assert_err(kv_pkbf_lookup(&f.pkbf, &h[i], &listed),
			    KV_OK);
			assert_int_equal(found[i], listed);
		}
		assert_int_equal(truncate(path, KV_PKBF_HEADER_BYTES), 0);
		compare_one_by_one(&f, h, COUNT(h));
		assert_int_equal(truncate(path, kv_pkbf_file_bytes(p)), 0);
		assert_int_equal(compare_one_by_one(&f, h, COUNT(h)), 0);
		pkbf_map_close(&map);
		kv_pkbf_close(&f.pkbf);
	}
}

static int
compare_records(const void *a, const void *b)
{
	return memcmp(a, b, KV_BLOCKLIST_RECORD_BYTES);
}

/* Makes n random records, in order. */
static uint8_t *
make_records(size_t n)
{
	uint8_t *records = test_alloc(n * KV_BLOCKLIST_RECORD_BYTES);

	fill(records, n * KV_BLOCKLIST_RECORD_BYTES);
	qsort(records, n, KV_BLOCKLIST_RECORD_BYTES, compare_records);
	return records;
}

/* Looks hashes up, of which about half are of a record. */
static void
compare_lookups(struct list_index *x, const struct kv_blocklist *l,
    const uint8_t *records, int times)
{
	struct kv_blocklist_hash h[QUICK_LINES];
	bool found[QUICK_LINES], listed;
	uint8_t id;

	for (int i = 0; i < times; i++) {
		size_t n = rng_below(QUICK_LINES + 1);

		memset(found, 0, sizeof(found));
		for (size_t k = 0; k < n; k++) {
			fill(h[k].byte, sizeof(h[k].byte));
			if (rng_below(2) == 0)
				memcpy(h[k].byte,
				    records +
					rng_below((size_t)l->records) *
					    KV_BLOCKLIST_RECORD_BYTES,
				    sizeof(h[k].byte));
			/* The same first bits as a record. */
			h[k].byte[14] ^= (uint8_t)(rng_below(3) == 0);
		}
		list_index_lookup(x, h, n, found);
		for (size_t k = 0; k < n; k++) {
			assert_err(kv_blocklist_lookup(l, &h[k], &listed, &id),
			    KV_OK);
			assert_int_equal(found[k], listed);
		}
	}
}

/* Before it has made its bits, and after. */
static void
index_finds_the_same(void **state)
{
	static const size_t sizes[] = { 1, 2, 100, 5000, 300000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *records = make_records(sizes[i]);
		struct kv_blocklist l;
		struct list_index x;
		int fd = open_read(tmp_file("list", records,
		    sizes[i] * KV_BLOCKLIST_RECORD_BYTES));

		assert_err(kv_blocklist_open_fd(fd, &l), KV_OK);
		list_index_open(&x, &l);
		compare_lookups(&x, &l, records, 2);
		assert_null(atomic_load(&x.bits));
		compare_lookups(&x, &l, records, 100);
		assert_non_null(atomic_load(&x.bits));
		list_index_close(&x);
		kv_blocklist_close(&l);
	}
}

/*
 * n random records. A quarter begin with the same bytes, and a quarter lie close
 * to where a bucket may begin, on either side. Some hashes are there twice.
 */
static uint8_t *
make_clusters(size_t n)
{
	uint8_t *records = test_alloc(n * KV_BLOCKLIST_RECORD_BYTES);

	fill(records, n * KV_BLOCKLIST_RECORD_BYTES);
	for (size_t i = 1; i < n; i++) {
		uint8_t *p = records + i * KV_BLOCKLIST_RECORD_BYTES;
		uint64_t edge = htobe64((rng_next() << 44) - rng_below(2));

		if (i % 4 == 0)
			memset(p, 0x5a, 7);
		else if (i % 4 == 1)
			memcpy(p, &edge, sizeof(edge));
		if (i % 8 < 3)
			memcpy(p, p - KV_BLOCKLIST_RECORD_BYTES,
			    KV_BLOCKLIST_HASH_BYTES);
	}
	qsort(records, n, KV_BLOCKLIST_RECORD_BYTES, compare_records);
	return records;
}

static void
index_finds_the_same_in_clusters(void **state)
{
	static const size_t sizes[] = { 3, 300, 5000, 100000 };

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		uint8_t *records = make_clusters(sizes[i]);
		struct kv_blocklist l;
		struct list_index x;
		int fd = open_read(tmp_file("list", records,
		    sizes[i] * KV_BLOCKLIST_RECORD_BYTES));

		assert_err(kv_blocklist_open_fd(fd, &l), KV_OK);
		list_index_open(&x, &l);
		compare_lookups(&x, &l, records, 100);
		assert_non_null(atomic_load(&x.bits));
		list_index_close(&x);
		kv_blocklist_close(&l);
	}
}

static void
assert_all_listed(struct list_index *x, const uint8_t *records, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct kv_blocklist_hash h;
		bool found = false;

		memcpy(h.byte, records + i * KV_BLOCKLIST_RECORD_BYTES,
		    sizeof(h.byte));
		list_index_lookup(x, &h, 1, &found);
		assert_true(found);
	}
}

/* What was in the list stays listed: the file itself is asked then. */
static void
index_of_a_list_that_becomes_shorter_loses_no_key(void **state)
{
	const size_t n = 5000;
	uint8_t *records = make_records(n);
	const char *path = tmp_file("list", records,
	    n * KV_BLOCKLIST_RECORD_BYTES);
	struct kv_blocklist l;
	struct list_index x;

	(void)state;
	assert_err(kv_blocklist_open_fd(open_read(path), &l), KV_OK);
	list_index_open(&x, &l);
	compare_lookups(&x, &l, records, 100);
	assert_non_null(atomic_load(&x.bits));
	assert_int_equal(truncate(path, 100 * KV_BLOCKLIST_RECORD_BYTES), 0);
	assert_all_listed(&x, records, n);
	list_index_close(&x);
	kv_blocklist_close(&l);
}

/*
 * A list that was emptied and became as long again has no key, and no order:
 * the file itself is asked, and says so.
 */
static void
index_of_a_list_that_became_a_hole_loses_no_key(void **state)
{
	const size_t n = 5000;
	const off_t bytes = (off_t)n * KV_BLOCKLIST_RECORD_BYTES;
	uint8_t *records = make_records(n);
	const char *path = tmp_file("list", records, (size_t)bytes);
	struct kv_blocklist l;
	struct list_index x;

	(void)state;
	assert_err(kv_blocklist_open_fd(open_read(path), &l), KV_OK);
	list_index_open(&x, &l);
	compare_lookups(&x, &l, records, 100);
	assert_non_null(atomic_load(&x.bits));
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(truncate(path, bytes), 0);
	assert_all_listed(&x, records, n);
	list_index_close(&x);
	kv_blocklist_close(&l);
}

/* No key is clean by a list that is not in order, or became shorter. */
static void
index_of_a_damaged_list_lists_what_it_cannot_find(void **state)
{
	const size_t n = 2000, half = n / 2 * KV_BLOCKLIST_RECORD_BYTES;
	uint8_t *records = make_records(n), *damaged = test_alloc(2 * half);
	struct kv_blocklist_hash h;
	struct kv_blocklist l;
	struct list_index x;
	bool found, listed;
	uint8_t id;

	(void)state;
	memcpy(damaged, records + half, half);
	memcpy(damaged + half, records, half);
	assert_err(kv_blocklist_open_fd(
		       open_read(tmp_file("list", damaged, 2 * half)), &l),
	    KV_OK);
	list_index_open(&x, &l);
	for (int i = 0; i < 5000; i++) {
		fill(h.byte, sizeof(h.byte));
		found = false;
		list_index_lookup(&x, &h, 1, &found);
		assert_int_equal(found,
		    kv_blocklist_lookup(&l, &h, &listed, &id) != KV_OK ||
			listed);
	}
	assert_null(atomic_load(&x.bits));
	list_index_close(&x);
	kv_blocklist_close(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(plain_lines_are_done),
		TEST(spoilt_lines_agree),
		TEST(lines_of_a_text),
		TEST(curves_can_be_left_out),
		TEST(base64_is_the_same),
		TEST(map_finds_the_same),
		TEST(map_finds_one_as_the_file_does),
		TEST(index_finds_the_same),
		TEST(index_finds_the_same_in_clusters),
		TEST(index_of_a_list_that_becomes_shorter_loses_no_key),
		TEST(index_of_a_list_that_became_a_hole_loses_no_key),
		TEST(index_of_a_damaged_list_lists_what_it_cannot_find),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
