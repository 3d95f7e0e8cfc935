/* SPDX-License-Identifier: ISC */
/* Reads SSH_AUTH_INFO_0, and judges each key in it without a filter. */
#include "auth_info.h"
#include "fuzz.h"
#include "kv_base64.h"
#include "kv_log.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct kv_log_context context = { .via = "pam" };
	char line[KV_LOG_LINE_BYTES];
	struct kv_span text = { data, size };
	struct auth_info_key key;
	struct kv_judge judge = { 0 };

	kv_config_defaults(&judge.config);
	while (auth_info_next_key(&text, &key)) {
		size_t cap = KV_BASE64_DECODED_MAX(key.base64.len);
		uint8_t *blob = fuzz_alloc(cap);
		struct kv_sshkey offered;
		struct kv_decision d;

		FUZZ_CHECK(key.type.len + key.base64.len < size);
		kv_judge_offered(&judge, key.type, key.base64, blob, cap, 0,
		    &offered, &d);
		/*
		 * Without a filter no key can be clean. Only one that needs no
		 * secret is listed.
		 */
		FUZZ_CHECK(d.verdict == KV_VERDICT_ERROR ||
		    d.verdict == KV_VERDICT_UNSUPPORTED ||
		    (d.verdict == KV_VERDICT_LISTED && d.list == &kv_built_in));
		kv_log_format(&context, &d, line);
		for (const char *p = line; *p != '\0'; p++)
			FUZZ_CHECK(*p >= 0x20 && *p < 0x7f);
		free(blob);
	}
	return 0;
}
