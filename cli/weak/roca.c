/* SPDX-License-Identifier: ISC */
#include "weak/roca.h"

#include <stddef.h>

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
