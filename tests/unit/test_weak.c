/* SPDX-License-Identifier: ISC */
/*
 * Compares the tests of one modulus with keys that are made to be found or to be
 * sound. tests/cli has keys that OpenSSL made, and badkeys' classes.
 */
#include "weak/rsa.h"

#include "testlib.h"

#include <gmp.h>

#include "weak/moduli.h"

static gmp_randstate_t rng;

static void
begin(void)
{
	gmp_randinit_default(rng);
	gmp_randseed_ui(rng, 20261124);
}

static void
end(void)
{
	gmp_randclear(rng);
}

static void
make_prime(mpz_t p, unsigned int bits)
{
	mpz_urandomb(p, rng, bits);
	mpz_setbit(p, bits - 1);
	mpz_setbit(p, bits - 2);
	mpz_nextprime(p, p);
}

static struct kv_span
export_number(const mpz_t n)
{
	const size_t cap = mpz_sizeinbase(n, 256) + 1;
	uint8_t *p = test_alloc(cap);
	size_t len;

	mpz_export(p, &len, 1, 1, 1, 0, n);
	return (struct kv_span){ exact_copy(p, len), len };
}

static enum weak_class
find(const mpz_t n, const mpz_t e)
{
	const enum weak_class class = weak_rsa_find(export_number(n),
	    export_number(e));

	return class == WEAK_NONE && weak_is_prime(export_number(n)) ?
	    WEAK_PRIME :
	    class;
}

static void
assert_class(const mpz_t n, unsigned long e, enum weak_class want)
{
	mpz_t exponent;

	mpz_init_set_ui(exponent, e);
	assert_string_equal(weak_class_name(find(n, exponent)),
	    weak_class_name(want));
	mpz_clear(exponent);
}

TEST_CASE(sound_moduli_are_not_found)
{
	static const unsigned int bits[] = { 256, 384, 512 };
	mpz_t p, q;

	mpz_inits(p, q, NULL);
	for (size_t i = 0; i < 8 * COUNT(bits); i++) {
		make_prime(p, bits[i % COUNT(bits)]);
		make_prime(q, bits[i % COUNT(bits)]);
		mpz_mul(p, p, q);
		assert_class(p, i % 2 ? 3 : 65537, WEAK_NONE);
	}
	mpz_clears(p, q, NULL);
}

TEST_CASE(prime_moduli_are_found)
{
	mpz_t p;

	mpz_init(p);
	for (unsigned int bits = 512; bits <= 1024; bits *= 2) {
		make_prime(p, bits);
		assert_class(p, 65537, WEAK_PRIME);
	}
	mpz_clear(p);
}

TEST_CASE(powers_are_found)
{
	static const unsigned long exponents[] = { 2, 3, 4, 5, 7, 11, 30 };
	mpz_t p, n;

	mpz_inits(p, n, NULL);
	for (size_t i = 0; i < COUNT(exponents); i++) {
		make_prime(p, 1024 / (unsigned int)exponents[i]);
		mpz_pow_ui(n, p, exponents[i]);
		assert_class(n, 65537, WEAK_SQUARE);
	}
	mpz_clears(p, n, NULL);
}

/* q is the first prime after p * u / v + 2^distance. */
static void
make_neighbours(mpz_t n, unsigned int u, unsigned int v, unsigned int distance)
{
	mpz_t p, q;

	mpz_inits(p, q, NULL);
	make_prime(p, 1024);
	mpz_mul_ui(q, p, u);
	mpz_fdiv_q_ui(q, q, v);
	mpz_set_ui(n, 1);
	mpz_mul_2exp(n, n, distance);
	mpz_add(q, q, n);
	mpz_nextprime(q, q);
	mpz_mul(n, p, q);
	mpz_clears(p, q, NULL);
}

TEST_CASE(close_primes_are_found)
{
	static const unsigned int ratio[][2] = { { 1, 2 }, { 1, 3 }, { 2, 3 },
		{ 1, 4 }, { 3, 4 }, { 1, 5 }, { 2, 5 }, { 3, 5 }, { 4, 5 },
		{ 1, 6 }, { 5, 6 }, { 1, 10 } };
	mpz_t n;

	mpz_init(n);
	/* (p - q)^2 / 8p is the number of steps: 2^(2 * 515 - 1027) = 8. */
	for (unsigned int distance = 1; distance <= 515; distance += 57) {
		make_neighbours(n, 1, 1, distance);
		assert_class(n, 65537, WEAK_FERMAT);
	}
	for (size_t i = 0; i < COUNT(ratio); i++) {
		make_neighbours(n, ratio[i][0], ratio[i][1], 400);
		assert_class(n, 65537, WEAK_FERMAT);
	}
	/* As far apart as FIPS 186-5 wants it: in the first hundred bits. */
	make_neighbours(n, 1, 1, 1024 - 100);
	assert_class(n, 65537, WEAK_NONE);
	mpz_clear(n);
}

TEST_CASE(small_private_exponents_are_found)
{
	static const unsigned int bits[] = { 17, 64, 256, 400, 508 };
	mpz_t p, q, phi, d, e, n, g;

	mpz_inits(p, q, phi, d, e, n, g, NULL);
	for (size_t i = 0; i < 2 * COUNT(bits); i++) {
		make_prime(p, 1024);
		make_prime(q, 1024);
		mpz_mul(n, p, q);
		mpz_sub_ui(p, p, 1);
		mpz_sub_ui(q, q, 1);
		mpz_mul(phi, p, q);
		/* Every second one is the inverse modulo the smaller group. */
		if (i % 2 == 1)
			mpz_lcm(phi, p, q);
		do {
			make_prime(d, bits[i / 2]);
			mpz_gcd(g, d, phi);
		} while (mpz_cmp_ui(g, 1) != 0);
		mpz_invert(e, d, phi);
		assert_string_equal(weak_class_name(find(n, e)), "rsa-small-d");
	}
	/* One of 1, modulo the smaller group of the last primes. */
	mpz_add_ui(e, phi, 1);
	assert_string_equal(weak_class_name(find(n, e)), "rsa-small-d");
	/* A large exponent with a large private half. */
	make_prime(e, 2000);
	assert_string_equal(weak_class_name(find(n, e)), "");
	mpz_clears(p, q, phi, d, e, n, g, NULL);
}

