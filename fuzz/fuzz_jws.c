/* SPDX-License-Identifier: ISC */
/*
 * From a JWS comes a proof or a reason. A proof that was read has the parts
 * that its algorithm wants, and is by the key of the corpus only if that made
 * it.
 */
#include <string.h>

#include "fuzz.h"
#include "proof/jws.h"

/* The key of fuzz/corpus/jws, made by mkcorpus.py: P-256, 1 times the base. */
static const uint8_t spki[] = { 0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86,
	0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d,
	0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04, 0x6b, 0x17, 0xd1, 0xf2, 0xe1,
	0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40, 0xf2, 0x77,
	0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8,
	0x98, 0xc2, 0x96, 0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e,
	0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e, 0x16, 0x2b, 0xce, 0x33, 0x57, 0x6b,
	0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51, 0xf5 };

/* What keyveto-worker says of such a proof: taken only as it is sent. */
static void
check_answer(const uint8_t *data, size_t size)
{
	struct record_out again = { .fd = -1 };
	struct kv_bytes b = { data, size };
	struct answer a;

	if (!record_get_all(&b, ANSWER_FIELDS(&a)))
		return;
	FUZZ_CHECK(a.kind != ANSWER_UNREAD);
	record_send(&again, 1, ANSWER_FIELDS(&a));
	FUZZ_CHECK(
	    again.len == size + 5 && memcmp(again.buf + 5, data, size) == 0);
	record_out_free(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kv_span text = { data, size };
	char why[PROOF_WHY_BYTES];
	struct proof_work work = { .spent = 0 };
	struct proof_key key;
	struct jws jws;
	bool ok;

	check_answer(data, size);
	if (!jws_read(text, &jws, why)) {
		FUZZ_CHECK(why[0] != '\0' && jws.algorithm == NULL);
		FUZZ_CHECK(!jws_verify(text,
		    (struct kv_span){ spki, sizeof(spki) }, why));
		return 0;
	}
	FUZZ_CHECK(why[0] == '\0' && jws.algorithm != NULL);
	FUZZ_CHECK(strspn(jws.id, "0123456789abcdef") == PROOF_ID_BYTES - 1);
	FUZZ_CHECK(strlen(jws.input) == jws.input_len);
	FUZZ_CHECK(memchr(jws.input, '.', jws.input_len) != NULL);
	FUZZ_CHECK(
	    proof_key_read((struct kv_span){ spki, sizeof(spki) }, &key, why));
	ok = jws_is_signed_by(&jws, &key, &work, why);
	proof_work_free(&work);
	FUZZ_CHECK(ok == (why[0] == '\0'));
	FUZZ_CHECK(
	    !ok || (jws.signature_len == 64 && proof_key_has_id(&key, jws.id)));
	proof_key_free(&key);
	jws_free(&jws);
	return 0;
}
