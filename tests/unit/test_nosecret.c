/* SPDX-License-Identifier: ISC */
/*
 * kv_nosecret against the oracle, which has no table of points, and against
 * division of small numbers.
 */
#include "kv_nosecret.h"

#include "testkeys.h"
#include "testlib.h"

#include <inttypes.h>

#include "kv_sshkey.h"

/* The same, as processors of 32 bits have it, which have no numbers of 128. */
const char *narrow_source(const struct kv_pubkey *key);
#undef __SIZEOF_INT128__
#define kv_nosecret_source narrow_source
#include "lib/kv_nosecret.c"
#undef kv_nosecret_source

/* A line of the oracle: a class or "-", a type and base64. */
struct known {
	char class[32];
	uint8_t *blob; /* of the key */
	struct kv_sshkey key;
};

static struct known *known;
static size_t n_known;

/* Keeps a copy of a blob, and reads it. It lives as long as the program. */
static void
parse(const struct blob *b, struct known *k)
{
	/* Memory of that size, so that a sanitizer sees reads beyond it. */
	k->blob = malloc(b->len);
	assert_non_null(k->blob);
	memcpy(k->blob, b->p, b->len);
	assert_ok(kv_sshkey_parse(k->blob, b->len, &k->key));
}

static void
read_oracle(void)
{
	static struct blob b;
	char *line, *rest;

	line = output_of("python3 -B tests/oracle/nosecret.py keys");
	for (; (line = strtok_r(line, "\n", &rest)) != NULL; line = NULL) {
		struct known *k;

		known = realloc(known, (n_known + 1) * sizeof(*known));
		assert_non_null(known);
		k = &known[n_known++];
		assert_int_equal(sscanf(line, "%31s", k->class), 1);
		blob_of_line(strchr(line, ' ') + 1, &b);
		parse(&b, k);
	}
	assert_true(n_known > 1000);
}

static void
assert_source(const struct kv_pubkey *key, const char *want, uint64_t number)
{
	const char *got[] = { kv_nosecret_source(key), narrow_source(key) };

	for (size_t i = 0; i < 2; i++) {
		if (strcmp(got[i] != NULL ? got[i] : "-", want) != 0)
			fail_msg("%s instead of %s: %s, number %" PRIu64,
			    got[i] != NULL ? got[i] : "-", want,
			    kv_keytype_name(key->type), number);
	}
}

TEST_CASE(a_key_is_in_the_class_that_the_oracle_says)
{
	for (size_t i = 0; i < n_known; i++)
		assert_source(&known[i].key.key, known[i].class, i);
}

/* Whether the oracle has a key of that type and class with these bytes. */
static bool
is_known(const char *class, enum kv_keytype type, struct kv_span field)
{
	for (size_t i = 0; i < n_known; i++) {
		const struct kv_pubkey *k = &known[i].key.key;

		if (k->type == type && strcmp(known[i].class, class) == 0 &&
		    kv_span_equal(k->field[0], field))
			return true;
	}
	return false;
}

