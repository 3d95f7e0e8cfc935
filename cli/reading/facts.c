/* SPDX-License-Identifier: ISC */
#include "reading/facts.h"

#include "sets/list_date.h"
#include "wire/reading.h"

/* --- the reader's side ---------------------------------------------------- */

static void
add_filter(struct record_out *o, const struct kv_filter *f)
{
	uint8_t header[KV_PKBF_HEADER_BYTES];
	const bool open = f->pkbf.fd != -1;

	record_add_number(o, open);
	if (open) {
		kv_pkbf_header_encode(&f->pkbf.header, header);
		record_add_bytes(o, header, sizeof(header));
	} else
		record_add_text(o, f->why);
}

static void
add_list(struct record_out *o, const struct kv_list *l)
{
	const bool open = l->blocklist.fd != -1;
	int64_t seconds = 0;
	const bool dated = open && list_date_read(l->sources, &seconds);

	record_add_number(o, open);
	if (open) {
		record_add_number(o, l->blocklist.records);
		record_add_number(o, dated);
		record_add_number(o, (uint64_t)seconds);
	} else
		record_add_text(o, l->why);
}

void
facts_send(struct record_out *o, const struct kv_judge *judge)
{
	record_begin(o, READING_FACTS);
	record_add_text(o, judge->broken);
	for (size_t i = 0; i < judge->n_filters; i++)
		add_filter(o, &judge->filter[i]);
	for (size_t i = 0; i < judge->n_lists; i++)
		add_list(o, &judge->list[i]);
	record_end(o);
	record_flush(o);
}

/* --- the front's side ----------------------------------------------------- */

static bool
get_filter(struct kv_bytes *b, struct kv_filter *f)
{
	struct kv_span header;
	bool open;

	if (!record_get_flag(b, &open))
		return false;
	if (open)
		return kv_bytes_get_string(b, &header) == KV_OK &&
		    header.len == KV_PKBF_HEADER_BYTES &&
		    kv_pkbf_header_decode(header.p, &f->pkbf.header) == KV_OK;
	f->pkbf.fd = -1;
	return record_get_text(b, f->why, sizeof(f->why));
}

static bool
get_list(struct kv_bytes *b, struct kv_list *l, struct facts_date *date)
{
	uint64_t seconds;
	bool open;

	if (!record_get_flag(b, &open))
		return false;
	if (!open) {
		l->blocklist.fd = -1;
		return record_get_text(b, l->why, sizeof(l->why));
	}
	if (!record_get_limited(b, KV_BLOCKLIST_RECORDS_MAX,
		&l->blocklist.records) ||
	    !record_get_flag(b, &date->known) ||
	    !record_get_number(b, &seconds))
		return false;
	date->seconds = (int64_t)seconds;
	return true;
}

bool
facts_receive(struct kv_bytes b, struct kv_judge *judge,
    struct facts_date *date)
{
	bool ok = record_get_text(&b, judge->broken, sizeof(judge->broken));

	for (size_t i = 0; ok && i < judge->n_filters; i++)
		ok = get_filter(&b, &judge->filter[i]);
	for (size_t i = 0; ok && i < judge->n_lists; i++)
		ok = get_list(&b, &judge->list[i], &date[i]);
	return ok && b.left == 0;
}
