/* SPDX-License-Identifier: ISC */
/*
 * keyveto filter add, list create and list add: put the keys of any input into
 * a filter or an exact list. keyveto filter create is in commands.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/progress.h"
#include "filter_and_list/commands.h"
#include "keys/input.h"
#include "keys/spki.h"
#include "proof/reader.h"
#include "sets/additions.h"
#include "sets/filter_file.h"
#include "sets/list_names.h"
#include "sets/list_writer.h"

struct adding {
	const struct set_options *o;
	/* Takes a key. After it returned false, no more keys are given. */
	bool (*key)(const struct input_key *key, struct adding *a);
	bool failed;	   /* key returned false */
	uint64_t problems; /* of the inputs */
	struct progress progress;
	/* Of a filter. */
	struct pkbf_writer filter;
	struct additions additions;
	uint64_t n; /* keys that were given */
	/* Of a list. */
	struct list_batch batch; /* of the keys of all inputs */
};

static struct list_writer writer;

static void
on_key(const struct input_key *key, void *arg)
{
	struct adding *a = arg;

	if (!a->failed && (key->part != KV_PART_CA || a->o->ca))
		a->failed = !a->key(key, a);
}

/* Prints a problem of an input, or of a key in it, and counts it. */
static void
refuse(const struct input_problem *problem, void *arg)
{
	struct adding *a = arg;

	if (a->failed)
		return;
	a->problems++;
	progress_clear(&a->progress);
	cli_error_at(problem->path, problem->line, problem->reason);
}

static void
show_progress(uint64_t bytes, void *arg)
{
	struct adding *a = arg;

	progress_add(&a->progress, bytes);
}

/* The size of all inputs; 0 if that of any is unknown. */
static uint64_t
total_size(char **inputs)
{
	uint64_t bytes, total = 0;

	for (; *inputs != NULL; inputs++) {
		if ((bytes = input_size(*inputs)) == 0)
			return 0;
		total += bytes;
	}
	return total;
}

/*
 * Reads inputs, up to a NULL, with a progress line; standard input if there is
 * none. What cannot be read is printed and counted; the rest is read. read is
 * input_read, or a function like it. False after a message, if key gave one.
 */
static bool
read_inputs(struct adding *a, char **inputs,
    void (*read)(const char *path, const struct input_sink *sink),
    bool (*key)(const struct input_key *key, struct adding *a))
{
	static char dash[] = "-";
	static char *standard_input[] = { dash, NULL };
	const struct input_sink sink = {
		.key = on_key,
		.problem = refuse,
		.progress = show_progress,
		.arg = a,
	};

	if (*inputs == NULL)
		inputs = standard_input;
	a->key = key;
	progress_start(&a->progress, "adding", total_size(inputs));
	if (a->o->proofs)
		proof_read_keys(inputs, &sink);
	for (; !a->o->proofs && *inputs != NULL && !a->failed; inputs++)
		read(*inputs, &sink);
	progress_clear(&a->progress);
	return !a->failed;
}

static void
print_unchanged(const char *path, uint64_t known)
{
	cli_error("%s: nothing added, %" PRIu64 " there already; left as it "
		  "was",
	    path, known);
}

/* --- a filter ------------------------------------------------------------- */

static bool
add_spki(struct kv_span spki, void *arg)
{
	const struct kv_pkbf_hash h = kv_pkbf_hash(spki.p, spki.len);
	struct adding *a = arg;

	a->n++;
	return additions_put(&a->additions, &h);
}

static bool
add_spkis(const struct input_key *key, struct adding *a)
{
	return spki_each(key, !a->o->no_compressed, add_spki, a);
}

