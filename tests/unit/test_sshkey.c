/* SPDX-License-Identifier: ISC */
#include "kv_sshkey.h"

#include "testkeys.h"
#include "testlib.h"

#include "kv_spki.h"

/* sshkey.h: SSHKEY_CERT_MAX_PRINCIPALS */
#define MAX_PRINCIPALS 256
#define LONGEST_INTEGER 2049

/* Static because they are large. Each test fills the ones it needs. */
static struct testkey k, ca;
static struct testcert cert;
static struct blob b;

static void
put_number(struct blob *out, struct kv_span n)
{
	put_padded(out, n.p, n.len, n.len > 0 && n.p[0] >= 0x80);
}

/* Writes the fields of a parsed key as in a canonical blob. */
static void
write_fields(const struct kv_pubkey *key, struct blob *out)
{
	size_t numbers = 0;

	if (key->type == KV_KEY_RSA)
		numbers = 2;
	else if (key->type == KV_KEY_DSA)
		numbers = 4;
	out->len = 0;
	for (size_t i = 0; i < numbers; i++)
		put_number(out, key->field[i]);
	if (numbers > 0)
		return;
	assert_int_equal(key->field[1].len,
	    key->type == KV_KEY_MLDSA44_ED25519 ||
		    key->type == KV_KEY_MLDSA44_ED25519_OLD ?
		KV_ED25519_BYTES :
		0);
	if (kv_keytype_curve(key->type) != NULL)
		put_text(out, kv_keytype_curve(key->type));
	put_u32(out, (uint32_t)(key->field[0].len + key->field[1].len));
	put(out, key->field[0].p, key->field[0].len);
	put(out, key->field[1].p, key->field[1].len);
	if (key->type == KV_KEY_SK_ED25519 || key->type == KV_KEY_SK_ECDSA_P256)
		put_string(out, key->application.p, key->application.len);
}

static void
assert_is(const struct kv_pubkey *got, const struct testkey *want)
{
	static struct blob fields;

	assert_int_equal(got->type, want->type);
	write_fields(got, &fields);
	assert_bytes(fields.p, fields.len, want->fields.p, want->fields.len);
}

static enum kv_err
parse(const struct blob *blob, struct kv_sshkey *key)
{
	return kv_sshkey_parse(exact_copy(blob->p, blob->len), blob->len, key);
}

/* The blob is parsed as the key want, and no certificate. */
static void
assert_reads_as(const struct blob *blob, const struct testkey *want)
{
	struct kv_sshkey key;

	assert_ok(parse(blob, &key));
	assert_false(key.is_cert);
	assert_int_equal(key.ca.type, KV_KEY_NONE);
	assert_is(&key.key, want);
}

/* The blob is parsed as a certificate of k by ca. */
static void
assert_reads_as_cert(const struct blob *blob)
{
	struct kv_sshkey key;

	assert_ok(parse(blob, &key));
	assert_true(key.is_cert);
	assert_is(&key.key, &k);
	assert_is(&key.ca, &ca);
}

/* The blob is refused, and no key is found in it. */
static void
assert_refused(const struct blob *blob, enum kv_err err)
{
	struct kv_sshkey key;

	assert_err(parse(blob, &key), err);
	assert_int_equal(key.key.type, KV_KEY_NONE);
	assert_int_equal(key.ca.type, KV_KEY_NONE);
}

/* The certificate is refused, but these keys in it are whole. */
static void
assert_refused_cert(enum kv_err err, bool key_whole, bool ca_whole)
{
	struct kv_sshkey key;

	assert_err(parse(&b, &key), err);
	if (key_whole)
		assert_is(&key.key, &k);
	else
		assert_int_equal(key.key.type, KV_KEY_NONE);
	if (ca_whole)
		assert_is(&key.ca, &ca);
	else
		assert_int_equal(key.ca.type, KV_KEY_NONE);
}

/* The certificate that is built of cert is read, or refused. */
static void
assert_cert_reads(void)
{
	cert_build(&cert, &b);
	assert_reads_as_cert(&b);
}

static void
assert_cert_refused(enum kv_err err, bool key_whole, bool ca_whole)
{
	cert_build(&cert, &b);
	assert_refused_cert(err, key_whole, ca_whole);
}

