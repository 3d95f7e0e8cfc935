/* SPDX-License-Identifier: ISC */
/*
 * Keys are as kv_sshkey.h promises them. An SPKI is written in pieces, one behind
 * the other, and in headers: proofs put_bytes and header. The other proofs keep the
 * pieces and headers instead of the bytes, so that keys have their full size.
 *
 * source lib/kv_keytype.c lib/kv_bytes.c
 * proof  put_bytes [quick] --unwind 2: pieces of up to ROOM bytes, any room up to that
 * proof  header [quick] --no-conversion-check --unwind 2: every tag, every length below 65536, read back
 * proof  compressed [quick] --minisat --no-conversion-check --replace put:note --replace put_header:note_header --unwind 8: every key, read back
 * proof  rsa [quick] --no-conversion-check --replace put:note --replace put_header:note_header --unwind 8: RSA keys of any size, read back
 * proof  dsa --no-conversion-check --replace put:note --replace put_header:note_header --replace put_integer:note_integer --unwind 8: DSA keys of any size, read back
 * proof  raw [quick] --no-conversion-check --replace put:note --replace put_header:note_header --unwind 8: keys of all other types, read back
 */
#define PIECES 16
#define ROOM 12

#include "lib/kv_spki.c"

#include "prove.h"

/* A number without leading zeros, as kv_bytes_get_mpint returns it. */
static struct kv_span
any_integer(int i)
{
	static uint8_t number[4][KV_MPINT_MAX_BYTES];

	/* Of the bytes only the first one decides anything. */
	number[i][0] = nondet_byte();
	GIVEN(number[i][0] != 0);
	return (
	    struct kv_span){ number[i], any_size_up_to(KV_MPINT_MAX_BYTES) };
}

static struct kv_span
any_span(size_t len)
{
	return (struct kv_span){ any_bytes(len), len };
}

static struct kv_pubkey
any_key(void)
{
	struct kv_pubkey k = { .type = (enum kv_keytype)any_size_up_to(
				   KV_KEY_MLDSA44_ED25519_OLD) };

	switch (k.type) {
	case KV_KEY_DSA:
		k.field[2] = any_integer(2);
		k.field[3] = any_integer(3);
		/* FALLTHROUGH */
	case KV_KEY_RSA:
		k.field[0] = any_integer(0);
		k.field[1] = any_integer(1);
		break;
	case KV_KEY_ECDSA_P256:
	case KV_KEY_SK_ECDSA_P256:
		k.field[0] = any_span(65);
		break;
	case KV_KEY_ECDSA_P384:
		k.field[0] = any_span(97);
		break;
	case KV_KEY_ECDSA_P521:
		k.field[0] = any_span(133);
		break;
	case KV_KEY_ED448:
		k.field[0] = any_span(KV_ED448_BYTES);
		break;
	case KV_KEY_ED25519:
	case KV_KEY_SK_ED25519:
		k.field[0] = any_span(KV_ED25519_BYTES);
		break;
	case KV_KEY_NONE:
		break;
	default:
		k.field[0] = any_span(KV_MLDSA44_BYTES);
		k.field[1] = any_span(KV_ED25519_BYTES);
		break;
	}
	return k;
}

static size_t len;

/* What was written, in order: bytes, or (p is NULL) a header. */
static struct piece {
	const uint8_t *p;
	size_t len;    /* of the bytes, or what the header says */
	uint8_t first; /* byte, or the header's tag */
} piece[PIECES];
static size_t pieces;