/* False after a message, or if one was printed about an input. */
static bool
add_to_filter(struct adding *a, const char *path, char **inputs)
{
	struct kv_pkbf_header *h = &a->filter.header;
	uint64_t now, added;

	if (!pkbf_writer_open(&a->filter, path) ||
	    !pkbf_writer_load(&a->filter) || !filter_now(&now))
		return false;
	if (h->revision == UINT32_MAX)
		return cli_error("%s: revision %" PRIu32
				 " is the last one; merge it into a new filter",
		    path, UINT32_MAX);
	if (!additions_open(&a->additions, &a->filter) ||
	    !read_inputs(a, inputs, a->o->spki ? spki_read : input_read,
		add_spkis) ||
	    !additions_apply(&a->additions, &added))
		return false;
	if (added == 0) {
		print_unchanged(path, a->n);
		return a->problems == 0;
	}
	/* One revision for a run, however much it added. */
	h->revision++;
	h->time = now;
	if (!pkbf_writer_commit(&a->filter))
		return false;
	cli_error("%s: %" PRIu64 " added, %" PRIu64 " there already; now "
		  "revision %" PRIu32 " with %" PRIu32 " %s",
	    path, added, a->n - added, h->revision, h->entries,
	    cli_plural(h->entries, "entry", "entries"));
	return a->problems == 0;
}

static bool
add_keys_to_filter(const struct set_command *c, const struct set_options *o,
    char **operand)
{
	struct adding a = { .o = o, .additions = { .spill = -1 } };
	bool ok;

	if (o->spki && o->proofs)
		return cli_wrong_usage(&c->cmd,
			   "--spki and --proofs are two kinds of inputs: give "
			   "one of them") == 0;
	ok = add_to_filter(&a, operand[0], operand + 1);
	additions_close(&a.additions);
	replace_close(&a.filter.file);
	return ok;
}

/* --- an exact list -------------------------------------------------------- */

static bool
add_numbers(const struct input_key *key, struct adding *a)
{
	struct kv_blocklist_hash hash[INPUT_HASHES_MAX];
	struct input_problem problem = { .path = key->path, .line = key->line };
	char reason[KV_KEYTYPE_NAME_BYTES + 64];
	size_t n = input_hashes(key, hash);

	for (size_t i = 0; i < n; i++) {
		if (!list_batch_add(&a->batch, &hash[i], (uint8_t)a->o->id))
			return false;
	}
	if (n == 0) {
		snprintf(reason, sizeof(reason),
		    "exact lists have no keys of type %s", key->type);
		problem.reason = reason;
		refuse(&problem, a);
	}
	return true;
}

/* Ends the work on the list, and names the source. False after a message. */
static bool
name_source(const struct adding *a, const char *path)
{
	/* Only one file at a time can be replaced. */
	replace_close(&writer.file);
	return a->o->name == NULL || !writer.has_id[a->o->id] ||
	    list_names_set(path, (uint8_t)a->o->id, a->o->name,
		writer.file.readable);
}

/* Replaces the file, and names the source. False after a message. */
static bool
commit(const struct adding *a, const char *path)
{
	char named[KV_SOURCE_NAME_BYTES + 8];

	/* The keys of other sources are no news. */
	if (a->o->name != NULL) {
		snprintf(named, sizeof(named), "%" PRIu64 " %s\n", a->o->id,
		    a->o->name);
		writer.file.sources = named;
	}
	return list_writer_commit(&writer) && name_source(a, path);
}

static void
print_counts(const struct adding *a, const char *path)
{
	cli_error("%s: %" PRIu64 " added, %" PRIu64
		  " there already; now %" PRIu64 " %s",
	    path, a->batch.added, a->batch.known, writer.records,
	    cli_plural(writer.records, "record", "records"));
}

/* False after a message, or if one was printed about an input. */
static bool
create_list(struct adding *a, const char *path, char **inputs)
{
	if (!set_may_replace(&writer.file, &set_list, a->o->force,
		"exists; 'keyveto list add' adds to it, and --force replaces "
		"it") ||
	    (*inputs != NULL &&
		!read_inputs(a, inputs, input_read, add_numbers)))
		return false;
	/* A login refuses an empty list, and by OnError every key. */
	if (a->batch.n == 0 && (*inputs != NULL || writer.file.old != -1))
		return cli_error(
		    "%s: no key to put into it, and logins refuse an empty "
		    "list; nothing was written",
		    path);
	if (!list_batch_write(&a->batch, &writer) || !commit(a, path))
		return false;
	if (a->batch.n == 0)
		cli_error("%s: an empty list; logins refuse it before 'keyveto "
			  "list add' puts keys into it",
		    path);
	else
		print_counts(a, path);
	return a->problems == 0;
}

