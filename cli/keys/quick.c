/* SPDX-License-Identifier: ISC */
#include "keys/quick.h"

/* SHA256_Init and its kin: see hash_number. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <string.h>

#include "keys/base64_vector.h"
#include "keys/pem.h"
#include "kv_base64.h"
#include "kv_nosecret.h"
#include "kv_spki.h"

/* The largest blob that is read: RSA-8192, with room. */
#define BLOB_BYTES 2048
/* Room before a blob: the head of an SPKI may be longer than the blob's. */
#define ROOM_BYTES 64
#define HEAD_BYTES 64

/*
 * All keys of one type and size have the same head, in the blob and in the
 * SPKI; the key's own bytes follow it.
 */
struct form {
	const char *name;
	size_t name_len;
	enum kv_keytype type;
	uint8_t blob_head[HEAD_BYTES], spki_head[HEAD_BYTES];
	size_t blob_head_len, spki_head_len, key_len;
};

/* An RSA key's SPKI: head, modulus, two bytes, exponent. */
struct rsa_form {
	size_t n_len, e_len; /* lengths in the blob */
	uint8_t head[HEAD_BYTES], middle[2];
	size_t head_len;
};

#define FORMS 4
#define RSA_FORMS 8
#define RSA_E_MAX 8
#define RSA_N_MIN 128

/* A thread's forms and buffer. */
struct workshop {
	bool ready;
	struct form form[FORMS]; /* Ed25519, then NIST's curves */
	struct rsa_form rsa[RSA_FORMS];
	size_t n_rsa;
	uint8_t room[ROOM_BYTES + BLOB_BYTES + BASE64_VECTOR_SLACK];
};

/* Where the hashes of one key go; NULL: not wanted. */
struct target {
	struct kv_pkbf_hash *spki;
	struct kv_blocklist_hash *number;
};

static _Thread_local struct workshop workshop;

/*
 * As kv_blocklist_hash_number. OpenSSL uses the processor's instructions for
 * SHA-256, libmd does not. Its newer interface, EVP, takes 0.2 us more for each
 * key, as long as the hash of 200 bytes.
 */
static void
hash_number(const uint8_t *p, size_t len, struct kv_blocklist_hash *h)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA256_CTX ctx;

	while (len > 0 && *p == 0) {
		p++;
		len--;
	}
	if (SHA256_Init(&ctx) == 1 && SHA256_Update(&ctx, p, len) == 1 &&
	    SHA256_Final(digest, &ctx) == 1)
		memcpy(h->byte, digest, sizeof(h->byte));
	else
		kv_blocklist_hash_number((struct kv_span){ p, len }, h);
}

struct digest {
	SHA256_CTX ctx;
	bool ok;
};

static void
update_digest(const void *p, size_t len, void *arg)
{
	struct digest *d = arg;

	d->ok &= SHA256_Update(&d->ctx, p, len) == 1;
}

void
quick_digest(const struct kv_pubkey *key,
    uint8_t digest[static KV_SHA256_BYTES])
{
	struct digest d;

	d.ok = SHA256_Init(&d.ctx) == 1;
	kv_fingerprint_put(key, update_digest, &d);
	if (!d.ok || SHA256_Final(digest, &d.ctx) != 1)
		kv_fingerprint_digest(key, digest);
}

static uint32_t
load_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

static uint8_t *
store_string(uint8_t *p, const void *s, size_t len)
{
	p[0] = p[1] = p[2] = 0;
	p[3] = (uint8_t)len;
	if (s != NULL)
		memcpy(p + 4, s, len);
	return p + 4 + (s != NULL ? len : 0);
}

/* Takes the head from what kv_spki_encode makes of a key of zeros. */
static bool
make_form(struct form *f, enum kv_keytype type)
{
	static const uint8_t zeros[256];
	const char *curve = kv_keytype_curve(type);
	size_t point = kv_keytype_point_bytes(type);
	size_t len = point > 0 ? point : KV_ED25519_BYTES;
	uint8_t key[256] = { 4 }, *end;
	struct kv_pubkey dummy = { .type = type, .field = { { zeros, len } } };
	uint8_t spki[KV_SPKI_MAX_BYTES];
	size_t spki_len;

	f->name = kv_keytype_name(type);
	f->name_len = strlen(f->name);
	f->type = type;
	end = store_string(f->blob_head, f->name, f->name_len);
	if (curve != NULL)
		end = store_string(end, curve, strlen(curve));
	end = store_string(end, NULL, len);
	/* The first byte of a point says that it is not compressed. */
	if (point > 0) {
		*end++ = key[0];
		dummy.field[0].p = key;
	}
	f->key_len = len - (point > 0);
	f->blob_head_len = (size_t)(end - f->blob_head);
	if (kv_spki_encode(&dummy, 0, spki, sizeof(spki), &spki_len) != KV_OK)
		return false;
	f->spki_head_len = spki_len - f->key_len;
	if (f->spki_head_len > sizeof(f->spki_head))
		return false;
	memcpy(f->spki_head, spki, f->spki_head_len);
	return true;
}

