/* SPDX-License-Identifier: ISC */
/*
 * From a PKCS#10 request comes the key that it proves compromised, or a reason.
 * It is the key that keyveto check reads from the same request.
 */
#include <string.h>

#include "fuzz.h"
#include "proof/attestation.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kv_span der = { data, size };
	char why[PROOF_WHY_BYTES];
	struct proof_work work = { .spent = 0 };
	struct proof_key key;
	struct pem_key same;
	const bool ok = attestation_verify(der, &work, &key, why);

	proof_work_free(&work);
	if (!ok) {
		FUZZ_CHECK(why[0] != '\0' && key.pkey == NULL);
		return 0;
	}
	FUZZ_CHECK(key.pkey != NULL && key.n_ids > 0);
	FUZZ_CHECK(pem_read_der(der, &same, why, sizeof(why)));
	FUZZ_CHECK(kv_pubkey_equal(&same.ssh.key, &key.pem.ssh.key));
	pem_key_free(&same);
	proof_key_free(&key);
	return 0;
}
