/* SPDX-License-Identifier: ISC */
#include "auth_info.h"

/* Returns what stands before the separator. Moves *text past both. */
static struct kv_span
next_part(struct kv_span *text, uint8_t separator)
{
	struct kv_span part = { text->p, 0 };

	while (part.len < text->len && text->p[part.len] != separator)
		part.len++;
	text->p += part.len;
	text->len -= part.len;
	if (text->len > 0) {
		text->p++;
		text->len--;
	}
	return part;
}

bool
auth_info_next_key(struct kv_span *text, struct auth_info_key *key)
{
	while (text->len > 0) {
		struct kv_span line = next_part(text, '\n');
		struct kv_span rest = line;
		struct kv_span name = next_part(&rest, ' ');
		struct kv_span method = next_part(&name, '/');

		if (!kv_span_is(method, "publickey") &&
		    !kv_span_is(method, "hostbased"))
			continue;
		key->type = next_part(&rest, ' ');
		key->base64 = next_part(&rest, ' ');
		return true;
	}
	return false;
}