/* Starts a blob with this type name. */
static void
start(const char *name)
{
	b.len = 0;
	put_text(&b, name);
}

/* k's fields, under another name of len bytes. */
static void
rename_key(const void *name, size_t len)
{
	b.len = 0;
	put_string(&b, name, len);
	put_blob(&b, &k.fields);
}

TEST_CASE(every_type_is_read)
{
	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		for (int i = 0; i < 20; i++) {
			testkey_new(&k, (enum kv_keytype)t);
			assert_reads_as(&k.blob, &k);
		}
	}
}

TEST_CASE(example_keys_are_read)
{
	struct kv_sshkey key;

	blob_of_line(rsa_line, &b);
	assert_ok(parse(&b, &key));
	assert_int_equal(key.key.type, KV_KEY_RSA);
	assert_int_equal(kv_pubkey_bits(&key.key), 2048);
	assert_span(key.key.field[0], "\x01\x00\x01", 3);
	blob_of_line(ec_line, &b);
	assert_ok(parse(&b, &key));
	assert_int_equal(key.key.type, KV_KEY_ECDSA_P256);
	assert_int_equal(key.key.field[0].len, 65);
}

TEST_CASE(rsa_of_every_size_is_read)
{
	static const size_t bits[] = { 1, 7, 8, 9, 512, 768, 1023, 1024, 1025,
		1031, 2047, 2048, 3072, 4096, 8192, 16383, 16384 };

	for (size_t i = 0; i < COUNT(bits); i++) {
		struct kv_sshkey key;

		testkey_rsa(&k, bits[i]);
		assert_reads_as(&k.blob, &k);
		assert_ok(parse(&k.blob, &key));
		assert_int_equal(kv_pubkey_bits(&key.key), bits[i]);
	}
}

TEST_CASE(certificate_of_each_type_by_each_type_is_read)
{
	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		for (int u = FIRST_TYPE; u <= LAST_TYPE; u++) {
			testkey_new(&ca, (enum kv_keytype)u);
			testcert_new(&b, &k, &ca);
			assert_reads_as_cert(&b);
		}
	}
}

TEST_CASE(host_certificates_are_read)
{
	testkey_new(&k, KV_KEY_ED25519);
	testkey_new(&ca, KV_KEY_ED25519);
	testcert_init(&cert, &k, &ca);
	cert.kind = 2;
	assert_cert_reads();
}

TEST_CASE(aliases_inside_a_blob_are_read)
{
	static const struct {
		const char *alias;
		enum kv_keytype type;
	} aliases[] = {
		{ "rsa-sha2-256", KV_KEY_RSA },
		{ "rsa-sha2-512", KV_KEY_RSA },
		{ "webauthn-sk-ecdsa-sha2-nistp256@openssh.com",
		    KV_KEY_SK_ECDSA_P256 },
	};

	testkey_new(&ca, KV_KEY_ED25519);
	for (size_t i = 0; i < COUNT(aliases); i++) {
		const char *name = cert_name_of(aliases[i].alias);

		testkey_new(&k, aliases[i].type);
		rename_key(aliases[i].alias, strlen(aliases[i].alias));
		assert_reads_as(&b, &k);
		testcert_init(&cert, &k, &ca);
		cert.name.len = 0;
		put(&cert.name, name, strlen(name));
		assert_cert_reads();
	}
}

TEST_CASE(short_names_inside_a_blob_are_read)
{
	static const struct {
		const char *name;
		enum kv_keytype type;
	} names[] = {
		{ "RSA", KV_KEY_RSA },
		{ "rSa", KV_KEY_RSA },
		{ "DSA", KV_KEY_DSA },
		{ "dsa", KV_KEY_DSA },
		{ "eD25519", KV_KEY_ED25519 },
		{ "ED25519-SK", KV_KEY_SK_ED25519 },
		{ "ecdsa-SK", KV_KEY_SK_ECDSA_P256 },
		{ "ECDSA", KV_KEY_ECDSA_P256 },
		{ "ecdsa", KV_KEY_ECDSA_P384 },
		{ "Ecdsa", KV_KEY_ECDSA_P521 },
	};

	for (size_t i = 0; i < COUNT(names); i++) {
		testkey_new(&k, names[i].type);
		rename_key(names[i].name, strlen(names[i].name));
		assert_reads_as(&b, &k);
		/* The CA's key in a certificate may have this name too. */
		ca = k;
		testcert_init(&cert, &k, &ca);
		cert.ca = b;
		assert_cert_reads();
	}
}