/* Flips each bit of field 0 of each known key of a class and a type. */
static void
flip_bits(const char *class, enum kv_keytype type, size_t from, size_t to,
    size_t want_keys)
{
	size_t keys = 0;

	for (size_t i = 0; i < n_known; i++) {
		struct kv_pubkey k = known[i].key.key;
		uint8_t *copy;

		if (k.type != type || strcmp(known[i].class, class) != 0)
			continue;
		keys++;
		copy = exact_copy(k.field[0].p, k.field[0].len);
		k.field[0].p = copy;
		for (size_t bit = 8 * from; bit < 8 * to; bit++) {
			copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_source(&k,
			    is_known(class, type, k.field[0]) ? class : "-",
			    bit);
			copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	assert_int_equal(keys, want_keys);
}

TEST_CASE(a_point_one_bit_beside_is_no_such_point)
{
	flip_bits("ed25519-order", KV_KEY_ED25519, 0, 32, 14);
	flip_bits("ed25519-order", KV_KEY_SK_ED25519, 0, 32, 14);
	/* x, behind the byte that says which form the point has */
	flip_bits("ecdsa-generator", KV_KEY_ECDSA_P256, 1, 1 + 32, 24);
	flip_bits("ecdsa-generator", KV_KEY_SK_ECDSA_P256, 1, 1 + 32, 24);
	flip_bits("ecdsa-generator", KV_KEY_ECDSA_P384, 1, 1 + 48, 24);
	flip_bits("ecdsa-generator", KV_KEY_ECDSA_P521, 1, 1 + 66, 24);
}

/* An RSA key of numbers in big endian, without their leading zeros. */
static struct kv_pubkey
rsa_key(uint64_t e, uint64_t n)
{
	static uint8_t bytes[2][8];
	struct kv_pubkey key = { .type = KV_KEY_RSA };

	for (size_t i = 0; i < 2; i++) {
		uint64_t number = i == 0 ? e : n;
		size_t len = 0;

		for (; number > 0; number >>= 8)
			bytes[i][7 - len++] = (uint8_t)number;
		key.field[i] = (struct kv_span){ bytes[i] + 8 - len, len };
	}
	return key;
}

/* A number above 1 that divides n, and is below 1000, has such a prime. */
static bool
has_divisor_below_1000(uint64_t n)
{
	for (uint64_t d = 2; d < 1000; d++) {
		if (n % d == 0)
			return true;
	}
	return false;
}

static void
assert_modulus(uint64_t n)
{
	const struct kv_pubkey key = rsa_key(65537, n);

	assert_source(&key, has_divisor_below_1000(n) ? "rsa-factor" : "-", n);
}

TEST_CASE(small_moduli_are_divided)
{
	for (uint64_t n = 0; n < 65536; n++)
		assert_modulus(n);
	rng_seed(29);
	for (size_t i = 0; i < 20000; i++)
		assert_modulus(rng_next() >> rng_below(64));
	for (uint64_t n = UINT64_MAX - 1000; n != 0; n++)
		assert_modulus(n);
	for (uint64_t n = 0; n < 2000; n++)
		assert_modulus(UINT32_MAX - 1000 + n);
}

TEST_CASE(small_exponents_are_odd_and_above_1)
{
	/* The product of two primes above 1000. */
	const uint64_t n = 1009 * 1013;

	for (uint64_t e = 0; e < 2000; e++) {
		const struct kv_pubkey key = rsa_key(e, n);

		assert_source(&key, e > 1 && e % 2 == 1 ? "-" : "rsa-exponent",
		    e);
	}
}

/* g and y are the same number. The oracle's keys tell them apart. */
TEST_CASE(small_groups_are_reduced)
{
	for (uint64_t p = 1; p < 300; p++) {
		for (uint64_t n = 0; n < 700; n++) {
			const struct kv_pubkey rsa = rsa_key(n, p);
			const struct kv_span v = rsa.field[0],
					     modulus = rsa.field[1];
			const struct kv_pubkey key = { .type = KV_KEY_DSA,
				.field = { modulus, modulus, v, v } };
			bool trivial = n % p <= 1 || n % p == p - 1;

			assert_source(&key, trivial ? "dsa-group" : "-", n);
		}
	}
}

/* No sshd reads a p of more bytes: nothing is computed with one. */
TEST_CASE(a_modulus_of_2049_bytes_is_not_divided_by)
{
	static uint8_t p[KV_MPINT_MAX_BYTES + 1] = { 1 }, y[sizeof(p)] = { 1 };
	static const uint8_t one = 1;
	struct kv_pubkey key = { .type = KV_KEY_DSA,
		.field = { { p, sizeof(p) }, { p, sizeof(p) }, { y, sizeof(y) },
		    { y, sizeof(y) } } };

	assert_source(&key, "-", 0);
	key.field[3] = (struct kv_span){ &one, 1 };
	assert_source(&key, "dsa-group", 1);
}

/* The type alone says which fields there are. */
TEST_CASE(other_types_are_in_no_class)
{
	static const uint8_t zeros[KV_ED448_BYTES];
	struct kv_pubkey key = { .type = KV_KEY_ED448,
		.field = { { zeros, sizeof(zeros) } } };

	assert_source(&key, "-", 0);
	key.type = KV_KEY_NONE;
	assert_source(&key, "-", 0);
}

int
main(void)
{
	return run_all_tests(&(struct fixture){ .before_all = read_oracle });
}
