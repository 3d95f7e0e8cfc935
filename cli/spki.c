/* SPDX-License-Identifier: ISC */
/* keyveto spki: prints the SPKIs that are looked up for a key. */
#include <inttypes.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "command.h"
#include "keys/input.h"
#include "reading/keys.h"
#include "kv_base64.h"
#include "kv_spki.h"

#define PEM_LINE_BYTES 48

enum form { FORM_PEM, FORM_DER, FORM_SHA256, FORM_XXH64 };

struct printer {
	enum form form;
	bool failed;
	uint64_t keys;
};

/* RFC 7468: lines of 64 characters. */
static void
print_pem(const uint8_t *spki, size_t len)
{
	static const char *const padding[] = { "", "==", "=" };
	char line[64 + 1];

	puts("-----BEGIN PUBLIC KEY-----");
	for (size_t n; len > 0; spki += n, len -= n) {
		n = len < PEM_LINE_BYTES ? len : PEM_LINE_BYTES;
		kv_base64_encode_unpadded(spki, n, line);
		printf("%s%s\n", line, padding[n % 3]);
	}
	puts("-----END PUBLIC KEY-----");
}

static void
print_spki(struct printer *p, const uint8_t *spki, size_t len)
{
	uint8_t digest[KV_SHA256_BYTES];

	if (spki == NULL) {
		p->failed = true;
		return;
	}
	switch (p->form) {
	case FORM_PEM:
		print_pem(spki, len);
		return;
	case FORM_DER:
		fwrite(spki, 1, len, stdout);
		return;
	case FORM_SHA256:
		kv_fingerprint_digest_blob(spki, len, digest);
		for (size_t i = 0; i < sizeof(digest); i++)
			printf("%02x", digest[i]);
		putchar('\n');
		return;
	case FORM_XXH64:
		printf("%016" PRIx64 " %016" PRIx64 "\n",
		    (uint64_t)XXH64(spki, len, 0),
		    (uint64_t)XXH64(spki, len, 1));
		return;
	}
}

static void
print_key(const struct input_key *key, void *arg)
{
	struct printer *p = arg;
	uint8_t spki[KV_SPKI_MAX_BYTES];
	size_t len;

	p->keys++;
	if (key->key.type == KV_KEY_NONE)
		print_spki(p, key->spki.p, key->spki.len);
	for (size_t i = 0; i < kv_spki_count(&key->key); i++) {
		if (kv_spki_encode(&key->key, i, spki, sizeof(spki), &len) ==
		    KV_OK)
			print_spki(p, spki, len);
		else
			p->failed = true;
	}
}

static void
print_problem(const struct input_problem *problem, void *arg)
{
	struct printer *p = arg;

	p->failed = true;
	cli_error_at(problem->path, problem->line, problem->reason);
}

static int
run_spki(const struct cli_command *cmd, int argc, char **argv)
{
	int form = FORM_PEM;
	const struct cli_option options[] = {
		{ .name = "pem", .choice = &form, .value = FORM_PEM },
		{ .name = "der", .choice = &form, .value = FORM_DER },
		{ .name = "sha256", .choice = &form, .value = FORM_SHA256 },
		{ .name = "xxh64", .choice = &form, .value = FORM_XXH64 },
		{ .name = NULL },
	};
	struct printer p = { .form = FORM_PEM };
	const struct input_sink sink = {
		.key = print_key,
		.problem = print_problem,
		.arg = &p,
	};
	const int status = cli_read_options(cmd, argc, argv, options, NULL);
	const char *path;

	if (status != -1)
		return status;
	p.form = (enum form)form;
	if (argc - optind > 1)
		return cli_usage_error(cmd);
	path = optind < argc ? argv[optind] : "-";
	reading_keys(path, &sink);
	if (p.keys == 0 && !p.failed) {
		cli_error("%s: no key in it", path);
		p.failed = true;
	}
	return cli_stdout_ok() && !p.failed ? 0 : CLI_UNCHECKED;
}

const struct cli_command cli_spki = {
	.name = "spki",
	.synopsis = "[--pem|--der|--sha256|--xxh64] [FILE|-]",
	.help = "Print what is looked up for each key in FILE",
	.details = "  --pem      SubjectPublicKeyInfo as PEM (the default)\n"
		   "  --der      the same as DER, one after the other\n"
		   "  --sha256   its SHA-256, in hexadecimal\n"
		   "  --xxh64    its XXH64 with seed 0 and with seed 1\n",
	.run = run_spki,
};