TEST_CASE(short_names_name_no_certificate)
{
	testkey_new(&k, KV_KEY_RSA);
	testkey_new(&ca, KV_KEY_ED25519);
	testcert_init(&cert, &k, &ca);
	cert.name.len = 0;
	put(&cert.name, "RSA-CERT", 8);
	cert_build(&cert, &b);
	assert_refused(&b, KV_ERR_TYPE_UNKNOWN);
}

TEST_CASE(one_nul_after_a_type_name_is_tolerated)
{
	testkey_new(&ca, KV_KEY_ECDSA_P256);
	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		rename_key(format("%s", kv_keytype_name(k.type)),
		    k.blob.p[3] + 1);
		assert_reads_as(&b, &k);

		testcert_init(&cert, &k, &ca);
		put_u8(&cert.name, 0);
		assert_cert_reads();
		put_u8(&cert.name, 0);
		cert_build(&cert, &b);
		assert_refused(&b, KV_ERR_NAME);
	}
}

TEST_CASE(nul_inside_a_type_name_is_refused)
{
	testkey_new(&k, KV_KEY_RSA);
	rename_key("ssh\0rsa", 7);
	assert_refused(&b, KV_ERR_NAME);
	rename_key("ssh-rsa\0\0", 9);
	assert_refused(&b, KV_ERR_NAME);
	rename_key("\0ssh-rsa", 8);
	assert_refused(&b, KV_ERR_NAME);
}

TEST_CASE(unknown_names_are_unknown)
{
	static const char *const names[] = { "", "ssh-foo", "SSH-RSA", "ssh-rs",
		"ssh-rsaa", "ssh-rsa ", "ssh-ed25519-cert-v00@openssh.com" };

	testkey_new(&k, KV_KEY_RSA);
	for (size_t i = 0; i < COUNT(names); i++) {
		rename_key(names[i], strlen(names[i]));
		assert_refused(&b, KV_ERR_TYPE_UNKNOWN);
	}
}

TEST_CASE(nul_after_a_curve_or_an_application_is_tolerated)
{
	struct kv_sshkey key;

	testkey_new(&k, KV_KEY_SK_ECDSA_P256);
	start("sk-ecdsa-sha2-nistp256@openssh.com");
	put_string(&b, "nistp256\0", 9);
	put(&b, k.fields.p + 12, 4 + 65);
	put_string(&b, "ssh:\0", 5);
	assert_reads_as(&b, &k);
	b.p[b.len - 2] = 0;
	assert_refused(&b, KV_ERR_NAME);

	start("ecdsa-sha2-nistp256");
	put_string(&b, "nistp256\0\0", 10);
	put(&b, k.fields.p + 12, 4 + 65);
	assert_refused(&b, KV_ERR_NAME);

	start("sk-ssh-ed25519@openssh.com");
	testkey_new(&k, KV_KEY_ED25519);
	put_blob(&b, &k.fields);
	put_string(&b, "", 0);
	assert_ok(parse(&b, &key));
	assert_int_equal(key.key.application.len, 0);
}

/* An RSA key whose e and n are padded to so many bytes. */
static void
build_padded_rsa(size_t e_bytes, size_t n_bytes)
{
	const uint8_t *e = k.fields.p + 4;
	size_t e_len = k.fields.p[3], n_len = k.fields.len - 8 - e_len;
	const uint8_t *n = e + e_len + 4;

	start("ssh-rsa");
	put_padded(&b, e, e_len, e_bytes - e_len);
	put_padded(&b, n, n_len, n_bytes - n_len);
}

TEST_CASE(padded_integers_are_the_same_key)
{
	testkey_new(&k, KV_KEY_RSA);
	for (size_t bytes = 300; bytes <= LONGEST_INTEGER; bytes += 53) {
		build_padded_rsa(bytes, LONGEST_INTEGER);
		assert_reads_as(&b, &k);
		build_padded_rsa(LONGEST_INTEGER, bytes);
		assert_reads_as(&b, &k);
	}
	build_padded_rsa(LONGEST_INTEGER, LONGEST_INTEGER);
	assert_reads_as(&b, &k);
	build_padded_rsa(LONGEST_INTEGER + 1, LONGEST_INTEGER);
	assert_refused(&b, KV_ERR_INT_TOO_LARGE);
	build_padded_rsa(LONGEST_INTEGER, LONGEST_INTEGER + 1);
	assert_refused(&b, KV_ERR_INT_TOO_LARGE);
}

