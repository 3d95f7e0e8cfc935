/* SPDX-License-Identifier: ISC */
#include "filter/probe.h"

#include <sys/random.h>

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "command.h"

#define KEYS_MAX 200000
/* The clock is asked after so many. */
#define KEYS_AT_ONCE 256
#define NANOSECONDS_MAX 500000000
#define CHANCE_MAX 1e-4

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool
filter_probe_run(const char *path, const struct kv_pkbf *f,
    struct filter_probe *p)
{
	struct kv_pkbf_hash hash[KEYS_AT_ONCE];
	const int64_t end = now() + NANOSECONDS_MAX;
	bool listed;
	enum kv_err r;

	*p = (struct filter_probe){ .keys = 0 };
	do {
		/* The publisher cannot know them. */
		for (size_t i = 0; i < KEYS_AT_ONCE; i += 16)
			if (getrandom(hash + i, 16 * sizeof(*hash), 0) !=
			    16 * sizeof(*hash))
				return cli_failed(path, "no random numbers");
		for (size_t i = 0; i < KEYS_AT_ONCE; i++) {
			/* As in kv_pkbf_hash, it is odd. */
			hash[i].h2 |= 1;
			r = kv_pkbf_lookup(f, &hash[i], &listed);
			if (r != KV_OK) {
				cli_error("%s: %s", path, kv_strerror(r));
				return false;
			}
			p->listed += listed;
		}
		p->keys += KEYS_AT_ONCE;
	} while (p->keys < KEYS_MAX && now() < end);
	return true;
}

/*
 * The chance of n or more hits where mean are expected, n > mean, by Poisson's
 * distribution. It is above that of the binomial distribution there.
 */
static double
chance_of(double mean, uint64_t n)
{
	double term = exp((double)n * log(mean) - mean - lgamma((double)n + 1)),
	       sum = 0;

	for (double i = (double)n; term > 1e-12; i++) {
		sum += term;
		term *= mean / (i + 1);
	}
	return sum;
}

bool
filter_probe_exceeds(const struct filter_probe *p, double rate)
{
	const double mean = (double)p->keys * rate;

	return (double)p->listed > mean &&
	    chance_of(mean, p->listed) < CHANCE_MAX;
}
