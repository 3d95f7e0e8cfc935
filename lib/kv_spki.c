/* SPDX-License-Identifier: ISC */
#include "kv_spki.h"

#include <string.h>

#define TAG_INTEGER 0x02
#define TAG_BIT_STRING 0x03
#define TAG_SEQUENCE 0x30

/* Object identifiers, as the whole DER element. */
static const uint8_t oid_rsa[] = { 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7,
	0x0d, 0x01, 0x01, 0x01, /* NULL parameters */ 0x05, 0x00 };
static const uint8_t oid_dsa[] = { 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x38,
	0x04, 0x01 };
static const uint8_t oid_p256[] = { 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d,
	0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01,
	0x07 };
static const uint8_t oid_p384[] = { 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d,
	0x02, 0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22 };
static const uint8_t oid_p521[] = { 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d,
	0x02, 0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23 };
static const uint8_t oid_ed25519[] = { 0x06, 0x03, 0x2b, 0x65, 0x70 };
static const uint8_t oid_ed448[] = { 0x06, 0x03, 0x2b, 0x65, 0x71 };
static const uint8_t oid_mldsa44[] = { 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65,
	0x03, 0x04, 0x03, 0x11 };
static const uint8_t oid_mldsa44_ed25519[] = { 0x06, 0x08, 0x2b, 0x06, 0x01,
	0x05, 0x05, 0x07, 0x06, 0x27 };

#define SPAN_OF(a) ((struct kv_span){ (a), sizeof(a) })

/* A buffer that is written front to back. full: something did not fit. */
struct writer {
	uint8_t *p;
	size_t cap, len;
	bool full;
};

static void
put(struct writer *w, const uint8_t *p, size_t len)
{
	if (w->full || len > w->cap - w->len) {
		w->full = true;
		return;
	}
	if (len > 0)
		memcpy(w->p + w->len, p, len);
	w->len += len;
}

static void
put_span(struct writer *w, struct kv_span s)
{
	put(w, s.p, s.len);
}

static void
put_u8(struct writer *w, uint8_t b)
{
	put(w, &b, 1);
}

/* Tag and length of an element of len bytes, len < 65536 (X.690 8.1.3). */
static void
put_header(struct writer *w, uint8_t tag, size_t len)
{
	put_u8(w, tag);
	if (len >= 256) {
		put_u8(w, 0x82);
		put_u8(w, (uint8_t)(len >> 8));
	} else if (len >= 128)
		put_u8(w, 0x81);
	put_u8(w, (uint8_t)len);
}

/* The size of an element with len bytes of content. */
static size_t
element_bytes(size_t len)
{
	return len + (len >= 256 ? 4 : len >= 128 ? 3 : 2);
}

/* A zero byte precedes a set top bit. The number zero is one zero byte. */
static size_t
integer_content_bytes(struct kv_span n)
{
	return n.len + (n.len == 0 || (n.p[0] & 0x80) != 0);
}

static size_t
integer_bytes(struct kv_span n)
{
	return element_bytes(integer_content_bytes(n));
}

static void
put_integer(struct writer *w, struct kv_span n)
{
	size_t len = integer_content_bytes(n);

	put_header(w, TAG_INTEGER, len);
	if (len > n.len)
		put_u8(w, 0);
	put_span(w, n);
}

/* Writes SEQUENCE { SEQUENCE { algorithm }, BIT STRING { without its key }. */
static void
put_spki_start(struct writer *w, struct kv_span algorithm, size_t key_len)
{
	put_header(w, TAG_SEQUENCE,
	    element_bytes(algorithm.len) + element_bytes(1 + key_len));
	put_header(w, TAG_SEQUENCE, algorithm.len);
	put_span(w, algorithm);
	put_header(w, TAG_BIT_STRING, 1 + key_len);
	put_u8(w, 0); /* no unused bits */
}

/* For types whose bit string holds the bytes of the key as they are. */
static void
put_raw(struct writer *w, struct kv_span algorithm, struct kv_span key)
{
	put_spki_start(w, algorithm, key.len);
	put_span(w, key);
}

static void
put_rsa(struct writer *w, const struct kv_pubkey *k)
{
	struct kv_span e = k->field[0], n = k->field[1];
	size_t len = integer_bytes(n) + integer_bytes(e);

	put_spki_start(w, SPAN_OF(oid_rsa), element_bytes(len));
	put_header(w, TAG_SEQUENCE, len);
	put_integer(w, n);
	put_integer(w, e);
}

