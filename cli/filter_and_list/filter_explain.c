/* SPDX-License-Identifier: ISC */
/* keyveto filter explain: shows each bit that a key is looked up by. */
#include <inttypes.h>
#include <string.h>

#include "filter_and_list/filter.h"
#include "keys/spki.h"
#include "sets/filter_file.h"
#include "kv_fingerprint.h"

struct explaining {
	const char *path; /* of the filter */
	struct kv_pkbf filter;
	bool listed; /* this key, by any of its SPKIs */
	uint64_t keys, problems;
	bool failed;
};

/* Prints a table of the hashes of an SPKI. False after a message. */
static bool
explain_spki(struct kv_span spki, void *arg)
{
	struct explaining *e = arg;
	const struct kv_pkbf_header *header = &e->filter.header;
	struct kv_pkbf_hash h = kv_pkbf_hash(spki.p, spki.len);
	uint8_t digest[KV_SHA256_BYTES], byte;
	bool all = true;

	kv_fingerprint_digest_blob(spki.p, spki.len, digest);
	fputs("spki sha256 ", stdout);
	for (size_t i = 0; i < sizeof(digest); i++)
		printf("%02x", digest[i]);
	printf("\nh1 %016" PRIx64 " h2 %016" PRIx64 "\n", h.h1, h.h2);
	printf("%4s %13s %12s %4s %s\n", "hash", "position", "byte", "mask",
	    "set");
	for (unsigned int i = 0; i < header->hashes; i++) {
		uint64_t bit = kv_pkbf_position(&h, i, header->length);
		off_t at = KV_PKBF_HEADER_BYTES + (off_t)(bit / 8);
		uint8_t mask = (uint8_t)(0x80U >> bit % 8);

		if (!cli_read_at(e->path, e->filter.fd, &byte, 1, at))
			return false;
		printf("%4u %13" PRIu64 " %12jd 0x%02x %s\n", i, bit,
		    (intmax_t)at, mask, (byte & mask) != 0 ? "yes" : "no");
		all = all && (byte & mask) != 0;
	}
	e->listed = e->listed || all;
	return true;
}

static void
explain_key(const struct input_key *key, void *arg)
{
	struct explaining *e = arg;

	if (e->failed)
		return;
	if (e->keys++ > 0)
		putchar('\n');
	input_print_key(stdout, key);
	e->listed = false;
	/* A login never looks up a compressed point. */
	e->failed = !spki_each(key, false, explain_spki, e);
	if (!e->failed)
		puts(e->listed ? "listed" : "not listed");
}

static void
count_problem(const struct input_problem *problem, void *arg)
{
	struct explaining *e = arg;

	e->problems++;
	cli_error_at(problem->path, problem->line, problem->reason);
}

static int
run_filter_explain(const struct cli_command *cmd, int argc, char **argv)
{
	int raw = false;
	const struct option options[] = {
		{ "spki", no_argument, &raw, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	struct explaining e = { .failed = false };
	struct input_sink sink = { .key = explain_key,
		.problem = count_problem,
		.arg = &e };
	int status = cli_read_arguments(cmd, argc, argv, options, 2, 2,
	    "give a filter, and a file with a key or -");
	const char *input;

	if (status != -1)
		return status;
	e.path = argv[optind];
	input = argv[optind + 1];
	if (!filter_open(e.path, &e.filter))
		return CLI_UNCHECKED;
	if (raw)
		spki_read(input, &sink);
	else
		input_read(input, &sink);
	kv_pkbf_close(&e.filter);
	if (e.keys == 0 && e.problems == 0) {
		cli_error("%s: no key in it", input);
		e.problems++;
	}
	return cli_stdout_ok() && !e.failed && e.problems == 0 ?
	    0 :
	    CLI_UNCHECKED;
}

const struct cli_command filter_explain = {
	.name = "filter explain",
	.synopsis = "[--spki] FILE KEY",
	.help = "Show each bit that a key is looked up by",
	.details =
	    "KEY is a file with anything that 'keyveto check' reads, or - for "
	    "standard input.\n"
	    "\n"
	    "  --spki   KEY is a SubjectPublicKeyInfo in DER, as it is\n"
	    "\n"
	    "A table for each SubjectPublicKeyInfo of a key: the number of "
	    "the hash, the\n"
	    "position among the bits, the byte of the file, the mask in it, "
	    "and whether the\n"
	    "bit is set; at the end of each key 'listed' or 'not listed'.\n",
	.run = run_filter_explain,
};
