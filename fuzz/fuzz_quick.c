/* SPDX-License-Identifier: ISC */
/*
 * A line that keys/quick takes for a key is one to kv_line, with the same
 * hashes; it is plain, and needs a secret.
 */
#include <string.h>

#include "fuzz.h"
#include "keys/quick.h"
#include "kv_blocklist.h"
#include "kv_fingerprint.h"
#include "kv_line.h"
#include "kv_nosecret.h"
#include "kv_spki.h"

static void
check_line(struct kv_span text, const struct kv_pkbf_hash *hash,
    const struct kv_blocklist_hash *number)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES], spki[KV_SPKI_MAX_BYTES];
	uint8_t digest[KV_SHA256_BYTES], same_digest[KV_SHA256_BYTES];
	struct kv_blocklist_hash same_number;
	struct kv_pkbf_hash same;
	struct kv_line line;
	size_t len;

	FUZZ_CHECK(kv_line_parse(text, blob, sizeof(blob), &line) == KV_OK &&
	    !line.is_blank && line.key.ca.type == KV_KEY_NONE);
	FUZZ_CHECK(kv_nosecret_source(&line.key.key) == NULL);
	FUZZ_CHECK(kv_spki_encode(&line.key.key, 0, spki, sizeof(spki), &len) ==
	    KV_OK);
	same = kv_pkbf_hash(spki, len);
	FUZZ_CHECK(memcmp(&same, hash, sizeof(same)) == 0);
	quick_digest(&line.key.key, digest);
	kv_fingerprint_digest(&line.key.key, same_digest);
	FUZZ_CHECK(memcmp(digest, same_digest, sizeof(digest)) == 0);
	kv_blocklist_hash_key(&line.key.key, 0, &same_number);
	FUZZ_CHECK(memcmp(&same_number, number, sizeof(same_number)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kv_pkbf_hash spki[QUICK_LINES];
	static struct kv_blocklist_hash number[QUICK_LINES];
	struct quick_line line[QUICK_LINES];
	struct kv_span text = { data + 1, size - 1 };

	while (size > 0 && text.len > 0) {
		struct quick_hashes h = { .spki = spki, .number = number };
		const size_t n = quick_hash(text, data[0] & 3u, line, &h);
		size_t done = 0;

		FUZZ_CHECK(n > 0 && n <= QUICK_LINES);
		for (size_t i = 0; i < n; i++) {
			size_t len = line[i].len;

			FUZZ_CHECK(len > 0 && len <= text.len);
			if (line[i].done) {
				FUZZ_CHECK(done < h.n);
				check_line((struct kv_span){ text.p,
					       len -
						   (text.p[len - 1] == '\n') },
				    &spki[done], &number[done]);
				done++;
			}
			text.p += len;
			text.len -= len;
		}
		FUZZ_CHECK(done == h.n);
	}
	return 0;
}
