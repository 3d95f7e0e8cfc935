/* SPDX-License-Identifier: ISC */
#include "proof/private_key.h"

#include <sys/mman.h>

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/decoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "keys/input.h"
#include "keys/pem_forms.h"
#include "keys/store.h"
#include "kv_base64.h"

/* An RSA key of 16384 bits has 13 KiB. */
#define FILE_MAX_BYTES (64 * 1024)

#define OPENSSH_BEGIN "-----BEGIN OPENSSH PRIVATE KEY-----"
#define OPENSSH_END "-----END OPENSSH PRIVATE KEY-----"
#define OPENSSH_MAGIC "openssh-key-v1" /* and its NUL */

/* The text of a key file, in memory that is erased at the end. */
struct text {
	uint8_t p[FILE_MAX_BYTES + 1];
	size_t len;
};

static bool
read_text(int fd, struct text *text, char why[static PROOF_WHY_BYTES])
{
	ssize_t n = io_read(fd, text->p, sizeof(text->p));

	text->len = n > 0 ? (size_t)n : 0;
	if (n == -1)
		return proof_refuse(why, "%s", strerror(errno));
	if (text->len > FILE_MAX_BYTES)
		return proof_refuse(why, "longer than any private key");
	return true;
}

/* --- the block in a text ------------------------------------------------ */

static bool
append(struct text *text, const void *p, size_t len)
{
	if (len > FILE_MAX_BYTES - text->len)
		return false;
	memcpy(text->p + text->len, p, len);
	text->len += len;
	return true;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns it without the blanks and line ends around it. */
static struct kv_span
trim(struct kv_span s)
{
	while (s.len > 0 && is_blank(s.p[0])) {
		s.p++;
		s.len--;
	}
	while (s.len > 0 && is_blank(s.p[s.len - 1]))
		s.len--;
	return s;
}

/* Appends base64 in lines of 64, whatever lines it had. */
static bool
append_base64(struct text *text, struct kv_span body)
{
	size_t column = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < body.len; i++) {
		if (is_blank(body.p[i]))
			continue;
		ok = (column == 0 || column % 64 != 0 ||
			 append(text, "\n", 1)) &&
		    append(text, &body.p[i], 1);
		column++;
	}
	return ok && append(text, "\n", 1);
}

/* Appends each line without the blanks around it. */
static bool
append_lines(struct text *text, struct kv_span body)
{
	bool ok = true;

	while (ok && body.len > 0) {
		const uint8_t *nl = memchr(body.p, '\n', body.len);
		struct kv_span line = { body.p,
			nl != NULL ? (size_t)(nl - body.p) : body.len };

		body.p += line.len + (nl != NULL);
		body.len -= line.len + (nl != NULL);
		line = trim(line);
		ok = append(text, line.p, line.len) && append(text, "\n", 1);
	}
	return ok;
}

/*
 * Takes the first block of a private key, as OpenSSL and ssh-keygen write it:
 * they do not read it in other lines.
 */
static void
take_block(struct kv_span block, void *arg)
{
	static const char label[] = "PRIVATE KEY-----";
	struct text *text = arg;
	struct pem_place place;
	bool ok;

	if (text->len > 0 || !pem_find(block, &place) ||
	    memmem(place.begin.p, place.begin.len, label, sizeof(label) - 1) ==
		NULL)
		return;
	place.body = trim(place.body);
	/* Proc-Type and DEK-Info say how it is encrypted: RFC 1421. */
	ok = append(text, place.begin.p, place.begin.len) &&
	    append(text, "\n", 1) &&
	    (memchr(place.body.p, ':', place.body.len) != NULL ?
		    append_lines(text, place.body) :
		    append_base64(text, place.body)) &&
	    append(text, place.end.p, place.end.len) && append(text, "\n", 1);
	if (!ok)
		text->len = 0;
}

/*
 * Sets *found to the first private key in PEM, wherever keyveto check would
 * find it; else to the whole text, which may be DER.
 */
