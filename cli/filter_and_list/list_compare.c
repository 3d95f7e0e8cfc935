/* SPDX-License-Identifier: ISC */
/*
 * keyveto list diff: which records came and went between two exact lists. With
 * a DELTA, delta.c writes it.
 */
#include <inttypes.h>

#include "base/json_text.h"
#include "filter_and_list/commands.h"
#include "sets/list_names.h"

#define IDS (UINT8_MAX + 1)

struct side {
	struct set set;
	/* Records that the other does not have, by source. */
	uint64_t only[IDS];
};

struct diffing {
	struct side old, new;
	int all; /* prints each record */
};

/* Counts a record, and prints it if all are wanted. One counts but once. */
static bool
count_record(const uint8_t *record, bool is_new, bool again, void *arg)
{
	struct diffing *d = arg;
	struct side *s = is_new ? &d->new : &d->old;
	const uint8_t id = record[KV_BLOCKLIST_HASH_BYTES];
	char name[KV_SOURCE_NAME_BYTES];

	if (again)
		return true;
	s->only[id]++;
	if (d->all) {
		putchar(is_new ? '+' : '-');
		print_hex(record, KV_BLOCKLIST_HASH_BYTES);
		kv_sources_name(s->set.sources, id, name);
		printf(" %s\n", name);
	}
	return true;
}

/* False after a message. */
static bool
compare_lists(struct diffing *d)
{
	(void)list_reader_compare(&d->old.set.reader, &d->new.set.reader,
	    count_record, d);
	return list_reader_is_good(&d->old.set.reader) &&
	    list_reader_is_good(&d->new.set.reader);
}

static uint64_t
sum(const struct side *s)
{
	uint64_t n = 0;

	for (size_t id = 0; id < IDS; id++)
		n += s->only[id];
	return n;
}

static void
print_counts(const struct diffing *d)
{
	const struct side *sides[] = { &d->old, &d->new };
	char name[KV_SOURCE_NAME_BYTES];

	for (size_t i = 0; i < 2; i++) {
		for (size_t id = 0; id < IDS; id++) {
			if (sides[i]->only[id] == 0)
				continue;
			kv_sources_name(sides[i]->set.sources, (uint8_t)id,
			    name);
			printf("%s %s %" PRIu64 "\n", i == 0 ? "gone" : "new",
			    name, sides[i]->only[id]);
		}
	}
	printf("%" PRIu64 " gone, %" PRIu64 " new, of %" PRIu64 " and %" PRIu64
	       " records\n",
	    sum(&d->old), sum(&d->new), d->old.set.reader.records,
	    d->new.set.reader.records);
}

static bool
print_json(const struct diffing *d)
{
	return json_print(json_pack("{s:o, s:o, s:I, s:I, s:o, s:o}", "old",
	    json_text(d->old.set.reader.path), "new",
	    json_text(d->new.set.reader.path), "gone", (json_int_t)sum(&d->old),
	    "added", (json_int_t)sum(&d->new), "gone_by_source",
	    sources_to_json(d->old.set.sources, d->old.only), "added_by_source",
	    sources_to_json(d->new.set.sources, d->new.only)));
}

static bool
open_side(struct side *s, const char *path)
{
	const bool ok = set_open(&s->set, &set_list, path);

	s->set.sources = list_names_open(path);
	return ok;
}

static bool
diff_lists(const struct set_command *c, const struct set_options *o,
    char **path)
{
	static struct diffing d;
	bool ok;

	if (o->json + o->all + (path[2] != NULL) > 1)
		return cli_wrong_usage(&c->cmd,
			   "give one of --all, --json and DELTA") == 0;
	if (path[2] != NULL)
		return delta_between(c, o, path);
	d.all = o->all;
	/* Both, so that both can be closed. */
	ok = open_side(&d.old, path[0]);
	ok = open_side(&d.new, path[1]) && ok && compare_lists(&d);
	if (ok && o->json)
		ok = print_json(&d);
	else if (ok) {
		print_counts(&d);
		ok = cli_stdout_ok();
	}
	set_close(&d.old.set);
	set_close(&d.new.set);
	return ok;
}

const struct set_command list_diff = {
	SET_COMMAND(list, "diff"),
	.cmd.synopsis = "[--all | --json] OLD NEW [DELTA [--force]]",
	.cmd.help = "Tell what came and went between two lists, or write it",
	.cmd.details =
	    "  --all            print each of them, too: - or +, its hash and "
	    "its source\n"
	    "  --json           one JSON object\n"
	    "  --force          replace a DELTA that exists; keep any other "
	    "file beside it\n",
	.operands = { 2, 3 },
	.wanted =
	    "give the old list, the new one, and the delta to make, if one is "
	    "wanted",
	.run = diff_lists,
};
