/* SPDX-License-Identifier: ISC */
/*
 * A line that sshd reads as a key is one to keys/shape, behind any marker; no
 * other line is. A line that is taken for another text has no key.
 */
#include <string.h>

#include "fuzz.h"
#include "keys/shape.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES], again[KV_BLOB_MAX_BYTES];
	const struct kv_span text = { data, size };
	struct kv_line line;
	struct shape s;
	enum kv_err err;
	bool key;

	if (memchr(data, '\n', size) != NULL)
		return 0;
	shape_read(text, blob, &s);
	err = kv_line_parse(s.rest, again, sizeof(again), &line);
	key = err == KV_OK && !line.is_blank;
	FUZZ_CHECK(key == (s.is == SHAPE_KEY));
	FUZZ_CHECK((err == KV_OK && line.is_blank) == (s.is == SHAPE_BLANK));
	FUZZ_CHECK(s.rest.p >= text.p && s.rest.len <= text.len);
	FUZZ_CHECK(s.rest.p + s.rest.len == text.p + text.len);
	if (key) {
		FUZZ_CHECK(s.line.key.key.type == line.key.key.type);
		FUZZ_CHECK(kv_span_equal(s.line.comment, line.comment));
	}
	if (s.is == SHAPE_OTHER)
		FUZZ_CHECK(s.err != KV_OK);
	else
		FUZZ_CHECK(!s.broken && !s.keyless);
	FUZZ_CHECK(s.is == SHAPE_BLANK || !s.has_more);
	(void)shape_is_opening(text);
	return 0;
}
