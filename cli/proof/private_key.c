/* SPDX-License-Identifier: ISC */
#include "proof/private_key.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/decoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "host/program.h"
#include "keys/input.h"
#include "keys/pem_forms.h"
#include "keys/store.h"
#include "kv_base64.h"

/* An RSA key of 16384 bits has 13 KiB. */
#define FILE_MAX_BYTES (64 * 1024)

#define KEYGEN_PATH "/usr/bin/ssh-keygen"

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

static bool
read_file(const char *path, struct text *text, char why[static PROOF_WHY_BYTES])
{
	int fd = strcmp(path, "-") == 0 ?
	    STDIN_FILENO :
	    open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	bool ok;

	if (fd == -1)
		return proof_refuse(why, "%s", strerror(errno));
	ok = read_text(fd, text, why);
	if (fd != STDIN_FILENO)
		close(fd);
	return ok;
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

static void
ignore_key(const struct input_key *key, void *arg)
{
	(void)key;
	(void)arg;
}

static void
ignore_problem(const struct input_problem *problem, void *arg)
{
	(void)problem;
	(void)arg;
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
		.key = ignore_key,
		.problem = ignore_problem,
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
	if (fd != -1)
		close(fd);
	if (ok && found->len == 0)
		*found = *in;
	return ok;
}

/* Opens the terminal. -1 with a reason if there is none. */
static int
open_terminal(char why[static PROOF_WHY_BYTES])
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd == -1)
		proof_refuse(why,
		    "encrypted, and there is no terminal to ask for its "
		    "passphrase on");
	return fd;
}

/* --- keys that OpenSSL reads -------------------------------------------- */

struct asked {
	const char *path;
	char *why; /* PROOF_WHY_BYTES */
	bool asked;
};

/* OpenSSL would ask on standard input if there were no terminal. */
static int
ask_passphrase(char *buf, int size, int rwflag, void *arg)
{
	struct asked *a = arg;
	char prompt[PROOF_WHY_BYTES];
	int terminal = open_terminal(a->why);

	(void)rwflag;
	a->asked = true;
	if (terminal == -1)
		return -1;
	close(terminal);
	cli_error("%s: encrypted", a->path);
	snprintf(prompt, sizeof(prompt), "Passphrase: ");
	if (EVP_read_pw_string(buf, size, prompt, 0) != 0) {
		proof_refuse(a->why, "no passphrase was given");
		return -1;
	}
	proof_refuse(a->why, "wrong passphrase, or the key is damaged");
	return (int)strlen(buf);
}

