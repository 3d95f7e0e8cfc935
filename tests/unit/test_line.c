/* SPDX-License-Identifier: ISC */
#include "kv_line.h"

#include "testkeys.h"
#include "testlib.h"

#include <openssl/bn.h>

#include "kv_fingerprint.h"

static uint8_t blob[KV_BLOB_MAX_BYTES];
static struct kv_line line;
static struct testkey k, ca;
static struct blob b;

static enum kv_err
parse(const void *text, size_t len)
{
	return kv_line_parse((struct kv_span){ exact_copy(text, len), len },
	    blob, sizeof(blob), &line);
}

/* A good line has this key type, these options and this comment. */
static void
expect(const char *text, enum kv_keytype type, const char *options,
    const char *comment)
{
	enum kv_err r = parse(text, strlen(text));

	if (r != KV_OK)
		fail_msg("%s: %s", kv_strerror(r), text);
	assert_false(line.is_blank);
	assert_int_equal(line.key.key.type, type);
	assert_span_is(line.options, options);
	assert_span_is(line.comment, comment);
	assert_true(line.blob.p == blob && line.blob.len > 0);
}

static void
expect_blank(const void *text, size_t len)
{
	assert_ok(parse(text, len));
	assert_true(line.is_blank);
	assert_int_equal(line.key.key.type, KV_KEY_NONE);
}

static void
refused(const char *text, enum kv_err err)
{
	enum kv_err r = parse(text, strlen(text));

	if (r != err)
		fail_msg("%s instead of %s: %s", kv_strerror(r),
		    kv_strerror(err), text);
	assert_false(line.is_blank);
}

TEST_CASE(plain_lines_are_read)
{
	expect(rsa_line, KV_KEY_RSA, "", "");
	assert_span_is(line.type, "ssh-rsa");
	assert_span_is(line.base64, rsa_line + 8);
	expect(ec_line, KV_KEY_ECDSA_P256, "", "");
	assert_span_is(line.type, "ecdsa-sha2-nistp256");
	expect(format("%s alice@example", rsa_line), KV_KEY_RSA, "",
	    "alice@example");
	expect(format("%s two words", ec_line), KV_KEY_ECDSA_P256, "",
	    "two words");
}

TEST_CASE(lines_of_every_type_are_read)
{
	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		testkey_new(&ca, KV_KEY_ED25519);
		expect(testkey_line(&k), k.type, "", "");
		assert_span(line.blob, k.blob.p, k.blob.len);
		assert_false(line.key.is_cert);

		testcert_new(&b, &k, &ca);
		expect(line_of(cert_name_of(kv_keytype_name(k.type)), &b),
		    k.type, "", "");
		assert_true(line.key.is_cert);
		assert_int_equal(line.key.ca.type, KV_KEY_ED25519);
	}
}

TEST_CASE(blanks_and_tabs_separate_fields)
{
	const char *text = rsa_line + 8;

	expect(format("ssh-rsa\t%s", text), KV_KEY_RSA, "", "");
	expect(format("ssh-rsa \t  %s\t \tx", text), KV_KEY_RSA, "", "x");
	expect(format(" \t ssh-rsa %s", text), KV_KEY_RSA, "", "");
	expect(format("ssh-rsa %s  x \t", text), KV_KEY_RSA, "", "x \t");
	expect(format("restrict \t ssh-rsa %s", text), KV_KEY_RSA, "restrict",
	    "");
	assert_span_is(line.base64, text);
	/*
	 * No other character separates fields, not even one that isspace
	 * accepts.
	 */
	refused(format("ssh-rsa\v%s", text), KV_ERR_LINE_NO_KEY);
	refused(format("ssh-rsa\r%s", text), KV_ERR_LINE_NO_KEY);
	refused(format("\fssh-rsa %s", text), KV_ERR_LINE_NO_KEY);
}

TEST_CASE(empty_lines_and_comments_are_blank)
{
	static const char *const blank[] = { "", " ", "\t \t", "\r", " \t\r",
		"#", "# comment", " \t# comment", "#ssh-rsa AAAA" };

	for (size_t i = 0; i < COUNT(blank); i++)
		expect_blank(blank[i], strlen(blank[i]));
	expect_blank(format("#%s", rsa_line), strlen(rsa_line) + 1);
	expect_blank("\0", 1);
	assert_ok(kv_line_parse((struct kv_span){ NULL, 0 }, blob, sizeof(blob),
	    &line));
	assert_true(line.is_blank);
}