static bool
find_block(const struct text *in, struct text *found,
    char why[static PROOF_WHY_BYTES])
{
	const struct input_sink sink = {
		.key = input_ignore_key,
		.problem = input_ignore_problem,
		.pem = take_block,
		.arg = found,
	};
	int fd = memfd_create("key", MFD_CLOEXEC);
	bool ok = fd != -1 && io_write(fd, in->p, in->len) &&
	    lseek(fd, 0, SEEK_SET) == 0;

	found->len = 0;
	if (ok)
		input_read_fd(fd, "", &sink);
	else
		proof_refuse(why, "%s", strerror(errno));
	io_close(fd);
	if (ok && found->len == 0)
		*found = *in;
	return ok;
}

/* --- keys that OpenSSL reads -------------------------------------------- */

struct asked {
	const char *passphrase; /* or NULL */
	bool asked;
};

static int
give_passphrase(char *buf, int size, int rwflag, void *arg)
{
	struct asked *a = arg;
	size_t len;

	(void)rwflag;
	a->asked = true;
	if (a->passphrase == NULL ||
	    (len = strlen(a->passphrase)) > (size_t)size)
		return -1;
	memcpy(buf, a->passphrase, len);
	return (int)len;
}

static enum private_key_end
decode(const struct text *text, const char *passphrase, EVP_PKEY **pkeyp,
    char why[static PROOF_WHY_BYTES])
{
	struct asked a = { .passphrase = passphrase };
	BIO *bio = BIO_new_mem_buf(text->p, (int)text->len);
	OSSL_DECODER_CTX *ctx = OSSL_DECODER_CTX_new_for_pkey(pkeyp, NULL, NULL,
	    NULL, EVP_PKEY_KEYPAIR, pem_openssl_context(), NULL);
	enum private_key_end end = PRIVATE_KEY_READ;

	if (bio == NULL || ctx == NULL ||
	    !OSSL_DECODER_CTX_set_pem_password_cb(ctx, give_passphrase, &a) ||
	    !OSSL_DECODER_from_bio(ctx, bio)) {
		end = a.asked && passphrase == NULL ?
		    PRIVATE_KEY_NEEDS_PASSPHRASE :
		    PRIVATE_KEY_REFUSED;
		proof_refuse(why, "%s",
		    a.asked ? "wrong passphrase, or the key is damaged" :
			      "no private key that OpenSSH or OpenSSL reads");
	}
	OSSL_DECODER_CTX_free(ctx);
	BIO_free(bio);
	ERR_clear_error();
	return end;
}

/* --- keys that OpenSSH writes ------------------------------------------- */

/* What is in the container before the private half: PROTOCOL.key. */
struct container {
	uint8_t data[FILE_MAX_BYTES];
	bool encrypted;
	struct kv_span private_half; /* if not encrypted */
};

/* Sets *bodyp to the base64 of the first OpenSSH private key in the text. */
static bool
find_openssh(const struct text *text, struct kv_span *bodyp)
{
	const uint8_t *begin = memmem(text->p, text->len, OPENSSH_BEGIN,
	    strlen(OPENSSH_BEGIN));
	const uint8_t *end;

	if (begin == NULL)
		return false;
	begin += strlen(OPENSSH_BEGIN);
	end = memmem(begin, text->len - (size_t)(begin - text->p), OPENSSH_END,
	    strlen(OPENSSH_END));
	*bodyp = (struct kv_span){ begin,
		end != NULL ? (size_t)(end - begin) : 0 };
	return true;
}

static bool
read_container(struct kv_span body, struct container *c,
    char why[static PROOF_WHY_BYTES])
{
	struct kv_span cipher, skipped;
	struct kv_bytes b = { c->data, 0 };
	uint32_t n;

	if (kv_base64_decode((const char *)body.p, body.len, c->data,
		sizeof(c->data), &b.left) != KV_OK ||
	    b.left < sizeof(OPENSSH_MAGIC) ||
	    memcmp(b.p, OPENSSH_MAGIC, sizeof(OPENSSH_MAGIC)) != 0 ||
	    kv_bytes_skip(&b, sizeof(OPENSSH_MAGIC)) != KV_OK ||
	    kv_bytes_get_string(&b, &cipher) != KV_OK ||
	    kv_bytes_get_string(&b, &skipped) != KV_OK || /* kdf */
	    kv_bytes_get_string(&b, &skipped) != KV_OK || /* its options */
	    kv_bytes_get_u32(&b, &n) != KV_OK || n != 1 ||
	    kv_bytes_get_string(&b, &skipped) != KV_OK || /* public half */
	    kv_bytes_get_string(&b, &c->private_half) != KV_OK)
		return proof_refuse(why, "the OpenSSH private key is damaged");
	c->encrypted = !kv_span_is(cipher, "none");
	return true;
}

