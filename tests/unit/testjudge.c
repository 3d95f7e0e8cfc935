/* SPDX-License-Identifier: ISC */
#include "testjudge.h"

#include "kv_log.h"

struct kv_judge j;
struct kv_decision d;
struct kv_sshkey offered;
uint8_t decoded[KV_BLOB_MAX_BYTES];

void
configure(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	assert_true(vasprintf(&text, fmt, ap) != -1);
	va_end(ap);
	kv_judge_close(&j);
	kv_judge_open(&j, tmp_text("keyveto.conf", keep(text)), geteuid());
}

void
close_judge(void)
{
	kv_judge_close(&j);
}

void
judge_bytes(const char *type, const void *text, size_t len)
{
	memset(&d, 0xa5, sizeof(d));
	memset(&offered, 0xa5, sizeof(offered));
	kv_judge_offered(&j, span_of(type),
	    (struct kv_span){ exact_copy(text, len), len }, decoded,
	    sizeof(decoded), NOW, &offered, &d);
}

void
judge_as(const char *type, const struct blob *blob)
{
	const char *text = base64_of(blob->p, blob->len);

	judge_bytes(type, text, strlen(text));
}

void
judge(const struct testkey *k)
{
	judge_as(kv_keytype_name(k->type), &k->blob);
}

void
judge_cert(const struct testkey *k, const struct testkey *ca)
{
	struct blob b;

	testcert_new(&b, k, ca);
	judge_as(cert_name_of(kv_keytype_name(k->type)), &b);
}

void
expect(enum kv_verdict verdict, enum kv_action action)
{
	if (d.verdict != verdict || d.action != action)
		fail_msg("%s %s instead of %s %s: %s",
		    kv_verdict_name(d.verdict), kv_action_name(d.action),
		    kv_verdict_name(verdict), kv_action_name(action), d.reason);
}

void
expect_of(const struct testkey *k, enum kv_verdict verdict,
    enum kv_action action)
{
	judge(k);
	expect(verdict, action);
}

void
expect_as(const char *type, const struct blob *blob, enum kv_verdict verdict,
    enum kv_action action)
{
	judge_as(type, blob);
	expect(verdict, action);
}

void
expect_log(const char *words)
{
	const struct kv_log_context context = { .via = "guard" };
	char line[KV_LOG_LINE_BYTES];

	kv_log_format(&context, &d, line);
	assert_contains(line, words);
}

char *
fingerprint_of(const struct testkey *k)
{
	uint8_t digest[KV_SHA256_BYTES];
	char *text = test_alloc(KV_FINGERPRINT_BYTES);

	kv_fingerprint_digest_blob(k->blob.p, k->blob.len, digest);
	kv_fingerprint_format(digest, text);
	return text;
}

const char *
filter_of(const char *name, const char *lines)
{
	const char *keys = tmp_text(format("%s.pub", name), lines);

	output_of(ORACLE "create %s/%s --hashes 12 --length 18 %s", tmp_dir(),
	    name, keys);
	return tmp_path("%s", name);
}

const char *
list_of(const char *name, int id, const char *lines)
{
	const char *keys = tmp_text(format("%s.pub", name), lines);

	output_of(
	    "python3 -B tests/oracle/blocklist.py create %s/%s --id %d %s",
	    tmp_dir(), name, id, keys);
	return tmp_path("%s", name);
}
