/* SPDX-License-Identifier: ISC */
#include "sets/filter_judge.h"

#include <sys/random.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "sets/filter_file.h"

#define ERROR_MAX 4095 /* no errno is higher */

#define KEYS_MAX 200000
/* The clock is asked after so many. */
#define KEYS_AT_ONCE 256
#define NANOSECONDS_MAX 500000000
#define CHANCE_MAX 1e-4
/* A filter with so many bytes is read at once. */
#define MEMORY_MAX ((size_t)4 << 20)

/* --- looking random keys up ----------------------------------------------- */

/*
 * The rates of sets/filter_facts take the positions of a key for independent,
 * which they are not: a filter can be made that lists many times as many keys.
 */
struct probe {
	uint64_t keys, listed;
};

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
    struct probe *p)
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

/*
 * Looks up to 200,000 random keys up, by two random hashes each, for at most
 * half a second. A filter that is not in memory is read at random places. False
 * after a message that begins with path.
 */
static bool
run_probe(const char *path, const struct kv_pkbf *f, struct probe *p)
{
	const size_t len = (size_t)1 << (f->header.length - 3);
	const int64_t end = now() + NANOSECONDS_MAX;
	uint8_t *bits = len <= MEMORY_MAX ? malloc(len) : NULL;
	enum kv_err r = KV_OK;
	uint64_t state;
	bool ok = true;

	*p = (struct probe){ .keys = 0 };
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

/*
 * Whether the share of all keys that the filter lists is above rate with a
 * confidence of 99.99 %: a filter with exactly that rate would list as many of
 * the keys of p in less than one probe in 10,000.
 */
static bool
exceeds(const struct probe *p, double rate)
{
	const double mean = (double)p->keys * rate;

	return (double)p->listed > mean &&
	    chance_of(mean, p->listed) < CHANCE_MAX;
}

/* --- a whole filter ------------------------------------------------------- */

/*
 * Whether the filter lists no more than max_rate of all keys: by its bits, and
 * by what it says of random keys. False after a message.
 */
static bool
has_rate(const char *shown, const struct kv_pkbf *f,
    const struct filter_facts *facts, double max_rate)
{
	struct probe p;

	if (facts->rate_by_bits > max_rate)
		cli_error("%s: would refuse %.3g of all keys by chance, which "
			  "is more than MaxFalsePositives allows (%.3g); ask "
			  "its publisher for a larger one",
		    shown, facts->rate_by_bits, max_rate);
	else if (!run_probe(shown, f, &p))
		return false;
	else if (exceeds(&p, max_rate))
		cli_error("%s: lists %" PRIu64 " of %" PRIu64
			  " random keys, which is more than MaxFalsePositives "
			  "allows (%.3g), although its bits look like %.3g; "
			  "ask its publisher",
		    shown, p.listed, p.keys, max_rate, facts->rate_by_bits);
	else
		return true;
	return false;
}

bool
filter_judge(const char *shown, int fd, double max_rate,
    struct filter_facts *facts)
{
	struct kv_pkbf f;
	char why[256];

	if (!filter_adopt(shown, fd, &f) ||
	    !filter_facts_read(shown, &f, facts))
		return false;
	if (!filter_facts_are_consistent(facts, why, sizeof(why)))
		cli_error("%s: %s", shown, why);
	else if (facts->set == 0)
		cli_error("%s: no bit is set, so that no key would be listed; "
			  "ask its publisher",
		    shown);
	else
		return has_rate(shown, &f, facts, max_rate);
	return false;
}

bool
filter_compare(const struct filter_side *old, const struct filter_side *new,
    struct filter_judged *j)
{
	const struct kv_pkbf_header *h = &j->facts.header;
	struct filter_facts facts;
	struct kv_pkbf f;

	if (!filter_adopt(old->shown, old->fd, &f))
		return false;
	if (f.header.hashes == h->hashes && f.header.length == h->length)
		return filter_facts_count(old, new, h->length, &j->old_set,
		    &j->lost);
	if (!filter_facts_read(old->shown, &f, &facts))
		return false;
	j->old_set = facts.set;
	return true;
}

/* --- records ------------------------------------------------------------ */

static void
put_header(struct record_out *o, const struct kv_pkbf_header *h)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES];

	kv_pkbf_header_encode(h, raw);
	record_add(o, R_BYTES(raw));
}

static bool
get_header(struct kv_bytes *b, struct kv_pkbf_header *h)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES];

	return record_get(b, R_BYTES(raw)) &&
	    kv_pkbf_header_decode(raw, h) == KV_OK;
}

void
filter_judged_put(struct record_out *o, const struct filter_judged *j)
{
	record_add(o, R_FLAG(j->ok));
	if (!j->ok)
		return;
	put_header(o, &j->facts.header);
	record_add(o, R_ANY(j->facts.set), R_ANY(j->old_set), R_ANY(j->lost));
}

bool
filter_judged_get(struct kv_bytes b, const char *path, uint64_t old_bits,
    struct filter_judged *j)
{
	struct kv_pkbf_header h;
	uint64_t set;

	if (!record_get(&b, R_FLAG(j->ok)))
		return false;
	if (!j->ok)
		return b.left == 0;
	if (!get_header(&b, &h) ||
	    !record_get_all(&b, R_RANGE(set, 1, (uint64_t)1 << h.length),
		R_NUMBER(j->old_set, old_bits), R_ANY(j->lost)) ||
	    j->lost > j->old_set)
		return false;
	filter_facts_set(path, &h, set, &j->facts);
	return true;
}

void
filter_head_read(int fd, struct filter_head *f)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES] = { 0 };
	struct kv_pkbf whole;

	*f = (struct filter_head){ .whole = kv_pkbf_open_fd(fd, &whole) };
	if (f->whole == KV_ERR_SYSTEM)
		f->error = errno;
	f->header_err = pread(fd, raw, sizeof(raw), 0) <= 0 ?
	    KV_ERR_FILTER_MARKER :
	    kv_pkbf_header_decode(raw, &f->header);
}

/* The fields before the header, of what is written and of what is read. */
#define HEAD_FIELDS(f) \
	R_NUMBER((f)->whole, KV_ERR_CONFIG), R_NUMBER((f)->error, ERROR_MAX), \
	    R_NUMBER((f)->header_err, KV_ERR_CONFIG)

void
filter_head_put(struct record_out *o, const struct filter_head *f)
{
	record_add(o, HEAD_FIELDS(f));
	if (f->header_err == KV_OK)
		put_header(o, &f->header);
}

bool
filter_head_get(struct kv_bytes b, struct filter_head *f)
{
	return record_get(&b, HEAD_FIELDS(f)) &&
	    (f->header_err != KV_OK || get_header(&b, &f->header)) &&
	    (f->whole != KV_OK || f->header_err == KV_OK) && b.left == 0;
}
