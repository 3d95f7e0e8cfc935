/* SPDX-License-Identifier: ISC */
#include "keys/quick.h"

/* SHA256_Init and its kin: see hash_number. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <endian.h>
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
#define HEAD_BYTES 64
#define TAIL_BYTES 16
/* The longest name of a type, and the blank behind it. */
#define NAME_BYTES 20
#define OWN_BYTES_MIN 32
#define FORMS 16

/*
 * All keys of one type and size have the same head, in the blob and in the
 * SPKI. Behind it are the key's own bytes: a number, or a point without the
 * byte that says that it is not compressed. The exponent of RSA is in the head
 * of the blob, and behind the modulus in the SPKI.
 */
struct form {
	enum kv_keytype type;
	struct kv_span e; /* of RSA; in blob_head */
	size_t blob_len, own_len;
	size_t blob_head_len, spki_head_len, spki_tail_len;
	uint8_t blob_head[HEAD_BYTES], spki_head[HEAD_BYTES];
	uint8_t spki_tail[TAIL_BYTES];
};

/* A thread's forms, of the keys that it read, and its buffer. */
struct workshop {
	struct form form[FORMS];
	size_t next; /* the form that is replaced next */
	uint8_t room[HEAD_BYTES + BLOB_BYTES + BASE64_VECTOR_SLACK];
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

/* Tells if quick knows the type, and word is its name, also in the blob. */
static bool
is_known(enum kv_keytype type, struct kv_span word, const uint8_t *blob)
{
	return (type == KV_KEY_RSA || type == KV_KEY_ED25519 ||
		   (type >= KV_KEY_ECDSA_P256 && type <= KV_KEY_ECDSA_P521)) &&
	    kv_span_is(word, kv_keytype_name(type)) && blob[3] == word.len;
}

/*
 * Makes the form of a key from what kv_sshkey and kv_spki say of it. False if
 * it is of another type, or a number is not in its only form.
 */
static bool
learn_form(struct form *f, struct kv_span word, const uint8_t *blob, size_t len)
{
	uint8_t spki[KV_SPKI_MAX_BYTES];
	struct kv_sshkey key = { 0 };
	const struct kv_span *field = key.key.field;
	const uint8_t *own;
	uint32_t own_len;
	size_t n;
	bool rsa;

	if (kv_sshkey_parse(blob, len, &key) != KV_OK || key.is_cert ||
	    !is_known(key.key.type, word, blob) ||
	    kv_spki_encode(&key.key, 0, spki, sizeof(spki), &n) != KV_OK)
		return false;
	rsa = key.key.type == KV_KEY_RSA;
	*f = (struct form){ .type = key.key.type, .blob_len = len };
	own = rsa ? field[1].p - (field[1].p[0] >> 7) : field[0].p;
	memcpy(&own_len, own - 4, sizeof(own_len));
	own += kv_keytype_curve(f->type) != NULL;
	f->blob_head_len = (size_t)(own - blob);
	f->own_len = len - f->blob_head_len;
	if (rsa && (be32toh(own_len) != f->own_len || field[0].len == 0))
		return false;
	if (rsa)
		f->spki_tail_len = 2 + field[0].len + (field[0].p[0] >> 7);
	f->spki_head_len = n - f->own_len - f->spki_tail_len;
	if (f->own_len < OWN_BYTES_MIN || f->blob_head_len > HEAD_BYTES ||
	    f->spki_head_len > HEAD_BYTES || f->spki_tail_len > TAIL_BYTES ||
	    memcmp(spki + f->spki_head_len, own, f->own_len) != 0)
		return false;
	memcpy(f->blob_head, blob, f->blob_head_len);
	memcpy(f->spki_head, spki, f->spki_head_len);
	memcpy(f->spki_tail, spki + n - f->spki_tail_len, f->spki_tail_len);
	if (rsa)
		f->e = (struct kv_span){ f->blob_head + (field[0].p - blob),
			field[0].len };
	return true;
}

/* The form of a key, of whose type word is the name; NULL if it has none. */
static const struct form *
find_form(struct workshop *w, struct kv_span word, const uint8_t *blob,
    size_t len)
{
	struct form *f = w->form;

	for (; f < w->form + FORMS; f++)
		if (f->blob_len == len &&
		    memcmp(blob, f->blob_head, f->blob_head_len) == 0 &&
		    word.len == blob[3] &&
		    memcmp(word.p, blob + 4, word.len) == 0)
			return f;
	f = &w->form[w->next];
	if (!learn_form(f, word, blob, len)) {
		f->blob_len = 0;
		return NULL;
	}
	w->next = (w->next + 1) % FORMS;
	return f;
}

/* Hashes the key in the blob, and overwrites that with its SPKI. */
static bool
hash_key(const struct form *f, uint8_t *blob, const struct target *t)
{
	const bool rsa = f->type == KV_KEY_RSA;
	const size_t point = kv_keytype_curve(f->type) != NULL;
	uint8_t *own = blob + f->blob_head_len;
	struct kv_pubkey key = { .type = f->type,
		.field = { { own - point, f->own_len + point } } };

	if (rsa) {
		/* A zero byte stands before a set top bit only. */
		if ((own[0] == 0 ? ~own[1] : own[0]) & 0x80)
			return false;
		key.field[0] = f->e;
		key.field[1] = (struct kv_span){ own + (own[0] == 0),
			f->own_len - (own[0] == 0) };
	}
	if (kv_nosecret_source(&key) != NULL)
		return false;
	/* Of a point, x y, lists have x. */
	if (t->number != NULL)
		hash_number(own, f->own_len >> point, t->number);
	if (t->spki == NULL)
		return true;
	memcpy(own - f->spki_head_len, f->spki_head, f->spki_head_len);
	memcpy(own + f->own_len, f->spki_tail, f->spki_tail_len);
	*t->spki = kv_pkbf_hash(own - f->spki_head_len,
	    f->spki_head_len + f->own_len + f->spki_tail_len);
	return true;
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
	uint8_t *blob = w->room + HEAD_BYTES;
	const uint8_t *blank = memchr(text.p, ' ',
	    text.len < NAME_BYTES ? text.len : NAME_BYTES);
	struct kv_span word = { text.p, 0 }, rest;
	const struct form *f;
	size_t used, len;

	*usedp = 0;
	/* No other name begins with these letters. */
	if (blank == NULL || (text.p[0] != 's' && text.p[0] != 'e'))
		return false;
	word.len = (size_t)(blank - text.p);
	text.p += word.len + 1;
	text.len -= word.len + 1;
	used = decode_blob(text, blob, &len);
	rest = (struct kv_span){ text.p + used, text.len - used };
	/* The word may have a line end, until a form has that name. */
	if (used == 0 || !is_end_of_key(rest) ||
	    (f = find_form(w, word, blob, len)) == NULL)
		return false;
	*usedp = word.len + 1 + used;
	return (ecdsa || kv_keytype_curve(f->type) == NULL) &&
	    hash_key(f, blob, t);
}

size_t
quick_hash(struct kv_span text, unsigned int flags,
    struct quick_line line[static QUICK_LINES], struct quick_hashes *h)
{
	size_t n = 0;
	bool more = true;

	h->n = 0;
	for (; n < QUICK_LINES && text.len > 0 && more; n++) {
		const struct target t = {
			.spki = h->spki != NULL ? &h->spki[h->n] : NULL,
			.number = h->number != NULL ? &h->number[h->n] : NULL,
		};
		const uint8_t *nl;
		size_t used = 0;

		line[n].done = read_key(&workshop, text,
		    (flags & QUICK_ECDSA) != 0, &used, &t);
		nl = memchr(text.p + used, '\n', text.len - used);
		line[n].len = nl != NULL ? (size_t)(nl - text.p) + 1 : text.len;
		/* Behind a NUL there may be another key. */
		if (memchr(text.p + used, '\0', line[n].len - used) != NULL)
			line[n].done = false;
		h->n += line[n].done;
		if (!line[n].done)
			more = (flags & QUICK_IN_ORDER) == 0 &&
			    !pem_is_begin((struct kv_span){ text.p,
				line[n].len - (nl != NULL) });
		text.p += line[n].len;
		text.len -= line[n].len;
	}
	return n;
}
