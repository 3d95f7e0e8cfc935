/* SPDX-License-Identifier: ISC */
/*
 * Strings are not read here but chosen, and noted with their places, by functions that
 * may answer all that kv_bytes:fixed, name and mpint allow. A name may mean any type,
 * and any curve; kv_keytype is about that. What was noted is then read again by
 * PROTOCOL.certkeys and RFC 4253, without the unit.
 *
 * source lib/kv_keytype.c lib/kv_bytes.c
 * shrink lib/kv_sshkey.c: CERT_MAX_PRINCIPALS 256 -> CERT_MAX_PRINCIPALS 2
 * proof  rsa --minisat --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_bytes_get_mpint:any_number --replace kv_span_is:is_curve --unwind 9: RSA keys in blobs of up to BLOB bytes
 * proof  dsa --minisat --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_bytes_get_mpint:any_number --replace kv_span_is:is_curve --unwind 9: DSA keys in blobs of up to BLOB bytes
 * proof  p256 --minisat --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_bytes_get_mpint:any_number --replace kv_span_is:is_curve --unwind 9: ECDSA keys of P-256, or by the name ECDSA, in blobs of up to BLOB bytes
 * proof  p384 --minisat --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_bytes_get_mpint:any_number --replace kv_span_is:is_curve --unwind 9: ECDSA keys of P-384 in blobs of up to BLOB bytes
 * proof  p521 --minisat --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_bytes_get_mpint:any_number --replace kv_span_is:is_curve --unwind 9: ECDSA keys of P-521 in blobs of up to BLOB bytes
 * proof  edwards --minisat --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_bytes_get_mpint:any_number --replace kv_span_is:is_curve --unwind 9: Ed25519 and Ed448 keys in blobs of up to BLOB bytes
 * proof  sk_ed25519 --minisat --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_bytes_get_mpint:any_number --replace kv_span_is:is_curve --unwind 9: Ed25519 keys in hardware in blobs of up to BLOB bytes
 * proof  sk_p256 --minisat --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_bytes_get_mpint:any_number --replace kv_span_is:is_curve --unwind 9: ECDSA keys in hardware in blobs of up to BLOB bytes
 * proof  mldsa44 --minisat --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_bytes_get_mpint:any_number --replace kv_span_is:is_curve --unwind 9: ML-DSA-44 keys, under both names, in blobs of up to BLOB bytes
 * proof  parse [quick] --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_keyname_find_in_blob:any_keyname --replace get_fields:any_fields --replace get_cert_body:any_body --unwind 6: every blob of up to BLOB bytes, any answer of what reads the key and the body of a certificate
 * proof  certificate [quick] --replace kv_bytes_get_u32:any_word --replace kv_bytes_skip:any_skip --replace kv_bytes_get_string:any_string --replace kv_bytes_get_name:any_name --replace kv_keyname_find_in_blob:any_keyname --replace get_fields:any_fields --replace check_principals:any_list --replace check_options:any_list --unwind 6: what follows the key in a certificate, any answer of what reads its parts
 * proof  principals [quick] --unwind LIST+1: lists of up to LIST bytes, at most CERT_MAX_PRINCIPALS names
 * proof  options [quick] --unwind LIST/4+2: lists of up to LIST bytes
 * proof  equal [quick] --replace kv_span_equal:equal_span --unwind 6: any two keys with fields of up to FIELD bytes
 * proof  bits [quick] --unwind 10: integers of any length
 */
#define BLOB 4095
#define READS 12
#define FIELD 2
#define LIST 14

#include "lib/kv_sshkey.c"

#include "libc.h"
#include "prove.h"

static const uint8_t *blob;
static size_t len;

static bool
in_blob(struct kv_span s)
{
	return s.len == 0 || lies_in(s.p, s.len, blob, len);
}

/* The places and lengths of what was read, in order. */
static size_t place[READS], length[READS], reads;

/* Moves past n bytes, which are there. That upper bits are zero saves CBMC much. */
static void
move(struct kv_bytes *b, size_t i, size_t n)
{
	size_t start = __CPROVER_POINTER_OFFSET(b->p);

	PROVE(in_blob((struct kv_span){ b->p, b->left }), "inside the blob");
	PROVE(i < READS, "few reads");
	place[i] = start & BLOB;
	length[i] = n & BLOB;
	b->p = blob + ((start + n) & BLOB);
	b->left = (b->left - n) & BLOB;
}