void
put_bytes(void)
{
	static uint8_t to[ROOM], from[ROOM], old[ROOM];
	size_t n = any_size_up_to(ROOM), at = any_size_up_to(ROOM - 1), start;
	struct writer w = { .p = to, .cap = any_size_up_to(ROOM) };

	memcpy(to, any_bytes(ROOM), ROOM);
	memcpy(old, to, ROOM);
	memcpy(from, any_bytes(ROOM), ROOM);
	start = w.len = any_size_up_to(w.cap);
	w.full = nondet_bool();
	if (w.full) {
		put(&w, from, n);
		PROVE(w.full && w.len == start, "full stays full");
		PROVE(to[at] == old[at], "and nothing is written");
		return;
	}
	put(&w, from, n);
	PROVE(w.full == (n > w.cap - start), "full if it does not fit");
	PROVE(w.len == start + (w.full ? 0 : n), "behind what was there");
	PROVE(to[at] ==
		(!w.full && at >= start && at < w.len ? from[at - start] :
							old[at]),
	    "each byte, and no other one");
}

/* A header as X.690 8.1.3 says it, in the shortest form. */
void
header(void)
{
	static uint8_t to[4];
	struct writer w = { .p = to, .cap = sizeof(to) };
	size_t n = nondet_u16();
	uint8_t tag = nondet_byte();

	put_header(&w, tag, n);
	PROVE(!w.full && w.len == element_bytes(n) - n, "as long as counted");
	PROVE(to[0] == tag, "the tag");
	if (w.len == 2)
		PROVE(to[1] == n && n < 128, "the short form");
	else if (w.len == 3)
		PROVE(to[1] == 0x81 && to[2] == n && n >= 128, "one byte");
	else
		PROVE(to[1] == 0x82 && to[2] * 256U + to[3] == n && n >= 256,
		    "two bytes");
}

static void
keep(struct writer *w, size_t n, struct piece what)
{
	PROVE(!w->full && w->len <= w->cap && n <= w->cap - w->len,
	    "room for every key");
	PROVE(pieces < PIECES, "few pieces");
	piece[pieces++] = what;
	w->len += n;
}

/* Instead of put. */
void
note(struct writer *w, const uint8_t *p, size_t n)
{
	PROVE(n == 0 || __CPROVER_r_ok(p, n), "bytes that are there");
	keep(w, n, (struct piece){ p, n, n > 0 ? p[0] : 0 });
}

/* Instead of put_header. */
void
note_header(struct writer *w, uint8_t tag, size_t n)
{
	PROVE(n < 65536, "a length of two bytes");
	keep(w, n < 128 ? 2 : n < 256 ? 3 : 4, (struct piece){ NULL, n, tag });
}

/* The bytes of an INTEGER: a zero precedes a top bit that is set, and stands alone. */
static size_t
integer_size(struct kv_span n)
{
	size_t body = n.len + (n.len == 0 || n.p[0] >= 0x80);

	return body + (body < 128 ? 2 : body < 256 ? 3 : 4);
}

/* Instead of put_integer, as proof rsa shows it. */
void
note_integer(struct writer *w, struct kv_span n)
{
	keep(w, integer_size(n), (struct piece){ n.p, n.len, 0x02 });
}

/* Where a reader is: the next piece, and its place in the SPKI. */
static size_t cursor, at;

static const struct piece *
next_piece(void)
{
	PROVE(cursor < pieces, "something is written there");
	return &piece[cursor++];
}

static uint8_t
next_byte(void)
{
	const struct piece *next = next_piece();

	PROVE(next->p != NULL && next->len == 1, "a byte of its own");
	at++;
	return next->first;
}

/* A reader of DER, of ten lines: enters an element, and returns its length. */
static size_t
element(uint8_t tag)
{
	const struct piece *next = next_piece();

	PROVE(next->p == NULL && next->first == tag, "the tag");
	at += next->len < 128 ? 2 : next->len < 256 ? 3 : 4;
	PROVE(at + next->len <= len, "inside the SPKI");
	return next->len;
}

/* The next bytes must be all of s. */
static void
prove_span(struct kv_span s)
{
	const struct piece *next = next_piece();

	PROVE(next->p == s.p && next->len == s.len, "each byte");
	at += s.len;
}

static void
prove_oid(size_t n)
{
	const struct piece *next = next_piece();

	PROVE(next->len == n && next->first == 0x06, "an OID");
	at += n;
}

