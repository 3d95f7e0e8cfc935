/* SPDX-License-Identifier: ISC */
#include "sets/filter_facts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "sets/filter_file.h"
#include "base/progress.h"

#define BLOCK_BYTES (256 * 1024)

/*
 * How large a filter must be, and how often it is wrong.
 *
 * A clean key is called listed for one of two reasons. Each of its k bits may
 * have been set by some entry: that is the usual formula of a Bloom filter. Or
 * all of its bits are those of a single entry: a key's bits depend only on h1
 * mod 2^p and the odd h2 mod 2^p, so there are at most 2^(2p-1) patterns,
 * however large k is.
 */

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

bool
filter_facts_choose_size(uint64_t n, double rate, uint8_t *hashesp,
    uint8_t *lengthp)
{
	const double ln2 = 0.693147180559945309417;
	double bits = -(double)n * log(rate) / (ln2 * ln2);
	double first = fmax(ceil(log2(bits)), KV_PKBF_LENGTH_MIN), sum;

	if (!(first <= KV_PKBF_LENGTH_MAX))
		return false;
	/*
	 * Since k is a whole number, sometimes none fits the first p. Both
	 * causes add up. Some patterns have the same bits, or bits that are all
	 * among another's: a test of every pattern, in filters of up to 2^11
	 * bits, found up to 1.6 times as many listed as rate_of_patterns says.
	 * So twice its rate is an upper bound.
	 */
	for (uint8_t p = (uint8_t)first; p <= KV_PKBF_LENGTH_MAX; p++) {
		for (unsigned int k = 1; k <= UINT8_MAX; k++) {
			sum = rate_of_bits((uint8_t)k, p, (double)n) +
			    2 * rate_of_patterns(p, (double)n);
			if (sum >= rate)
				continue;
			*hashesp = (uint8_t)k;
			*lengthp = p;
			return true;
		}
	}
	return false;
}

double
filter_facts_entries(const struct kv_pkbf_header *h, uint64_t set)
{
	return log1p(-ldexp((double)set, -h->length)) /
	    (h->hashes * log_missed(h->length));
}

void
filter_facts_set(const char *path, const struct kv_pkbf_header *h, uint64_t set,
    struct filter_facts *facts)
{
	*facts = (struct filter_facts){ .path = path,
		.header = *h,
		.bits = (uint64_t)1 << h->length,
		.set = set };
	facts->share = (double)facts->set / (double)facts->bits;
	facts->entries = filter_facts_entries(h, facts->set);
	facts->rate_by_header = fmax(rate_of_bits(h->hashes, h->length,
					 h->entries),
	    rate_of_patterns(h->length, h->entries));
	facts->rate_by_bits = fmax(pow(facts->share, h->hashes),
	    rate_of_patterns(h->length, facts->entries));
}

/* Counts the bits that are set in a, and those of them that are not in b. */
static void
count_block(const uint8_t *a, const uint8_t *b, size_t len, uint64_t *setp,
    uint64_t *lostp)
{
	uint64_t x, y;

	for (; len >= sizeof(x);
	     a += sizeof(x), b += sizeof(y), len -= sizeof(x)) {
		memcpy(&x, a, sizeof(x));
		memcpy(&y, b, sizeof(y));
		*setp += (uint64_t)__builtin_popcountll(x);
		*lostp += (uint64_t)__builtin_popcountll(x & ~y);
	}
	for (; len > 0; a++, b++, len--) {
		*setp += (uint64_t)__builtin_popcount(*a);
		*lostp += (uint64_t)__builtin_popcount(*a & ~*b & 0xffU);
	}
}

bool
filter_facts_count(const struct filter_side *f, const struct filter_side *new,
    uint8_t length, uint64_t *setp, uint64_t *lostp)
{
	static uint8_t a[BLOCK_BYTES], b[BLOCK_BYTES];
	const off_t end = kv_pkbf_file_bytes(length);
	struct progress progress;
	bool ok = true;

	*setp = *lostp = 0;
	progress_start(&progress, new == NULL ? "reading" : "comparing",
	    (uint64_t)end);
	for (off_t at = KV_PKBF_HEADER_BYTES; ok && at < end;
	     at += BLOCK_BYTES) {
		const size_t len = end - at < BLOCK_BYTES ?
		    (size_t)(end - at) :
		    BLOCK_BYTES;

		progress_add(&progress, len);
		if (filter_is_hole(f->fd, at, len))
			continue;
		ok = cli_read_at(f->shown, f->fd, a, len, at) &&
		    (new == NULL ||
			cli_read_at(new->shown, new->fd, b, len, at));
		if (ok)
			count_block(a, b, len, setp, lostp);
	}
	progress_clear(&progress);
	return ok;
}

bool
filter_facts_read(const char *path, const struct kv_pkbf *f,
    struct filter_facts *facts)
{
	const struct filter_side side = { path, f->fd };
	uint64_t set, lost;
	const bool ok = filter_facts_count(&side, NULL, f->header.length, &set,
	    &lost);

	filter_facts_set(path, &f->header, set, facts);
	return ok;
}

bool
filter_facts_format_time(uint64_t when, char *text, size_t cap)
{
	time_t t = (time_t)when;
	struct tm tm;

	return when <= FILTER_TIME_MAX && gmtime_r(&t, &tm) != NULL &&
	    strftime(text, cap, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0;
}

/*
 * An entry sets at least one bit and at most k. A merged filter may count an
 * entry several times, so only a tenfold difference is an error.
 */
bool
filter_facts_are_consistent(const struct filter_facts *f, char *why, size_t cap)
{
	const struct kv_pkbf_header *h = &f->header;

	if (f->set == f->bits)
		snprintf(why, cap,
		    "every bit is set, so that every key would "
		    "be listed; make a larger filter");
	else if (f->set > (uint64_t)h->hashes * h->entries)
		snprintf(why, cap,
		    "the header says %" PRIu32 " %s, which "
		    "cannot set %" PRIu64 " bits; get it or build it again",
		    h->entries, cli_plural(h->entries, "entry", "entries"),
		    f->set);
	else if ((double)h->entries > 10 * f->entries + 10 ||
	    (h->entries > 0 && f->set == 0))
		snprintf(why, cap,
		    "the header says %" PRIu32 " %s, the "
		    "bits look like %.0f; get it or build it again",
		    h->entries, cli_plural(h->entries, "entry", "entries"),
		    f->entries);
	else if (h->time > FILTER_TIME_MAX)
		snprintf(why, cap,
		    "the header's time, second %" PRIu64 ", is "
		    "no date; get it or build it again",
		    h->time);
	else
		return true;
	return false;
}
