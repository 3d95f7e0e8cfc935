/* SPDX-License-Identifier: ISC */
/* From PEM, DER and private key files comes a key or a reason. */
#include "fuzz.h"
#include "keys/pem.h"
#include "kv_spki.h"

static void
check_result(bool ok, struct pem_key *key, const char *why)
{
	static uint8_t spki[KV_SPKI_MAX_BYTES];
	size_t len;

	if (!ok) {
		FUZZ_CHECK(why[0] != '\0');
		return;
	}
	if (key->ssh.key.type == KV_KEY_NONE)
		FUZZ_CHECK(key->spki != NULL && key->spki_len > 0);
	else
		FUZZ_CHECK(kv_spki_encode(&key->ssh.key, 0, spki, sizeof(spki),
			       &len) == KV_OK);
	pem_key_free(key);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kv_span text = { data, size };
	struct pem_key key;
	char why[256] = "";

	check_result(pem_read(text, &key, why, sizeof(why)), &key, why);
	if (pem_looks_like_der(text))
		check_result(pem_read_der(text, &key, why, sizeof(why)), &key,
		    why);
	return 0;
}
