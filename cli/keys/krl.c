/* SPDX-License-Identifier: ISC */
#include "keys/krl.h"

#include <string.h>

#include "kv_bytes.h"

/* krl.h of OpenSSH */
enum {
	SECTION_CERTIFICATES = 1,
	SECTION_EXPLICIT_KEY = 2,
	SECTION_FINGERPRINT_SHA1 = 3,
	SECTION_SIGNATURE = 4,
	SECTION_FINGERPRINT_SHA256 = 5,
};

/* Behind the magic: a version, a number, a time and flags; then two strings. */
#define FIXED_BYTES (4 + 3 * 8)
static const uint8_t version[] = { 0, 0, 0, 1 };

/* A section is strings. sink may be NULL. False if it is not whole. */
static bool
read_strings(uint8_t type, struct kv_span data, const struct krl_sink *sink)
{
	struct kv_bytes b = { data.p, data.len };
	struct kv_span one;

	while (b.left > 0) {
		if (kv_bytes_get_string(&b, &one) != KV_OK ||
		    (type == SECTION_FINGERPRINT_SHA256 &&
			one.len != KV_SHA256_BYTES))
			return false;
		if (sink != NULL && type == SECTION_EXPLICIT_KEY)
			sink->key(one, sink->arg);
		else if (sink != NULL)
			sink->sha256(one.p, sink->arg);
	}
	return true;
}

/* As krl_read, for what is behind the header. sink may be NULL. */
static bool
read_sections(struct kv_bytes b, const struct krl_sink *sink,
    uint64_t *left_outp)
{
	struct kv_span data;
	uint8_t type;

	while (b.left > 0) {
		type = *b.p;
		b.p++;
		b.left--;
		if (kv_bytes_get_string(&b, &data) != KV_OK)
			return false;
		switch (type) {
		case SECTION_EXPLICIT_KEY:
		case SECTION_FINGERPRINT_SHA256:
			if (!read_strings(type, data, sink))
				return false;
			break;
		case SECTION_CERTIFICATES:
			*left_outp |= KRL_CERTIFICATES;
			break;
		case SECTION_FINGERPRINT_SHA1:
			*left_outp |= KRL_SHA1;
			break;
		case SECTION_SIGNATURE:
			/* That was the signer's key; the signature follows. */
			if (kv_bytes_get_string(&b, &data) != KV_OK)
				return false;
			break;
		default:
			*left_outp |= KRL_OTHER;
		}
	}
	return true;
}

bool
krl_read(struct kv_span krl, const struct krl_sink *sink, uint64_t *left_outp)
{
	struct kv_bytes b = { krl.p, krl.len };
	struct kv_span text;

	*left_outp = 0;
	if (krl.len < KRL_MAGIC_BYTES + FIXED_BYTES ||
	    memcmp(krl.p, KRL_MAGIC, KRL_MAGIC_BYTES) != 0 ||
	    memcmp(krl.p + KRL_MAGIC_BYTES, version, sizeof(version)) != 0)
		return false;
	b.p += KRL_MAGIC_BYTES + FIXED_BYTES;
	b.left -= KRL_MAGIC_BYTES + FIXED_BYTES;
	return kv_bytes_get_string(&b, &text) == KV_OK &&
	    kv_bytes_get_string(&b, &text) == KV_OK &&
	    read_sections(b, NULL, left_outp) &&
	    read_sections(b, sink, left_outp);
}
