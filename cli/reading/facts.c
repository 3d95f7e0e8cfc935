/* SPDX-License-Identifier: ISC */
#include "reading/facts.h"

#include "sets/list_date.h"
#include "wire/reading.h"

/* --- the reader's side ---------------------------------------------------- */

static void
add_filter(struct record_out *o, const struct kv_filter *f)
{
	uint8_t header[KV_PKBF_HEADER_BYTES];

	if (f->pkbf.fd == -1) {
		record_add(o, R_VALUE(false), R_TEXT(f->why));
		return;
	}
	kv_pkbf_header_encode(&f->pkbf.header, header);
	record_add(o, R_VALUE(true), R_BYTES(header));
}

static void
add_list(struct record_out *o, const struct kv_list *l)
{
	int64_t seconds = 0;
	bool dated;

	if (l->blocklist.fd == -1) {
		record_add(o, R_VALUE(false), R_TEXT(l->why));
		return;
	}
	dated = list_date_read(l->sources, &seconds);
	record_add(o, R_VALUE(true), R_ANY(l->blocklist.records), R_FLAG(dated),
	    R_ANY(seconds));
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
	uint8_t header[KV_PKBF_HEADER_BYTES];
	bool open;

	if (!record_get(b, R_FLAG(open)))
		return false;
	if (open)
		return record_get(b, R_BYTES(header)) &&
		    kv_pkbf_header_decode(header, &f->pkbf.header) == KV_OK;
	f->pkbf.fd = -1;
	return record_get(b, R_TEXT(f->why));
}

static bool
get_list(struct kv_bytes *b, struct kv_list *l, struct facts_date *date)
{
	bool open;

	if (!record_get(b, R_FLAG(open)))
		return false;
	if (open)
		return record_get(b,
		    R_NUMBER(l->blocklist.records, KV_BLOCKLIST_RECORDS_MAX),
		    R_FLAG(date->known), R_ANY(date->seconds));
	l->blocklist.fd = -1;
	return record_get(b, R_TEXT(l->why));
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
