/* SPDX-License-Identifier: ISC */
/*
 * weak: measures the tests of RSA moduli that check --weak makes.
 *
 *   weak BITS COUNT ROUNDS
 *
 * It prints microseconds of processor time for a key: each test but that for
 * being prime, that one, and a power modulo the key with an exponent of its
 * size. These are medians of ROUNDS.
 */
#include <gmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "timing.h"
#include "weak/rsa.h"

/* The first primes below 2^32, from the largest on. */
#define PRIME_BITS 32
#define ODD_MAX 65536

struct moduli {
	uint8_t *bytes;
	struct kv_span *n;
	size_t count, len;
};

/* Sets prime[] to count different ones. There are 98 million of 32 bits. */
static void
find_primes(uint32_t *prime, size_t count)
{
	const size_t odds = 12 * count + ODD_MAX;
	uint8_t *composite = calloc(odds, 1);
	size_t found = 0;

	if (composite == NULL)
		exit(2);
	/* composite[i] tells of 2^32 - 1 - 2i. */
	for (uint64_t p = 3; p < ODD_MAX; p += 2) {
		uint64_t first = UINT32_MAX % p;

		if (first % 2 != 0)
			first += p;
		for (size_t i = first / 2; i < odds; i += p)
			composite[i] = 1;
	}
	for (size_t i = 0; i < odds && found < count; i++)
		if (!composite[i])
			prime[found++] = UINT32_MAX - 2 * (uint32_t)i;
	if (found < count)
		exit(2);
	free(composite);
}

static void
shuffle(uint32_t *v, size_t n)
{
	for (size_t i = n - 1; i > 0; i--) {
		const size_t k = next() % (i + 1);
		const uint32_t last = v[i];

		v[i] = v[k];
		v[k] = last;
	}
}

/* Makes moduli, each of primes that no other has. */
static void
make_moduli(struct moduli *m, size_t bits, size_t count)
{
	const size_t each = bits / PRIME_BITS;
	uint32_t *prime = calloc(each * count + 1, sizeof(*prime));
	mpz_t n;

	m->count = count;
	m->len = bits / 8;
	m->bytes = malloc(m->len * count);
	m->n = calloc(count, sizeof(*m->n));
	if (prime == NULL || m->bytes == NULL || m->n == NULL)
		exit(2);
	find_primes(prime, each * count);
	shuffle(prime, each * count);
	mpz_init(n);
	for (size_t i = 0; i < count; i++) {
		mpz_set_ui(n, 1);
		for (size_t k = 0; k < each; k++)
			mpz_mul_ui(n, n, prime[each * i + k]);
		m->n[i].p = m->bytes + m->len * i;
		mpz_export(m->bytes + m->len * i, &m->n[i].len, 1, 1, 1, 0, n);
	}
	mpz_clear(n);
	free(prime);
}

/* Microseconds of processor time, of all threads. */
static double
spent(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double
time_power(const struct moduli *m)
{
	mpz_t n, base;
	double begin;

	mpz_inits(n, base, NULL);
	mpz_set_ui(base, 3);
	begin = spent();
	for (size_t i = 0; i < m->count; i++) {
		mpz_import(n, m->n[i].len, 1, 1, 1, 0, m->n[i].p);
		mpz_powm(base, base, n, n);
	}
	begin = spent() - begin;
	mpz_clears(n, base, NULL);
	return begin / (double)m->count;
}

static void
measure_keys(const struct moduli *m, size_t rounds)
{
	static const uint8_t exponent[] = { 1, 0, 1 };
	double *alone = calloc(rounds, sizeof(*alone));
	double *prime = calloc(rounds, sizeof(*prime));
	double *power = calloc(rounds, sizeof(*power));

	for (size_t r = 0; r < rounds; r++) {
		double begin = spent();

		for (size_t i = 0; i < m->count; i++)
			if (weak_rsa_find(m->n[i],
				(struct kv_span){ exponent,
				    sizeof(exponent) }) != WEAK_NONE)
				exit(1);
		alone[r] = (spent() - begin) / (double)m->count;
		begin = spent();
		for (size_t i = 0; i < m->count; i++)
			if (weak_is_prime(m->n[i]))
				exit(1);
		prime[r] = (spent() - begin) / (double)m->count;
		power[r] = time_power(m);
	}
	printf("%.2f %.1f %.1f\n", median(alone, rounds), median(prime, rounds),
	    median(power, rounds));
	free(alone);
	free(prime);
	free(power);
}

int
main(int argc, char **argv)
{
	const size_t bits = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	const size_t count = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	const size_t rounds = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	struct moduli m;

	if (bits < PRIME_BITS || count == 0 || rounds == 0)
		return 2;
	make_moduli(&m, bits, count);
	measure_keys(&m, rounds);
	free(m.n);
	free(m.bytes);
	return 0;
}
