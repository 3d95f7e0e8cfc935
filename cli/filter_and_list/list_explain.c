/* SPDX-License-Identifier: ISC */
/* keyveto list explain: shows how a key is looked up in an exact list. */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keys/input.h"
#include "filter_and_list/list.h"
#include "sets/list_names.h"
#include "sets/list_reader.h"

struct explaining {
	struct list_reader reader;
	int sources;
	uint64_t keys, problems;
	bool failed;
};

static void
print_record(const struct explaining *e, const char *where, uint64_t number,
    const uint8_t *record)
{
	char name[KV_SOURCE_NAME_BYTES];

	kv_sources_name(e->sources, record[KV_BLOCKLIST_HASH_BYTES], name);
	printf("%s %10" PRIu64 " %12" PRIu64 " ", where, number,
	    number * KV_BLOCKLIST_RECORD_BYTES);
	for (size_t i = 0; i < KV_BLOCKLIST_HASH_BYTES; i++)
		printf("%02x", record[i]);
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
	struct list_reader *r = &e->reader;
	list_record before = { 0 }, after = { 0 };
	uint64_t below = 0, above = 0;
	const uint8_t *record;

	*foundp = 0;
	if (!list_reader_adopt(r, r->path, r->fd))
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
	const char *path = e->reader.path;
	struct kv_blocklist list;
	enum kv_err err = kv_blocklist_open_fd(e->reader.fd, &list);
	bool listed;
	uint8_t id;

	if (err == KV_OK)
		err = kv_blocklist_lookup(&list, h, &listed, &id);
	if (err != KV_OK) {
		cli_error("%s: %s", path, kv_strerror(err));
		return false;
	}
	if (listed == expected)
		return true;
	cli_error("%s: a login finds this key %s; see keyveto list verify",
	    path, listed ? "listed" : "not listed");
	return false;
}

static void
explain_key(const struct input_key *key, void *arg)
{
	struct explaining *e = arg;
	struct kv_blocklist_hash hash[INPUT_HASHES_MAX];
	size_t n = input_hashes(key, hash);
	uint64_t found, total = 0;

	if (e->failed)
		return;
	if (e->keys++ > 0)
		putchar('\n');
	input_print_key(stdout, key);
	if (n == 0)
		puts("exact lists have no keys of this type");
	for (size_t i = 0; i < n && !e->failed; i++) {
		fputs("hash ", stdout);
		for (size_t k = 0; k < sizeof(hash[i].byte); k++)
			printf("%02x", hash[i].byte[k]);
		putchar('\n');
		e->failed = !print_neighbours(e, &hash[i], &found) ||
		    !check_lookup(e, &hash[i], found > 0);
		total += found;
	}
	if (!e->failed)
		puts(total > 0 ? "listed" : "not listed");
}

static void
count_problem(const struct input_problem *problem, void *arg)
{
	struct explaining *e = arg;

	e->problems++;
	cli_error_at(problem->path, problem->line, problem->reason);
}

static int
run_list_explain(const struct cli_command *cmd, int argc, char **argv)
{
	static const struct option options[] = {
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	static struct explaining e;
	const struct input_sink sink = { .key = explain_key,
		.problem = count_problem,
		.arg = &e };
	int status = cli_read_arguments(cmd, argc, argv, options, 2, 2,
	    "give a list, and a file with a key or -");
	const char *input;

	if (status != -1)
		return status;
	input = argv[optind + 1];
	if (!list_reader_open(&e.reader, argv[optind])) {
		list_reader_is_good(&e.reader);
		list_reader_close(&e.reader);
		return CLI_UNCHECKED;
	}
	e.sources = list_names_open(argv[optind]);
	input_read(input, &sink);
	list_reader_close(&e.reader);
	if (e.sources != -1)
		close(e.sources);
	if (e.keys == 0 && e.problems == 0) {
		cli_error("%s: no key in it", input);
		e.problems++;
	}
	return cli_stdout_ok() && !e.failed && e.problems == 0 ?
	    0 :
	    CLI_UNCHECKED;
}

const struct cli_command list_explain = {
	.name = "list explain",
	.synopsis = "FILE KEY",
	.help = "Show the records that a key is looked up by",
	.details =
	    "KEY is a file with anything that 'keyveto check' reads, or - for "
	    "standard input.\n"
	    "\n"
	    "For each hash of a key: the records of the list that have it, or "
	    "those between\n"
	    "which it would be, with number, byte of the file, hash and "
	    "source; at the end\n"
	    "of each key 'listed' or 'not listed'. Fails if a login would not "
	    "find the same.\n",
	.run = run_list_explain,
};
