/* SPDX-License-Identifier: ISC */
/*
 * source pam/auth_info.c lib/kv_bytes.c
 * proof  next --unwind INFO+3 --unwindset auth_info_next_key.0:LINES+1: any SSH_AUTH_INFO_0 of up to INFO bytes and LINES lines
 */
#define INFO 16
#define LINES 2

#include "auth_info.h"

#include <string.h>

#include "prove.h"

void
next(void)
{
	size_t len = any_size_up_to(INFO), at, k;
	struct kv_span text = { any_bytes(INFO), len };
	const uint8_t *start = text.p;
	struct auth_info_key key;
	bool starts_key, found;
	int ends = 0;

	for (size_t i = 0; i < len; i++)
		ends += start[i] == '\n';
	GIVEN(ends < LINES);
	found = auth_info_next_key(&text, &key);
	PROVE(text.len <= len && text.p == start + (len - text.len),
	    "moves on, inside the text");
	PROVE(!found || text.len < len, "takes something");
	PROVE(found || text.len == 0, "no key means no line is left");
	if (found) {
		PROVE(lies_in(key.type.p, key.type.len, start, len),
		    "the type in the text");
		PROVE(lies_in(key.base64.p, key.base64.len, start, len),
		    "the key in the text");
		at = any_size_up_to(INFO);
		PROVE(at >= key.base64.len ||
			(key.base64.p[at] != ' ' && key.base64.p[at] != '\n'),
		    "one word");
	}
	/* No line that proves a key is passed over. */
	at = any_size_up_to(INFO);
	starts_key = at + 10 <= len && (at == 0 || start[at - 1] == '\n') &&
	    (memcmp(start + at, "publickey ", 10) == 0 ||
		memcmp(start + at, "hostbased ", 10) == 0 ||
		memcmp(start + at, "publickey/", 10) == 0);
	PROVE(!starts_key || found, "finds a key");
	/* The line that was found is the last that was taken. */
	k = any_size_up_to(INFO);
	PROVE(!starts_key || k < at || k + 1 >= len - text.len ||
		start[k] != '\n',
	    "takes no line of a key but that one");
}
