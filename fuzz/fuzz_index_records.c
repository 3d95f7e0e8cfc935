/* SPDX-License-Identifier: ISC */
/*
 * An index in the records of keyveto-worker, as keyveto takes it. What is taken
 * is what index_parse takes of an index with the same content, and is told
 * again with the same bytes.
 */
#include <string.h>

#include "fuzz.h"
#include "published/index_records.h"

static void
check_parsed(const struct index *x)
{
	char why[INDEX_WHY_BYTES], *text, *same;
	struct index again;
	size_t len, same_len;

	text = index_format(x, &len);
	FUZZ_CHECK(text != NULL);
	if (len <= INDEX_MAX_BYTES) {
		FUZZ_CHECK(index_parse(text, len, &again, why));
		same = index_format(&again, &same_len);
		FUZZ_CHECK(same != NULL && same_len == len &&
		    memcmp(same, text, len) == 0);
		free(same);
		index_free(&again);
	}
	free(text);
}

static void
check_told(const struct record_out *o, const struct kv_span *part)
{
	/* Behind the length and the tag. */
	FUZZ_CHECK(o->len == part->len + 5 &&
	    memcmp(o->buf + 5, part->p, part->len) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_out o = { .fd = -1 };
	struct kv_bytes b = { data, size };
	struct kv_span part;
	struct index x;
	size_t n;

	if (kv_bytes_get_string(&b, &part) != KV_OK)
		return 0;
	if (index_get_head((struct kv_bytes){ part.p, part.len }, &x, &n)) {
		FUZZ_CHECK(n <= INDEX_FILES);
		record_begin(&o, 1);
		x.n = n;
		index_add_head(&o, &x);
		x.n = 0;
		record_end(&o);
		check_told(&o, &part);
		while (kv_bytes_get_string(&b, &part) == KV_OK &&
		    index_get_file((struct kv_bytes){ part.p, part.len }, &x,
			n)) {
			record_clear(&o);
			record_begin(&o, 1);
			index_add_file(&o, &x.file[x.n - 1]);
			record_end(&o);
			check_told(&o, &part);
		}
		FUZZ_CHECK(x.n <= n);
		check_parsed(&x);
	}
	index_free(&x);
	record_out_free(&o);
	return 0;
}
