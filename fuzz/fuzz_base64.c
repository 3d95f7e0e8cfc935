/* SPDX-License-Identifier: ISC */
/* Text that decodes must equal OpenSSL's encoding, apart from blanks. */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "kv_base64.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t cap = KV_BASE64_DECODED_MAX(size), len, n = 0;
	uint8_t *out = fuzz_alloc(cap);
	char *text = fuzz_alloc(cap * 2 + 8);

	if (kv_base64_decode((const char *)data, size, out, cap, &len) ==
	    KV_OK) {
		int made = EVP_EncodeBlock((unsigned char *)text, out,
		    (int)len);

		for (size_t i = 0; i < size; i++) {
			if (memchr(" \t\n\v\f\r", data[i], 6) != NULL)
				continue;
			FUZZ_CHECK(n < (size_t)made);
			FUZZ_CHECK(text[n++] == (char)data[i]);
		}
		FUZZ_CHECK(n == (size_t)made);
	}
	free(text);
	free(out);
	return 0;
}