/* What is left of n bytes from p on without the first ones. */
static struct kv_span
span(const uint8_t *p, size_t first, size_t n)
{
	size_t start = __CPROVER_POINTER_OFFSET(p) + first;

	return (struct kv_span){ blob + (start & BLOB), (n - first) & BLOB };
}

/* Instead of kv_bytes_skip. */
enum kv_err
any_skip(struct kv_bytes *b, size_t n)
{
	size_t i = reads++;

	if (b->left < n)
		return KV_ERR_TRUNCATED;
	move(b, i, n);
	return KV_OK;
}

/* Instead of kv_bytes_get_u32. The last one that was read is kept. */
static uint32_t word;

enum kv_err
any_word(struct kv_bytes *b, uint32_t *wordp)
{
	size_t i = reads++;

	if (b->left < 4)
		return KV_ERR_TRUNCATED;
	move(b, i, 4);
	*wordp = word = nondet_u32();
	return KV_OK;
}

/* Instead of kv_bytes_get_string. */
enum kv_err
any_string(struct kv_bytes *b, struct kv_span *sp)
{
	size_t i = reads++, n = nondet_u16() & BLOB;

	*sp = (struct kv_span){ NULL, nondet_size() };
	if (nondet_bool() || n < 4 || n > b->left)
		return KV_ERR_TRUNCATED;
	*sp = span(b->p, 4, n);
	move(b, i, n);
	return KV_OK;
}

/* Instead of kv_bytes_get_name: a NUL at the end may be left out. */
enum kv_err
any_name(struct kv_bytes *b, struct kv_span *sp)
{
	struct kv_bytes ahead = *b;
	struct kv_span s;

	if (any_string(&ahead, &s) != KV_OK)
		return nondet_bool() ? KV_ERR_NAME : KV_ERR_TRUNCATED;
	if (s.len > 0 && nondet_bool())
		s.len--;
	*sp = s;
	*b = ahead;
	return KV_OK;
}

/* Instead of kv_bytes_get_mpint: zeroes before the number are cut. */
enum kv_err
any_number(struct kv_bytes *b, struct kv_span *sp)
{
	struct kv_bytes ahead = *b;
	struct kv_span s;
	size_t cut = nondet_u16() & BLOB;

	if (any_string(&ahead, &s) != KV_OK)
		return KV_ERR_TRUNCATED;
	if (cut > s.len || s.len - cut > KV_MPINT_MAX_BYTES)
		return nondet_bool() ? KV_ERR_INT_NEGATIVE :
				       KV_ERR_INT_TOO_LARGE;
	*sp = span(s.p, cut, s.len);
	*b = ahead;
	return KV_OK;
}

/* Instead of kv_span_is. The digits of the curve that the last name means. */
static char curve;

bool
is_curve(struct kv_span s, const char *text)
{
	PROVE(in_blob(s), "a name inside the blob");
	PROVE(text != NULL && text[5] != '\0', "a curve to compare with");
	return text[5] == curve;
}

/* Instead of kv_keyname_find_in_blob. */
const struct kv_keyname *
any_keyname(struct kv_span name, bool *any_curvep)
{
	struct kv_keyname *kn = malloc(sizeof(*kn));

	GIVEN(kn != NULL);
	PROVE(in_blob(name), "a name inside the blob");
	kn->type = (enum kv_keytype)(
	    1 + any_size_up_to(KV_KEY_MLDSA44_ED25519_OLD - 1));
	kn->is_cert = nondet_bool();
	*any_curvep = !kn->is_cert && kn->type == KV_KEY_ECDSA_P256 &&
	    nondet_bool();
	return nondet_bool() ? kn : NULL;
}

/* Instead of check_principals and check_options. */
enum kv_err
any_list(struct kv_span list)
{
	PROVE(in_blob(list), "a list inside the blob");
	return nondet_bool() ? KV_OK : KV_ERR_CERT_OPTIONS;
}

