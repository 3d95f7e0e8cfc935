/* SPDX-License-Identifier: ISC */
#include "weak/rsa.h"

#include <pthread.h>

/* Steps of Fermat's method for primes that are close to each other, */
#define FERMAT_STEPS 100
/* and for primes whose ratio is nearly that of two small numbers. */
#define RATIO_STEPS 3
/* An exponent of fewer bits has no small private exponent. */
#define SMALL_D_EXPONENT_BITS 32
/* edg / k is not rounded to phi where k is at most g, so for such a k, */
#define SMALL_K 64
/* so many numbers below edg / k are tried. */
#define SMALL_K_STEPS 256
/* A composite number ends the test in the first one. */
#define PRIME_ROUNDS 32

/* --- the fingerprint of RSALib ---------------------------------------------- */

#define GENERATOR 65537
#define PRIMES 38

/*
 * The primes from 3 to 167, in groups whose products fit into 32 bits: n is
 * divided once for each group.
 */
static const struct {
	unsigned long product;
	unsigned char prime[9]; /* ends with a 0, or is full */
} groups[] = {
	{ 3234846615, { 3, 5, 7, 11, 13, 17, 19, 23, 29 } },
	{ 95041567, { 31, 37, 41, 43, 47 } },
	{ 907383479, { 53, 59, 61, 67, 71 } },
	{ 4132280413, { 73, 79, 83, 89, 97 } },
	{ 121330189, { 101, 103, 107, 109 } },
	{ 257557397, { 113, 127, 131, 137 } },
	{ 490995677, { 139, 149, 151, 157 } },
	{ 27221, { 163, 167 } },
};

/* The exponents x with 65537^x = n modulo a prime: x = log modulo order. */
struct logarithm {
	unsigned int log, order;
};

/* False if there are none. residue is n modulo prime. */
static bool
find_logarithm(unsigned int residue, unsigned int prime, struct logarithm *l)
{
	bool found = false;
	unsigned int power = 1;

	l->order = 0;
	do {
		if (power == residue) {
			l->log = l->order;
			found = true;
		}
		power = power * (GENERATOR % prime) % prime;
		l->order++;
	} while (power != 1);
	return found;
}

