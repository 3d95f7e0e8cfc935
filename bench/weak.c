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

#include "timing.h"
#include "weak/rsa.h"

struct keys {
	uint8_t *bytes;
	struct kv_span *n;
	size_t count, len;
};

static void
draw_prime(mpz_t p, gmp_randstate_t random, size_t bits)
{
	mpz_urandomb(p, random, bits);
	mpz_setbit(p, bits - 1);
	mpz_setbit(p, bits - 2);
	mpz_nextprime(p, p);
}

/* Makes moduli of two primes, the same in each run. */
static void
make_moduli(struct keys *m, size_t bits, size_t count)
{
	gmp_randstate_t random;
	mpz_t n, p;

	m->count = count;
	m->len = bits / 8;
	m->bytes = malloc(m->len * count);
	m->n = calloc(count, sizeof(*m->n));
	if (m->bytes == NULL || m->n == NULL)
		exit(2);
	gmp_randinit_mt(random);
	mpz_inits(n, p, NULL);
	for (size_t i = 0; i < count; i++) {
		draw_prime(n, random, bits / 2);
		draw_prime(p, random, bits / 2);
		mpz_mul(n, n, p);
		m->n[i].p = m->bytes + m->len * i;
		mpz_export(m->bytes + m->len * i, &m->n[i].len, 1, 1, 1, 0, n);
	}
	mpz_clears(n, p, NULL);
	gmp_randclear(random);
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
time_power(const struct keys *m)
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
measure_keys(const struct keys *m, size_t rounds)
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
	struct keys m;

	if (bits < 16 || count == 0 || rounds == 0)
		return 2;
	make_moduli(&m, bits, count);
	measure_keys(&m, rounds);
	free(m.n);
	free(m.bytes);
	return 0;
}
