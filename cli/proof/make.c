/* SPDX-License-Identifier: ISC */
/* keyveto proof make: makes proofs that a key is compromised, in both forms. */
#include <sys/stat.h>

#include <getopt.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/replace.h"
#include "proof/attestation.h"
#include "proof/jws.h"
#include "proof/private_key.h"
#include "proof/proof.h"

#define DEFAULT_SUFFIX ".proof"

/* A file that is written. */
struct output {
	char path[PATH_MAX];
	const char *form;
	char *text; /* NULL: the key has no proof in this form */
};

enum { JWS, PKCS10, OUTPUTS };

/* One run of make. */
struct making {
	const char *private_key; /* "-": standard input */
	const char *name;	 /* --output */
	int force;
	EVP_PKEY *private_half;
	struct proof_key key;
	struct output output[OUTPUTS];
};

static bool
set_names(struct making *m)
{
	static const char *const suffix[OUTPUTS] = { ".json", ".pem" };
	static const char *const form[OUTPUTS] = { "JWS", "PKCS#10" };

	if (m->name == NULL && strcmp(m->private_key, "-") == 0) {
		cli_error("--output NAME must say where the proofs go");
		return false;
	}
	for (size_t i = 0; i < OUTPUTS; i++) {
		int len = snprintf(m->output[i].path, PATH_MAX, "%s%s%s",
		    m->name != NULL ? m->name : m->private_key,
		    m->name != NULL ? "" : DEFAULT_SUFFIX, suffix[i]);

		m->output[i].form = form[i];
		if (len < 0 || len >= PATH_MAX) {
			cli_error("%s: the name is too long", m->private_key);
			return false;
		}
	}
	return true;
}

/* Reads both halves. False after a message. */
static bool
read_key(struct making *m)
{
	char why[PROOF_WHY_BYTES];
	uint8_t *spki = NULL;
	int len;
	bool ok;

	if ((m->private_half = private_key_read(m->private_key, why)) == NULL) {
		cli_error("%s: %s", m->private_key, why);
		return false;
	}
	len = i2d_PUBKEY(m->private_half, &spki);
	ok = len > 0 ? proof_key_read((struct kv_span){ spki, (size_t)len },
			   &m->key, why) :
		       proof_refuse(why, "OpenSSL cannot tell its public half");
	OPENSSL_free(spki);
	ERR_clear_error();
	if (!ok)
		cli_error("%s: %s", m->private_key, why);
	return ok;
}

/* Says which key it is, and what a proof means. */
static void
warn(const struct making *m)
{
	const struct kv_pubkey *key = &m->key.pem.ssh.key;
	uint8_t digest[KV_SHA256_BYTES];
	char fingerprint[KV_FINGERPRINT_BYTES];

	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, fingerprint);
	cli_error("%s: %s %u %s", m->private_key, kv_keytype_name(key->type),
	    kv_pubkey_bits(key), fingerprint);
	cli_error("A proof says that this key is compromised, and is signed by "
		  "it. Once published,");
	cli_error("it cannot be taken back: filters and lists take it, and "
		  "servers that use them");
	cli_error("refuse the key for ever. It does not show the private half. "
		  "Put a new key in");
	cli_error("the place of this one first; until then, show the proofs to "
		  "nobody.");
}

/* Makes the JWS, and verifies it as anybody will. */
static bool
make_jws(struct making *m, char why[static PROOF_WHY_BYTES])
{
	struct output *o = &m->output[JWS];
	struct proof_work work = { .spent = 0 };
	struct jws jws;
	bool ok;

	if (!jws_has_form(&m->key))
		return true;
	o->text = jws_make(&m->key, m->private_half, why);
	if (o->text == NULL ||
	    !jws_read((struct kv_span){ (const uint8_t *)o->text,
			  strlen(o->text) },
		&jws, why))
		return false;
	ok = jws_is_signed_by(&jws, &m->key, &work, why);
	proof_work_free(&work);
	jws_free(&jws);
	return ok;
}

