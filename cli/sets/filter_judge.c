/* SPDX-License-Identifier: ISC */
#include "sets/filter_judge.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "command.h"
#include "sets/filter_file.h"
#include "sets/filter_probe.h"

#define ERROR_MAX 4095 /* no errno is higher */

/*
 * Whether the filter lists no more than max_rate of all keys: by its bits, and
 * by what it says of random keys. False after a message.
 */
static bool
has_rate(const char *shown, const struct kv_pkbf *f,
    const struct filter_facts *facts, double max_rate)
{
	struct filter_probe p;

	if (facts->rate_by_bits > max_rate)
		cli_error("%s: would refuse %.3g of all keys by chance, which "
			  "is more than MaxFalsePositives allows (%.3g); ask "
			  "its publisher for a larger one",
		    shown, facts->rate_by_bits, max_rate);
	else if (!filter_probe_run(shown, f, &p))
		return false;
	else if (filter_probe_exceeds(&p, max_rate))
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
filter_compare(const struct losses_side *old, const struct losses_side *new,
    struct filter_judged *j)
{
	const struct kv_pkbf_header *h = &j->facts.header;
	struct filter_facts facts;
	struct kv_pkbf f;

	if (!filter_adopt(old->shown, old->fd, &f))
		return false;
	if (f.header.hashes == h->hashes && f.header.length == h->length)
		return losses_of_bits(old, new, h->length, &j->old_set,
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
	record_add_bytes(o, raw, sizeof(raw));
}

static bool
get_header(struct kv_bytes *b, struct kv_pkbf_header *h)
{
	struct kv_span raw;

	return kv_bytes_get_string(b, &raw) == KV_OK &&
	    raw.len == KV_PKBF_HEADER_BYTES &&
	    kv_pkbf_header_decode(raw.p, h) == KV_OK;
}

void
filter_judged_put(struct record_out *o, const struct filter_judged *j)
{
	record_add_number(o, j->ok);
	if (!j->ok)
		return;
	put_header(o, &j->facts.header);
	record_add_number(o, j->facts.set);
	record_add_number(o, j->old_set);
	record_add_number(o, j->lost);
}

bool
filter_judged_get(struct kv_bytes b, const char *path, uint64_t old_bits,
    struct filter_judged *j)
{
	struct kv_pkbf_header h;
	uint64_t ok, set;

	if (record_get_number(&b, &ok) != KV_OK || ok > 1)
		return false;
	j->ok = ok != 0;
	if (!j->ok)
		return b.left == 0;
	if (!get_header(&b, &h) || record_get_number(&b, &set) != KV_OK ||
	    set == 0 || set > (uint64_t)1 << h.length ||
	    record_get_number(&b, &j->old_set) != KV_OK ||
	    j->old_set > old_bits || record_get_number(&b, &j->lost) != KV_OK ||
	    j->lost > j->old_set || b.left != 0)
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

void
filter_head_put(struct record_out *o, const struct filter_head *f)
{
	record_add_number(o, (uint64_t)f->whole);
	record_add_number(o, (uint64_t)f->error);
	record_add_number(o, (uint64_t)f->header_err);
	if (f->header_err == KV_OK)
		put_header(o, &f->header);
}

bool
filter_head_get(struct kv_bytes b, struct filter_head *f)
{
	uint64_t whole, error, header_err;

	if (record_get_number(&b, &whole) != KV_OK || whole > KV_ERR_CONFIG ||
	    record_get_number(&b, &error) != KV_OK || error > ERROR_MAX ||
	    record_get_number(&b, &header_err) != KV_OK ||
	    header_err > KV_ERR_CONFIG)
		return false;
	f->whole = (enum kv_err)whole;
	f->error = (int)error;
	f->header_err = (enum kv_err)header_err;
	return (f->header_err != KV_OK || get_header(&b, &f->header)) &&
	    (f->whole != KV_OK || f->header_err == KV_OK) && b.left == 0;
}
