/* SPDX-License-Identifier: ISC */
#include "filter/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filter/filter.h"
#include "output/progress.h"

#define BLOCK_BYTES (1024 * 1024)

static uint64_t
count_ones(const uint8_t *p, size_t len)
{
	uint64_t n = 0, word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		n += (uint64_t)__builtin_popcountll(word);
	}
	for (; len > 0; len--)
		n += (uint64_t)__builtin_popcount(*p++);
	return n;
}

static bool
count_set_bits(const char *path, const struct kv_pkbf *f, uint64_t *setp)
{
	off_t end = kv_pkbf_file_bytes(f->header.length);
	uint8_t *buf = malloc(BLOCK_BYTES);
	struct progress progress;
	bool ok = buf != NULL;

	*setp = 0;
	if (!ok)
		cli_error("%s: %s", path, strerror(errno));
	progress_start(&progress, "reading", (uint64_t)end);
	for (off_t at = KV_PKBF_HEADER_BYTES; ok && at < end;
	     at += BLOCK_BYTES) {
		size_t len = end - at < BLOCK_BYTES ?
		    (size_t)(end - at) :
		    BLOCK_BYTES;

		progress_add(&progress, len);
		if (filter_is_hole(f->fd, at, len))
			continue;
		ok = filter_read_at(path, f->fd, buf, len, at);
		if (ok)
			*setp += count_ones(buf, len);
	}
	progress_clear(&progress);
	free(buf);
	return ok;
}

bool
filter_facts_read(const char *path, const struct kv_pkbf *f,
    struct filter_facts *facts)
{
	*facts = (struct filter_facts){ .path = path,
		.header = f->header,
		.bits = (uint64_t)1 << f->header.length };
	if (!count_set_bits(path, f, &facts->set))
		return false;
	facts->share = (double)facts->set / (double)facts->bits;
	facts->entries = filter_entries(f->header.hashes, f->header.length,
	    facts->share);
	return true;
}

bool
filter_facts_learn(const char *path, struct filter_facts *facts)
{
	struct kv_pkbf f;
	bool ok;

	if (!filter_open(path, &f))
		return false;
	ok = filter_facts_read(path, &f, facts);
	kv_pkbf_close(&f);
	return ok;
}

double
filter_facts_rate_by_header(const struct filter_facts *f)
{
	return filter_rate(f->header.hashes, f->header.length,
	    f->header.entries);
}

double
filter_facts_rate_by_bits(const struct filter_facts *f)
{
	return filter_rate_by_share(f->header.hashes, f->header.length,
	    f->share);
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