TEST_CASE(nul_ends_a_line)
{
	char *text = format("%s comment", rsa_line);
	size_t len = strlen(rsa_line);

	text[len] = '\0';
	assert_ok(parse(text, len + 8));
	assert_int_equal(line.key.key.type, KV_KEY_RSA);
	assert_int_equal(line.comment.len, 0);
	text[len] = ' ';
	text[len + 3] = '\0';
	assert_ok(parse(text, len + 8));
	assert_span_is(line.comment, "co");
	/* A NUL before the end of the key leaves no good key. */
	text[100] = '\0';
	assert_int_not_equal(parse(text, len), KV_OK);
	text[7] = '\0';
	assert_err(parse(text, len), KV_ERR_LINE_NO_KEY);
	text[0] = '\0';
	expect_blank(text, len);
	expect_blank(" \0x", 3);
}

TEST_CASE(carriage_return_before_the_end_is_ignored)
{
	expect(format("%s\r", rsa_line), KV_KEY_RSA, "", "");
	expect(format("%s x\r", rsa_line), KV_KEY_RSA, "", "x");
	expect(format("restrict %s\r", ec_line), KV_KEY_ECDSA_P256, "restrict",
	    "");
}

TEST_CASE(byte_order_mark_is_none_of_the_line)
{
	refused(format("\xef\xbb\xbf%s", rsa_line), KV_ERR_LINE_NO_KEY);
	/* Before options, the byte order mark is part of the first option. */
	expect(format("\xef\xbb\xbfrestrict %s", rsa_line), KV_KEY_RSA,
	    "\xef\xbb\xbfrestrict", "");
}

TEST_CASE(some_control_bytes_mean_nothing_in_base64)
{
	static const char blanks[] = "\r\v\f";

	for (const char *c = blanks; *c != '\0'; c++) {
		expect(format("%.100s%c%s", rsa_line, *c, rsa_line + 100),
		    KV_KEY_RSA, "", "");
		expect(format("ssh-rsa %c%s", *c, rsa_line + 8), KV_KEY_RSA, "",
		    "");
		expect(format("%s%c x", rsa_line, *c), KV_KEY_RSA, "", "x");
	}
}

TEST_CASE(broken_base64_is_told)
{
	size_t len = strlen(ec_line);

	refused(format("%.*s", (int)len - 1, ec_line), KV_ERR_BASE64);
	refused(format("%s=", ec_line), KV_ERR_BASE64);
	refused(format("%.*sl=", (int)len - 2, ec_line), KV_ERR_BASE64);
	refused(format("%.100s-%s", rsa_line, rsa_line + 101), KV_ERR_BASE64);
	refused("ssh-rsa ====", KV_ERR_BASE64);
	refused(format("restrict %s=", ec_line), KV_ERR_BASE64);
}

TEST_CASE(broken_keys_are_told)
{
	blob_of_line(rsa_line, &b);
	b.len--;
	refused(line_of("ssh-rsa", &b), KV_ERR_TRUNCATED);
	blob_of_line(rsa_line, &b);
	put_u8(&b, 0);
	refused(line_of("ssh-rsa", &b), KV_ERR_TRAILING);
	/* The key is whole, so it can be judged. */
	assert_int_equal(line.key.key.type, KV_KEY_RSA);
	refused(format("restrict %s", line_of("ssh-rsa", &b)), KV_ERR_TRAILING);
	refused("ssh-rsa \v", KV_ERR_TRUNCATED);
}

TEST_CASE(options_are_cut_off)
{
	static const char *const options[] = { "restrict",
		"no-pty,no-x11-forwarding", ",restrict", "restrict,", "a,,b",
		",", "command=\"a b\"", "command=\"a \\\" b\",from=\"c d\"",
		"x=\"\"", "\"", "environment=\"A=#b\"", "a\\b", "\\\"",
		"=\"\t\"", "cert-authority", "# comment" };

	for (size_t i = 0; i < COUNT(options); i++) {
		const char *text = format("%s %s c", options[i], rsa_line);

		if (strcmp(options[i], "\"") == 0)
			refused(text, KV_ERR_LINE_QUOTE);
		else if (options[i][0] == '#')
			expect_blank(text, strlen(text));
		else
			expect(text, KV_KEY_RSA, options[i], "c");
	}
}