/* What other units rely on, even if the rest of the blob is malformed. */
static void
prove_key(const struct kv_pubkey *k)
{
	size_t first = k->field[0].len, second = k->field[1].len;

	for (size_t i = 0; i < KV_PUBKEY_FIELDS; i++)
		PROVE(in_blob(k->field[i]), "a field inside the blob");
	PROVE(in_blob(k->application), "an application inside the blob");
	switch (k->type) {
	case KV_KEY_RSA:
		PROVE(second > 0, "a modulus");
		/* FALLTHROUGH */
	case KV_KEY_DSA:
		for (size_t i = 0; i < KV_PUBKEY_FIELDS; i++)
			PROVE(k->field[i].len <= KV_MPINT_MAX_BYTES,
			    "a number that is not too long");
		return;
	case KV_KEY_ED25519:
	case KV_KEY_SK_ED25519:
		PROVE(first == 32, "a key of Ed25519");
		return;
	case KV_KEY_ED448:
		PROVE(first == 57, "a key of Ed448");
		return;
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		PROVE(first == 1312 && second == 32, "both halves");
		return;
	default:
		PROVE(k->field[0].p[0] == 4, "an uncompressed point");
		PROVE(first ==
			(k->type == KV_KEY_ECDSA_P521	     ? 133 :
				k->type == KV_KEY_ECDSA_P384 ? 97 :
							       65),
		    "of its curve");
	}
}

/* A reader of what was noted, of its own: its place, and what it has read. */
static size_t at, again;

static size_t
next(void)
{
	PROVE(again < reads && place[again] == at, "read here");
	at += length[again];
	PROVE(at <= len, "inside the blob");
	return length[again++];
}

static void
skip(size_t n)
{
	PROVE(next() == n, "so many bytes");
}

static struct kv_span
string(void)
{
	struct kv_span s = { blob + at + 4, 0 };

	s.len = next() - 4;
	return s;
}

static void
prove_string(struct kv_span field)
{
	struct kv_span s = string();

	PROVE(field.p == s.p && field.len == s.len, "the whole string");
}

/* Numbers and names may be shorter by zeroes, before them or at the end. */
static void
prove_number(struct kv_span field)
{
	struct kv_span s = string();

	PROVE(field.len <= s.len && field.p + field.len == s.p + s.len,
	    "the end of this string");
}

static void
prove_name(struct kv_span field)
{
	struct kv_span s = string();

	PROVE(field.p == s.p && field.len <= s.len && field.len + 1 >= s.len,
	    "this name");
}

/* What follows the name of the type: RFC 4253 6.6, RFC 5656 3.1, PROTOCOL.u2f. */
static void
read_key(const struct kv_pubkey *k)
{
	struct kv_span both = { k->field[0].p, 1312 + 32 };

	switch (k->type) {
	case KV_KEY_RSA:
	case KV_KEY_DSA:
		for (int i = 0; i < (k->type == KV_KEY_RSA ? 2 : 4); i++)
			prove_number(k->field[i]);
		return;
	case KV_KEY_ED25519:
	case KV_KEY_ED448:
		prove_string(k->field[0]);
		return;
	case KV_KEY_SK_ED25519:
		prove_string(k->field[0]);
		prove_name(k->application);
		return;
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		prove_string(both);
		PROVE(k->field[1].p == both.p + 1312, "the second half");
		return;
	default:
		string();
		prove_string(k->field[0]);
		if (k->type == KV_KEY_SK_ECDSA_P256)
			prove_name(k->application);
	}
}

static void
any_move(struct kv_bytes *b)
{
	size_t n = nondet_u16() & BLOB;

	GIVEN(n <= b->left);
	move(b, reads++, n);
}

/* Instead of get_fields: what proof fields shows.  */
static struct kv_pubkey fields_key;
static bool fields_ok;

enum kv_err
any_fields(struct kv_bytes *b, enum kv_keytype type, bool any_curve,
    struct kv_pubkey *out)
{
	struct kv_pubkey any;

	PROVE(type != KV_KEY_NONE, "a type");
	any_move(b);
	GIVEN(any.type >= KV_KEY_RSA && any.type <= KV_KEY_MLDSA44_ED25519_OLD);
	fields_key = any;
	fields_ok = nondet_bool();
	if (fields_ok)
		*out = any;
	return fields_ok ? KV_OK : KV_ERR_TRUNCATED;
}

static void
prove_fields(const struct kv_pubkey *k)
{
	PROVE(k->type == fields_key.type &&
		k->field[0].p == fields_key.field[0].p &&
		k->field[0].len == fields_key.field[0].len,
	    "the key that was read");
	next();
}

