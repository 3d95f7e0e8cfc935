/* SPDX-License-Identifier: ISC */
/* keyveto filter add: adds the keys of any input to a filter. */
#include <inttypes.h>
#include <limits.h>

#include "sets/additions.h"
#include "filter_and_list/filter.h"
#include "keys/spki.h"
#include "sets/filter_file.h"
#include "keys/intake.h"
#include "proof/reader.h"

/* One run of add. */
struct adding {
	struct pkbf_writer writer;
	struct additions additions;
	struct intake in;
	int once, ca, raw, proofs, yes; /* the options */
	uint64_t n;			/* keys that were given */
};

static bool
add_hash(struct adding *a, const struct kv_pkbf_hash *h)
{
	a->n++;
	return additions_put(&a->additions, h);
}

static bool
add_spki(struct kv_span spki, void *arg)
{
	struct kv_pkbf_hash h = kv_pkbf_hash(spki.p, spki.len);

	return add_hash(arg, &h);
}

/*
 * ECDSA keys also have an SPKI with a compressed point; if that is wanted, they
 * are left to add_key.
 */
static size_t
add_lines(struct kv_span text, struct quick_line line[static QUICK_LINES],
    bool *failedp, void *arg)
{
	struct adding *a = arg;
	struct kv_pkbf_hash hash[QUICK_LINES];
	struct quick_hashes h = { .spki = hash };
	size_t n;

	/* In order: of two keys with the same bits, only the first is new. */
	n = quick_hash(text, QUICK_IN_ORDER | (a->once ? QUICK_ECDSA : 0), line,
	    &h);
	for (size_t i = 0; i < h.n && !*failedp; i++)
		*failedp = !add_hash(a, &hash[i]);
	return n;
}

static bool
add_key(const struct input_key *key, void *arg)
{
	struct adding *a = arg;

	return spki_each(key, !a->once, add_spki, a);
}

/* False after a message, or if one was printed about an input. */
static bool
add_inputs(struct adding *a, const char *path, char **inputs)
{
	struct kv_pkbf_header *h = &a->writer.header;
	uint64_t now, added;

	if (!pkbf_writer_open(&a->writer, path, a->yes) ||
	    !pkbf_writer_load(&a->writer) || !filter_now(&now))
		return false;
	if (h->revision == UINT32_MAX) {
		cli_error("%s: revision %" PRIu32 " is the last one; merge it "
			  "into a new filter",
		    path, UINT32_MAX);
		return false;
	}
	a->in = (struct intake){
		.read = a->raw ? spki_read : input_read,
		.key = add_key,
		.quick = a->raw ? NULL : add_lines,
		.arg = a,
		.ca = a->ca,
	};
	if (a->proofs) {
		a->in.read = NULL;
		a->in.read_all = proof_read_keys;
	}
	if (!additions_open(&a->additions, &a->writer) ||
	    !intake_read(&a->in, inputs) ||
	    !additions_apply(&a->additions, &added))
		return false;
	if (added == 0) {
		cli_error("%s: nothing added, %" PRIu64 " there already; left "
			  "as it was",
		    path, a->n);
		return a->in.problems == 0;
	}
	/* One revision for a run, however much it added. */
	h->revision++;
	h->time = now;
	if (!pkbf_writer_commit(&a->writer))
		return false;
	cli_error("%s: %" PRIu64 " added, %" PRIu64 " there already; now "
		  "revision %" PRIu32 " with %" PRIu32 " %s",
	    path, added, a->n - added, h->revision, h->entries,
	    cli_plural(h->entries, "entry", "entries"));
	return a->in.problems == 0;
}

static int
run_filter_add(const struct cli_command *cmd, int argc, char **argv)
{
	struct adding a = { .additions = { .spill = -1 } };
	const struct option options[] = {
		{ "no-compressed", no_argument, &a.once, true },
		{ "ca", no_argument, &a.ca, true },
		{ "spki", no_argument, &a.raw, true },
		{ "proofs", no_argument, &a.proofs, true },
		{ "yes", no_argument, &a.yes, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 1, INT_MAX,
	    "give the filter that keys are to be added to");
	bool ok;

	if (status != -1)
		return status;
	if (a.raw && a.proofs) {
		cli_error("--spki and --proofs are two kinds of inputs: give "
			  "one of them");
		return cli_usage_error(cmd);
	}
	ok = add_inputs(&a, argv[optind], argv + optind + 1);
	additions_close(&a.additions);
	pkbf_writer_close(&a.writer);
	return ok ? 0 : CLI_UNCHECKED;
}

const struct cli_command filter_add = {
	.name = "filter add",
	.synopsis = "FILE [--no-compressed] [--ca] [--spki|--proofs] [--yes] "
		    "[INPUT|DIRECTORY|-]...",
	.help = "Add keys to a filter",
	.details =
	    "Reads whatever 'keyveto check' reads; standard input without an "
	    "INPUT.\n"
	    "\n"
	    "  --no-compressed  add elliptic curve keys once, not also with "
	    "their point\n"
	    "                   in compressed form\n"
	    "  --ca             of a certificate, add the key of its CA too\n"
	    "  --spki           inputs are SubjectPublicKeyInfo in DER, which "
	    "are added as\n"
	    "                   they are\n"
	    "  --proofs         inputs are proofs of compromise, "
	    "keyveto-proof(5); add the\n"
	    "                   keys that they prove, and no others. Whoever "
	    "can use a key\n"
	    "                   can make one, also through a forwarded agent "
	    "or a token\n"
	    "  --yes            although it may lock out root or "
	    "an administrator\n"
	    "\n"
	    "What cannot be read is reported, the rest is added, and the exit "
	    "status is 2.\n"
	    "The filter is replaced in one step when all is read. Others that "
	    "write it wait;\n"
	    "the file .NAME.lock beside it goes away at the end.\n"
	    "SOURCE_DATE_EPOCH in the environment stands for the time.\n",
	.run = run_filter_add,
};