/* sshd has one escape, \": in "A\\" the second backslash escapes the quote. */
TEST_CASE(backslash_escapes_nothing_but_a_quote)
{
	expect(format("command=\"echo A\\\\\" %s B\" %s", rsa_line, ec_line),
	    KV_KEY_ECDSA_P256,
	    format("command=\"echo A\\\\\" %s B\"", rsa_line), "");
	expect(format("command=\"echo A\\\" %s B\" %s", rsa_line, ec_line),
	    KV_KEY_ECDSA_P256, format("command=\"echo A\\\" %s B\"", rsa_line),
	    "");
	expect(format("command=\"echo A\\x\" %s B\" %s", rsa_line, ec_line),
	    KV_KEY_RSA, "command=\"echo A\\x\"", format("B\" %s", ec_line));
	/* Outside of quotes, \" does not open a quote. */
	expect(format("a\\\"b %s", ec_line), KV_KEY_ECDSA_P256, "a\\\"b", "");
	refused(format("a\\\"\"b %s", ec_line), KV_ERR_LINE_QUOTE);
}

TEST_CASE(unterminated_quotes_are_refused)
{
	refused(format("command=\"x %s", rsa_line), KV_ERR_LINE_QUOTE);
	refused(format("command=\"x\\\" %s", rsa_line), KV_ERR_LINE_QUOTE);
	refused("\"", KV_ERR_LINE_QUOTE);
	refused("a=\"\\", KV_ERR_LINE_QUOTE);
	refused("a=\"\\\"", KV_ERR_LINE_QUOTE);
}

TEST_CASE(known_hosts_lines_have_the_same_shape)
{
	expect(format("host.example,192.0.2.7 %s", ec_line), KV_KEY_ECDSA_P256,
	    "host.example,192.0.2.7", "");
	expect(format("[host]:2222 %s", ec_line), KV_KEY_ECDSA_P256,
	    "[host]:2222", "");
	expect(format("|1|c2FsdA==|aGFzaA== %s", ec_line), KV_KEY_ECDSA_P256,
	    "|1|c2FsdA==|aGFzaA==", "");
}

TEST_CASE(aliases_of_a_type_are_the_type)
{
	expect(format("rsa-sha2-256%s", rsa_line + 7), KV_KEY_RSA, "", "");
	expect(format("rsa-sha2-512%s", rsa_line + 7), KV_KEY_RSA, "", "");
	testkey_new(&k, KV_KEY_SK_ECDSA_P256);
	expect(line_of("webauthn-sk-ecdsa-sha2-nistp256@openssh.com", &k.blob),
	    KV_KEY_SK_ECDSA_P256, "", "");
	/* Now the unusual name is inside the blob. */
	testkey_new(&k, KV_KEY_RSA);
	b.len = 0;
	put_string(&b, "rsa-sha2-512\0", 13);
	put_blob(&b, &k.fields);
	expect(line_of("ssh-rsa", &b), KV_KEY_RSA, "", "");
}

TEST_CASE(type_in_another_case_is_none)
{
	refused(format("SSH-RSA%s", rsa_line + 7), KV_ERR_LINE_NO_KEY);
	refused(format("RSA%s", rsa_line + 7), KV_ERR_LINE_NO_KEY);
	refused(format("Ssh-rsa%s", rsa_line + 7), KV_ERR_LINE_NO_KEY);
}

