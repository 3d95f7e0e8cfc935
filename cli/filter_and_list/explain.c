/* SPDX-License-Identifier: ISC */
/*
 * keyveto filter explain and list explain: show each bit of a filter, or the
 * records of an exact list, that a key is looked up by.
 */
#include <inttypes.h>
#include <string.h>

#include "filter_and_list/commands.h"
#include "keys/spki.h"
#include "kv_fingerprint.h"
#include "sets/list_names.h"

struct explaining {
	struct set set;
	/* Prints how a key is looked up. False after a message. */
	bool (*explain)(struct explaining *e, const struct input_key *key);
	bool listed; /* this key, by any of its hashes */
	uint64_t keys, problems;
	bool failed;
};

static void
print_hex(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		printf("%02x", p[i]);
}

/* --- a filter ------------------------------------------------------------- */

/* Prints a table of the hashes of an SPKI. False after a message. */
static bool
explain_spki(struct kv_span spki, void *arg)
{
	struct explaining *e = arg;
	const struct kv_pkbf_header *header = &e->set.filter.header;
	struct kv_pkbf_hash h = kv_pkbf_hash(spki.p, spki.len);
	uint8_t digest[KV_SHA256_BYTES], byte;
	bool all = true;

	kv_fingerprint_digest_blob(spki.p, spki.len, digest);
	fputs("spki sha256 ", stdout);
	print_hex(digest, sizeof(digest));
	printf("\nh1 %016" PRIx64 " h2 %016" PRIx64 "\n", h.h1, h.h2);
	printf("%4s %13s %12s %4s %s\n", "hash", "position", "byte", "mask",
	    "set");
	for (unsigned int i = 0; i < header->hashes; i++) {
		uint64_t bit = kv_pkbf_position(&h, i, header->length);
		off_t at = KV_PKBF_HEADER_BYTES + (off_t)(bit / 8);
		uint8_t mask = (uint8_t)(0x80U >> bit % 8);

		if (!cli_read_at(e->set.path, e->set.fd, &byte, 1, at))
			return false;
		printf("%4u %13" PRIu64 " %12jd 0x%02x %s\n", i, bit,
		    (intmax_t)at, mask, (byte & mask) != 0 ? "yes" : "no");
		all = all && (byte & mask) != 0;
	}
	e->listed = e->listed || all;
	return true;
}

static bool
explain_by_filter(struct explaining *e, const struct input_key *key)
{
	/* A login never looks up a compressed point. */
	return spki_each(key, false, explain_spki, e);
}

/* --- an exact list -------------------------------------------------------- */

static void
print_record(const struct explaining *e, const char *where, uint64_t number,
    const uint8_t *record)
{
	char name[KV_SOURCE_NAME_BYTES];

	kv_sources_name(e->set.sources, record[KV_BLOCKLIST_HASH_BYTES], name);
	printf("%s %10" PRIu64 " %12" PRIu64 " ", where, number,
	    number * KV_BLOCKLIST_RECORD_BYTES);
	print_hex(record, KV_BLOCKLIST_HASH_BYTES);
	printf(" %s\n", name);
}

/*
 * Prints the records with this hash, or those before and after the place where
 * it would be. Reads the whole list: no search could go astray. Sets *foundp to
 * how many have the hash. False after a message.
 */
static bool
print_neighbours(struct explaining *e, const struct kv_blocklist_hash *h,
    uint64_t *foundp)
{
	struct list_reader *r = &e->set.reader;
	list_record before = { 0 }, after = { 0 };
	uint64_t below = 0, above = 0;
	const uint8_t *record;

	*foundp = 0;
	if (!list_reader_adopt(r, e->set.path, e->set.fd))
		return list_reader_is_good(r);
	printf("%-6s %10s %12s %-30s %s\n", "", "record", "byte", "hash",
	    "source");
	while ((record = list_reader_next(r)) != NULL) {
		int order = memcmp(record, h->byte, sizeof(h->byte));

		if (order < 0) {
			memcpy(before, record, sizeof(before));
			below++;
		} else if (order == 0) {
			print_record(e, "equal ", r->next - 1, record);
			++*foundp;
		} else if (above++ == 0)
			memcpy(after, record, sizeof(after));
	}
	if (*foundp == 0 && below > 0)
		print_record(e, "before", below - 1, before);
	if (*foundp == 0 && above > 0)
		print_record(e, "after ", below, after);
	return list_reader_is_good(r);
}

/* Looks a hash up as a login does, and compares. False after a message. */
static bool
check_lookup(const struct explaining *e, const struct kv_blocklist_hash *h,
    bool expected)
{
	struct kv_blocklist list;
	enum kv_err err = kv_blocklist_open_fd(e->set.fd, &list);
	bool listed;
	uint8_t id;

	if (err == KV_OK)
		err = kv_blocklist_lookup(&list, h, &listed, &id);
	if (err != KV_OK)
		return cli_error("%s: %s", e->set.path, kv_strerror(err));
	if (listed == expected)
		return true;
	return cli_error(
	    "%s: a login finds this key %s; see keyveto list verify",
	    e->set.path, listed ? "listed" : "not listed");
}

static bool
explain_by_list(struct explaining *e, const struct input_key *key)
{
	struct kv_blocklist_hash hash[INPUT_HASHES_MAX];
	size_t n = input_hashes(key, hash);
	uint64_t found;

	if (n == 0)
		puts("exact lists have no keys of this type");
	for (size_t i = 0; i < n; i++) {
		fputs("hash ", stdout);
		print_hex(hash[i].byte, sizeof(hash[i].byte));
		putchar('\n');
		if (!print_neighbours(e, &hash[i], &found) ||
		    !check_lookup(e, &hash[i], found > 0))
			return false;
		e->listed = e->listed || found > 0;
	}
	return true;
}

/* --- both ----------------------------------------------------------------- */

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
	e->failed = !e->explain(e, key);
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

static bool
explain_in_set(const struct set_command *c, const struct set_options *o,
    char **operand)
{
	static struct explaining e;
	const struct input_sink sink = { .key = explain_key,
		.problem = count_problem,
		.arg = &e };
	bool ok = set_open(&e.set, c->kind, operand[0]);

	e.explain = explain_by_filter;
	if (ok && c->kind == &set_list) {
		e.explain = explain_by_list;
		e.set.sources = list_names_open(operand[0]);
	}
	if (ok) {
		(o->spki ? spki_read : input_read)(operand[1], &sink);
		ok = !e.failed && e.problems == 0 && e.keys > 0;
		if (e.keys == 0 && e.problems == 0)
			cli_error("%s: no key in it", operand[1]);
	}
	set_close(&e.set);
	return cli_stdout_ok() && ok;
}

const struct set_command filter_explain = {
	SET_COMMAND(filter, "explain"),
	.cmd.synopsis = "[--spki] FILE KEY",
	.cmd.help = "Show each bit that a key is looked up by",
	.cmd.details =
	    "  --spki           KEY is a SubjectPublicKeyInfo in DER, as it "
	    "is\n",
	.operands = { 2, 2 },
	.wanted = "give a filter, and a file with a key or -",
	.run = explain_in_set,
};

const struct set_command list_explain = {
	SET_COMMAND(list, "explain"),
	.cmd.synopsis = "FILE KEY",
	.cmd.help = "Show the records that a key is looked up by",
	.cmd.details = "",
	.operands = { 2, 2 },
	.wanted = "give a list, and a file with a key or -",
	.run = explain_in_set,
};
