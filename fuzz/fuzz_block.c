/* SPDX-License-Identifier: ISC */
/*
 * A block is the lines that were added to it, up to its END line. Parts of a
 * line inside another text stand in that line, one behind the other, and what
 * follows the last is its rest. The first line says what each line begins with.
 */
#include <string.h>

#include "fuzz.h"
#include "keys/block.h"
#include "keys/pem.h"

static void
check_parts(struct block *b, struct kv_span line)
{
	struct kv_span part[2], rest;
	const uint8_t *at = line.p, *end = line.p + line.len;
	const size_t n = block_split(b, line, part, &rest);

	FUZZ_CHECK(n <= 2 && (n > 0 || b->is_new));
	for (size_t i = 0; i < n; i++) {
		FUZZ_CHECK(part[i].p >= at && part[i].p <= end);
		FUZZ_CHECK(part[i].len <= (size_t)(end - part[i].p));
		at = part[i].p + part[i].len;
	}
	FUZZ_CHECK(n == 0 || (rest.p == at && rest.p + rest.len == end));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *room;
	struct block b = { .room = &room };
	struct kv_span rest = { data, size };
	bool whole = false;

	FUZZ_CHECK(block_open(&b, 1));
	while (rest.len > 0 && !whole) {
		const uint8_t *nl = memchr(rest.p, '\n', rest.len);
		size_t n = nl != NULL ? (size_t)(nl - rest.p) : rest.len;
		const struct kv_span line = { rest.p, n };

		if (b.len == 0)
			block_note_prefix(&b, line);
		FUZZ_CHECK(b.prefix_len <= sizeof(b.prefix));
		b.is_new = n % 2 == 1;
		check_parts(&b, line);
		whole = block_add(&b, line);
		FUZZ_CHECK(whole == pem_is_end(line));
		n += nl != NULL;
		rest.p += n;
		rest.len -= n;
		if (nl == NULL)
			break;
		FUZZ_CHECK(block_text(&b).len == size - rest.len);
		FUZZ_CHECK(memcmp(block_text(&b).p, data, b.len) == 0);
	}
	FUZZ_CHECK(!b.too_long);
	block_close(&b);
	return 0;
}