static bool
make_rsa_form(struct rsa_form *f, size_t n_len, size_t e_len)
{
	static const uint8_t e[RSA_E_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	uint8_t n[BLOB_BYTES] = { 0x7f };
	const struct kv_pubkey dummy = {
		.type = KV_KEY_RSA,
		.field = { { e, e_len }, { n, n_len } },
	};
	uint8_t spki[KV_SPKI_MAX_BYTES];
	size_t len;

	if (kv_spki_encode(&dummy, 0, spki, sizeof(spki), &len) != KV_OK)
		return false;
	f->n_len = n_len;
	f->e_len = e_len;
	f->head_len = len - n_len - sizeof(f->middle) - e_len;
	if (f->head_len > sizeof(f->head))
		return false;
	memcpy(f->head, spki, f->head_len);
	memcpy(f->middle, spki + f->head_len + n_len, sizeof(f->middle));
	return true;
}

/*
 * Decodes canonical base64 up to the first character that is not base64. *lenp
 * is the number of bytes. Returns the number of characters; 0 if it is not
 * canonical.
 */
static size_t
decode_blob(struct kv_span text, uint8_t *blob, size_t *lenp)
{
	size_t used = base64_vector_groups(text.p, text.len, blob, BLOB_BYTES);
	size_t rest = 0;

	*lenp = used / 4 * 3;
	if (text.len - used >= 4 && text.p[used + 3] == '=') {
		if (kv_base64_decode((const char *)text.p + used, 4,
			blob + *lenp, BLOB_BYTES - *lenp, &rest) != KV_OK)
			return 0;
		*lenp += rest;
		used += 4;
	}
	return used;
}

static bool
hash_form(const struct form *f, uint8_t *blob, size_t len,
    const struct target *t)
{
	uint8_t *key = blob + f->blob_head_len;
	const size_t form = kv_keytype_curve(f->type) != NULL;
	const struct kv_pubkey k = { .type = f->type,
		.field = { { key - form, f->key_len + form } } };

	if (len != f->blob_head_len + f->key_len ||
	    memcmp(blob, f->blob_head, f->blob_head_len) != 0 ||
	    kv_nosecret_source(&k) != NULL)
		return false;
	/* Of a point, x y, lists have x. */
	if (t->number != NULL)
		hash_number(key, f->key_len >> form, t->number);
	if (t->spki == NULL)
		return true;
	memcpy(key - f->spki_head_len, f->spki_head, f->spki_head_len);
	*t->spki = kv_pkbf_hash(key - f->spki_head_len,
	    f->spki_head_len + f->key_len);
	return true;
}

/* Whether an mpint is positive, and has no needless zero byte. */
static bool
is_canonical(const uint8_t *p, size_t len)
{
	return (p[0] & 0x80) == 0 &&
	    (p[0] != 0 || (len > 1 && (p[1] & 0x80) != 0));
}

/* A canonical mpint, without the zero byte before a set top bit. */
static struct kv_span
number_of(const uint8_t *p, size_t len)
{
	return (struct kv_span){ p + (p[0] == 0), len - (p[0] == 0) };
}

static bool
needs_no_secret(struct kv_span e, struct kv_span n)
{
	const struct kv_pubkey k = { .type = KV_KEY_RSA, .field = { e, n } };

	return kv_nosecret_source(&k) != NULL;
}

static const struct rsa_form *
find_rsa_form(struct workshop *w, size_t n_len, size_t e_len)
{
	struct rsa_form *f;

	for (size_t i = 0; i < w->n_rsa; i++) {
		if (w->rsa[i].n_len == n_len && w->rsa[i].e_len == e_len)
			return &w->rsa[i];
	}
	if (w->n_rsa == RSA_FORMS)
		w->n_rsa = 0;
	f = &w->rsa[w->n_rsa];
	if (!make_rsa_form(f, n_len, e_len))
		return NULL;
	w->n_rsa++;
	return f;
}

/* string "ssh-rsa", mpint e, mpint n (RFC 4253 section 6.6) */
static bool
hash_rsa(struct workshop *w, uint8_t *blob, size_t len, const struct target *t)
{
	static const uint8_t head[] = "\0\0\0\7ssh-rsa";
	const size_t start = sizeof(head) - 1;
	const struct rsa_form *f;
	uint8_t e[RSA_E_MAX], *n;
	size_t e_len, n_len;

	if (len < start + 8 || memcmp(blob, head, start) != 0)
		return false;
	e_len = load_u32(blob + start);
	if (e_len < 1 || e_len > RSA_E_MAX || len < start + 8 + e_len)
		return false;
	n = blob + start + 8 + e_len;
	n_len = load_u32(n - 4);
	if (n_len < RSA_N_MIN || n_len != len - (start + 8 + e_len))
		return false;
	memcpy(e, blob + start + 4, e_len);
	if (!is_canonical(e, e_len) || !is_canonical(n, n_len) ||
	    needs_no_secret(number_of(e, e_len), number_of(n, n_len)) ||
	    (f = find_rsa_form(w, n_len, e_len)) == NULL)
		return false;
	if (t->number != NULL)
		hash_number(n, n_len, t->number);
	if (t->spki == NULL)
		return true;
	memcpy(n - f->head_len, f->head, f->head_len);
	memcpy(n + n_len, f->middle, sizeof(f->middle));
	memcpy(n + n_len + sizeof(f->middle), e, e_len);
	*t->spki = kv_pkbf_hash(n - f->head_len,
	    f->head_len + n_len + sizeof(f->middle) + e_len);
	return true;
}

/* The form of RSA keys. hash_rsa finds their heads. */
static const struct form rsa = { .name = "ssh-rsa", .name_len = 7 };

/* The form of the line that text starts with; NULL if it is unknown here. */
static const struct form *
find_form(const struct workshop *w, struct kv_span text, bool ecdsa)
{
	for (size_t i = 0; i <= (ecdsa ? FORMS : 1); i++) {
		const struct form *f = i == 0 ? &rsa : &w->form[i - 1];

		if (text.len > f->name_len && text.p[f->name_len] == ' ' &&
		    memcmp(text.p, f->name, f->name_len) == 0)
			return f;
	}
	return NULL;
}

/* Whether base64 may end here: at a blank, or the end of the line. */
static bool
is_end_of_key(struct kv_span rest)
{
	return rest.len == 0 || rest.p[0] == '\n' || rest.p[0] == ' ' ||
	    rest.p[0] == '\t' ||
	    (rest.p[0] == '\r' && (rest.len == 1 || rest.p[1] == '\n'));
}

/*
 * Reads the line that text starts with, up to the end of its key: *usedp bytes.
 * True, with its hashes, if it is certainly one key.
 */
static bool
read_key(struct workshop *w, struct kv_span text, bool ecdsa, size_t *usedp,
    const struct target *t)
{
	const struct form *f = find_form(w, text, ecdsa);
	uint8_t *blob = w->room + ROOM_BYTES;
	size_t used, len;

	*usedp = 0;
	if (f == NULL)
		return false;
	*usedp = f->name_len + 1;
	text.p += *usedp;
	text.len -= *usedp;
	if ((used = decode_blob(text, blob, &len)) == 0)
		return false;
	*usedp += used;
	text.p += used;
	text.len -= used;
	if (!is_end_of_key(text))
		return false;
	return f == &rsa ? hash_rsa(w, blob, len, t) :
			   hash_form(f, blob, len, t);
}

size_t
quick_hash(struct kv_span text, unsigned int flags,
    struct quick_line line[static QUICK_LINES], struct quick_hashes *h)
{
	static const enum kv_keytype types[FORMS] = {
		KV_KEY_ED25519,
		KV_KEY_ECDSA_P256,
		KV_KEY_ECDSA_P384,
		KV_KEY_ECDSA_P521,
	};
	struct workshop *w = &workshop;
	size_t n = 0;
	bool able = true, more = true;

	for (size_t i = 0; !w->ready && able && i < FORMS; i++)
		able = make_form(&w->form[i], types[i]);
	w->ready = able;
	h->n = 0;
	for (; n < QUICK_LINES && text.len > 0 && more; n++) {
		const struct target t = {
			.spki = h->spki != NULL ? &h->spki[h->n] : NULL,
			.number = h->number != NULL ? &h->number[h->n] : NULL,
		};
		const uint8_t *nl;
		size_t used = 0;

		line[n].done = able &&
		    read_key(w, text, (flags & QUICK_ECDSA) != 0, &used, &t);
		h->n += line[n].done;
		nl = memchr(text.p + used, '\n', text.len - used);
		line[n].len = nl != NULL ? (size_t)(nl - text.p) + 1 : text.len;
		if (!line[n].done)
			more = (flags & QUICK_IN_ORDER) == 0 &&
			    !pem_is_begin((struct kv_span){ text.p,
				line[n].len - (nl != NULL) });
		text.p += line[n].len;
		text.len -= line[n].len;
	}
	return n;
}