/* A DSA key whose number i is padded to so many bytes. */
static void
build_padded_dsa(int i, size_t bytes)
{
	const uint8_t *in = k.fields.p;

	start("ssh-dss");
	for (int j = 0; j < 4; j++) {
		size_t len = (size_t)in[2] << 8 | in[3];

		put_padded(&b, in + 4, len, j == i ? bytes - len : 0);
		in += 4 + len;
	}
}

TEST_CASE(padded_dsa_integers_are_the_same_key)
{
	testkey_new(&k, KV_KEY_DSA);
	for (int i = 0; i < 4; i++) {
		build_padded_dsa(i, 200);
		assert_reads_as(&b, &k);
		build_padded_dsa(i, LONGEST_INTEGER);
		assert_reads_as(&b, &k);
		build_padded_dsa(i, LONGEST_INTEGER + 1);
		assert_refused(&b, KV_ERR_INT_TOO_LARGE);
	}
}

TEST_CASE(padded_integers_in_a_certificate_are_the_same_key)
{
	static struct blob fields;

	testkey_new(&k, KV_KEY_RSA);
	ca = k;
	build_padded_rsa(900, LONGEST_INTEGER);
	put(&fields, b.p + 11, b.len - 11);
	testcert_init(&cert, &k, &ca);
	cert.fields = &fields;
	cert.ca = b;
	assert_cert_reads();
}

TEST_CASE(negative_integers_are_refused)
{
	static const uint8_t n[] = { 0x80, 1, 2, 3 };

	start("ssh-rsa");
	put_string(&b, "\x03", 1);
	put_string(&b, n, sizeof(n));
	assert_refused(&b, KV_ERR_INT_NEGATIVE);
	start("ssh-rsa");
	put_string(&b, "\xff", 1);
	put_padded(&b, n, sizeof(n), 1);
	assert_refused(&b, KV_ERR_INT_NEGATIVE);
	for (int i = 0; i < 4; i++) {
		start("ssh-dss");
		for (int j = 0; j < 4; j++)
			put_string(&b, i == j ? "\x81" : "\x71", 1);
		assert_refused(&b, KV_ERR_INT_NEGATIVE);
	}
}

TEST_CASE(modulus_of_zero_is_refused)
{
	start("ssh-rsa");
	put_string(&b, "\x03", 1);
	put_string(&b, "", 0);
	assert_refused(&b, KV_ERR_RSA_ZERO);
	start("ssh-rsa");
	put_string(&b, "\x03", 1);
	put_padded(&b, "", 0, LONGEST_INTEGER);
	assert_refused(&b, KV_ERR_RSA_ZERO);
}

/* An ECDSA key with any point, under the name of a curve. */
static void
build_ecdsa(const char *name, const char *curve, const void *point, size_t len)
{
	start(name);
	put_text(&b, curve);
	put_string(&b, point, len);
}

TEST_CASE(points_in_other_forms_are_refused)
{
	static const char *const curves[] = { "nistp256", "nistp384",
		"nistp521" };
	uint8_t point[133];

	for (size_t i = 0; i < COUNT(curves); i++) {
		const char *name = format("ecdsa-sha2-%s", curves[i]);
		enum kv_keytype type = (enum kv_keytype)(KV_KEY_ECDSA_P256 + i);
		size_t len = kv_keytype_point_bytes(type);

		testkey_new(&k, type);
		memcpy(point, k.fields.p + 16, len);
		build_ecdsa(name, curves[i], point, len);
		assert_reads_as(&b, &k);
		for (unsigned int form = 0; form < 256; form++) {
			point[0] = (uint8_t)form;
			build_ecdsa(name, curves[i], point, len);
			if (form != 4)
				assert_refused(&b, KV_ERR_POINT);
		}
		point[0] = 2 + (point[len - 1] & 1); /* compressed */
		build_ecdsa(name, curves[i], point, 1 + len / 2);
		assert_refused(&b, KV_ERR_POINT);
		build_ecdsa(name, curves[i], point, 0);
		assert_refused(&b, KV_ERR_POINT);
		build_ecdsa(name, curves[i], "", 1); /* infinity */
		assert_refused(&b, KV_ERR_POINT);
	}
}