TEST_CASE(type_other_than_inside_is_a_mismatch)
{
	static const char *const types[] = { "ssh-ed25519", "ssh-dss",
		"ecdsa-sha2-nistp384", "ssh-ed25519-cert-v01@openssh.com",
		"ecdsa-sha2-nistp256-cert-v01@openssh.com",
		"sk-ecdsa-sha2-nistp256@openssh.com" };

	blob_of_line(ec_line, &b);
	for (size_t i = 0; i < COUNT(types); i++) {
		refused(line_of(types[i], &b), KV_ERR_TYPE_MISMATCH);
		/* The key inside can be judged. */
		assert_int_equal(line.key.key.type, KV_KEY_ECDSA_P256);
		refused(format("restrict %s", line_of(types[i], &b)),
		    KV_ERR_TYPE_MISMATCH);
	}
	testkey_new(&k, KV_KEY_ECDSA_P256);
	testcert_new(&b, &k, &k);
	refused(line_of("ecdsa-sha2-nistp256", &b), KV_ERR_TYPE_MISMATCH);
	refused(line_of("ssh-rsa-cert-v01@openssh.com", &b),
	    KV_ERR_TYPE_MISMATCH);
}

TEST_CASE(keys_of_unknown_types_are_told)
{
	b.len = 0;
	put_text(&b, "ssh-foo@example.com");
	put_text(&b, "whatever");
	refused(format("%s c", line_of("ssh-foo@example.com", &b)),
	    KV_ERR_TYPE_UNKNOWN);
	assert_span_is(line.type, "ssh-foo@example.com");
	assert_span(line.blob, b.p, b.len);
	assert_span_is(line.comment, "c");
	refused(format("restrict,pty %s", line_of("ssh-foo@example.com", &b)),
	    KV_ERR_TYPE_UNKNOWN);
	assert_span_is(line.type, "ssh-foo@example.com");
	assert_span_is(line.options, "restrict,pty");
	b.len = 0;
	put_text(&b, "x");
	refused(line_of("x", &b), KV_ERR_TYPE_UNKNOWN);
	assert_span(line.blob, b.p, b.len);
	/*
	 * Inside a blob old sshd knows short names, but no line has them as its
	 * type.
	 */
	testkey_new(&k, KV_KEY_ED25519);
	b.len = 0;
	put_text(&b, "ED25519");
	put_blob(&b, &k.fields);
	refused(line_of("ED25519", &b), KV_ERR_TYPE_UNKNOWN);
	assert_int_equal(line.key.key.type, KV_KEY_NONE);
	b.len = 0;
	put_text(&b, "ssh-foo@example.com");
	/* If the names differ, two words are not a key. */
	refused(line_of("ssh-bar@example.com", &b), KV_ERR_LINE_NO_KEY);
}

TEST_CASE(lines_without_a_key_are_told)
{
	static const char *const texts[] = { "ssh-rsa", "ssh-rsa ",
		"ssh-rsa  \t", "x", "hello world", "restrict ssh-rsa",
		"restrict ssh-rsa ", "=", "AAAA AAAA",
		"-----BEGIN OPENSSH PRIVATE KEY-----", "\x01\x02\xff" };

	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], KV_ERR_LINE_NO_KEY);
	refused(rsa_line + 8, KV_ERR_LINE_NO_KEY);
	/* Options are one word. The second word is not the key. */
	refused(format("a b %s", rsa_line), KV_ERR_LINE_NO_KEY);
}

/* 2^power plus a small number, in decimal, by OpenSSL. */
static const char *
decimal(int power, BN_ULONG more)
{
	static char text[5000];
	BIGNUM *n = BN_new();
	char *made;

	assert_true(n != NULL && BN_set_bit(n, power) == 1 &&
	    BN_add_word(n, more) == 1);
	assert_non_null(made = BN_bn2dec(n));
	assert_true(
	    (size_t)snprintf(text, sizeof(text), "%s", made) < sizeof(text));
	OPENSSL_free(made);
	BN_free(n);
	return text;
}

