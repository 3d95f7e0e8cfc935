/* SPDX-License-Identifier: ISC */
/*
 * A line of the log, as keyveto confirm reads it. A fingerprint that is taken
 * stands in the line, and a line that kv_log wrote about a filter is taken, also
 * as text in JSON.
 */
#include <string.h>

#include "fuzz.h"
#include "kv_log.h"
#include "log_lines/decision.h"

static void
check_line(const char *line)
{
	char text[KV_FINGERPRINT_BYTES];
	struct log_decision d;

	if (!log_decision_parse(line, &d))
		return;
	kv_fingerprint_format(d.digest, text);
	FUZZ_CHECK(strstr(line, text) != NULL);
	FUZZ_CHECK(strstr(line, "verdict=listed ") != NULL);
}

static void
check_taken(const char *line, const uint8_t digest[static KV_SHA256_BYTES])
{
	struct log_decision d;

	FUZZ_CHECK(log_decision_parse(line, &d) && d.accepted);
	FUZZ_CHECK(memcmp(d.digest, digest, KV_SHA256_BYTES) == 0);
}

/* A name that somebody chose, in a line of keyveto's. */
static void
check_written(const char *name)
{
	static char line[KV_LOG_LINE_BYTES];
	struct kv_log_context context = { .via = "guard",
		.user = name,
		.rhost = name,
		.authorized = KV_AUTHORIZED_YES };
	static const struct kv_filter filter = { .path = "/f" };
	struct kv_decision d = { .verdict = KV_VERDICT_LISTED,
		.action = KV_ACTION_WARN,
		.key_type = "ssh-rsa",
		.filter = &filter,
		.hits = 1 };
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
	char *line = malloc(size + 1);

	if (line == NULL)
		return 0;
	memcpy(line, data, size);
	line[size] = '\0';
	check_line(line);
	check_written(line);
	free(line);
	return 0;
}