static EVP_PKEY *
decode(const struct text *text, const char *path,
    char why[static PROOF_WHY_BYTES])
{
	struct asked a = { .path = path, .why = why };
	BIO *bio = BIO_new_mem_buf(text->p, (int)text->len);
	EVP_PKEY *pkey = NULL;
	OSSL_DECODER_CTX *ctx = OSSL_DECODER_CTX_new_for_pkey(&pkey, NULL, NULL,
	    NULL, EVP_PKEY_KEYPAIR, pem_openssl_context(), NULL);

	if (bio == NULL || ctx == NULL ||
	    !OSSL_DECODER_CTX_set_pem_password_cb(ctx, ask_passphrase, &a) ||
	    !OSSL_DECODER_from_bio(ctx, bio)) {
		EVP_PKEY_free(pkey);
		pkey = NULL;
		if (!a.asked)
			proof_refuse(why,
			    "no private key that OpenSSH or OpenSSL reads");
	}
	OSSL_DECODER_CTX_free(ctx);
	BIO_free(bio);
	ERR_clear_error();
	return pkey;
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

/*
 * Runs ssh-keygen -p, which decrypts the key in the file, and writes it back
 * without passphrase, in PKCS#8 if it can. It asks on standard input, which is
 * the terminal.
 */
static bool
run_keygen(int file, int terminal, char why[static PROOF_WHY_BYTES])
{
	static const char *const argv[] = { KEYGEN_PATH, "-p", "-N", "", "-m",
		"PKCS8", "-f", "/proc/self/fd/3", NULL };
	struct program keygen = { .argv = argv, .no_new_privs = true };
	int status, error;

	program_fds(&keygen, terminal, PROGRAM_NULL, PROGRAM_NULL);
	keygen.fd[3] = file;
	error = program_run(&keygen, &status);
	if (error == ENOENT)
		return proof_refuse(why,
		    KEYGEN_PATH " cannot be run; install openssh-client");
	if (error != 0)
		return proof_refuse(why, KEYGEN_PATH " cannot be run: %s",
		    strerror(error));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return proof_refuse(why,
		    terminal != PROGRAM_NULL ?
			"ssh-keygen cannot decrypt it: wrong passphrase, or a "
			"damaged key" :
			"ssh-keygen cannot read it: damaged, or of a type that "
			"it does not know");
	return true;
}

/* Has ssh-keygen convert the key. False with a reason. */
static bool
convert(struct text *text, const char *path, bool encrypted,
    char why[static PROOF_WHY_BYTES])
{
	int file = memfd_create("key", MFD_CLOEXEC), terminal = PROGRAM_NULL;
	bool ok = false;

	/* ssh-keygen reads no key that others may read. */
	if (file == -1 || fchmod(file, 0600) == -1 ||
	    !io_write(file, text->p, text->len)) {
		proof_refuse(why, "%s", strerror(errno));
		goto out;
	}
	if (encrypted) {
		if ((terminal = open_terminal(why)) == -1)
			goto out;
		cli_error("%s: encrypted; ssh-keygen asks for its passphrase",
		    path);
	}
	ok = run_keygen(file, terminal, why) &&
	    (lseek(file, 0, SEEK_SET) == 0 ||
		proof_refuse(why, "%s", strerror(errno))) &&
	    read_text(file, text, why);
	if (terminal != PROGRAM_NULL)
		close(terminal);
out:
	if (file != -1)
		close(file);
	return ok;
}

/* --- any ---------------------------------------------------------------- */

static EVP_PKEY *
read_openssh(struct text *text, struct container *c, const char *path,
    char why[static PROOF_WHY_BYTES])
{
	struct kv_span body;
	EVP_PKEY *pkey;

	if (!find_openssh(text, &body) || !read_container(body, c, why))
		return NULL;
	if (!c->encrypted && (pkey = read_ed25519(c->private_half)) != NULL)
		return pkey;
	if (!convert(text, path, c->encrypted, why))
		return NULL;
	if (!find_openssh(text, &body))
		return decode(text, path, why);
	if (!read_container(body, c, why))
		return NULL;
	if (!c->encrypted && (pkey = read_ed25519(c->private_half)) != NULL)
		return pkey;
	proof_refuse(why,
	    "of a type whose compromise cannot be proved: ssh-keygen writes it "
	    "in no form that OpenSSL reads");
	return NULL;
}

EVP_PKEY *
private_key_read(const char *path, char why[static PROOF_WHY_BYTES])
{
	static struct text whole, text;
	static struct container container;
	EVP_PKEY *pkey = NULL;
	struct kv_span body;
	const char *store;

	why[0] = '\0';
	if (!read_file(path, &whole, why) || !find_block(&whole, &text, why))
		;
	else if (find_openssh(&text, &body))
		pkey = read_openssh(&text, &container, path, why);
	else if (memmem(text.p, text.len, "PuTTY-User-Key-File-", 20) != NULL)
		proof_refuse(why,
		    "in PuTTY's form; 'puttygen KEY -O private-openssh -o NEW' "
		    "writes it in OpenSSH's");
	else if ((store = store_name((struct kv_span){ text.p, text.len })) !=
	    NULL)
		proof_refuse(why, "in a %s: write it as PEM first", store);
	else
		pkey = decode(&text, path, why);
	explicit_bzero(&whole, sizeof(whole));
	explicit_bzero(&text, sizeof(text));
	explicit_bzero(&container, sizeof(container));
	return pkey;
}