static unsigned int
gcd(unsigned int a, unsigned int b)
{
	while (b != 0) {
		const unsigned int rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Whether one x satisfies both. */
static bool
agree(const struct logarithm *a, const struct logarithm *b)
{
	const unsigned int common = gcd(a->order, b->order);

	return a->log % common == b->log % common;
}

/*
 * By the Chinese remainder theorem, one x satisfies all congruences if and only
 * if each pair of them agrees.
 */
bool
weak_has_roca_fingerprint(const mpz_t n)
{
	struct logarithm l[PRIMES];
	size_t known = 0;

	for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
		const unsigned long rest = mpz_fdiv_ui(n, groups[g].product);

		for (size_t i = 0;
		     i < sizeof(groups[g].prime) && groups[g].prime[i] != 0;
		     i++) {
			const unsigned int prime = groups[g].prime[i];

			if (!find_logarithm((unsigned int)(rest % prime), prime,
				&l[known]))
				return false;
			for (size_t k = 0; k < known; k++)
				if (!agree(&l[k], &l[known]))
					return false;
			known++;
		}
	}
	return true;
}

/* --- close primes and small exponents ------------------------------------- */

/*
 * Looks for a from the square root of m on, so that a^2 - m is a square, in
 * steps. Each a costs an addition: (a + 1)^2 - m is 2a + 1 more.
 */
static bool
is_difference_of_squares(const mpz_t m, unsigned int steps)
{
	mpz_t a, rest, twice;
	bool found = false;

	mpz_inits(a, rest, twice, NULL);
	mpz_sqrtrem(a, rest, m);
	/* m = a^2 + rest, so that (a + 1)^2 - m = 2a + 1 - rest. */
	mpz_mul_2exp(twice, a, 1);
	mpz_add_ui(twice, twice, 1);
	mpz_sub(rest, twice, rest);
	for (unsigned int i = 0; i < steps && !found; i++) {
		found = mpz_perfect_square_p(rest) != 0;
		mpz_add_ui(twice, twice, 2);
		mpz_add(rest, rest, twice);
	}
	mpz_clears(a, rest, twice, NULL);
	return found;
}

/*
 * Fermat's method: n = pq = a^2 - b^2 for a = (p + q) / 2. Lehman's: if p / q
 * is nearly u / v, then 4uvn = (vp + uq)^2 - (vp - uq)^2, so that the same
 * search finds it from the square root of 4uvn on. A product uv stands for all
 * ratios that it can be split into: 12 for 1/12 and 3/4. Those up to 5/6 are
 * here, and some with 1.
 *
 * For random primes of b bits, vp - uq would have to be below 2^(b / 2 + 10):
 * the chance is about 2^-500 for a modulus of 2048 bits.
 */
static bool
has_close_primes(const mpz_t n)
{
	static const unsigned int product[] = { 2, 3, 4, 5, 6, 7, 8, 9, 10, 12,
		15, 20, 24, 30 };
	mpz_t m;
	bool found = is_difference_of_squares(n, FERMAT_STEPS);

	mpz_init(m);
	for (size_t i = 0; i < sizeof(product) / sizeof(*product) && !found;
	     i++) {
		mpz_mul_ui(m, n, 4 * product[i]);
		found = is_difference_of_squares(m, RATIO_STEPS);
	}
	mpz_clear(m);
	return found;
}

/* Whether x is the sum of two factors of n: then (x / 2)^2 - n is a square. */
static bool
is_sum_of_factors(const mpz_t x, const mpz_t n)
{
	mpz_t square;
	bool found;

	if (mpz_odd_p(x) || mpz_sgn(x) <= 0)
		return false;
	mpz_init(square);
	mpz_fdiv_q_2exp(square, x, 1);
	mpz_mul(square, square, square);
	mpz_sub(square, square, n);
	found = mpz_sgn(square) >= 0 && mpz_perfect_square_p(square) != 0;
	mpz_clear(square);
	return found;
}

/*
 * Whether n - phi + 1 is the sum of two factors of n, where edg = k * phi + g.
 * The factor 1 is none of them: edg / k is nearly n.
 */
static bool
splits(const mpz_t n, const mpz_t edg, const mpz_t k)
{
	const unsigned int steps = mpz_cmp_ui(k, SMALL_K) < 0 ?
	    SMALL_K_STEPS :
	    1;
	mpz_t x;
	bool found = false;

	mpz_init(x);
	mpz_fdiv_q(x, edg, k);
	mpz_sub(x, n, x);
	for (unsigned int i = 0; i < steps && !found; i++) {
		mpz_add_ui(x, x, 1);
		found = is_sum_of_factors(x, n);
	}
	mpz_clear(x);
	return found;
}

/*
 * Wiener's method ("Cryptanalysis of Short RSA Secret Exponents", 1990): if d
 * is below n^(1/4) / 3, then k / dg is a convergent of the continued fraction
 * of e / n, where ed = 1 + k * lcm(p - 1, q - 1) and g is their gcd. Since
 * e / n is a little below k / dg, every second convergent is that of one more
 * in the last place. The private exponent may be as small as 1: then a
 * signature is the padded hash, as with a public exponent of 1.
 *
 * A sound key has a small e, so that d has about as many bits as n: ed is more
 * than lcm(p - 1, q - 1).
 */
static bool
has_small_private_exponent(const mpz_t n, const mpz_t e)
{
	/* The last two convergents, h[0] / k[0] the newer one. */
	mpz_t h[2], k[2], a, b, q, rest, edg, num;
	const size_t bits = mpz_sizeinbase(n, 2);
	bool found = false;

	if (mpz_sizeinbase(e, 2) <= SMALL_D_EXPONENT_BITS)
		return false;
	mpz_inits(h[0], h[1], k[0], k[1], a, b, q, rest, edg, num, NULL);
	mpz_set_ui(h[0], 1);
	mpz_set_ui(k[1], 1);
	mpz_set(a, e);
	mpz_set(b, n);
	for (bool even = true; mpz_sgn(b) != 0 && !found; even = !even) {
		mpz_fdiv_qr(q, rest, a, b);
		mpz_swap(a, b);
		mpz_swap(b, rest);
		/* The next one: (q * h[0] + h[1]) / (q * k[0] + k[1]). */
		mpz_addmul(h[1], q, h[0]);
		mpz_addmul(k[1], q, k[0]);
		mpz_swap(h[0], h[1]);
		mpz_swap(k[0], k[1]);
		mpz_set(num, h[0]);
		mpz_set(edg, k[0]);
		if (even) {
			mpz_add(num, num, h[1]);
			mpz_add(edg, edg, k[1]);
		}
		if (mpz_sizeinbase(edg, 2) > bits / 2)
			break;
		if (mpz_sgn(num) == 0)
			continue;
		mpz_mul(edg, edg, e);
		found = splits(n, edg, num);
	}
	mpz_clears(h[0], h[1], k[0], k[1], a, b, q, rest, edg, num, NULL);
	return found;
}

static mpz_t small; /* the product of the primes below WEAK_FACTOR_BELOW */

static void
multiply_small(void)
{
	mpz_init(small);
	mpz_primorial_ui(small, WEAK_FACTOR_BELOW - 1);
}

/* Of a larger n, such a factor is never all: n is not prime then. */
static bool
has_small_factor(const mpz_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	mpz_t rest;
	bool found;

	pthread_once(&once, multiply_small);
	mpz_init(rest);
	mpz_fdiv_r(rest, small, n);
	mpz_gcd(rest, rest, n);
	found = mpz_cmp_ui(rest, 1) != 0;
	mpz_clear(rest);
	return found;
}

static enum weak_class
find(const mpz_t n, const mpz_t e)
{
	if (mpz_perfect_power_p(n))
		return WEAK_SQUARE;
	if (weak_has_roca_fingerprint(n))
		return WEAK_ROCA;
	if (has_close_primes(n))
		return WEAK_FERMAT;
	if (has_small_private_exponent(n, e))
		return WEAK_SMALL_D;
	return has_small_factor(n) ? WEAK_FACTOR : WEAK_NONE;
}

enum weak_class
weak_rsa_find(struct kv_span n, struct kv_span e)
{
	enum weak_class class = WEAK_NONE;
	mpz_t modulus, exponent;

	mpz_inits(modulus, exponent, NULL);
	mpz_import(modulus, n.len, 1, 1, 1, 0, n.p);
	mpz_import(exponent, e.len, 1, 1, 1, 0, e.p);
	if (mpz_cmp_ui(modulus, WEAK_FACTOR_BELOW) >= 0)
		class = find(modulus, exponent);
	mpz_clears(modulus, exponent, NULL);
	return class;
}

/*
 * GMP tests by the method of Baillie, Pomerance, Selfridge and Wagstaff, and by
 * Miller and Rabin's. A composite number that passes both is not known.
 */
bool
weak_is_prime(struct kv_span n)
{
	bool prime;
	mpz_t modulus;

	mpz_init(modulus);
	mpz_import(modulus, n.len, 1, 1, 1, 0, n.p);
	prime = mpz_sizeinbase(modulus, 2) <= WEAK_PRIME_BITS &&
	    mpz_probab_prime_p(modulus, PRIME_ROUNDS) != 0;
	mpz_clear(modulus);
	return prime;
}