/* Enters the BIT STRING, which ends the SPKI. */
static void
enter_bits(void)
{
	size_t bits = element(0x03);

	PROVE(at + bits == len, "the key ends it");
	PROVE(next_byte() == 0, "no unused bits");
}

/* Enters the key behind an algorithm without a structure. */
static void
enter_key(void)
{
	size_t all = element(0x30);

	PROVE(at + all == len, "nothing behind it");
	prove_oid(element(0x30));
	enter_bits();
}

static void
prove_integer(struct kv_span n)
{
	size_t found = element(0x02);

	if (found == n.len + 1) {
		PROVE(next_byte() == 0, "not negative");
		PROVE(n.len == 0 || n.p[0] >= 0x80, "minimal");
	} else {
		PROVE(found == n.len && found > 0, "as long");
		PROVE(n.p[0] < 0x80, "not negative without a zero");
	}
	prove_span(n);
}

static void
write_spki(const struct kv_pubkey *k, size_t index)
{
	enum kv_err r;

	r = kv_spki_encode(k, index, NULL, KV_SPKI_MAX_BYTES, &len);
	PROVE(r == KV_OK, "encodes");
}

void
compressed(void)
{
	struct kv_pubkey k = any_key();
	size_t half;
	enum kv_err r;

	r = kv_spki_encode_compressed(&k, NULL, KV_SPKI_MAX_BYTES, &len);
	PROVE((r == KV_OK) == (len > 0), "the length");
	PROVE((r == KV_OK) == (kv_keytype_point_bytes(k.type) != 0),
	    "points alone");
	if (r != KV_OK)
		return;
	half = k.field[0].len / 2;
	enter_key();
	PROVE(next_byte() == 2 + k.field[0].p[2 * half] % 2, "even, or odd");
	prove_span((struct kv_span){ k.field[0].p + 1, half });
	PROVE(at == len, "x alone");
}

void
rsa(void)
{
	struct kv_pubkey k = { .type = KV_KEY_RSA };
	size_t all;

	k.field[0] = any_integer(0);
	k.field[1] = any_integer(1);
	write_spki(&k, 0);
	enter_key();
	all = element(0x30);
	PROVE(at + all == len, "two numbers");
	prove_integer(k.field[1]);
	prove_integer(k.field[0]);
	PROVE(at == len, "no third one");
}

static void
prove_noted_integer(struct kv_span n)
{
	PROVE(next_piece()->first == 0x02, "an INTEGER");
	cursor--;
	prove_span(n);
	at += integer_size(n) - n.len;
}

void
dsa(void)
{
	struct kv_pubkey k = { .type = KV_KEY_DSA };
	size_t all, algorithm, parameters;

	for (int i = 0; i < 4; i++)
		k.field[i] = any_integer(i);
	write_spki(&k, 0);
	all = element(0x30);
	PROVE(at + all == len, "nothing behind it");
	algorithm = element(0x30);
	algorithm += at;
	prove_oid(sizeof(oid_dsa));
	parameters = element(0x30);
	PROVE(at + parameters == algorithm, "the parameters end it");
	for (int i = 0; i < 3; i++)
		prove_noted_integer(k.field[i]);
	PROVE(at == algorithm, "three parameters");
	enter_bits();
	prove_noted_integer(k.field[3]);
	PROVE(at == len, "y alone");
}

void
raw(void)
{
	struct kv_pubkey k = any_key();
	size_t index;

	GIVEN(k.type != KV_KEY_NONE && k.type != KV_KEY_RSA &&
	    k.type != KV_KEY_DSA);
	index = any_size_up_to(kv_spki_count(&k) - 1);
	write_spki(&k, index);
	enter_key();
	prove_span(k.field[index == 2]);
	if (k.type >= KV_KEY_MLDSA44_ED25519 && index == 0)
		prove_span(k.field[1]);
	PROVE(at == len, "as long");
}