static void
put_dsa(struct writer *w, const struct kv_pubkey *k)
{
	struct kv_span p = k->field[0], q = k->field[1], g = k->field[2];
	struct kv_span y = k->field[3];
	size_t params = integer_bytes(p) + integer_bytes(q) + integer_bytes(g);
	size_t algorithm = sizeof(oid_dsa) + element_bytes(params);
	size_t key = 1 + integer_bytes(y);

	put_header(w, TAG_SEQUENCE,
	    element_bytes(algorithm) + element_bytes(key));
	put_header(w, TAG_SEQUENCE, algorithm);
	put_span(w, SPAN_OF(oid_dsa));
	put_header(w, TAG_SEQUENCE, params);
	put_integer(w, p);
	put_integer(w, q);
	put_integer(w, g);
	put_header(w, TAG_BIT_STRING, key);
	put_u8(w, 0);
	put_integer(w, y);
}

static void
put_mldsa44_ed25519(struct writer *w, const struct kv_pubkey *k, size_t index)
{
	if (index == 1) {
		put_raw(w, SPAN_OF(oid_mldsa44), k->field[0]);
		return;
	}
	if (index == 2) {
		put_raw(w, SPAN_OF(oid_ed25519), k->field[1]);
		return;
	}
	put_spki_start(w, SPAN_OF(oid_mldsa44_ed25519),
	    k->field[0].len + k->field[1].len);
	put_span(w, k->field[0]);
	put_span(w, k->field[1]);
}

/* The algorithm of an elliptic curve type; empty for others. */
static struct kv_span
ec_algorithm(enum kv_keytype type)
{
	if (type == KV_KEY_ECDSA_P256 || type == KV_KEY_SK_ECDSA_P256)
		return SPAN_OF(oid_p256);
	if (type == KV_KEY_ECDSA_P384)
		return SPAN_OF(oid_p384);
	if (type == KV_KEY_ECDSA_P521)
		return SPAN_OF(oid_p521);
	return (struct kv_span){ NULL, 0 };
}

size_t
kv_spki_count(const struct kv_pubkey *key)
{
	if (key->type == KV_KEY_NONE)
		return 0;
	return key->type == KV_KEY_MLDSA44_ED25519 ||
		key->type == KV_KEY_MLDSA44_ED25519_OLD ?
	    3 :
	    1;
}

enum kv_err
kv_spki_encode(const struct kv_pubkey *key, size_t index, uint8_t *out,
    size_t cap, size_t *lenp)
{
	struct writer w = { .p = out, .cap = cap };

	*lenp = 0;
	if (index >= kv_spki_count(key))
		return KV_ERR_INTERNAL;
	switch (key->type) {
	case KV_KEY_RSA:
		put_rsa(&w, key);
		break;
	case KV_KEY_DSA:
		put_dsa(&w, key);
		break;
	case KV_KEY_ECDSA_P256:
	case KV_KEY_ECDSA_P384:
	case KV_KEY_ECDSA_P521:
	case KV_KEY_SK_ECDSA_P256:
		put_raw(&w, ec_algorithm(key->type), key->field[0]);
		break;
	case KV_KEY_ED25519:
	case KV_KEY_SK_ED25519:
		put_raw(&w, SPAN_OF(oid_ed25519), key->field[0]);
		break;
	case KV_KEY_ED448:
		put_raw(&w, SPAN_OF(oid_ed448), key->field[0]);
		break;
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		put_mldsa44_ed25519(&w, key, index);
		break;
	case KV_KEY_NONE:
		return KV_ERR_INTERNAL;
	}
	if (w.full)
		return KV_ERR_NO_SPACE;
	*lenp = w.len;
	return KV_OK;
}

enum kv_err
kv_spki_encode_compressed(const struct kv_pubkey *key, uint8_t *out, size_t cap,
    size_t *lenp)
{
	struct writer w = { .p = out, .cap = cap };
	struct kv_span algorithm = ec_algorithm(key->type), point;

	*lenp = 0;
	if (algorithm.len == 0)
		return KV_ERR_NO_POINT;
	/* 04 x y becomes 02 x for an even y and 03 x for an odd one. */
	point = key->field[0];
	put_spki_start(&w, algorithm, 1 + point.len / 2);
	put_u8(&w, 2 + (point.p[point.len - 1] & 1));
	put(&w, point.p + 1, point.len / 2);
	if (w.full)
		return KV_ERR_NO_SPACE;
	*lenp = w.len;
	return KV_OK;
}