TEST_CASE(point_of_the_wrong_size_is_refused)
{
	uint8_t point[66 + 65] = { 4 };

	for (size_t len = 1; len <= sizeof(point); len++) {
		if (len == 65)
			continue;
		build_ecdsa("ecdsa-sha2-nistp256", "nistp256", point, len);
		assert_refused(&b, KV_ERR_POINT);
	}
}

TEST_CASE(curve_other_than_the_type_says_is_refused)
{
	static const char *const curves[] = { "nistp384", "nistp521", "",
		"NISTP256", "nistp256 ", "1.2.840.10045.3.1.7", "ed25519" };
	uint8_t point[133] = { 4 };

	for (size_t i = 0; i < COUNT(curves); i++) {
		size_t len = i == 0 ? 97 : i == 1 ? 133 : 65;

		build_ecdsa("ecdsa-sha2-nistp256", curves[i], point, len);
		assert_refused(&b, KV_ERR_CURVE);
		build_ecdsa("ECDSA-SK", curves[i], point, len);
		put_text(&b, "ssh:");
		assert_refused(&b, KV_ERR_CURVE);
		if (i < 2)
			continue;
		build_ecdsa("ECDSA", curves[i], point, len);
		assert_refused(&b, KV_ERR_CURVE);
	}
}

TEST_CASE(fixed_keys_of_another_length_are_refused)
{
	static const struct {
		const char *name;
		size_t len;
	} types[] = {
		{ "ssh-ed25519", 32 },
		{ "ssh-ed448", 57 },
		{ "sk-ssh-ed25519@openssh.com", 32 },
		{ "ssh-mldsa44-ed25519", 1344 },
		{ "ssh-mldsa44-ed25519@openssh.com", 1344 },
	};
	static const uint8_t zeros[1345];

	for (size_t i = 0; i < COUNT(types); i++) {
		const size_t bad[] = { 0, 1, types[i].len - 1,
			types[i].len + 1 };

		for (size_t j = 0; j < COUNT(bad); j++) {
			start(types[i].name);
			put_string(&b, zeros, bad[j]);
			put_text(&b, "ssh:");
			assert_refused(&b, KV_ERR_KEY_LENGTH);
		}
	}
}

TEST_CASE(every_truncation_is_refused)
{
	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		for (b = k.blob; b.len-- > 0;)
			assert_refused(&b, KV_ERR_TRUNCATED);
		test_cleanup(NULL);
	}
	assert_err(kv_sshkey_parse(NULL, 0, &(struct kv_sshkey){ 0 }),
	    KV_ERR_TRUNCATED);
}

TEST_CASE(byte_after_the_key_is_refused_but_the_key_is_known)
{
	struct kv_sshkey key;

	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		for (unsigned int i = 0; i < 256; i += 51) {
			b = k.blob;
			put_u8(&b, i);
			assert_err(parse(&b, &key), KV_ERR_TRAILING);
			assert_is(&key.key, &k);
		}
	}
}

TEST_CASE(every_truncation_of_a_certificate_leaves_the_whole_keys)
{
	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		testkey_new(&ca, KV_KEY_ECDSA_P384);
		testcert_init(&cert, &k, &ca);
		cert_build(&cert, &b);
		while (b.len-- > 0)
			assert_refused_cert(KV_ERR_TRUNCATED,
			    b.len >= cert.key_end, b.len >= cert.ca_end);
		test_cleanup(NULL);
	}
}

/* An RSA key, and a CA of another type, to tell them apart. */
static void
cert_init(void)
{
	testkey_new(&k, KV_KEY_RSA);
	testkey_new(&ca, KV_KEY_ED25519);
	testcert_init(&cert, &k, &ca);
}

TEST_CASE(byte_after_a_certificate_is_refused)
{
	cert_init();
	cert_build(&cert, &b);
	put_u8(&b, 0);
	assert_refused_cert(KV_ERR_TRAILING, true, true);
}

