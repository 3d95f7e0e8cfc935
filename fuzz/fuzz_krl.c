/* SPDX-License-Identifier: ISC */
/*
 * A KRL: what the sink gets lies within it, and of one that is not whole the sink
 * gets nothing.
 */
#include "fuzz.h"
#include "keys/krl.h"

struct seen {
	struct kv_span krl;
	size_t n;
};

static void
check_key(struct kv_span blob, void *arg)
{
	struct seen *s = arg;

	s->n++;
	FUZZ_CHECK(blob.p >= s->krl.p && blob.len <= s->krl.len);
	FUZZ_CHECK((size_t)(blob.p - s->krl.p) + blob.len <= s->krl.len);
}

static void
check_sha256(const uint8_t digest[static KV_SHA256_BYTES], void *arg)
{
	check_key((struct kv_span){ digest, KV_SHA256_BYTES }, arg);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = { .krl = { data, size } };
	const struct krl_sink sink = { check_key, check_sha256, &seen };
	const char *reason[KRL_REASONS];
	uint64_t left_out;

	if (!krl_read(seen.krl, &sink, &left_out))
		FUZZ_CHECK(seen.n == 0);
	krl_reasons(left_out, reason);
	FUZZ_CHECK((left_out == 0) == (reason[0] == NULL));
	return 0;
}