/* Instead of get_cert_body: what proof certificate shows. */
enum kv_err
any_body(struct kv_bytes *b, struct kv_pubkey *ca)
{
	PROVE(ca->type == KV_KEY_NONE, "no CA yet");
	any_move(b);
	ca->type = (enum kv_keytype)any_size_up_to(KV_KEY_MLDSA44_ED25519_OLD);
	if (nondet_bool())
		return KV_ERR_TRUNCATED;
	GIVEN(ca->type != KV_KEY_NONE);
	return KV_OK;
}

/* PROTOCOL.certkeys, behind the key. */
static void
read_certificate(const struct kv_pubkey *ca)
{
	size_t inner, end;

	skip(8); /* serial */
	skip(4);
	PROVE(word == 1 || word == 2, "of a user or a host");
	string(); /* its name */
	string(); /* principals */
	skip(16); /* valid from and until */
	string(); /* critical options */
	string(); /* extensions */
	string(); /* reserved */
	inner = at + 4;
	string();
	end = at;
	at = inner;
	string(); /* the name of the CA's type */
	prove_fields(ca);
	PROVE(at == end, "the CA's key and nothing behind it");
	string(); /* signature */
}

static void
any_blob(void)
{
	len = nondet_u16() & BLOB;
	blob = any_bytes(BLOB);
}

static void
fields_of(enum kv_keytype type)
{
	struct kv_bytes b = { blob + at, len - at };
	struct kv_pubkey k = { .type = KV_KEY_NONE };
	bool any_curve = type == KV_KEY_ECDSA_P256 && nondet_bool();
	enum kv_err r = get_fields(&b, type, any_curve, &k);

	PROVE(in_blob((struct kv_span){ b.p, b.left }), "still in the blob");
	if (r != KV_OK) {
		PROVE(k.type == KV_KEY_NONE, "an error gives no key");
		return;
	}
	PROVE(k.type == type || any_curve, "of this type");
	prove_key(&k);
	read_key(&k);
	PROVE(b.p == blob + at && b.left == len - at, "to its end");
}

static void
fields(enum kv_keytype from, enum kv_keytype to)
{
	enum kv_keytype type = (enum kv_keytype)any_size_up_to(
	    KV_KEY_MLDSA44_ED25519_OLD);

	any_blob();
	at = nondet_u16() & BLOB;
	GIVEN(at <= len);
	curve = nondet_char();
	/* With a constant for a type CBMC has less to do. */
	for (int t = (int)from; t <= (int)to; t++)
		if (type == (enum kv_keytype)t)
			fields_of((enum kv_keytype)t);
}

PROOF(rsa, fields(KV_KEY_RSA, KV_KEY_RSA))
PROOF(dsa, fields(KV_KEY_DSA, KV_KEY_DSA))
PROOF(p256, fields(KV_KEY_ECDSA_P256, KV_KEY_ECDSA_P256))
PROOF(p384, fields(KV_KEY_ECDSA_P384, KV_KEY_ECDSA_P384))
PROOF(p521, fields(KV_KEY_ECDSA_P521, KV_KEY_ECDSA_P521))
PROOF(edwards, fields(KV_KEY_ED25519, KV_KEY_ED448))
PROOF(sk_ed25519, fields(KV_KEY_SK_ED25519, KV_KEY_SK_ED25519))
PROOF(sk_p256, fields(KV_KEY_SK_ECDSA_P256, KV_KEY_SK_ECDSA_P256))
PROOF(mldsa44, fields(KV_KEY_MLDSA44_ED25519, KV_KEY_MLDSA44_ED25519_OLD))

void
parse(void)
{
	struct kv_sshkey key;
	enum kv_err r;

	any_blob();
	r = kv_sshkey_parse(blob, len, &key);
	PROVE(key.is_cert || key.ca.type == KV_KEY_NONE,
	    "a plain key has no CA");
	PROVE((key.key.type != KV_KEY_NONE) == fields_ok,
	    "a key that was read is kept, whatever follows it");
	if (r != KV_OK)
		return;
	PROVE(!key.is_cert || key.ca.type != KV_KEY_NONE,
	    "a good certificate has a CA");
	string();
	if (key.is_cert)
		string(); /* nonce */
	prove_fields(&key.key);
	if (key.is_cert)
		next(); /* the body */
	PROVE(at == len, "the whole blob");
}