TEST_CASE(other_certificate_kinds_are_refused)
{
	static const uint32_t kinds[] = { 0, 3, 256, 0x01000000, UINT32_MAX };

	cert_init();
	for (size_t i = 0; i < COUNT(kinds); i++) {
		cert.kind = kinds[i];
		assert_cert_refused(KV_ERR_CERT_TYPE, true, true);
	}
}

TEST_CASE(key_id_with_a_nul_is_refused)
{
	cert_init();
	put_u8(&cert.key_id, 0);
	assert_cert_reads();
	put_u8(&cert.key_id, 'x');
	assert_cert_refused(KV_ERR_NAME, true, false);
}

TEST_CASE(principals_are_at_most_256)
{
	cert_init();
	cert.principals.len = 0;
	assert_cert_reads();
	for (int i = 0; i < MAX_PRINCIPALS; i++)
		put_text(&cert.principals, "p");
	assert_cert_reads();
	put_text(&cert.principals, "p");
	assert_cert_refused(KV_ERR_CERT_PRINCIPALS, true, true);
}

TEST_CASE(broken_principals_are_refused)
{
	cert_init();
	put_string(&cert.principals, "bob\0", 4);
	assert_cert_reads();
	put_string(&cert.principals, "b\0b", 3);
	assert_cert_refused(KV_ERR_CERT_PRINCIPALS, true, true);

	cert_init();
	put_u32(&cert.principals, 1);
	assert_cert_refused(KV_ERR_CERT_PRINCIPALS, true, true);
	cert_init();
	put_u8(&cert.principals, 0);
	assert_cert_refused(KV_ERR_CERT_PRINCIPALS, true, true);
}

TEST_CASE(options_are_pairs_of_strings)
{
	struct blob *const options[] = { &cert.critical, &cert.extensions };

	for (size_t i = 0; i < COUNT(options); i++) {
		cert_init();
		put_text(options[i], "name");
		put_string(options[i], "\0\0", 2);
		assert_cert_reads();
		put_text(options[i], "odd");
		assert_cert_refused(KV_ERR_CERT_OPTIONS, true, true);
		put_u32(options[i], 1);
		assert_cert_refused(KV_ERR_CERT_OPTIONS, true, true);
		cert_init();
		put_u8(options[i], 0);
		assert_cert_refused(KV_ERR_CERT_OPTIONS, true, true);
	}
}

TEST_CASE(ca_that_is_a_certificate_is_refused)
{
	cert_init();
	testcert_new(&b, &ca, &ca);
	testcert_init(&cert, &k, &ca);
	cert.ca = b;
	assert_cert_refused(KV_ERR_CERT_CA, true, false);
}

TEST_CASE(broken_ca_is_refused)
{
	cert_init();
	put_u8(&cert.ca, 0);
	assert_cert_refused(KV_ERR_TRAILING, true, true);
	cert.ca.len -= 2;
	assert_cert_refused(KV_ERR_TRUNCATED, true, false);
	cert.ca.len = 0;
	assert_cert_refused(KV_ERR_TRUNCATED, true, false);
	put_text(&cert.ca, "ssh-foo");
	assert_cert_refused(KV_ERR_TYPE_UNKNOWN, true, false);
	cert.ca.len = 0;
	put_text(&cert.ca, "ssh-ed25519");
	put_string(&cert.ca, "short", 5);
	assert_cert_refused(KV_ERR_KEY_LENGTH, true, false);
}

TEST_CASE(broken_key_in_a_certificate_is_refused)
{
	static struct blob fields;

	cert_init();
	fields.len = 0;
	put_string(&fields, "\x80", 1);
	put_string(&fields, "\x03", 1);
	cert.fields = &fields;
	cert_build(&cert, &b);
	/* What follows cannot be found, so the CA's key is not found either. */
	assert_refused_cert(KV_ERR_INT_NEGATIVE, false, false);
}

TEST_CASE(empty_signature_is_read)
{
	cert_init();
	cert_build(&cert, &b);
	b.len = cert.ca_end;
	put_u32(&b, 0);
	assert_reads_as_cert(&b);
}

