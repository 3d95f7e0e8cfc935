/* SPDX-License-Identifier: ISC */
/* filter/rate: how large a filter must be, and how often it is wrong. */
#include <math.h>

#include "filter/filter.h"

/* ln(1 - 2^-p): what one bit set at random leaves of a bit's chances. */
static double
log_missed(uint8_t length)
{
	return log1p(-ldexp(1, -length));
}

double
filter_rate(uint8_t hashes, uint8_t length, double n)
{
	/* (1 - (1 - 2^-p)^(k n))^k, where 1 - 2^-p is all but 1. */
	return pow(-expm1(hashes * n * log_missed(length)), hashes);
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
	/* k is a whole number: now and then none will do for the first p. */
	for (uint8_t p = (uint8_t)first; p <= KV_PKBF_LENGTH_MAX; p++) {
		for (unsigned int k = 1; k <= UINT8_MAX; k++) {
			if (filter_rate((uint8_t)k, p, (double)n) >= rate)
				continue;
			*hashesp = (uint8_t)k;
			*lengthp = p;
			return true;
		}
	}
	return false;
}