void
certificate(void)
{
	struct kv_pubkey ca = { .type = KV_KEY_NONE };
	struct kv_bytes b;
	enum kv_err r;

	any_blob();
	at = nondet_u16() & BLOB;
	GIVEN(at <= len);
	b = (struct kv_bytes){ blob + at, len - at };
	r = get_cert_body(&b, &ca);
	PROVE(in_blob((struct kv_span){ b.p, b.left }), "still in the blob");
	PROVE((ca.type != KV_KEY_NONE) == fields_ok,
	    "a CA that was read is kept, whatever follows it");
	if (r != KV_OK)
		return;
	read_certificate(&ca);
	PROVE(b.p == blob + at && b.left == len - at, "to its end");
}

static size_t
big_endian(const uint8_t *p)
{
	return p[0] * 0x1000000U + p[1] * 0x10000U + p[2] * 0x100U + p[3];
}

/* How many strings a list holds, or -1 if it ends inside one. */
static int
count_strings(struct kv_span list, bool names)
{
	int n = 0;

	blob = list.p;
	len = list.len;
	for (at = 0; at < len; n++) {
		struct kv_span s;

		if (len - at < 4)
			return -1;
		s = (struct kv_span){ blob + at + 4, big_endian(blob + at) };
		if (s.len > len - at - 4)
			return -1;
		at += 4 + s.len;
		if (names && s.len > 0 && memchr(s.p, '\0', s.len - 1) != NULL)
			return -1;
	}
	return n;
}

static struct kv_span
any_strings(void)
{
	size_t n = any_size_up_to(LIST);

	return (struct kv_span){ any_bytes(LIST), n };
}

void
principals(void)
{
	struct kv_span list = any_strings();
	bool ok = check_principals(list) == KV_OK;
	int n = count_strings(list, true);

	PROVE(ok == (n >= 0 && n <= CERT_MAX_PRINCIPALS),
	    "whole names, not too many");
}

void
options(void)
{
	struct kv_span list = any_strings();
	bool ok = check_options(list) == KV_OK;
	int n = count_strings(list, false);

	PROVE(ok == (n >= 0 && n % 2 == 0), "pairs of strings");
}

/* Instead of kv_span_equal, as kv_bytes:equal proves it. */
bool
equal_span(struct kv_span x, struct kv_span y)
{
	if (x.len != y.len)
		return false;
	for (size_t i = 0; i < FIELD; i++)
		if (i < x.len && x.p[i] != y.p[i])
			return false;
	return true;
}

static void
any_key(struct kv_pubkey *k)
{
	k->type = (enum kv_keytype)any_size_up_to(KV_KEY_MLDSA44_ED25519_OLD);
	for (size_t i = 0; i <= KV_PUBKEY_FIELDS; i++) {
		struct kv_span *s = i < KV_PUBKEY_FIELDS ?
		    &k->field[i] :
		    &k->application;

		s->len = any_size_up_to(FIELD);
		s->p = s->len > 0 ? any_bytes(FIELD) : NULL;
	}
}

void
equal(void)
{
	struct kv_pubkey a, b;
	size_t which = any_size_up_to(KV_PUBKEY_FIELDS);
	size_t at = any_size_up_to(FIELD);
	struct kv_span x, y;

	any_key(&a);
	any_key(&b);
	PROVE(kv_pubkey_equal(&a, &a) == (a.type != KV_KEY_NONE),
	    "a key equals itself, no key equals nothing");
	PROVE(kv_pubkey_equal(&a, &b) == kv_pubkey_equal(&b, &a),
	    "in either order");
	if (!kv_pubkey_equal(&a, &b))
		return;
	PROVE(a.type == b.type, "of one type");
	x = which < KV_PUBKEY_FIELDS ? a.field[which] : a.application;
	y = which < KV_PUBKEY_FIELDS ? b.field[which] : b.application;
	PROVE(x.len == y.len, "every field is as long");
	PROVE(at >= x.len || x.p[at] == y.p[at], "every byte is the same");
}

void
bits(void)
{
	struct kv_pubkey k = { .type = KV_KEY_RSA };
	size_t n = any_size_up_to(KV_MPINT_MAX_BYTES);
	unsigned int found;

	k.field[1] = (struct kv_span){ any_bytes(n), n };
	GIVEN(n == 0 || k.field[1].p[0] != 0);
	found = kv_pubkey_bits(&k);
	PROVE(n > 0 || found == 0, "zero has no bit");
	if (n == 0)
		return;
	PROVE(found > (n - 1) * 8 && found <= n * 8, "in the first byte");
	PROVE(k.field[1].p[0] >> ((found - 1) % 8) == 1, "the topmost bit");
}
