/* SPDX-License-Identifier: ISC */
#include "sets/filter_probe.h"

#include <sys/random.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"

#define KEYS_MAX 200000
/* The clock is asked after so many. */
#define KEYS_AT_ONCE 256
#define NANOSECONDS_MAX 500000000
#define CHANCE_MAX 1e-4
/* A filter with so many bytes is read at once. */
#define MEMORY_MAX ((size_t)4 << 20)

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* SplitMix64: from a seed that the publisher cannot know. */
static uint64_t
next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* The same answer as kv_pkbf_lookup, from all bits in memory. */
static bool
is_listed(const uint8_t *bits, const struct kv_pkbf_header *h,
    const struct kv_pkbf_hash *hash)
{
	for (unsigned int i = 0; i < h->hashes; i++) {
		const uint64_t n = kv_pkbf_position(hash, i, h->length);

		if ((bits[n / 8] & 0x80U >> n % 8) == 0)
			return false;
	}
	return true;
}

/* bits: all of them, or NULL, to read each from the file. */
static enum kv_err
look_up(const struct kv_pkbf *f, const uint8_t *bits, uint64_t *state,
    struct filter_probe *p)
{
	struct kv_pkbf_hash hash;
	bool listed = false;
	enum kv_err r = KV_OK;

	for (size_t i = 0; i < KEYS_AT_ONCE && r == KV_OK; i++) {
		hash.h1 = next_random(state);
		/* As in kv_pkbf_hash, it is odd. */
		hash.h2 = next_random(state) | 1;
		if (bits != NULL)
			listed = is_listed(bits, &f->header, &hash);
		else
			r = kv_pkbf_lookup(f, &hash, &listed);
		p->listed += listed;
	}
	p->keys += KEYS_AT_ONCE;
	return r;
}

bool
filter_probe_run(const char *path, const struct kv_pkbf *f,
    struct filter_probe *p)
{
	const size_t len = (size_t)1 << (f->header.length - 3);
	const int64_t end = now() + NANOSECONDS_MAX;
	uint8_t *bits = len <= MEMORY_MAX ? malloc(len) : NULL;
	enum kv_err r = KV_OK;
	uint64_t state;
	bool ok = true;

	*p = (struct filter_probe){ .keys = 0 };
	if (getrandom(&state, sizeof(state), 0) != sizeof(state))
		ok = cli_failed(path, "no random numbers");
	if (ok && bits != NULL)
		ok = cli_read_at(path, f->fd, bits, len, KV_PKBF_HEADER_BYTES);
	while (ok && p->keys < KEYS_MAX && (p->keys == 0 || now() < end)) {
		if ((r = look_up(f, bits, &state, p)) == KV_OK)
			continue;
		cli_error("%s: %s", path, kv_strerror(r));
		ok = false;
	}
	free(bits);
	return ok;
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

	for (uint64_t i = n; term > 1e-12; i++) {
		sum += term;
		term *= mean / ((double)i + 1);
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