TEST_CASE(protocol_1_keys_are_told)
{
	static const int bits[] = { 512, 513, 768, 1023, 1024, 1031, 2048, 4096,
		16383, 16384 };

	for (size_t i = 0; i < COUNT(bits); i++) {
		int n = bits[i];

		/* The smallest and the largest number of n bits. */
		refused(format("%d 35 %s", n, decimal(n - 1, 1)),
		    KV_ERR_LINE_SSH1);
		refused(format("%d 65537 %s alice", n, decimal(n - 1, 0)),
		    KV_ERR_LINE_SSH1);
		refused(format("host.example %d 35 %s", n, decimal(n - 1, 1)),
		    KV_ERR_LINE_SSH1);
		refused(format("command=\"a b\" %d 35 %s x", n,
			    decimal(n - 1, 1)),
		    KV_ERR_LINE_SSH1);
		refused(format("%d 35 %s", n + 1, decimal(n - 1, 1)),
		    KV_ERR_LINE_NO_KEY);
		refused(format("%d 35 %s", n - 1, decimal(n - 1, 1)),
		    KV_ERR_LINE_NO_KEY);
		refused(format("%d 35 %sf", n, decimal(n - 1, 1)),
		    KV_ERR_LINE_NO_KEY);
		refused(format("%d 0x23 %s", n, decimal(n - 1, 1)),
		    KV_ERR_LINE_NO_KEY);
	}
}

/* Numbers of decimal digits only, and no longer than they may be. */
TEST_CASE(protocol_1_keys_are_plain_numbers)
{
	static const char *const exponents[] = { "/5", ":5", "x5", "5/",
		"5:", "5x" };
	/* '>' is fourteen places after '0'. */
	static const char *const bits[] = { "001024", "101>", "/1024" };
	const char *modulus = decimal(1023, 0);
	char *spoilt = format("%s", modulus), digits[4935];

	refused(format("1024 3 %s", modulus), KV_ERR_LINE_SSH1);
	refused(format("01024 3 %s", modulus), KV_ERR_LINE_SSH1);
	for (size_t i = 0; i < COUNT(exponents); i++)
		refused(format("1024 %s %s", exponents[i], modulus),
		    KV_ERR_LINE_NO_KEY);
	for (size_t i = 0; i < COUNT(bits); i++)
		refused(format("%s 3 %s", bits[i], modulus),
		    KV_ERR_LINE_NO_KEY);
	spoilt[100] = ':';
	refused(format("1024 3 %s", spoilt), KV_ERR_LINE_NO_KEY);
	refused("1024 3 0", KV_ERR_LINE_NO_KEY);
	refused("1024 3 000", KV_ERR_LINE_NO_KEY);
	/* 10^4932 has as many digits as any number of 16384 bits. */
	memset(digits, '0', sizeof(digits) - 1);
	digits[sizeof(digits) - 1] = '\0';
	digits[1] = '1';
	refused(format("16384 3 %s", digits + 1), KV_ERR_LINE_SSH1);
	refused(format("16384 3 %s", digits), KV_ERR_LINE_NO_KEY);
}

TEST_CASE(rows_of_numbers_are_no_protocol_1_keys)
{
	static const char *const rows[] = { "1024 35 1234567890123456789 alice",
		"1024 35", "1024 35 x", "1 2 3", "2 3 3", "a 1 2 3",
		"20230317021000 2 6 100 2047 2 F5BF3", "257 3 8 (",
		"example.org. 3600 257 3 8 AwEAAaz",
		"99999999999999999999 1 99999999999999999999" };

	for (size_t i = 0; i < COUNT(rows); i++)
		refused(rows[i], KV_ERR_LINE_NO_KEY);
	refused(format("511 35 %s", decimal(510, 1)), KV_ERR_LINE_NO_KEY);
	refused(format("16385 35 %s", decimal(16384, 1)), KV_ERR_LINE_NO_KEY);
}

TEST_CASE(key_too_long_for_its_memory_is_told)
{
	struct kv_span text = span_of(rsa_line);

	blob_of_line(rsa_line, &b);
	assert_err(kv_line_parse(text, exact_copy(blob, b.len - 1), b.len - 1,
		       &line),
	    KV_ERR_NO_SPACE);
	assert_ok(kv_line_parse(text, exact_copy(blob, b.len), b.len, &line));
	assert_err(kv_line_parse(text, NULL, 0, &line), KV_ERR_NO_SPACE);
}

static bool
has(const char *options, const char *name)
{
	size_t len = strlen(options);

	return kv_line_has_option(
	    (struct kv_span){ exact_copy(options, len), len }, name);
}