/* Returns the PEM of a request, for the caller to free, or NULL. */
static char *
to_pem(const uint8_t *der, size_t len)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL, *p;
	long n;

	if (bio != NULL &&
	    PEM_write_bio(bio, PEM_STRING_X509_REQ, "", der, (long)len) > 0 &&
	    (n = BIO_get_mem_data(bio, &p)) > 0)
		text = strndup(p, (size_t)n);
	BIO_free(bio);
	return text;
}

/* The same for the request. */
static bool
make_attestation(struct making *m, char why[static PROOF_WHY_BYTES])
{
	struct output *o = &m->output[PKCS10];
	struct proof_work work = { .spent = 0 };
	struct proof_key key;
	uint8_t *der;
	size_t len;
	bool ok;

	der = attestation_make(&m->key, m->private_half, &len, why);
	if (der == NULL)
		return false;
	ok = attestation_verify((struct kv_span){ der, len }, &work, &key, why);
	proof_work_free(&work);
	if (ok)
		proof_key_free(&key);
	if (ok && (o->text = to_pem(der, len)) == NULL)
		ok = proof_refuse(why, "%s", kv_strerror(KV_ERR_MEMORY));
	free(der);
	return ok;
}

/* Always false, after a message. */
static bool
refuse_existing(const char *path)
{
	cli_error("%s: exists; --force replaces it, --output NAME chooses "
		  "another name",
	    path);
	return false;
}

/* Whether nothing is in the way. False after a message. */
static bool
may_write(const struct making *m)
{
	struct stat st;

	for (size_t i = 0; i < OUTPUTS; i++) {
		const char *path = m->output[i].path;

		if (!m->force && m->output[i].text != NULL &&
		    lstat(path, &st) == 0)
			return refuse_existing(path);
	}
	return true;
}

static bool
write_output(const struct output *o, bool force)
{
	static struct replace r;
	bool ok = replace_open(&r, o->path);

	r.owner_only = true;
	ok = ok && (force || r.old == -1 || refuse_existing(o->path)) &&
	    replace_begin(&r) &&
	    replace_write_text(&r, o->text, strlen(o->text)) &&
	    replace_commit(&r);
	replace_close(&r);
	if (ok) {
		cli_print_safe(stdout, o->path, strlen(o->path));
		putchar('\n');
	}
	return ok;
}

/* False after a message. */
static bool
make_proofs(struct making *m)
{
	char why[PROOF_WHY_BYTES];

	if (!set_names(m) || !read_key(m))
		return false;
	warn(m);
	if (!make_jws(m, why) || !make_attestation(m, why)) {
		cli_error("%s: %s", m->private_key, why);
		return false;
	}
	if (!may_write(m))
		return false;
	/* Who may see a proof is for its maker to say. */
	umask(077);
	for (size_t i = 0; i < OUTPUTS; i++) {
		if (m->output[i].text == NULL)
			cli_error("no %s: there is none for keys of type %s",
			    m->output[i].form,
			    kv_keytype_name(m->key.pem.ssh.key.type));
		else if (!write_output(&m->output[i], m->force))
			return false;
	}
	return cli_stdout_ok();
}

static int
run_make(const struct cli_command *cmd, int argc, char **argv)
{
	enum { OUTPUT = 1 };
	static struct making m;
	const struct option options[] = {
		{ "force", no_argument, &m.force, true },
		{ "output", required_argument, NULL, OUTPUT },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int opt;
	bool ok;

	while ((opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		if (opt == CLI_OPT_HELP)
			return cli_help(cmd);
		if (opt == '?')
			return CLI_UNCHECKED;
		if (opt == OUTPUT)
			m.name = optarg;
	}
	if (argc - optind != 1) {
		cli_error("give one file with a private key");
		return cli_usage_error(cmd);
	}
	m.private_key = argv[optind];
	ok = make_proofs(&m);
	EVP_PKEY_free(m.private_half);
	proof_key_free(&m.key);
	for (size_t i = 0; i < OUTPUTS; i++)
		free(m.output[i].text);
	return ok ? 0 : CLI_UNCHECKED;
}

const struct cli_command proof_make = {
	.name = "proof make",
	.synopsis = "[--output NAME] [--force] PRIVATE-KEY|-",
	.help = "Make proofs that a key is compromised",
	.details = "  --output NAME    write NAME.json and NAME.pem instead\n"
		   "  --force          replace files that exist\n",
	.run = run_make,
};
