/* SPDX-License-Identifier: ISC */
/*
 * filter/rate: how large a filter must be, and how often it is wrong.
 *
 * A clean key is called listed for one of two reasons. Each of its k bits may
 * have been set by some entry: that is the usual formula of a Bloom filter. Or
 * all of its bits are those of a single entry: a key's bits depend only on h1
 * mod 2^p and the odd h2 mod 2^p, so there are at most 2^(2p-1) patterns,
 * however large k is.
 */
#include <math.h>

#include "filter/filter.h"

/* ln(1 - 2^-p): the chance that one random bit misses a given one. */
static double
log_missed(uint8_t length)
{
	return log1p(-ldexp(1, -length));
}

/* The share of clean keys whose bits were each set by some entry. */
static double
rate_of_bits(uint8_t hashes, uint8_t length, double n)
{
	/* (1 - (1 - 2^-p)^(k n))^k, where 1 - 2^-p is all but 1. */
	return pow(-expm1(hashes * n * log_missed(length)), hashes);
}

/* The share of clean keys with the pattern of one of n entries. */
static double
rate_of_patterns(uint8_t length, double n)
{
	return fmin(1, ldexp(n, 1 - 2 * length));
}

double
filter_rate(uint8_t hashes, uint8_t length, double n)
{
	return fmax(rate_of_bits(hashes, length, n),
	    rate_of_patterns(length, n));
}

double
filter_rate_by_share(uint8_t hashes, uint8_t length, double share)
{
	return fmax(pow(share, hashes),
	    rate_of_patterns(length, filter_entries(hashes, length, share)));
}

/*
 * An upper bound for the rate of a filter with n random keys. Both causes add
 * up. Some patterns have the same bits, or bits that are all among another's: a
 * test of every pattern, in filters of up to 2^11 bits, found up to 1.6 times
 * as many listed as rate_of_patterns says.
 */
static double
rate_at_most(uint8_t hashes, uint8_t length, double n)
{
	return rate_of_bits(hashes, length, n) +
	    2 * rate_of_patterns(length, n);
}

double
filter_entries(uint8_t hashes, uint8_t length, double share)
{
	return log1p(-share) / (hashes * log_missed(length));
}

bool
filter_parameters(uint64_t n, double rate, uint8_t *hashesp, uint8_t *lengthp)
{
	const double ln2 = 0.693147180559945309417;
	double bits = -(double)n * log(rate) / (ln2 * ln2);
	double first = fmax(ceil(log2(bits)), KV_PKBF_LENGTH_MIN);

	if (!(first <= KV_PKBF_LENGTH_MAX))
		return false;
	/* Since k is a whole number, sometimes none fits the first p. */
	for (uint8_t p = (uint8_t)first; p <= KV_PKBF_LENGTH_MAX; p++) {
		for (unsigned int k = 1; k <= UINT8_MAX; k++) {
			if (rate_at_most((uint8_t)k, p, (double)n) >= rate)
				continue;
			*hashesp = (uint8_t)k;
			*lengthp = p;
			return true;
		}
	}
	return false;
}