TEST_CASE(options_are_found_in_any_case)
{
	static const char *const yes[] = { "cert-authority", "CERT-AUTHORITY",
		"Cert-Authority", "cert-authority,restrict",
		"restrict,cert-authority", "a,cert-authority,b",
		",cert-authority", "cert-authority,", ",,cert-authority,,",
		"from=\"a,b\",cert-authority",
		"command=\"a\\\",b\",cert-authority", "\\\",cert-authority",
		"x\\,cert-authority", "cert-authority,x\\" };
	static const char *const no[] = { "", ",", "cert-authorit",
		"cert-authorityx", "xcert-authority",
		"cert-authority=", "cert-authority=\"x\"", " cert-authority",
		"\"cert-authority\"", "command=\"cert-authority\"",
		"command=\",cert-authority,\"", "a=\"\\\",cert-authority",
		"cert-authority\"\"", "no-cert-authority", "cert_authority",
		"cert-authority\\\"" };

	for (size_t i = 0; i < COUNT(yes); i++) {
		if (!has(yes[i], "cert-authority"))
			fail_msg("not found: %s", yes[i]);
	}
	for (size_t i = 0; i < COUNT(no); i++) {
		if (has(no[i], "cert-authority"))
			fail_msg("found: %s", no[i]);
	}
	assert_false(kv_line_has_option((struct kv_span){ NULL, 0 }, "x"));
}

static void
parse_any(const uint8_t *p, size_t len, void *arg)
{
	struct kv_line l;
	enum kv_err r = kv_line_parse((struct kv_span){ p, len }, blob,
	    sizeof(blob), &l);

	if (r == KV_OK && !l.is_blank) {
		assert_int_not_equal(l.key.key.type, KV_KEY_NONE);
		++*(size_t *)arg;
	}
	assert_true(l.options.len <= len && l.comment.len <= len);
	(void)kv_line_has_option(l.options, "cert-authority");
}

TEST_CASE(mutants_are_read_or_refused)
{
	const char *text = format("from=\"a\\\" b\",cert-authority %s c d",
	    ec_line);
	size_t accepted = 0;

	for_each_mutant(text, strlen(text), parse_any, &accepted);
	assert_true(accepted > 100);
}

/* The files for mutated lines, and for the oracle's expected answers. */
struct transcript {
	FILE *lines, *expected;
};

static void
expect_clean(FILE *f, const struct kv_pubkey *key)
{
	uint8_t digest[KV_SHA256_BYTES];
	char text[KV_FINGERPRINT_BYTES];

	if (key->type == KV_KEY_NONE)
		return;
	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, text);
	fprintf(f, "clean %s\n", text);
}

static void
transcribe(const uint8_t *p, size_t len, void *arg)
{
	struct transcript *t = arg;
	struct kv_line l;

	if (memchr(p, '\n', len) != NULL || rng_below(8) != 0)
		return;
	fwrite(p, 1, len, t->lines);
	putc('\n', t->lines);
	if (kv_line_parse((struct kv_span){ p, len }, blob, sizeof(blob), &l) ==
	    KV_OK) {
		expect_clean(t->expected, &l.key.key);
		expect_clean(t->expected, &l.key.ca);
	}
}

TEST_CASE(the_oracle_agrees_on_mutants)
{
	const char *lines = tmp_path("lines"), *want = tmp_path("want");
	struct transcript t = { fopen(lines, "w"), fopen(want, "w") };
	const char *text;
	size_t len;

	text = format("from=\"a\\\" b\",,pty %s c d", ec_line);
	for_each_mutant(text, strlen(text), transcribe, &t);
	testkey_rsa(&k, 1024);
	text = testkey_line(&k);
	for_each_mutant(text, strlen(text), transcribe, &t);
	testkey_new(&k, KV_KEY_SK_ED25519);
	text = testkey_line(&k);
	for_each_mutant(text, strlen(text), transcribe, &t);
	fclose(t.lines);
	fclose(t.expected);
	output_of(ORACLE "create %s/f --hashes 4 --length 3", tmp_dir());
	assert_lines(output_of(ORACLE "contains %s/f %s 2>/dev/null ||"
				      " [ $? = 2 ]",
			 tmp_dir(), lines),
	    (const char *)read_whole(want, &len));
	assert_true(len > 1000);
}
