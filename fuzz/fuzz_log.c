/* SPDX-License-Identifier: ISC */
/*
 * A line of the log, as keyveto confirm reads it. A fingerprint that is taken
 * stands in the line, and a line that kv_log wrote about a filter is taken, also
 * as text in JSON.
 */
#include <string.h>

#include "confirm/log.h"
#include "fuzz.h"
#include "kv_log.h"

static void
check_keys(const struct log_keys *k, const char *line)
{
	char text[KV_FINGERPRINT_BYTES];

	FUZZ_CHECK(k->n <= 1 && !k->full);
	for (size_t i = 0; i < k->n; i++) {
		kv_fingerprint_format(k->v[i]->digest, text);
		FUZZ_CHECK(strstr(line, text) != NULL);
		FUZZ_CHECK(strstr(line, "verdict=listed ") != NULL);
		FUZZ_CHECK(log_keys_find(k, k->v[i]->digest) == k->v[i]);
	}
}

static void
check_taken(const char *line, const uint8_t digest[static KV_SHA256_BYTES])
{
	struct log_keys k = { .n = 0 };

	log_keys_read_line(&k, line);
	FUZZ_CHECK(k.n == 1 && k.v[0]->accepted);
	FUZZ_CHECK(memcmp(k.v[0]->digest, digest, KV_SHA256_BYTES) == 0);
	log_keys_free(&k);
}

/* A name that somebody chose, in a line of keyveto's. */
static void
check_written(const char *name)
{
	static char line[KV_LOG_LINE_BYTES];
	struct kv_log_context context = {
		.via = "guard",
		.user = name,
		.rhost = name,
		.authorized = KV_AUTHORIZED_YES,
	};
	static const struct kv_filter filter = { .path = "/f" };
	struct kv_decision d = {
		.verdict = KV_VERDICT_LISTED,
		.action = KV_ACTION_WARN,
		.key_type = "ssh-rsa",
		.filter = &filter,
		.hits = 1,
	};
	static char json[2 * KV_LOG_LINE_BYTES + 16] = "{\"MESSAGE\":\"";
	uint8_t digest[KV_SHA256_BYTES] = { 1, 2, 3 };
	char *p = strchr(json, ':') + 2;

	kv_fingerprint_format(digest, d.fingerprint);
	kv_log_format(&context, &d, line);
	check_taken(line, digest);
	for (const char *from = line; *from != '\0'; *p++ = *from++)
		if (*from == '"' || *from == '\\')
			*p++ = '\\';
	*p = '\0';
	check_taken(json, digest);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct log_keys k = { .n = 0 };
	char *line = malloc(size + 1);

	if (line == NULL)
		return 0;
	memcpy(line, data, size);
	line[size] = '\0';
	log_keys_read_line(&k, line);
	check_keys(&k, line);
	log_keys_free(&k);
	check_written(line);
	free(line);
	return 0;
}
