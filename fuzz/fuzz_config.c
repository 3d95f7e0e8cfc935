/* SPDX-License-Identifier: ISC */
/*
 * Any text, read as keyveto.conf, leaves a config that can be used and freed.
 */
#include <string.h>

#include "fuzz.h"
#include "kv_config.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t digest[KV_SHA256_BYTES];
	char why[KV_CONFIG_WHY_BYTES], message[256];
	struct kv_config c;
	enum kv_err r;

	r = kv_config_parse((const char *)data, size, "fuzz.conf", &c, why);
	FUZZ_CHECK((r == KV_OK) == (why[0] == '\0'));
	FUZZ_CHECK(c.n_filters + c.n_blocklists >= 1);
	for (size_t i = 0; i < c.n_filters; i++)
		FUZZ_CHECK(c.filter[i][0] == '/');
	for (size_t i = 0; i < c.n_blocklists; i++)
		FUZZ_CHECK(c.blocklist[i][0] == '/');
	for (size_t i = 0; i < c.n_patterns; i++)
		FUZZ_CHECK(strlen(c.pattern[i]) <= size + 32);
	(void)kv_config_find_allowed(&c, digest, 0);
	if (c.message != NULL)
		kv_config_message(c.message, "SHA256:x", "ssh-rsa", message,
		    sizeof(message));
	kv_config_free(&c);
	return 0;
}
