/* SPDX-License-Identifier: ISC */
/*
 * The oracle makes the filters once: one lists the RSA example key, one lists
 * the EC one, and one lists nothing.
 */
#include "testjudge.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>
#include <syslog.h>

#include <openssl/evp.h>

#include "kv_spki.h"

/* An exact list with one hash. */
#define RECORD "0123456789abcdef"

struct filter_bytes {
	uint8_t *p;
	size_t len;
};

static struct filter_bytes lists_rsa, lists_ec, lists_none;

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

static void
make_filters(void)
{
	make_filter(&lists_rsa, rsa_line);
	make_filter(&lists_ec, ec_line);
	make_filter(&lists_none, "# nothing\n");
	example_key(&rsa, KV_KEY_RSA, rsa_line);
	example_key(&ec, KV_KEY_ECDSA_P256, ec_line);
	testkey_new(&clean, KV_KEY_ED25519);
	testkey_new(&other, KV_KEY_ECDSA_P384);
}

static void
free_filters(void)
{
	free(lists_rsa.p);
	free(lists_ec.p);
	free(lists_none.p);
}

static const char *
filter_file(const char *name, const struct filter_bytes *f)
{
	return tmp_file(name, f->p, f->len);
}

/* Opens a judge with the filter of the RSA key, then this configuration. */
static void
configure_rsa(const char *text)
{
	configure("Filter %s\n%s", filter_file("rsa.pkbf", &lists_rsa), text);
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
error_of(const struct testkey *k, const char *words)
{
	judge(k);
	expect_error(words);
}

static void
error_as(const char *type, const struct blob *blob, const char *words)
{
	judge_as(type, blob);
	expect_error(words);
}

static void
error_in(const char *type, const char *base64, const char *words)
{
	judge_bytes(type, base64, strlen(base64));
	expect_error(words);
}

static void
rsa_is_listed(void)
{
	judge(&rsa);
	expect_listed(RSA_FP, KV_PART_KEY);
}

/* The RSA key is found in this blob of a key of that type. */
static void
rsa_as(const char *type, const struct blob *blob, enum kv_part part)
{
	judge_as(type, blob);
	expect_listed(RSA_FP, part);
}

static void
listed_cert(const struct testkey *k, const struct testkey *ca,
    const char *fingerprint, enum kv_part part)
{
	judge_cert(k, ca);
	expect_listed(fingerprint, part);
}

TEST_CASE(clean_keys_pass)
{
	configure_rsa("");
	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&other, (enum kv_keytype)t);
		expect_of(&other, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
		assert_string_equal(d.key_type,
		    kv_keytype_name((enum kv_keytype)t));
		/* The fingerprint is for a debug log. */
		assert_contains(d.fingerprint, "SHA256:");
		assert_string_equal(d.reason, "");
		assert_null(d.filter);
		assert_true(d.hits == 0);
	}
	expect_of(&ec, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	assert_string_equal(d.fingerprint, EC_FP);
}

TEST_CASE(listed_key_is_denied)
{
	configure_rsa("");
	rsa_is_listed();
	assert_string_equal(d.key_type, "ssh-rsa");
	assert_string_equal(d.filter->path, tmp_path("rsa.pkbf"));
	assert_int_equal(d.filter->pkbf.header.revision, 7);
	assert_true(d.hits == 1);
	configure("Filter %s\n", filter_file("ec", &lists_ec));
	judge(&ec);
	expect_listed(EC_FP, KV_PART_KEY);
	expect_of(&rsa, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

TEST_CASE(on_hit_warn_lets_a_listed_key_in)
{
	configure_rsa("OnHit warn\n");
	expect_of(&rsa, KV_VERDICT_LISTED, KV_ACTION_WARN);
	assert_non_null(d.filter);
	expect_of(&clean, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

TEST_CASE(zero_is_a_refusal)
{
	const struct kv_decision zero = { 0 };
	const struct kv_judge closed = { 0 };
	struct kv_sshkey key;

	assert_int_equal(zero.verdict, KV_VERDICT_ERROR);
	assert_int_equal(zero.action, KV_ACTION_DENY);
	assert_ok(kv_sshkey_parse(clean.blob.p, clean.blob.len, &key));
	kv_judge_pubkey(&closed, &key.key, NOW, &d);
	expect(KV_VERDICT_ERROR, KV_ACTION_DENY);
}

TEST_CASE(without_memory_every_key_is_an_error)
{
	const char *text = format("Filter %s\n",
	    filter_file("rsa.pkbf", &lists_rsa));
	const char *config = tmp_text("keyveto.conf", text);

	for (int n = 1; n < 3; n++) {
		kv_judge_close(&j);
		fail_call("calloc", n, ENOMEM);
		kv_judge_open(&j, config, geteuid());
		assert_true(call_has_failed());
		error_of(&clean, "out of memory");
		error_of(&rsa, "out of memory");
		assert_int_equal(d.action, KV_ACTION_DENY);
	}
}

TEST_CASE(odd_encodings_of_a_listed_key_are_listed)
{
	static const uint8_t e[] = { 1, 0, 1 };

	configure_rsa("");
	rsa_as("rsa-sha2-512", &rsa.blob, KV_PART_KEY);
	/* e is 0x010001, n has 257 bytes with its zero byte. */
	b.len = 0;
	put_string(&b, "rSA\0", 4);
	put_padded(&b, e, 3, 50);
	put_padded(&b, rsa.fields.p + 4 + 3 + 4, 257, 2049 - 257);
	rsa_as("ssh-rsa", &b, KV_PART_KEY);
	judge_bytes("ssh-rsa", format("%s\r\n", rsa_line + 8),
	    strlen(rsa_line + 8) + 2);
	expect_listed(RSA_FP, KV_PART_KEY);
}

TEST_CASE(listed_point_as_a_security_key_is_listed)
{
	configure("Filter %s\n", filter_file("ec", &lists_ec));
	testkey_sk(&other, &ec, "ssh:");
	expect_of(&other, KV_VERDICT_LISTED, KV_ACTION_DENY);
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
	configure("Filter %s\n", tmp_file("one", p, lists_none.len));
	judge(k);
	assert_int_not_equal(d.verdict, KV_VERDICT_ERROR);
	return d.verdict == KV_VERDICT_LISTED;
}

TEST_CASE(composite_key_is_listed_for_any_of_its_parts)
{
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
TEST_CASE(composite_key_is_listed_under_both_of_its_names)
{
	static const char *const names[] = { "composite", "composite-cert",
		"plain-cert" };
	struct filter_bytes lists_composite;
	const char *filter;

	make_filter(&lists_composite, line_of_openssh_10_6("composite"));
	filter = format("Filter %s\n",
	    filter_file("composite.pkbf", &lists_composite));
	configure("%s", filter);
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
	expect_as("ssh-mldsa44-ed25519@openssh.com", &other.blob,
	    KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_string_equal(d.key_type, "ssh-mldsa44-ed25519@openssh.com");
	assert_string_not_equal(d.fingerprint, COMPOSITE_FINGERPRINT);
	/* No sshd has both names. */
	expect_as("ssh-mldsa44-ed25519", &other.blob, KV_VERDICT_LISTED,
	    KV_ACTION_DENY);
	/*
	 * AllowKey accepts the fingerprint that ssh-keygen -l prints for the
	 * file.
	 */
	configure("%sAllowKey %s\n", filter, COMPOSITE_FINGERPRINT);
	judge_line(line_of_openssh_10_6("composite"));
	expect(KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	expect_as("ssh-mldsa44-ed25519@openssh.com", &other.blob,
	    KV_VERDICT_LISTED, KV_ACTION_DENY);
	free(lists_composite.p);
}

TEST_CASE(allowed_key_is_not_vetoed)
{
	configure_rsa("AllowKey " RSA_FP " until=2023-11-14 being replaced\n");
	expect_of(&rsa, KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	assert_string_equal(d.reason, "being replaced");
	assert_string_equal(d.fingerprint, RSA_FP);
	/* AllowKey does not change the verdict on a clean key. */
	configure_rsa("AllowKey " EC_FP "\n");
	expect_of(&ec, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	rsa_is_listed();
}

TEST_CASE(allowed_key_is_vetoed_again_after_its_date)
{
	configure_rsa("AllowKey " RSA_FP " until=2023-11-13 too late\n");
	rsa_is_listed();
	configure_rsa("OnHit warn\nAllowKey " RSA_FP " until=2023-11-13\n");
	expect_of(&rsa, KV_VERDICT_LISTED, KV_ACTION_WARN);
}

TEST_CASE(any_filter_counts)
{
	const char *none = filter_file("none.pkbf", &lists_none);
	const char *two = filter_file("ec.pkbf", &lists_ec);
	const char *one = filter_file("rsa.pkbf", &lists_rsa);

	configure("Filter %s\nFilter %s\nFilter %s\nFilter %s\n", none, one,
	    two, one);
	rsa_is_listed();
	assert_true(d.hits == 0xa);
	assert_string_equal(d.filter->path, one);
	judge(&ec);
	expect_listed(EC_FP, KV_PART_KEY);
	assert_true(d.hits == 4);
	assert_string_equal(d.filter->path, two);
	expect_of(&clean, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

TEST_CASE(all_64_filters_have_a_bit)
{
	const char *path = filter_file("rsa.pkbf", &lists_rsa);
	char *text = format("Filter %s\n", filter_file("none", &lists_none));

	for (int i = 1; i < KV_CONFIG_MAX_FILTERS; i++)
		text = format("%sFilter %s\n", text, path);
	configure("%s", text);
	judge(&rsa);
	assert_true(d.hits == UINT64_MAX - 1);
	assert_ptr_equal(d.filter, &j.filter[1]);
}

/* If a filter cannot be used, OnError decides about each key. */
static void
broken_filter(const char *path, const char *words)
{
	configure("Filter %s\n", path);
	error_of(&clean, words);
	assert_int_equal(d.action, KV_ACTION_DENY);
	assert_contains(d.reason, path);
	assert_string_equal(d.key_type, "ssh-ed25519");
	assert_contains(d.fingerprint, "SHA256:");
	configure("OnError allow\nFilter %s\n", path);
	error_of(&clean, words);
	assert_int_equal(d.action, KV_ACTION_ALLOW);
}

TEST_CASE(missing_filter_is_no_verdict)
{
	broken_filter(tmp_path("none"), "No such file or directory");
	broken_filter(tmp_dir(), "not a regular file");
}

TEST_CASE(damaged_filter_is_no_verdict)
{
	const char *path = filter_file("f", &lists_rsa);

	assert_done(truncate(path, (off_t)lists_rsa.len - 1));
	broken_filter(path, "file size does not match the filter header");
	assert_done(truncate(path, 0));
	broken_filter(path, "file size does not match the filter header");
	broken_filter(tmp_text("text", "not a filter, but as long as one"),
	    "not a pkbfv1 filter");
}

TEST_CASE(insecure_filter_is_no_verdict)
{
	const char *path = filter_file("f", &lists_rsa);

	assert_done(chmod(path, 0666));
	broken_filter(path, "writable by group or others");
	assert_done(chmod(path, 0664));
	broken_filter(path, "writable by group or others");
}

TEST_CASE(filter_that_shrinks_later_is_no_verdict)
{
	configure_rsa("");
	assert_done(truncate(tmp_path("rsa.pkbf"), 24));
	error_of(&clean, tmp_path("rsa.pkbf: file size does not match"));
	error_of(&rsa, "file size does not match");
}

/* The open file is used, even if its name belongs to another file. */
TEST_CASE(filter_that_is_replaced_later_does_not_matter)
{
	configure_rsa("");
	assert_done(
	    rename(filter_file("new", &lists_none), tmp_path("rsa.pkbf")));
	rsa_is_listed();
}

TEST_CASE(hit_counts_beside_a_broken_filter)
{
	const char *missing = tmp_path("missing");
	const char *good = filter_file("good", &lists_rsa);

	configure("Filter %s\nFilter %s\n", missing, good);
	rsa_is_listed();
	assert_true(d.hits == 2);
	assert_string_equal(d.filter->path, good);
	error_of(&clean, missing);
	configure("Filter %s\nFilter %s\nOnError allow\n", good, missing);
	rsa_is_listed();
	error_of(&clean, missing);
}

TEST_CASE(allowed_key_passes_a_broken_filter)
{
	configure("Filter %s\nAllowKey " RSA_FP " why\n", tmp_path("missing"));
	expect_of(&rsa, KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	assert_string_equal(d.reason, "why");
	error_of(&ec, "missing");
}

TEST_CASE(mistake_in_the_configuration_is_no_verdict)
{
	configure_rsa("Bogus yes\n");
	error_of(&clean, tmp_path("keyveto.conf:2: unknown keyword \"Bogus\""));
	assert_int_equal(d.action, KV_ACTION_DENY);
	assert_contains(d.fingerprint, "SHA256:");
	error_of(&rsa, "Bogus");
	/* OnError counts before and after the mistake. */
	configure_rsa("Bogus yes\nOnError allow\n");
	error_of(&clean, "keyveto.conf:2: ");
	assert_int_equal(d.action, KV_ACTION_ALLOW);
}

TEST_CASE(unreadable_configuration_is_no_verdict_and_denied)
{
	const char *path;

	kv_judge_open(&j, tmp_path("none.conf"), geteuid());
	error_of(&clean, tmp_path("none.conf: No such file or directory"));
	assert_int_equal(d.action, KV_ACTION_DENY);
	/* The default facility is set anyway. */
	assert_int_equal(j.config.syslog_facility, LOG_AUTHPRIV);
	kv_judge_close(&j);

	kv_judge_open(&j, tmp_dir(), geteuid());
	error_of(&clean, "not a regular file");
	kv_judge_close(&j);

	kv_judge_open(&j, "keyveto.conf", geteuid());
	error_of(&clean, "not an absolute path");
	kv_judge_close(&j);

	/* A file that is not trusted does not count, not even its OnError. */
	path = tmp_text("bad.conf", "OnError allow\n");
	assert_done(chmod(path, 0666));
	kv_judge_open(&j, path, geteuid());
	error_of(&clean, "writable by group or others");
	assert_int_equal(d.action, KV_ACTION_DENY);
}

TEST_CASE(both_keys_of_a_certificate_are_judged)
{
	configure_rsa("");
	judge_cert(&clean, &ec);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	listed_cert(&rsa, &ec, RSA_FP, KV_PART_KEY);
	assert_string_equal(d.key_type, "ssh-rsa");
	listed_cert(&ec, &rsa, RSA_FP, KV_PART_CA);
	assert_string_equal(d.key_type, "ssh-rsa");
	listed_cert(&rsa, &rsa, RSA_FP, KV_PART_KEY);
}

TEST_CASE(malformed_certificate_is_judged_by_its_whole_keys)
{
	const char *name = cert_name_of("ssh-rsa");

	configure_rsa("OnError allow\n");
	testcert_init(&cert, &rsa, &clean);
	cert.kind = 3;
	cert_build(&cert, &b);
	rsa_as(name, &b, KV_PART_KEY);
	b.len = cert.key_end;
	rsa_as(name, &b, KV_PART_KEY);
	b.len--;
	error_as(name, &b, "key data ends too early");

	testcert_init(&cert, &clean, &rsa);
	cert_build(&cert, &b);
	put_u8(&b, 0);
	rsa_as(cert_name_of("ssh-ed25519"), &b, KV_PART_CA);
	b.len = cert.ca_end;
	rsa_as(cert_name_of("ssh-ed25519"), &b, KV_PART_CA);
	b.len--;
	error_as(cert_name_of("ssh-ed25519"), &b, "key data ends too early");
}

TEST_CASE(known_type_that_does_not_parse_is_no_verdict)
{
	configure_rsa("");
	b.len = 0;
	put_text(&b, "ssh-foo");
	put_text(&b, "x");
	error_as("ssh-ed25519", &b, "unknown key type");
	assert_string_equal(d.key_type, "ssh-ed25519");
	b = clean.blob;
	b.len--;
	error_as("ssh-ed25519", &b, "key data ends too early");
	b.len++;
	put_u8(&b, 0);
	error_as("ssh-ed25519", &b, "data after the end of the key");
}

TEST_CASE(type_other_than_inside_is_no_verdict)
{
	configure_rsa("");
	error_as("ssh-rsa", &clean.blob,
	    "key type differs from the type inside the key");
	error_as("ssh-ed25519-cert-v01@openssh.com", &clean.blob,
	    "key type differs");
	error_as("ecdsa-sha2-nistp256", &other.blob, "key type differs");
	/* But a listed key inside is found. */
	rsa_as("ssh-ed25519", &rsa.blob, KV_PART_KEY);
	rsa_as("ssh-rsa-cert-v01@openssh.com", &rsa.blob, KV_PART_KEY);
}

TEST_CASE(text_that_is_no_base64_is_no_verdict)
{
	configure_rsa("");
	error_in("ssh-rsa", "AAA", "invalid base64");
	error_in("ssh-rsa", "AA-_", "invalid base64");
	error_in("ssh-rsa", "", "key data ends too early");
	error_in("ssh-rsa", " \r\n", "key data ends too early");
	error_in("ssh-foo", "", "key data ends too early");
	error_in("ssh-foo", "AAA", "invalid base64");
	judge_bytes("", rsa_line + 8, strlen(rsa_line + 8));
	expect_listed(RSA_FP, KV_PART_KEY);
}

TEST_CASE(key_too_long_for_its_memory_is_no_verdict)
{
	const char *text = rsa_line + 8;

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
TEST_CASE(long_keys_are_judged_or_refused)
{
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

TEST_CASE(unknown_type_is_unsupported)
{
	const char *fingerprint = unknown_blob();

	configure_rsa("");
	expect_as("ssh-foo@example.com", &b, KV_VERDICT_UNSUPPORTED,
	    KV_ACTION_ALLOW);
	assert_string_equal(d.key_type, "ssh-foo@example.com");
	assert_string_equal(d.fingerprint, fingerprint);
	configure_rsa("OnUnsupported deny\n");
	expect_as("ssh-foo@example.com", &b, KV_VERDICT_UNSUPPORTED,
	    KV_ACTION_DENY);
	/* The name that sshd gives counts, not the one inside. */
	expect_as("ssh-bar", &clean.blob, KV_VERDICT_UNSUPPORTED,
	    KV_ACTION_DENY);
	configure_rsa(
	    format("OnUnsupported deny\nAllowKey %s known\n", fingerprint));
	unknown_blob();
	expect_as("ssh-foo@example.com", &b, KV_VERDICT_ALLOWED,
	    KV_ACTION_ALLOW);
	assert_string_equal(d.reason, "known");
}

TEST_CASE(listed_key_under_an_unknown_type_is_listed)
{
	configure_rsa("");
	rsa_as("ssh-foo", &rsa.blob, KV_PART_KEY);
	testcert_new(&b, &clean, &rsa);
	rsa_as("ssh-foo-cert-v99@example.com", &b, KV_PART_CA);
}

TEST_CASE(unknown_type_with_a_broken_configuration_is_no_verdict)
{
	unknown_blob();
	configure("Bogus\n");
	error_as("ssh-foo@example.com", &b, "Bogus");
	assert_string_equal(d.key_type, "ssh-foo@example.com");
}

TEST_CASE(long_type_names_are_cut)
{
	const size_t most = KV_KEYTYPE_NAME_BYTES - 1;
	const char *text;
	uint8_t type[200];

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

TEST_CASE(listed_outweighs_allowed)
{
	const char *ec_filter = filter_file("ec", &lists_ec);

	configure_rsa(format("Filter %s\nAllowKey " RSA_FP "\n", ec_filter));
	listed_cert(&rsa, &ec, EC_FP, KV_PART_CA);
	listed_cert(&ec, &rsa, EC_FP, KV_PART_KEY);
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

TEST_CASE(error_outweighs_allowed_and_unsupported)
{
	configure_rsa("AllowKey " RSA_FP "\nOnError deny\n");
	b = rsa.blob;
	put_u8(&b, 0);
	error_as("ssh-rsa", &b, "data after the end");
	/* An unknown type, with a key inside that cannot be judged. */
	configure("Filter %s\n", tmp_path("missing"));
	error_as("ssh-foo", &clean.blob, "missing");
	/* So it does if both are refused. */
	configure("Filter %s\nOnUnsupported deny\n", tmp_path("missing"));
	error_as("ssh-foo", &clean.blob, "missing");
}

/* What is wrong with a key does not hide what is wrong with every key. */
TEST_CASE(mistake_in_the_configuration_is_told_before_that_of_a_key)
{
	configure("Bogus\n");
	error_in("ssh-rsa", "", "Bogus");
	/* Three zero bytes are not even the length of a name. */
	error_in("ssh-rsa", "AAAA", "Bogus");
	kv_judge_offered(&j, span_of("ssh-rsa"), span_of("!"), decoded,
	    sizeof(decoded), NOW, &offered, &d);
	expect_error("Bogus");
}

TEST_CASE(unsupported_outweighs_allowed)
{
	configure_rsa("AllowKey " RSA_FP "\nOnUnsupported deny\n");
	testcert_new(&b, &clean, &rsa);
	expect_as("ssh-foo", &b, KV_VERDICT_UNSUPPORTED, KV_ACTION_DENY);
}

TEST_CASE(listed_outweighs_error)
{
	configure("Filter %s\nFilter %s\nOnError allow\n", tmp_path("missing"),
	    filter_file("rsa.pkbf", &lists_rsa));
	listed_cert(&clean, &rsa, RSA_FP, KV_PART_CA);
	listed_cert(&rsa, &clean, RSA_FP, KV_PART_KEY);
}

/* A listed key is let in with OnHit warn, whatever is not known of its CA. */
TEST_CASE(with_on_hit_warn_a_listed_part_outweighs_an_error)
{
	configure("Filter %s\nFilter %s\nOnHit warn\n", tmp_path("missing"),
	    filter_file("rsa.pkbf", &lists_rsa));
	judge_cert(&rsa, &clean);
	expect(KV_VERDICT_LISTED, KV_ACTION_WARN);
	judge_cert(&clean, &rsa);
	expect(KV_VERDICT_LISTED, KV_ACTION_WARN);
}

/* What OnProbable lets in must not hide that the other part is refused. */
TEST_CASE(an_error_outweighs_a_probable_hit_that_is_let_in)
{
	configure("Filter %s\nFilter %s\nOnProbable warn\n",
	    tmp_path("missing"), filter_file("rsa.pkbf", &lists_rsa));
	judge_cert(&rsa, &clean);
	expect_error("missing");
	judge_cert(&clean, &rsa);
	expect_error("missing");
}

TEST_CASE(a_refused_type_outweighs_an_error_that_is_let_in)
{
	const char *missing = tmp_path("missing");

	configure("Filter %s\nOnError allow\nOnUnsupported deny\n", missing);
	expect_as("ssh-foo", &clean.blob, KV_VERDICT_UNSUPPORTED,
	    KV_ACTION_DENY);
	configure("Filter %s\nOnError allow\nOnUnsupported deny\n"
		  "OnHit warn\n",
	    missing);
	expect_as("ssh-foo", &clean.blob, KV_VERDICT_UNSUPPORTED,
	    KV_ACTION_DENY);
}

TEST_CASE(plain_keys_are_judged)
{
	struct kv_sshkey key;

	configure_rsa("AllowKey " EC_FP "\n");
	assert_ok(kv_sshkey_parse(rsa.blob.p, rsa.blob.len, &key));
	kv_judge_pubkey(&j, &key.key, NOW, &d);
	expect_listed(RSA_FP, KV_PART_KEY);
	kv_judge_pubkey(&j, &key.ca, NOW, &d); /* none */
	expect(KV_VERDICT_ERROR, KV_ACTION_DENY);
}

TEST_CASE(spkis_are_judged)
{
	uint8_t spki[KV_SPKI_MAX_BYTES];
	struct kv_sshkey key;
	size_t len;

	configure_rsa("");
	assert_ok(kv_sshkey_parse(rsa.blob.p, rsa.blob.len, &key));
	assert_ok(kv_spki_encode(&key.key, 0, spki, sizeof(spki), &len));
	kv_judge_spki(&j, spki, len, NULL, &d);
	expect_listed("", KV_PART_KEY);
	assert_string_equal(d.key_type, "");
	kv_judge_spki(&j, clean.spki[0].p, clean.spki[0].len, NULL, &d);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	configure("Bogus\n");
	kv_judge_spki(&j, spki, len, NULL, &d);
	expect_error("Bogus");
	configure("Filter %s\n", tmp_path("missing"));
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

TEST_CASE(command_may_open_files_by_its_own_rules)
{
	const char *filters[] = { filter_file("one", &lists_rsa),
		filter_file("two", &lists_none) };
	const char *path = tmp_text("conf", "OnHit warn\nFilter /none\n");
	int asked = 0;

	assert_done(chmod(filters[0], 0666));
	kv_judge_open_with(&j, path, &(struct kv_paths){ filters, 2, NULL, 0 },
	    open_any, &asked);
	assert_int_equal(asked, 3);
	expect_of(&rsa, KV_VERDICT_LISTED, KV_ACTION_WARN);
	assert_string_equal(d.filter->path, filters[0]);
	kv_judge_close(&j);
	/* Without a configuration the defaults hold. */
	kv_judge_open_with(&j, NULL, &(struct kv_paths){ filters, 1, NULL, 0 },
	    open_any, &asked);
	assert_int_equal(j.config.on_unsupported, KV_ACTION_ALLOW);
	rsa_is_listed();
	expect_of(&clean, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

TEST_CASE(command_without_filters_has_no_verdict)
{
	const char *filters[KV_CONFIG_MAX_FILTERS + 1] = { "/none" };
	const char *path = tmp_text("conf", "Filter /nonexistent\n");
	int asked = 0;

	kv_judge_open_with(&j, NULL, &(struct kv_paths){ filters, 0, NULL, 0 },
	    open_any, &asked);
	error_of(&clean, "no filter");
	kv_judge_spki(&j, clean.spki[0].p, clean.spki[0].len, NULL, &d);
	expect_error("no filter");
	kv_judge_close(&j);
	kv_judge_open_with(&j, NULL,
	    &(struct kv_paths){ filters, COUNT(filters), NULL, 0 }, open_any,
	    &asked);
	error_of(&clean, "too many filters");
	kv_judge_close(&j);
	kv_judge_open_with(&j, path, NULL, open_any, &asked);
	error_of(&clean, "cannot: No such file or directory");
	kv_judge_close(&j);
	kv_judge_open_with(&j, "/nonexistent", NULL, open_any, &asked);
	error_of(&clean, "cannot: No such file or directory");
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

TEST_CASE(files_that_cannot_be_read_are_told_in_the_words_of_the_system)
{
	const char *path = "/file";
	struct opened o = { .list = NULL };

	kv_judge_open_with(&j, NULL, &(struct kv_paths){ &path, 1, NULL, 0 },
	    open_noted, &o);
	error_of(&clean, "/file: Bad file descriptor");
	kv_judge_close(&j);
	kv_judge_open_with(&j, NULL, &(struct kv_paths){ NULL, 0, &path, 1 },
	    open_noted, &o);
	error_of(&clean, "/file: Bad file descriptor");
}

TEST_CASE(as_many_lists_as_there_are_bits)
{
	const char *lists[KV_CONFIG_MAX_BLOCKLISTS + 1];
	struct opened o = { .list = tmp_text("list", RECORD) };

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
	error_of(&clean, "too many filters or lists");
}

/* The names of the sources stand beside the list, or nowhere. */
TEST_CASE(sources_of_a_list_are_opened_by_their_whole_name)
{
	const size_t most = PATH_MAX - 1 - strlen(KV_SOURCES_SUFFIX);
	struct opened o = { .list = tmp_text("list", RECORD) };
	char *path = test_alloc(PATH_MAX);
	const char *paths[] = { path };
	const struct kv_paths lists = { NULL, 0, paths, 1 };

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
	error_of(&clean, kv_strerror(KV_ERR_LIST_SIZE));
}

TEST_CASE(standard_input_stays_open)
{
	const char *path = tmp_text("list", RECORD);

	configure("Filter %s\nBlocklist %s\n", tmp_path("missing"), path);
	kv_judge_close(&j);
	configure("Blocklist %s\n", tmp_path("missing"));
	error_of(&clean, "missing: No such file or directory");
	kv_judge_close(&j);
	assert_done(fcntl(STDIN_FILENO, F_GETFD));
}

TEST_CASE(descriptors_are_closed_again)
{
	size_t before;

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

TEST_CASE(names_are_those_of_the_log)
{
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

TEST_CASE(mutants_of_a_known_type_are_never_unsupported)
{
	size_t listed = 0;

	configure("Filter %s\n", filter_file("ec", &lists_ec));
	for_each_mutant(ec.blob.p, ec.blob.len, judge_mutant, &listed);
	judge_mutant(ec.blob.p, ec.blob.len, &listed);
	assert_int_equal(listed, 1);
}

/* The filter is so small that it lists half of all keys by chance. */
TEST_CASE(the_oracle_agrees_on_what_is_listed)
{
	const char *keys = tmp_path("keys"), *want = tmp_path("want");
	FILE *lines = fopen(keys, "w"), *expected = fopen(want, "w");
	size_t len, listed = 0;

	output_of("head -c 64 /dev/urandom > %s/bits", tmp_dir());
	output_of(ORACLE "create %s/f --hashes 1 --length 9", tmp_dir());
	output_of("{ head -c 24 %s/f; cat %s/bits; } > %s/g", tmp_dir(),
	    tmp_dir(), tmp_dir());
	configure("Filter %s/g\n", tmp_dir());
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
	return run_all_tests(&(struct fixture){ .before_all = make_filters,
	    .after_all = free_filters,
	    .after_each = close_judge });
}
