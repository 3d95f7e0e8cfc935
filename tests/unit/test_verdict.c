/* SPDX-License-Identifier: ISC */
/*
 * The oracle makes the filters once: one lists the RSA example key, one lists
 * the EC one, and one lists nothing.
 */
#include "kv_verdict.h"

#include "testkeys.h"
#include "testlib.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "kv_line.h"
#include "kv_spki.h"

/* 2023-11-14 */
#define NOW 1700000000
#define RSA_FP "SHA256:ckGCtrmftobnfcWdeQsHFxFmuqpWjN4sY82+nSydOfQ"
#define EC_FP "SHA256:K53UMHTBXbpvt4AJATggaF7h01viQrVV5tYANT9vpPs"

/* An exact list with one hash. */
#define RECORD "0123456789abcdef"

struct filter_bytes {
	uint8_t *p;
	size_t len;
};

static struct filter_bytes lists_rsa, lists_ec, lists_none;

static struct kv_judge j;
static struct kv_decision d;
static struct kv_sshkey offered;
static uint8_t decoded[KV_BLOB_MAX_BYTES];
static struct testkey rsa, ec, clean, other;
static struct testcert cert;
static struct blob b;

static void
make_filter(struct filter_bytes *f, const char *lines)
{
	const char *keys = tmp_text("keys", lines);
	uint8_t *p;

	output_of(ORACLE "create %s/f --hashes 12 --length 18 --revision 7 %s",
	    tmp_dir(), keys);
	p = read_whole(tmp_path("f"), &f->len);
	f->p = malloc(f->len);
	memcpy(f->p, p, f->len);
}

/* An example key as a testkey, for certificates. */
static void
example_key(struct testkey *k, enum kv_keytype type, const char *line)
{
	k->type = type;
	blob_of_line(line, &k->blob);
	put(&k->fields, k->blob.p + 4 + k->blob.p[3],
	    k->blob.len - 4 - k->blob.p[3]);
}

static int
make_filters(void **state)
{
	test_begin(state);
	make_filter(&lists_rsa, rsa_line);
	make_filter(&lists_ec, ec_line);
	make_filter(&lists_none, "# nothing\n");
	example_key(&rsa, KV_KEY_RSA, rsa_line);
	example_key(&ec, KV_KEY_ECDSA_P256, ec_line);
	testkey_new(&clean, KV_KEY_ED25519);
	testkey_new(&other, KV_KEY_ECDSA_P384);
	return test_cleanup(state);
}

static int
free_filters(void **state)
{
	(void)state;
	free(lists_rsa.p);
	free(lists_ec.p);
	free(lists_none.p);
	return 0;
}

static int
close_judge(void **state)
{
	kv_judge_close(&j);
	return test_cleanup(state);
}

#undef TEST
#define TEST(f) cmocka_unit_test_setup_teardown(f, NULL, close_judge)

static const char *
filter_file(const char *name, const struct filter_bytes *f)
{
	return tmp_file(name, f->p, f->len);
}

/* Opens a judge with this configuration. */
static void
configure(const char *text)
{
	kv_judge_close(&j);
	kv_judge_open(&j, tmp_text("keyveto.conf", text), geteuid());
}

/* Opens a judge with the filter of the RSA key, then this configuration. */
static void
configure_rsa(const char *text)
{
	configure(
	    format("Filter %s\n%s", filter_file("rsa.pkbf", &lists_rsa), text));
}

static void
judge_bytes(const char *type, const void *text, size_t len)
{
	memset(&d, 0xa5, sizeof(d));
	memset(&offered, 0xa5, sizeof(offered));
	kv_judge_offered(&j, span_of(type),
	    (struct kv_span){ exact_copy(text, len), len }, decoded,
	    sizeof(decoded), NOW, &offered, &d);
}

/* Judges the blob under this name of a type (sshd's %t). */
static void
judge_as(const char *type, const struct blob *blob)
{
	const char *text = base64_of(blob->p, blob->len);

	judge_bytes(type, text, strlen(text));
}

static void
judge(const struct testkey *k)
{
	judge_as(kv_keytype_name(k->type), &k->blob);
}

static void
judge_cert(const struct testkey *k, const struct testkey *ca)
{
	testcert_new(&b, k, ca);
	judge_as(cert_name_of(kv_keytype_name(k->type)), &b);
}

static void
expect(enum kv_verdict verdict, enum kv_action action)
{
	if (d.verdict != verdict)
		fail_msg("%s instead of %s: %s", kv_verdict_name(d.verdict),
		    kv_verdict_name(verdict), d.reason);
	assert_string_equal(kv_action_name(d.action), kv_action_name(action));
}

static void
expect_listed(const char *fingerprint, enum kv_part part)
{
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_string_equal(d.fingerprint, fingerprint);
	assert_string_equal(kv_part_name(d.part), kv_part_name(part));
	assert_non_null(d.filter);
	assert_string_equal(d.reason, "");
}

/* There is no verdict, for a reason with these words, and OnError decides. */
static void
expect_error(const char *words)
{
	expect(KV_VERDICT_ERROR, j.config.on_error);
	assert_contains(d.reason, words);
	assert_null(d.filter);
	assert_true(d.hits == 0);
}

static void
clean_keys_pass(void **state)
{
	(void)state;
	configure_rsa("");
	for (int t = KV_KEY_RSA; t <= KV_KEY_MLDSA44_ED25519_OLD; t++) {
		testkey_new(&other, (enum kv_keytype)t);
		judge(&other);
		expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
		assert_string_equal(d.key_type,
		    kv_keytype_name((enum kv_keytype)t));
		/* The fingerprint is for a debug log. */
		assert_contains(d.fingerprint, "SHA256:");
		assert_string_equal(d.reason, "");
		assert_null(d.filter);
		assert_true(d.hits == 0);
	}
	judge(&ec);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	assert_string_equal(d.fingerprint, EC_FP);
}