TEST_CASE(keys_are_equal_whatever_their_encoding)
{
	struct kv_sshkey a, other;

	testkey_new(&k, KV_KEY_RSA);
	assert_ok(parse(&k.blob, &a));
	build_padded_rsa(40, 400);
	assert_ok(parse(&b, &other));
	assert_true(kv_pubkey_equal(&a.key, &other.key));
	testkey_new(&ca, KV_KEY_RSA);
	testcert_new(&b, &k, &ca);
	assert_ok(parse(&b, &other));
	assert_true(kv_pubkey_equal(&a.key, &other.key));
	assert_false(kv_pubkey_equal(&a.key, &other.ca));
	/* A missing key does not even equal itself. */
	assert_false(kv_pubkey_equal(&a.ca, &a.ca));
	assert_false(kv_pubkey_equal(&a.key, &a.ca));
}

TEST_CASE(keys_that_differ_in_one_field_are_not_equal)
{
	struct kv_sshkey a, other;

	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		assert_ok(parse(&k.blob, &a));
		for (size_t i = 0; i < KV_PUBKEY_FIELDS; i++) {
			if (a.key.field[i].len == 0)
				continue;
			other = a;
			other.key.field[i].len--;
			assert_false(kv_pubkey_equal(&a.key, &other.key));
		}
		other = a;
		other.key.application = span_of("ssh:other");
		assert_false(kv_pubkey_equal(&a.key, &other.key));
		other = a;
		other.key.type = t == KV_KEY_DSA ? KV_KEY_RSA : KV_KEY_DSA;
		assert_false(kv_pubkey_equal(&a.key, &other.key));
	}
}

TEST_CASE(sizes_are_in_bits)
{
	static const struct {
		enum kv_keytype type;
		unsigned int bits;
	} sizes[] = {
		{ KV_KEY_RSA, 2048 },
		{ KV_KEY_DSA, 1024 },
		{ KV_KEY_ECDSA_P256, 256 },
		{ KV_KEY_ECDSA_P384, 384 },
		{ KV_KEY_ECDSA_P521, 521 },
		{ KV_KEY_ED25519, 256 },
		{ KV_KEY_SK_ED25519, 256 },
		{ KV_KEY_SK_ECDSA_P256, 256 },
	};
	struct kv_sshkey key;

	for (size_t i = 0; i < COUNT(sizes); i++) {
		testkey_new(&k, sizes[i].type);
		assert_ok(parse(&k.blob, &key));
		assert_int_equal(kv_pubkey_bits(&key.key), sizes[i].bits);
	}
	assert_int_equal(kv_pubkey_bits(&key.ca), 0);
	/* Its public key has 57 bytes. */
	assert_int_equal(kv_pubkey_bits(
			     &(struct kv_pubkey){ .type = KV_KEY_ED448 }),
	    57 * 8);
}

/* Every span lies inside the blob. */
static void
assert_inside(struct kv_span s, const uint8_t *p, size_t len)
{
	if (s.len == 0)
		return;
	assert_true(s.p >= p && s.p + s.len <= p + len);
}

static void
assert_encodes(const struct kv_pubkey *key, const uint8_t *p, size_t len)
{
	uint8_t spki[KV_SPKI_MAX_BYTES];
	size_t n;

	for (size_t i = 0; i < KV_PUBKEY_FIELDS; i++)
		assert_inside(key->field[i], p, len);
	assert_inside(key->application, p, len);
	for (size_t i = 0; i < kv_spki_count(key); i++)
		assert_ok(kv_spki_encode(key, i, spki, sizeof(spki), &n));
}

/* A mutant is refused, or is a key that can be looked up. */
static void
parse_any(const uint8_t *p, size_t len, void *arg)
{
	struct kv_sshkey key;
	enum kv_err r = kv_sshkey_parse(p, len, &key);

	if (r == KV_OK) {
		assert_int_not_equal(key.key.type, KV_KEY_NONE);
		assert_int_equal(key.is_cert, key.ca.type != KV_KEY_NONE);
		++*(size_t *)arg;
	}
	assert_encodes(&key.key, p, len);
	assert_encodes(&key.ca, p, len);
}

TEST_CASE(mutants_are_refused_or_can_be_looked_up)
{
	size_t accepted = 0;

	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		testkey_new(&ca, KV_KEY_ECDSA_P256);
		testcert_new(&b, &k, &ca);
		for_each_mutant(k.blob.p, k.blob.len, parse_any, &accepted);
		for_each_mutant(b.p, b.len, parse_any, &accepted);
	}
	assert_true(accepted > 1000);
}