/*
 * Reads an Ed25519 key: two equal u32, then the name, the public half, and both
 * halves. OpenSSH 9.2 writes such keys in no form that OpenSSL reads. NULL,
 * without a reason, if it is of another type.
 */
static EVP_PKEY *
read_ed25519(struct kv_span private_half)
{
	struct kv_bytes b = { private_half.p, private_half.len };
	struct kv_span name, pub, both;
	uint32_t check[2];

	if (kv_bytes_get_u32(&b, &check[0]) != KV_OK ||
	    kv_bytes_get_u32(&b, &check[1]) != KV_OK || check[0] != check[1] ||
	    kv_bytes_get_string(&b, &name) != KV_OK ||
	    !kv_span_is(name, kv_keytype_name(KV_KEY_ED25519)) ||
	    kv_bytes_get_string(&b, &pub) != KV_OK ||
	    kv_bytes_get_string(&b, &both) != KV_OK ||
	    both.len != 2 * KV_ED25519_BYTES)
		return NULL;
	return EVP_PKEY_new_raw_private_key_ex(pem_openssl_context(), "ED25519",
	    NULL, both.p, KV_ED25519_BYTES);
}

static enum private_key_end
read_openssh(const struct private_key_file *file, struct kv_span body,
    struct container *c, EVP_PKEY **pkeyp, char why[static PROOF_WHY_BYTES])
{
	if (!read_container(body, c, why))
		return PRIVATE_KEY_REFUSED;
	if (!c->encrypted && (*pkeyp = read_ed25519(c->private_half)) != NULL)
		return PRIVATE_KEY_READ;
	if (!file->is_converted)
		return c->encrypted ? PRIVATE_KEY_NEEDS_BOTH :
				      PRIVATE_KEY_NEEDS_KEYGEN;
	proof_refuse(why,
	    "of a type whose compromise cannot be proved: ssh-keygen writes it "
	    "in no form that OpenSSL reads");
	return PRIVATE_KEY_REFUSED;
}

/* --- any ---------------------------------------------------------------- */

static enum private_key_end
read_any(const struct private_key_file *file, const struct text *text,
    struct container *c, EVP_PKEY **pkeyp, char why[static PROOF_WHY_BYTES])
{
	struct kv_span body;
	const char *store;

	if (find_openssh(text, &body))
		return read_openssh(file, body, c, pkeyp, why);
	if (memmem(text->p, text->len, "PuTTY-User-Key-File-", 20) != NULL)
		proof_refuse(why,
		    "in PuTTY's form; 'puttygen KEY -O private-openssh -o NEW' "
		    "writes it in OpenSSH's");
	else if ((store = store_name((struct kv_span){ text->p, text->len })) !=
	    NULL)
		proof_refuse(why, "in a %s: write it as PEM first", store);
	else
		return decode(text, file->passphrase, pkeyp, why);
	return PRIVATE_KEY_REFUSED;
}

enum private_key_end
private_key_read(const struct private_key_file *file, EVP_PKEY **pkeyp,
    char why[static PROOF_WHY_BYTES])
{
	static struct text whole, text;
	static struct container container;
	enum private_key_end end = PRIVATE_KEY_REFUSED;

	why[0] = '\0';
	*pkeyp = NULL;
	if (read_text(file->fd, &whole, why) && find_block(&whole, &text, why))
		end = read_any(file, &text, &container, pkeyp, why);
	if (end > PRIVATE_KEY_READ &&
	    !io_write_at(file->next, text.p, text.len, 0)) {
		proof_refuse(why, "%s", strerror(errno));
		end = PRIVATE_KEY_REFUSED;
	}
	explicit_bzero(&whole, sizeof(whole));
	explicit_bzero(&text, sizeof(text));
	explicit_bzero(&container, sizeof(container));
	return end;
}