static bool
is_prime(unsigned long n)
{
	for (unsigned long i = 2; i * i <= n; i++)
		if (n % i == 0)
			return false;
	return n > 1;
}

/* Each prime at both ends is tried, and none from 2^16 on. */
TEST_CASE(small_factors_are_found)
{
	mpz_t p, n;

	mpz_inits(p, n, NULL);
	make_prime(p, 1000);
	for (unsigned long f = 2; f < 66000; f = f == 2000 ? 64000 : f + 1) {
		mpz_mul_ui(n, p, f);
		if (is_prime(f))
			assert_class(n, 65537,
			    f < 65536 ? WEAK_FACTOR : WEAK_NONE);
	}
	/* Under an exponent that is tested by itself, too. */
	mpz_mul_ui(n, p, 65521);
	make_prime(p, 2000);
	assert_string_equal(weak_class_name(find(n, p)), "rsa-factor");
	mpz_clears(p, n, NULL);
}

/* A prime as RSALib made it: k * M + (65537^a mod M). */
static void
make_roca_prime(mpz_t p, const mpz_t m, unsigned int bits)
{
	mpz_t k, a;

	mpz_inits(k, a, NULL);
	do {
		mpz_set_ui(k, 1);
		mpz_urandomb(k, rng, bits - mpz_sizeinbase(m, 2));
		mpz_urandomb(a, rng, 62);
		mpz_set_ui(p, 65537);
		mpz_powm(p, p, a, m);
		mpz_addmul(p, k, m);
	} while (mpz_probab_prime_p(p, 20) == 0);
	mpz_clears(k, a, NULL);
}

TEST_CASE(roca_is_found)
{
	/* The last primes of the products for 1024, 2048 and 4096 bits. */
	static const unsigned int last[] = { 353, 701, 1427 };
	mpz_t m, p, q, n;

	mpz_inits(m, p, q, n, NULL);
	for (size_t i = 0; i < COUNT(last) - 1; i++) {
		mpz_primorial_ui(m, last[i]);
		make_roca_prime(p, m, 512u << i);
		make_roca_prime(q, m, 512u << i);
		mpz_mul(n, p, q);
		assert_class(n, 65537, WEAK_ROCA);
		/* The sum with another number is in no such group. */
		mpz_add_ui(n, n, 2);
		assert_false(weak_has_roca_fingerprint(n));
	}
	mpz_clears(m, p, q, n, NULL);
}

/*
 * Only numbers whose discrete logarithms modulo all primes agree count: each of
 * these is a power of 65537 modulo each prime, and of the whole none.
 */
TEST_CASE(logarithms_that_do_not_agree_are_no_roca)
{
	mpz_t m, part, x, n, inverse;
	unsigned int agreeing = 0;

	mpz_inits(m, part, x, n, inverse, NULL);
	mpz_primorial_ui(m, 167);
	for (unsigned int round = 0; round < 100; round++) {
		mpz_set_ui(n, 0);
		for (unsigned int p = 3; p <= 167; p += 2) {
			mpz_set_ui(x, p);
			if (mpz_probab_prime_p(x, 20) == 0)
				continue;
			mpz_set_ui(part, 65537);
			mpz_powm_ui(part, part, gmp_urandomm_ui(rng, 1000), x);
			mpz_divexact_ui(inverse, m, p);
			mpz_mul(part, part, inverse);
			mpz_invert(inverse, inverse, x);
			mpz_addmul(n, part, inverse);
		}
		mpz_mod(n, n, m);
		agreeing += weak_has_roca_fingerprint(n);
	}
	assert_int_equal(agreeing, 0);
	mpz_clears(m, part, x, n, inverse, NULL);
}

TEST_CASE(tiny_and_odd_numbers_end)
{
	mpz_t n, e;

	mpz_inits(n, e, NULL);
	for (unsigned long i = 0; i < 70000; i += 7) {
		mpz_set_ui(n, i);
		mpz_set_ui(e, i % 100);
		(void)find(n, e);
	}
	/* An exponent above the modulus, and one equal to it. */
	make_prime(n, 300);
	make_prime(e, 900);
	assert_string_equal(weak_class_name(find(n, e)), "rsa-prime");
	assert_string_equal(weak_class_name(find(n, n)), "rsa-prime");
	assert_int_equal(weak_rsa_find(span_of(""), span_of("")), WEAK_NONE);
	assert_false(weak_is_prime(span_of("")));
	mpz_clears(n, e, NULL);
}

TEST_CASE(a_modulus_is_kept_once)
{
	struct moduli m = { .n = 0 };
	bool added;
	size_t at;

	for (unsigned int i = 0; i < 5000; i++) {
		const uint32_t n = i % 2500 + 1;

		assert_true(moduli_add(&m,
		    (struct kv_span){ (const uint8_t *)&n, sizeof(n) }, &at,
		    &added));
		assert_int_equal(at, i % 2500);
		assert_int_equal(added, i < 2500);
	}
	assert_int_equal(m.n, 2500);
	moduli_free(&m);
}

int
main(void)
{
	return run_all_tests(
	    &(struct fixture){ .before_all = begin, .after_all = end });
}