static void
listed_key_is_denied(void **state)
{
	(void)state;
	configure_rsa("");
	judge(&rsa);
	expect_listed(RSA_FP, KV_PART_KEY);
	assert_string_equal(d.key_type, "ssh-rsa");
	assert_string_equal(d.filter->path, tmp_path("rsa.pkbf"));
	assert_int_equal(d.filter->pkbf.header.revision, 7);
	assert_true(d.hits == 1);
	configure(format("Filter %s\n", filter_file("ec", &lists_ec)));
	judge(&ec);
	expect_listed(EC_FP, KV_PART_KEY);
	judge(&rsa);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

static void
on_hit_warn_lets_a_listed_key_in(void **state)
{
	(void)state;
	configure_rsa("OnHit warn\n");
	judge(&rsa);
	expect(KV_VERDICT_LISTED, KV_ACTION_WARN);
	assert_non_null(d.filter);
	judge(&clean);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

static void
zero_is_a_refusal(void **state)
{
	const struct kv_decision zero = { 0 };
	const struct kv_judge closed = { 0 };
	struct kv_sshkey key;

	(void)state;
	assert_int_equal(zero.verdict, KV_VERDICT_ERROR);
	assert_int_equal(zero.action, KV_ACTION_DENY);
	assert_err(kv_sshkey_parse(clean.blob.p, clean.blob.len, &key), KV_OK);
	kv_judge_pubkey(&closed, &key.key, NOW, &d);
	expect(KV_VERDICT_ERROR, KV_ACTION_DENY);
}

static void
without_memory_every_key_is_an_error(void **state)
{
	const char *text = format("Filter %s\n",
	    filter_file("rsa.pkbf", &lists_rsa));
	const char *config = tmp_text("keyveto.conf", text);

	(void)state;
	for (int n = 1; n < 3; n++) {
		kv_judge_close(&j);
		fail_call("calloc", n, ENOMEM);
		kv_judge_open(&j, config, geteuid());
		assert_true(call_has_failed());
		judge(&clean);
		expect_error("out of memory");
		judge(&rsa);
		expect_error("out of memory");
		assert_int_equal(d.action, KV_ACTION_DENY);
	}
}

static void
odd_encodings_of_a_listed_key_are_listed(void **state)
{
	static const uint8_t e[] = { 1, 0, 1 };

	(void)state;
	configure_rsa("");
	judge_as("rsa-sha2-512", &rsa.blob);
	expect_listed(RSA_FP, KV_PART_KEY);
	/* e is 0x010001, n has 257 bytes with its zero byte. */
	b.len = 0;
	put_string(&b, "rSA\0", 4);
	put_padded(&b, e, 3, 50);
	put_padded(&b, rsa.fields.p + 4 + 3 + 4, 257, 2049 - 257);
	judge_as("ssh-rsa", &b);
	expect_listed(RSA_FP, KV_PART_KEY);
	judge_bytes("ssh-rsa", format("%s\r\n", rsa_line + 8),
	    strlen(rsa_line + 8) + 2);
	expect_listed(RSA_FP, KV_PART_KEY);
}

static void
listed_point_as_a_security_key_is_listed(void **state)
{
	(void)state;
	configure(format("Filter %s\n", filter_file("ec", &lists_ec)));
	testkey_sk(&other, &ec, "ssh:");
	judge(&other);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_string_equal(d.key_type, "sk-ecdsa-sha2-nistp256@openssh.com");
	/* An sk key has another fingerprint. */
	assert_string_not_equal(d.fingerprint, EC_FP);
}

/* Judges k with a filter that lists only this SPKI. */
static bool
listed_by_spki(const struct testkey *k, const struct blob *spki)
{
	struct kv_pkbf_hash h = kv_pkbf_hash(spki->p, spki->len);
	uint8_t *p = exact_copy(lists_none.p, lists_none.len);

	for (unsigned int i = 0; i < 12; i++) {
		uint64_t n = kv_pkbf_position(&h, i, 18);

		p[KV_PKBF_HEADER_BYTES + n / 8] |= (uint8_t)(0x80 >> n % 8);
	}
	configure(format("Filter %s\n", tmp_file("one", p, lists_none.len)));
	judge(k);
	assert_int_not_equal(d.verdict, KV_VERDICT_ERROR);
	return d.verdict == KV_VERDICT_LISTED;
}

static void
composite_key_is_listed_for_any_of_its_parts(void **state)
{
	(void)state;
	testkey_new(&other, KV_KEY_MLDSA44_ED25519);
	for (size_t i = 0; i < 3; i++)
		assert_true(listed_by_spki(&other, &other.spki[i]));
	assert_false(listed_by_spki(&other, &clean.spki[0]));
	/* The Ed25519 half, used as a plain key, is another key. */
	assert_false(listed_by_spki(&clean, &other.spki[2]));
}

/* Judges the blob of a line under the line's own name. */
static void
judge_line(const char *line)
{
	blob_of_line(line, &b);
	judge_as(format("%.*s", (int)strcspn(line, " "), line), &b);
}

/* A filter with a key under its new name also lists it under its old name. */
static void
composite_key_is_listed_under_both_of_its_names(void **state)
{
	static const char *const names[] = {
		"composite",
		"composite-cert",
		"plain-cert",
	};
	struct filter_bytes lists_composite;
	const char *filter;

	(void)state;
	make_filter(&lists_composite, line_of_openssh_10_6("composite"));
	filter = format("Filter %s\n",
	    filter_file("composite.pkbf", &lists_composite));
	configure(filter);
	for (size_t i = 0; i < COUNT(names); i++) {
		judge_line(line_of_openssh_10_6(names[i]));
		expect_listed(COMPOSITE_FINGERPRINT,
		    i == 2 ? KV_PART_CA : KV_PART_KEY);
		assert_string_equal(d.key_type, "ssh-mldsa44-ed25519");
	}
	other.blob.len = 0;
	put_text(&other.blob, "ssh-mldsa44-ed25519@openssh.com");
	blob_of_line(line_of_openssh_10_6("composite"), &b);
	put(&other.blob, b.p + 4 + b.p[3], b.len - 4 - b.p[3]);
	judge_as("ssh-mldsa44-ed25519@openssh.com", &other.blob);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_string_equal(d.key_type, "ssh-mldsa44-ed25519@openssh.com");
	assert_string_not_equal(d.fingerprint, COMPOSITE_FINGERPRINT);
	/* No sshd has both names. */
	judge_as("ssh-mldsa44-ed25519", &other.blob);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	/*
	 * AllowKey accepts the fingerprint that ssh-keygen -l prints for the
	 * file.
	 */
	configure(format("%sAllowKey %s\n", filter, COMPOSITE_FINGERPRINT));
	judge_line(line_of_openssh_10_6("composite"));
	expect(KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	judge_as("ssh-mldsa44-ed25519@openssh.com", &other.blob);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	free(lists_composite.p);
}

static void
allowed_key_is_not_vetoed(void **state)
{
	(void)state;
	configure_rsa("AllowKey " RSA_FP " until=2023-11-14 being replaced\n");
	judge(&rsa);
	expect(KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	assert_string_equal(d.reason, "being replaced");
	assert_string_equal(d.fingerprint, RSA_FP);
	/* AllowKey does not change the verdict on a clean key. */
	configure_rsa("AllowKey " EC_FP "\n");
	judge(&ec);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	judge(&rsa);
	expect_listed(RSA_FP, KV_PART_KEY);
}

static void
allowed_key_is_vetoed_again_after_its_date(void **state)
{
	(void)state;
	configure_rsa("AllowKey " RSA_FP " until=2023-11-13 too late\n");
	judge(&rsa);
	expect_listed(RSA_FP, KV_PART_KEY);
	configure_rsa("OnHit warn\nAllowKey " RSA_FP " until=2023-11-13\n");
	judge(&rsa);
	expect(KV_VERDICT_LISTED, KV_ACTION_WARN);
}

static void
any_filter_counts(void **state)
{
	const char *none = filter_file("none.pkbf", &lists_none);
	const char *two = filter_file("ec.pkbf", &lists_ec);
	const char *one = filter_file("rsa.pkbf", &lists_rsa);

	(void)state;
	configure(format("Filter %s\nFilter %s\nFilter %s\nFilter %s\n", none,
	    one, two, one));
	judge(&rsa);
	expect_listed(RSA_FP, KV_PART_KEY);
	assert_true(d.hits == 0xa);
	assert_string_equal(d.filter->path, one);
	judge(&ec);
	expect_listed(EC_FP, KV_PART_KEY);
	assert_true(d.hits == 4);
	assert_string_equal(d.filter->path, two);
	judge(&clean);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

static void
all_64_filters_have_a_bit(void **state)
{
	const char *path = filter_file("rsa.pkbf", &lists_rsa);
	char *text = format("Filter %s\n", filter_file("none", &lists_none));

	(void)state;
	for (int i = 1; i < KV_CONFIG_MAX_FILTERS; i++)
		text = format("%sFilter %s\n", text, path);
	configure(text);
	judge(&rsa);
	assert_true(d.hits == UINT64_MAX - 1);
	assert_ptr_equal(d.filter, &j.filter[1]);
}

/* If a filter cannot be used, OnError decides about each key. */
static void
broken_filter(const char *path, const char *words)
{
	configure(format("Filter %s\n", path));
	judge(&clean);
	expect_error(words);
	assert_int_equal(d.action, KV_ACTION_DENY);
	assert_contains(d.reason, path);
	assert_string_equal(d.key_type, "ssh-ed25519");
	assert_contains(d.fingerprint, "SHA256:");
	configure(format("OnError allow\nFilter %s\n", path));
	judge(&clean);
	expect_error(words);
	assert_int_equal(d.action, KV_ACTION_ALLOW);
}

static void
missing_filter_is_no_verdict(void **state)
{
	(void)state;
	broken_filter(tmp_path("none"), "No such file or directory");
	broken_filter(tmp_dir(), "not a regular file");
}

static void
damaged_filter_is_no_verdict(void **state)
{
	const char *path = filter_file("f", &lists_rsa);

	(void)state;
	assert_return_code(truncate(path, (off_t)lists_rsa.len - 1), errno);
	broken_filter(path, "file size does not match the filter header");
	assert_return_code(truncate(path, 0), errno);
	broken_filter(path, "file size does not match the filter header");
	broken_filter(tmp_text("text", "not a filter, but as long as one"),
	    "not a pkbfv1 filter");
}

static void
insecure_filter_is_no_verdict(void **state)
{
	const char *path = filter_file("f", &lists_rsa);

	(void)state;
	assert_return_code(chmod(path, 0666), errno);
	broken_filter(path, "writable by group or others");
	assert_return_code(chmod(path, 0664), errno);
	broken_filter(path, "writable by group or others");
}

static void
filter_that_shrinks_later_is_no_verdict(void **state)
{
	(void)state;
	configure_rsa("");
	assert_return_code(truncate(tmp_path("rsa.pkbf"), 24), errno);
	judge(&clean);
	expect_error(tmp_path("rsa.pkbf: file size does not match"));
	judge(&rsa);
	expect_error("file size does not match");
}

/* The open file is used, even if its name belongs to another file. */
static void
filter_that_is_replaced_later_does_not_matter(void **state)
{
	(void)state;
	configure_rsa("");
	assert_return_code(rename(filter_file("new", &lists_none),
			       tmp_path("rsa.pkbf")),
	    errno);
	judge(&rsa);
	expect_listed(RSA_FP, KV_PART_KEY);
}

static void
hit_counts_beside_a_broken_filter(void **state)
{
	const char *missing = tmp_path("missing");
	const char *good = filter_file("good", &lists_rsa);

	(void)state;
	configure(format("Filter %s\nFilter %s\n", missing, good));
	judge(&rsa);
	expect_listed(RSA_FP, KV_PART_KEY);
	assert_true(d.hits == 2);
	assert_string_equal(d.filter->path, good);
	judge(&clean);
	expect_error(missing);
	configure(
	    format("Filter %s\nFilter %s\nOnError allow\n", good, missing));
	judge(&rsa);
	expect_listed(RSA_FP, KV_PART_KEY);
	judge(&clean);
	expect_error(missing);
}

static void
allowed_key_passes_a_broken_filter(void **state)
{
	(void)state;
	configure(format("Filter %s\nAllowKey " RSA_FP " why\n",
	    tmp_path("missing")));
	judge(&rsa);
	expect(KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	assert_string_equal(d.reason, "why");
	judge(&ec);
	expect_error("missing");
}

static void
mistake_in_the_configuration_is_no_verdict(void **state)
{
	(void)state;
	configure_rsa("Bogus yes\n");
	judge(&clean);
	expect_error(tmp_path("keyveto.conf:2: unknown keyword \"Bogus\""));
	assert_int_equal(d.action, KV_ACTION_DENY);
	assert_contains(d.fingerprint, "SHA256:");
	judge(&rsa);
	expect_error("Bogus");
	/* OnError counts before and after the mistake. */
	configure_rsa("Bogus yes\nOnError allow\n");
	judge(&clean);
	expect_error("keyveto.conf:2: ");
	assert_int_equal(d.action, KV_ACTION_ALLOW);
}

static void
unreadable_configuration_is_no_verdict_and_denied(void **state)
{
	const char *path;

	(void)state;
	kv_judge_open(&j, tmp_path("none.conf"), geteuid());
	judge(&clean);
	expect_error(tmp_path("none.conf: No such file or directory"));
	assert_int_equal(d.action, KV_ACTION_DENY);
	/* The default facility is set anyway. */
	assert_int_equal(j.config.syslog_facility, LOG_AUTHPRIV);
	kv_judge_close(&j);

	kv_judge_open(&j, tmp_dir(), geteuid());
	judge(&clean);
	expect_error("not a regular file");
	kv_judge_close(&j);

	kv_judge_open(&j, "keyveto.conf", geteuid());
	judge(&clean);
	expect_error("not an absolute path");
	kv_judge_close(&j);

	/* A file that is not trusted does not count, not even its OnError. */
	path = tmp_text("bad.conf", "OnError allow\n");
	assert_return_code(chmod(path, 0666), errno);
	kv_judge_open(&j, path, geteuid());
	judge(&clean);
	expect_error("writable by group or others");
	assert_int_equal(d.action, KV_ACTION_DENY);
}

static void
both_keys_of_a_certificate_are_judged(void **state)
{
	(void)state;
	configure_rsa("");
	judge_cert(&clean, &ec);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	judge_cert(&rsa, &ec);
	expect_listed(RSA_FP, KV_PART_KEY);
	assert_string_equal(d.key_type, "ssh-rsa");
	judge_cert(&ec, &rsa);
	expect_listed(RSA_FP, KV_PART_CA);
	assert_string_equal(d.key_type, "ssh-rsa");
	judge_cert(&rsa, &rsa);
	expect_listed(RSA_FP, KV_PART_KEY);
}

static void
malformed_certificate_is_judged_by_its_whole_keys(void **state)
{
	const char *name = cert_name_of("ssh-rsa");

	(void)state;
	configure_rsa("OnError allow\n");
	testcert_init(&cert, &rsa, &clean);
	cert.kind = 3;
	cert_build(&cert, &b);
	judge_as(name, &b);
	expect_listed(RSA_FP, KV_PART_KEY);
	b.len = cert.key_end;
	judge_as(name, &b);
	expect_listed(RSA_FP, KV_PART_KEY);
	b.len--;
	judge_as(name, &b);
	expect_error("key data ends too early");

	testcert_init(&cert, &clean, &rsa);
	cert_build(&cert, &b);
	put_u8(&b, 0);
	judge_as(cert_name_of("ssh-ed25519"), &b);
	expect_listed(RSA_FP, KV_PART_CA);
	b.len = cert.ca_end;
	judge_as(cert_name_of("ssh-ed25519"), &b);
	expect_listed(RSA_FP, KV_PART_CA);
	b.len--;
	judge_as(cert_name_of("ssh-ed25519"), &b);
	expect_error("key data ends too early");
}

static void
known_type_that_does_not_parse_is_no_verdict(void **state)
{
	(void)state;
	configure_rsa("");
	b.len = 0;
	put_text(&b, "ssh-foo");
	put_text(&b, "x");
	judge_as("ssh-ed25519", &b);
	expect_error("unknown key type");
	assert_string_equal(d.key_type, "ssh-ed25519");
	b = clean.blob;
	b.len--;
	judge_as("ssh-ed25519", &b);
	expect_error("key data ends too early");
	b.len++;
	put_u8(&b, 0);
	judge_as("ssh-ed25519", &b);
	expect_error("data after the end of the key");
}

static void
type_other_than_inside_is_no_verdict(void **state)
{
	(void)state;
	configure_rsa("");
	judge_as("ssh-rsa", &clean.blob);
	expect_error("key type differs from the type inside the key");
	judge_as("ssh-ed25519-cert-v01@openssh.com", &clean.blob);
	expect_error("key type differs");
	judge_as("ecdsa-sha2-nistp256", &other.blob);
	expect_error("key type differs");
	/* But a listed key inside is found. */
	judge_as("ssh-ed25519", &rsa.blob);
	expect_listed(RSA_FP, KV_PART_KEY);
	judge_as("ssh-rsa-cert-v01@openssh.com", &rsa.blob);
	expect_listed(RSA_FP, KV_PART_KEY);
}

static void
text_that_is_no_base64_is_no_verdict(void **state)
{
	(void)state;
	configure_rsa("");
	judge_bytes("ssh-rsa", "AAA", 3);
	expect_error("invalid base64");
	judge_bytes("ssh-rsa", "AA-_", 4);
	expect_error("invalid base64");
	judge_bytes("ssh-rsa", "", 0);
	expect_error("key data ends too early");
	judge_bytes("ssh-rsa", " \r\n", 3);
	expect_error("key data ends too early");
	judge_bytes("ssh-foo", "", 0);
	expect_error("key data ends too early");
	judge_bytes("ssh-foo", "AAA", 3);
	expect_error("invalid base64");
	judge_bytes("", rsa_line + 8, strlen(rsa_line + 8));
	expect_listed(RSA_FP, KV_PART_KEY);
}

static void
key_too_long_for_its_memory_is_no_verdict(void **state)
{
	const char *text = rsa_line + 8;

	(void)state;
	configure_rsa("");
	memset(&d, 0xa5, sizeof(d));
	memset(&offered, 0xa5, sizeof(offered));
	kv_judge_offered(&j, span_of("ssh-rsa"), span_of(text), decoded,
	    rsa.blob.len - 1, NOW, &offered, &d);
	expect_error("too long");
	assert_int_equal(offered.key.type, KV_KEY_NONE);
	assert_int_equal(offered.ca.type, KV_KEY_NONE);
	kv_judge_offered(&j, span_of("ssh-rsa"), span_of(text), decoded,
	    rsa.blob.len, NOW, &offered, &d);
	expect_listed(RSA_FP, KV_PART_KEY);
	assert_int_equal(offered.key.type, KV_KEY_RSA);
}

/*
 * Judges a certificate of the listed key, with len bytes in all: zeros follow
 * the key.
 */
static void
judge_long_cert(size_t len)
{
	uint8_t *bytes = test_alloc(len);
	const char *text;

	testcert_init(&cert, &rsa, &clean);
	cert_build(&cert, &b);
	memset(bytes, 0, len);
	memcpy(bytes, b.p, cert.key_end);
	text = base64_of(bytes, len);
	judge_bytes(cert_name_of("ssh-rsa"), text, strlen(text));
}

/* With pages of 64 KiB, %k can have two million characters. */
static void
long_keys_are_judged_or_refused(void **state)
{
	(void)state;
	configure_rsa("OnError allow\n");
	judge_long_cert(100 * 1024);
	expect_listed(RSA_FP, KV_PART_KEY);
	assert_int_equal(d.action, KV_ACTION_DENY);
	judge_long_cert(256 * 1024);
	expect_listed(RSA_FP, KV_PART_KEY);
	judge_long_cert(256 * 1024 + 1);
	assert_int_equal(d.verdict, KV_VERDICT_ERROR);
	assert_int_equal(d.action, KV_ACTION_DENY);
	/* OnError decides about other errors. */
	judge_bytes("ssh-rsa", "AAA", 3);
	assert_int_equal(d.action, KV_ACTION_ALLOW);
}

/* A blob of an unknown type. Sets its fingerprint. */
static const char *
unknown_blob(void)
{
	uint8_t digest[KV_SHA256_BYTES];
	char *text = test_alloc(KV_FINGERPRINT_BYTES);

	b.len = 0;
	put_text(&b, "ssh-foo@example.com");
	put_text(&b, "some key");
	kv_fingerprint_digest_blob(b.p, b.len, digest);
	kv_fingerprint_format(digest, text);
	return text;
}

static void
unknown_type_is_unsupported(void **state)
{
	const char *fingerprint = unknown_blob();

	(void)state;
	configure_rsa("");
	judge_as("ssh-foo@example.com", &b);
	expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_ALLOW);
	assert_string_equal(d.key_type, "ssh-foo@example.com");
	assert_string_equal(d.fingerprint, fingerprint);
	configure_rsa("OnUnsupported deny\n");
	judge_as("ssh-foo@example.com", &b);
	expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_DENY);
	/* The name that sshd gives counts, not the one inside. */
	judge_as("ssh-bar", &clean.blob);
	expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_DENY);
	configure_rsa(
	    format("OnUnsupported deny\nAllowKey %s known\n", fingerprint));
	unknown_blob();
	judge_as("ssh-foo@example.com", &b);
	expect(KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	assert_string_equal(d.reason, "known");
}

static void
listed_key_under_an_unknown_type_is_listed(void **state)
{
	(void)state;
	configure_rsa("");
	judge_as("ssh-foo", &rsa.blob);
	expect_listed(RSA_FP, KV_PART_KEY);
	testcert_new(&b, &clean, &rsa);
	judge_as("ssh-foo-cert-v99@example.com", &b);
	expect_listed(RSA_FP, KV_PART_CA);
}

static void
unknown_type_with_a_broken_configuration_is_no_verdict(void **state)
{
	(void)state;
	unknown_blob();
	configure("Bogus\n");
	judge_as("ssh-foo@example.com", &b);
	expect_error("Bogus");
	assert_string_equal(d.key_type, "ssh-foo@example.com");
}

static void
long_type_names_are_cut(void **state)
{
	const size_t most = KV_KEYTYPE_NAME_BYTES - 1;
	const char *text;
	uint8_t type[200];

	(void)state;
	configure_rsa("");
	unknown_blob();
	text = base64_of(b.p, b.len);
	memset(type, 'x', sizeof(type));
	/* No NUL ends the type. */
	for (size_t len = 1; len < sizeof(type); len++) {
		kv_judge_offered(&j, (struct kv_span){ type, len },
		    span_of(text), decoded, sizeof(decoded), NOW, &offered, &d);
		expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_ALLOW);
		assert_string_equal(d.key_type,
		    format("%.*s", (int)(len < most ? len : most),
			(const char *)type));
		assert_contains(d.fingerprint, "SHA256:");
	}
}

static void
listed_outweighs_allowed(void **state)
{
	const char *ec_filter = filter_file("ec", &lists_ec);

	(void)state;
	configure_rsa(format("Filter %s\nAllowKey " RSA_FP "\n", ec_filter));
	judge_cert(&rsa, &ec);
	expect_listed(EC_FP, KV_PART_CA);
	judge_cert(&ec, &rsa);
	expect_listed(EC_FP, KV_PART_KEY);
	judge_cert(&rsa, &rsa);
	expect(KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	judge_cert(&rsa, &clean);
	expect(KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	assert_int_equal(d.part, KV_PART_KEY);
	judge_cert(&clean, &rsa);
	expect(KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	assert_int_equal(d.part, KV_PART_CA);
	assert_string_equal(d.fingerprint, RSA_FP);
}

static void
error_outweighs_allowed_and_unsupported(void **state)
{
	(void)state;
	configure_rsa("AllowKey " RSA_FP "\nOnError deny\n");
	b = rsa.blob;
	put_u8(&b, 0);
	judge_as("ssh-rsa", &b);
	expect_error("data after the end");
	/* An unknown type, with a key inside that cannot be judged. */
	configure(format("Filter %s\n", tmp_path("missing")));
	judge_as("ssh-foo", &clean.blob);
	expect_error("missing");
	/* So it does if both are refused. */
	configure(
	    format("Filter %s\nOnUnsupported deny\n", tmp_path("missing")));
	judge_as("ssh-foo", &clean.blob);
	expect_error("missing");
}

/* What is wrong with a key does not hide what is wrong with every key. */
static void
mistake_in_the_configuration_is_told_before_that_of_a_key(void **state)
{
	(void)state;
	configure("Bogus\n");
	judge_bytes("ssh-rsa", "", 0);
	expect_error("Bogus");
	/* Three zero bytes are not even the length of a name. */
	judge_bytes("ssh-rsa", "AAAA", 4);
	expect_error("Bogus");
	kv_judge_offered(&j, span_of("ssh-rsa"), span_of("!"), decoded,
	    sizeof(decoded), NOW, &offered, &d);
	expect_error("Bogus");
}

static void
unsupported_outweighs_allowed(void **state)
{
	(void)state;
	configure_rsa("AllowKey " RSA_FP "\nOnUnsupported deny\n");
	testcert_new(&b, &clean, &rsa);
	judge_as("ssh-foo", &b);
	expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_DENY);
}

static void
listed_outweighs_error(void **state)
{
	(void)state;
	configure(format("Filter %s\nFilter %s\nOnError allow\n",
	    tmp_path("missing"), filter_file("rsa.pkbf", &lists_rsa)));
	judge_cert(&clean, &rsa);
	expect_listed(RSA_FP, KV_PART_CA);
	judge_cert(&rsa, &clean);
	expect_listed(RSA_FP, KV_PART_KEY);
}

/* A listed key is let in with OnHit warn, whatever is not known of its CA. */
static void
with_on_hit_warn_a_listed_part_outweighs_an_error(void **state)
{
	(void)state;
	configure(format("Filter %s\nFilter %s\nOnHit warn\n",
	    tmp_path("missing"), filter_file("rsa.pkbf", &lists_rsa)));
	judge_cert(&rsa, &clean);
	expect(KV_VERDICT_LISTED, KV_ACTION_WARN);
	judge_cert(&clean, &rsa);
	expect(KV_VERDICT_LISTED, KV_ACTION_WARN);
}

/* What OnProbable lets in must not hide that the other part is refused. */
static void
an_error_outweighs_a_probable_hit_that_is_let_in(void **state)
{
	(void)state;
	configure(format("Filter %s\nFilter %s\nOnProbable warn\n",
	    tmp_path("missing"), filter_file("rsa.pkbf", &lists_rsa)));
	judge_cert(&rsa, &clean);
	expect_error("missing");
	judge_cert(&clean, &rsa);
	expect_error("missing");
}

static void
a_refused_type_outweighs_an_error_that_is_let_in(void **state)
{
	const char *missing = tmp_path("missing");

	(void)state;
	configure(
	    format("Filter %s\nOnError allow\nOnUnsupported deny\n", missing));
	judge_as("ssh-foo", &clean.blob);
	expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_DENY);
	configure(format("Filter %s\nOnError allow\nOnUnsupported deny\n"
			 "OnHit warn\n",
	    missing));
	judge_as("ssh-foo", &clean.blob);
	expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_DENY);
}

static void
plain_keys_are_judged(void **state)
{
	struct kv_sshkey key;

	(void)state;
	configure_rsa("AllowKey " EC_FP "\n");
	assert_err(kv_sshkey_parse(rsa.blob.p, rsa.blob.len, &key), KV_OK);
	kv_judge_pubkey(&j, &key.key, NOW, &d);
	expect_listed(RSA_FP, KV_PART_KEY);
	kv_judge_pubkey(&j, &key.ca, NOW, &d); /* none */
	expect(KV_VERDICT_ERROR, KV_ACTION_DENY);
}

static void
spkis_are_judged(void **state)
{
	uint8_t spki[KV_SPKI_MAX_BYTES];
	struct kv_sshkey key;
	size_t len;

	(void)state;
	configure_rsa("");
	assert_err(kv_sshkey_parse(rsa.blob.p, rsa.blob.len, &key), KV_OK);
	assert_err(kv_spki_encode(&key.key, 0, spki, sizeof(spki), &len),
	    KV_OK);
	kv_judge_spki(&j, spki, len, NULL, &d);
	expect_listed("", KV_PART_KEY);
	assert_string_equal(d.key_type, "");
	kv_judge_spki(&j, clean.spki[0].p, clean.spki[0].len, NULL, &d);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	configure("Bogus\n");
	kv_judge_spki(&j, spki, len, NULL, &d);
	expect_error("Bogus");
	configure(format("Filter %s\n", tmp_path("missing")));
	kv_judge_spki(&j, spki, len, NULL, &d);
	expect_error("missing");
}

/* An opener that accepts any file, and counts its calls. */
static enum kv_err
open_any(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	++*(int *)arg;
	*fdp = open(path, O_RDONLY | O_CLOEXEC);
	if (*fdp != -1)
		return KV_OK;
	snprintf(why, KV_TRUSTED_WHY_BYTES, "cannot: %s", strerror(errno));
	return KV_ERR_SYSTEM;
}

static void
command_may_open_files_by_its_own_rules(void **state)
{
	const char *filters[] = {
		filter_file("one", &lists_rsa),
		filter_file("two", &lists_none),
	};
	const char *path = tmp_text("conf", "OnHit warn\nFilter /none\n");
	int asked = 0;

	(void)state;
	assert_return_code(chmod(filters[0], 0666), errno);
	kv_judge_open_with(&j, path, &(struct kv_paths){ filters, 2, NULL, 0 },
	    open_any, &asked);
	assert_int_equal(asked, 3);
	judge(&rsa);
	expect(KV_VERDICT_LISTED, KV_ACTION_WARN);
	assert_string_equal(d.filter->path, filters[0]);
	kv_judge_close(&j);
	/* Without a configuration the defaults hold. */
	kv_judge_open_with(&j, NULL, &(struct kv_paths){ filters, 1, NULL, 0 },
	    open_any, &asked);
	assert_int_equal(j.config.on_unsupported, KV_ACTION_ALLOW);
	judge(&rsa);
	expect_listed(RSA_FP, KV_PART_KEY);
	judge(&clean);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

static void
command_without_filters_has_no_verdict(void **state)
{
	const char *filters[KV_CONFIG_MAX_FILTERS + 1] = { "/none" };
	const char *path = tmp_text("conf", "Filter /nonexistent\n");
	int asked = 0;

	(void)state;
	kv_judge_open_with(&j, NULL, &(struct kv_paths){ filters, 0, NULL, 0 },
	    open_any, &asked);
	judge(&clean);
	expect_error("no filter");
	kv_judge_spki(&j, clean.spki[0].p, clean.spki[0].len, NULL, &d);
	expect_error("no filter");
	kv_judge_close(&j);
	kv_judge_open_with(&j, NULL,
	    &(struct kv_paths){ filters, COUNT(filters), NULL, 0 }, open_any,
	    &asked);
	judge(&clean);
	expect_error("too many filters");
	kv_judge_close(&j);
	kv_judge_open_with(&j, path, NULL, open_any, &asked);
	judge(&clean);
	expect_error("cannot: No such file or directory");
	kv_judge_close(&j);
	kv_judge_open_with(&j, "/nonexistent", NULL, open_any, &asked);
	judge(&clean);
	expect_error("cannot: No such file or directory");
}

/* An opener that gives the same file each time, and notes the paths. */
struct opened {
	const char *list; /* NULL: a descriptor that is not open */
	int calls;
	char last[2 * PATH_MAX];
};

static enum kv_err
open_noted(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	struct opened *o = arg;

	o->calls++;
	snprintf(o->last, sizeof(o->last), "%s", path);
	why[0] = '\0';
	*fdp = o->list != NULL ? open(o->list, O_RDONLY | O_CLOEXEC) : 999;
	return *fdp != -1 ? KV_OK : KV_ERR_SYSTEM;
}

static void
files_that_cannot_be_read_are_told_in_the_words_of_the_system(void **state)
{
	const char *path = "/file";
	struct opened o = { .list = NULL };

	(void)state;
	kv_judge_open_with(&j, NULL, &(struct kv_paths){ &path, 1, NULL, 0 },
	    open_noted, &o);
	judge(&clean);
	expect_error("/file: Bad file descriptor");
	kv_judge_close(&j);
	kv_judge_open_with(&j, NULL, &(struct kv_paths){ NULL, 0, &path, 1 },
	    open_noted, &o);
	judge(&clean);
	expect_error("/file: Bad file descriptor");
}

static enum kv_err
failing_lookup(const struct kv_filter *f, const struct kv_pkbf_hash *h,
    bool *listedp)
{
	(void)f, (void)h;
	*listedp = false;
	errno = EIO;
	return KV_ERR_SYSTEM;
}

#define ZERO_FP "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static void
zero_digest(const struct kv_pubkey *k, uint8_t digest[static KV_SHA256_BYTES])
{
	(void)k;
	memset(digest, 0, KV_SHA256_BYTES);
}

static void
command_may_look_up_in_its_own_way(void **state)
{
	(void)state;
	configure_rsa("");
	j.filter[0].lookup = failing_lookup;
	judge(&clean);
	expect_error(strerror(EIO));
	judge(&rsa);
	expect_error(strerror(EIO));
	/* So may it make digests. */
	configure_rsa("");
	j.digest = zero_digest;
	judge(&rsa);
	expect_listed(ZERO_FP, KV_PART_KEY);
}

static void
as_many_lists_as_there_are_bits(void **state)
{
	const char *lists[KV_CONFIG_MAX_BLOCKLISTS + 1];
	struct opened o = { .list = tmp_text("list", RECORD) };

	(void)state;
	for (size_t i = 0; i < COUNT(lists); i++)
		lists[i] = o.list;
	kv_judge_open_with(&j, NULL,
	    &(struct kv_paths){ NULL, 0, lists, COUNT(lists) - 1 }, open_noted,
	    &o);
	assert_string_equal(j.broken, "");
	assert_int_equal(j.n_lists, KV_CONFIG_MAX_BLOCKLISTS);
	kv_judge_close(&j);
	o.calls = 0;
	kv_judge_open_with(&j, NULL,
	    &(struct kv_paths){ NULL, 0, lists, COUNT(lists) }, open_noted, &o);
	assert_int_equal(o.calls, 0);
	judge(&clean);
	expect_error("too many filters or lists");
}

/* The names of the sources stand beside the list, or nowhere. */
static void
sources_of_a_list_are_opened_by_their_whole_name(void **state)
{
	const size_t most = PATH_MAX - 1 - strlen(KV_SOURCES_SUFFIX);
	struct opened o = { .list = tmp_text("list", RECORD) };
	char *path = test_alloc(PATH_MAX);
	const char *paths[] = { path };
	const struct kv_paths lists = { NULL, 0, paths, 1 };

	(void)state;
	memset(path, 'x', most);
	kv_judge_open_with(&j, NULL, &lists, open_noted, &o);
	assert_int_equal(o.calls, 2);
	assert_string_equal(o.last, format("%s" KV_SOURCES_SUFFIX, path));
	kv_judge_close(&j);
	path[most] = 'x';
	o.calls = 0;
	kv_judge_open_with(&j, NULL, &lists, open_noted, &o);
	assert_int_equal(o.calls, 1);
	kv_judge_close(&j);
	/* Those of a list that is not used are not opened. */
	path[1] = '\0';
	o = (struct opened){ .list = tmp_text("bad", "no list") };
	kv_judge_open_with(&j, NULL, &lists, open_noted, &o);
	assert_int_equal(o.calls, 1);
	judge(&clean);
	expect_error(kv_strerror(KV_ERR_LIST_SIZE));
}

static void
standard_input_stays_open(void **state)
{
	const char *path = tmp_text("list", RECORD);

	(void)state;
	configure(
	    format("Filter %s\nBlocklist %s\n", tmp_path("missing"), path));
	kv_judge_close(&j);
	configure(format("Blocklist %s\n", tmp_path("missing")));
	judge(&clean);
	expect_error("missing: No such file or directory");
	kv_judge_close(&j);
	assert_return_code(fcntl(STDIN_FILENO, F_GETFD), errno);
}

static void
descriptors_are_closed_again(void **state)
{
	size_t before;

	(void)state;
	kv_judge_close(&j);
	before = count_descriptors();
	configure_rsa(format("Filter %s\nFilter %s\n",
	    tmp_text("broken", "not a filter of any kind"),
	    filter_file("ec", &lists_ec)));
	assert_int_equal(count_descriptors(), before + 2);
	kv_judge_close(&j);
	assert_int_equal(count_descriptors(), before);
	kv_judge_close(&j);
	configure_rsa("Bogus\n");
	assert_int_equal(count_descriptors(), before);
}

static void
names_are_those_of_the_log(void **state)
{
	(void)state;
	assert_string_equal(kv_verdict_name(KV_VERDICT_ERROR), "error");
	assert_string_equal(kv_verdict_name(KV_VERDICT_LISTED), "listed");
	assert_string_equal(kv_verdict_name(KV_VERDICT_ALLOWED), "allowed");
	assert_string_equal(kv_verdict_name(KV_VERDICT_UNSUPPORTED),
	    "unsupported");
	assert_string_equal(kv_verdict_name(KV_VERDICT_CLEAN), "clean");
	assert_string_equal(kv_action_name(KV_ACTION_DENY), "deny");
	assert_string_equal(kv_action_name(KV_ACTION_WARN), "warn");
	assert_string_equal(kv_action_name(KV_ACTION_ALLOW), "allow");
	assert_string_equal(kv_part_name(KV_PART_KEY), "key");
	assert_string_equal(kv_part_name(KV_PART_CA), "ca");
}

/* A mutant of a listed key has a verdict if it parses, else an error. */
static void
judge_mutant(const uint8_t *p, size_t len, void *arg)
{
	struct kv_sshkey key;
	char text[2048];
	bool good = kv_sshkey_parse(p, len, &key) == KV_OK;

	EVP_EncodeBlock((unsigned char *)text, p, (int)len);
	kv_judge_offered(&j, span_of("ecdsa-sha2-nistp256"), span_of(text),
	    decoded, sizeof(decoded), NOW, &offered, &d);
	assert_int_equal(offered.key.type, key.key.type);
	assert_true(key.key.type == KV_KEY_NONE ||
	    kv_pubkey_equal(&offered.key, &key.key));
	if (good && key.key.type == KV_KEY_ECDSA_P256)
		assert_int_not_equal(d.verdict, KV_VERDICT_ERROR);
	else if (key.key.type == KV_KEY_NONE)
		assert_int_equal(d.verdict, KV_VERDICT_ERROR);
	assert_int_not_equal(d.verdict, KV_VERDICT_UNSUPPORTED);
	*(size_t *)arg += d.verdict == KV_VERDICT_LISTED;
}

static void
mutants_of_a_known_type_are_never_unsupported(void **state)
{
	size_t listed = 0;

	(void)state;
	configure(format("Filter %s\n", filter_file("ec", &lists_ec)));
	for_each_mutant(ec.blob.p, ec.blob.len, judge_mutant, &listed);
	/* The mutants that zeroed a zero byte. */
	assert_between(listed, 1, 20);
}

/* The filter is so small that it lists half of all keys by chance. */
static void
the_oracle_agrees_on_what_is_listed(void **state)
{
	const char *keys = tmp_path("keys"), *want = tmp_path("want");
	FILE *lines = fopen(keys, "w"), *expected = fopen(want, "w");
	size_t len, listed = 0;

	(void)state;
	output_of("head -c 64 /dev/urandom > %s/bits", tmp_dir());
	output_of(ORACLE "create %s/f --hashes 1 --length 9", tmp_dir());
	output_of("{ head -c 24 %s/f; cat %s/bits; } > %s/g", tmp_dir(),
	    tmp_dir(), tmp_dir());
	configure(format("Filter %s/g\n", tmp_dir()));
	for (int i = 0; i < 400; i++) {
		testkey_new(&other, (enum kv_keytype)(KV_KEY_RSA + i % 10));
		fprintf(lines, "%s\n", testkey_line(&other));
		judge(&other);
		fprintf(expected, "%s\n", kv_verdict_name(d.verdict));
		listed += d.verdict == KV_VERDICT_LISTED;
	}
	fclose(lines);
	fclose(expected);
	assert_lines(output_of(ORACLE "contains %s/g %s | cut -d ' ' -f 1",
			 tmp_dir(), keys),
	    (const char *)read_whole(want, &len));
	assert_between(listed, 50, 350);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(clean_keys_pass),
		TEST(listed_key_is_denied),
		TEST(on_hit_warn_lets_a_listed_key_in),
		TEST(zero_is_a_refusal),
		TEST(without_memory_every_key_is_an_error),
		TEST(odd_encodings_of_a_listed_key_are_listed),
		TEST(listed_point_as_a_security_key_is_listed),
		TEST(composite_key_is_listed_for_any_of_its_parts),
		TEST(composite_key_is_listed_under_both_of_its_names),
		TEST(allowed_key_is_not_vetoed),
		TEST(allowed_key_is_vetoed_again_after_its_date),
		TEST(any_filter_counts),
		TEST(all_64_filters_have_a_bit),
		TEST(missing_filter_is_no_verdict),
		TEST(damaged_filter_is_no_verdict),
		TEST(insecure_filter_is_no_verdict),
		TEST(filter_that_shrinks_later_is_no_verdict),
		TEST(filter_that_is_replaced_later_does_not_matter),
		TEST(hit_counts_beside_a_broken_filter),
		TEST(allowed_key_passes_a_broken_filter),
		TEST(mistake_in_the_configuration_is_no_verdict),
		TEST(unreadable_configuration_is_no_verdict_and_denied),
		TEST(both_keys_of_a_certificate_are_judged),
		TEST(malformed_certificate_is_judged_by_its_whole_keys),
		TEST(known_type_that_does_not_parse_is_no_verdict),
		TEST(type_other_than_inside_is_no_verdict),
		TEST(text_that_is_no_base64_is_no_verdict),
		TEST(key_too_long_for_its_memory_is_no_verdict),
		TEST(long_keys_are_judged_or_refused),
		TEST(unknown_type_is_unsupported),
		TEST(listed_key_under_an_unknown_type_is_listed),
		TEST(unknown_type_with_a_broken_configuration_is_no_verdict),
		TEST(long_type_names_are_cut),
		TEST(listed_outweighs_allowed),
		TEST(error_outweighs_allowed_and_unsupported),
		TEST(mistake_in_the_configuration_is_told_before_that_of_a_key),
		TEST(unsupported_outweighs_allowed),
		TEST(listed_outweighs_error),
		TEST(with_on_hit_warn_a_listed_part_outweighs_an_error),
		TEST(an_error_outweighs_a_probable_hit_that_is_let_in),
		TEST(a_refused_type_outweighs_an_error_that_is_let_in),
		TEST(plain_keys_are_judged),
		TEST(spkis_are_judged),
		TEST(command_may_open_files_by_its_own_rules),
		TEST(command_without_filters_has_no_verdict),
		TEST(
		    files_that_cannot_be_read_are_told_in_the_words_of_the_system),
		TEST(command_may_look_up_in_its_own_way),
		TEST(as_many_lists_as_there_are_bits),
		TEST(sources_of_a_list_are_opened_by_their_whole_name),
		TEST(standard_input_stays_open),
		TEST(descriptors_are_closed_again),
		TEST(names_are_those_of_the_log),
		TEST(mutants_of_a_known_type_are_never_unsupported),
		TEST(the_oracle_agrees_on_what_is_listed),
	};

	return cmocka_run_group_tests(tests, make_filters, free_filters);
}