/* As create_list. */
static bool
add_to_list(struct adding *a, const char *path, char **inputs)
{
	if (writer.file.old == -1)
		return cli_error(
		    "%s: no such file; 'keyveto list create' makes one", path);
	if (!list_writer_keep_old(&writer) ||
	    !read_inputs(a, inputs, input_read, add_numbers) ||
	    !list_batch_write(&a->batch, &writer))
		return false;
	if (a->batch.added > 0) {
		if (!commit(a, path))
			return false;
		print_counts(a, path);
	} else {
		print_unchanged(path, a->batch.known);
		/* A run before may have ended before it wrote the name. */
		if (!name_source(a, path))
			return false;
	}
	return a->problems == 0;
}

static bool
put_keys_into_list(const struct set_command *c, const struct set_options *o,
    char **operand)
{
	const char *path = operand[0];
	struct adding a = { .o = o };
	bool ok;

	if (o->name != NULL)
		list_names_promise(path);
	ok = list_writer_open(&writer, path) &&
	    (o->name == NULL ||
		list_names_may_set(path, (uint8_t)o->id, o->name)) &&
	    (c == &list_create ? create_list : add_to_list)(&a, path,
		operand + 1);
	replace_close(&writer.file);
	list_batch_free(&a.batch);
	return ok;
}

const struct set_command filter_add = {
	SET_COMMAND(filter, "add"),
	.cmd.synopsis =
	    "FILE [--no-compressed] [--ca] [--spki|--proofs] [--yes] "
	    "[INPUT|DIRECTORY|-]...",
	.cmd.help = "Add keys to a filter",
	.cmd.details =
	    "  --no-compressed  add elliptic curve keys once, not also in "
	    "compressed form\n"
	    "  --ca             of a certificate, add the key of its CA too\n"
	    "  --spki           inputs are SubjectPublicKeyInfo in DER, added "
	    "as they are\n"
	    "  --proofs         inputs are proofs; add the keys that they "
	    "prove, no others\n"
	    "  --yes            although it may lock out root or an "
	    "administrator\n"
	    "\n" CLI_PROOFS_HELP,
	.operands = { 1, INT_MAX },
	.wanted = "give the filter that keys are to be added to",
	.run = add_keys_to_filter,
};

#define SHARED_HELP \
	"  --id N           the number of the keys' source, 0 to 255 " \
	"(default 0)\n" \
	"  --name NAME      what logs call that source; written to " \
	"FILE.sources\n" \
	"  --ca             of a certificate, add the key of its CA too\n" \
	"  --proofs         inputs are proofs; add the keys that they prove, no " \
	"others\n" \
	"  --yes            although it may lock out root or an " \
	"administrator\n"

const struct set_command list_create = {
	SET_COMMAND(list, "create"),
	.cmd.synopsis = "FILE [--id N] [--name NAME] [--ca] [--proofs] "
			"[--force] [--yes] "
			"[INPUT|DIRECTORY|-]...",
	.cmd.help = "Make an exact list of the keys of the inputs",
	.cmd.details = SHARED_HELP
	"  --force          replace a list that exists; keep any other file "
	"beside it\n"
	"\n" CLI_PROOFS_HELP,
	.operands = { 1, INT_MAX },
	.wanted = "give the list that keys are to be put into",
	.run = put_keys_into_list,
};

const struct set_command list_add = {
	SET_COMMAND(list, "add"),
	.cmd.synopsis = "FILE [--id N] [--name NAME] [--ca] [--proofs] "
			"[--yes] "
			"[INPUT|DIRECTORY|-]...",
	.cmd.help = "Add keys to an exact list",
	.cmd.details = SHARED_HELP "\n" CLI_PROOFS_HELP,
	.operands = { 1, INT_MAX },
	.wanted = "give the list that keys are to be put into",
	.run = put_keys_into_list,
};
