/* SPDX-License-Identifier: ISC */
/*
 * A private key that stands behind any text is told, with its line, and so is
 * one in base64. The first byte says which, and how many bytes of the base64 are
 * before it.
 */
#include <string.h>

#include "fuzz.h"
#include "keys/mention.h"

#define TEXT_MAX (64 * 1024)
#define KEY \
	"x-BEGIN RSA PRIVATE KEY-----\n" \
	"MIIEowIBAAKCAQEAwZx+y/0123456789MIIEowIBAAKCAQEAwZx+y/0123456789"

static uint64_t last;

static void
on_found(uint64_t line, void *arg)
{
	const uint64_t *now = arg;

	FUZZ_CHECK(line > 0 && line <= *now);
	last = line;
}

static void
read_lines(struct mention *m, struct kv_span text, uint64_t *number)
{
	while (text.len > 0) {
		const uint8_t *nl = memchr(text.p, '\n', text.len);
		const size_t n = nl != NULL ? (size_t)(nl - text.p) + 1 :
					      text.len;

		mention_read(m, (struct kv_span){ text.p, n }, *number);
		*number += nl != NULL;
		text.p += n;
		text.len -= n;
	}
}

static size_t
encode(const char *text, size_t len, char *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	int n_bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		bits = bits << 8 | (uint8_t)text[i];
		for (n_bits += 8; n_bits >= 6; n_bits -= 6)
			out[n++] = digits[bits >> (n_bits - 6) & 63];
	}
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t number = 1, at;
	struct mention m = { .found = on_found, .arg = &number };
	static const char plain[] = KEY;
	char key[256] = KEY;
	size_t len = strlen(key);
	const size_t skip = size > 0 ? data[0] >> 1 & 1 : 0;

	if (size < 1 || size > TEXT_MAX)
		return 0;
	m.ascii = (data[0] & 4) != 0;
	read_lines(&m, (struct kv_span){ data + 1, size - 1 }, &number);
	if ((data[0] & 1) != 0) {
		key[0] = ' ';
		len = 1 + encode(&plain[skip], len - skip, key + 1);
	}
	at = number;
	last = 0;
	mention_read(&m, (struct kv_span){ (const uint8_t *)".\n", 2 }, number);
	read_lines(&m, (struct kv_span){ (const uint8_t *)key, len }, &number);
	FUZZ_CHECK(last == at);
	mention_drop(&m);
	FUZZ_CHECK(!mention_is_open(&m));
	return 0;
}
