/* SPDX-License-Identifier: ISC */
/*
 * keyveto list diff: which records came and went between two exact lists. With
 * a DELTA, delta.c writes it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_text.h"
#include "filter_and_list/commands.h"
#include "sets/list_names.h"
#include "sets/list_reader.h"
#include "sets/set.h"

#define IDS 256

/* One of the two lists. */
struct side {
	struct list_reader reader;
	const uint8_t *record; /* its next one; NULL: none is left */
	int fd, sources;
	/* Records that the other does not have, by source. */
	uint64_t only[IDS];
};

struct diffing {
	struct side old, new;
	int all; /* prints each record */
};

/* Moves to the next record that differs from this one. */
static void
advance(struct side *s)
{
	list_record last;

	memcpy(last, s->record, sizeof(last));
	do
		s->record = list_reader_next(&s->reader);
	while (s->record != NULL && memcmp(last, s->record, sizeof(last)) == 0);
}

/* Counts a record that only s has, and prints it if all are wanted. */
static void
take_record(struct diffing *d, struct side *s)
{
	const uint8_t id = s->record[KV_BLOCKLIST_HASH_BYTES];
	char name[KV_SOURCE_NAME_BYTES];

	s->only[id]++;
	if (d->all) {
		putchar(s == &d->old ? '-' : '+');
		for (size_t i = 0; i < KV_BLOCKLIST_HASH_BYTES; i++)
			printf("%02x", s->record[i]);
		kv_sources_name(s->sources, id, name);
		printf(" %s\n", name);
	}
	advance(s);
}

/* False after a message. */
static bool
compare_lists(struct diffing *d)
{
	struct side *a = &d->old, *b = &d->new;

	a->record = list_reader_next(&a->reader);
	b->record = list_reader_next(&b->reader);
	while (a->record != NULL || b->record != NULL) {
		int order = a->record == NULL ?
		    1 :
		    b->record == NULL ?
		    -1 :
		    memcmp(a->record, b->record, sizeof(list_record));

		/* After an error in one, the rest of the other is not new. */
		if (a->reader.why[0] != '\0' || b->reader.why[0] != '\0')
			break;
		if (order < 0)
			take_record(d, a);
		else if (order > 0)
			take_record(d, b);
		else {
			advance(a);
			advance(b);
		}
	}
	return list_reader_is_good(&a->reader) &&
	    list_reader_is_good(&b->reader);
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
			kv_sources_name(sides[i]->sources, (uint8_t)id, name);
			printf("%s %s %" PRIu64 "\n", i == 0 ? "gone" : "new",
			    name, sides[i]->only[id]);
		}
	}
	printf("%" PRIu64 " gone, %" PRIu64 " new, of %" PRIu64 " and %" PRIu64
	       " records\n",
	    sum(&d->old), sum(&d->new), d->old.reader.records,
	    d->new.reader.records);
}

static json_t *
counts_to_json(const struct side *s)
{
	json_t *sources = json_array();
	char name[KV_SOURCE_NAME_BYTES];

	for (size_t id = 0; id < IDS; id++) {
		if (s->only[id] == 0)
			continue;
		kv_sources_name(s->sources, (uint8_t)id, name);
		json_array_append_new(sources,
		    json_pack("{s:i, s:s, s:I}", "id", (int)id, "source", name,
			"records", (json_int_t)s->only[id]));
	}
	return sources;
}

static bool
print_json(const struct diffing *d)
{
	return json_print(json_pack("{s:o, s:o, s:I, s:I, s:o, s:o}", "old",
	    json_text(d->old.reader.path), "new", json_text(d->new.reader.path),
	    "gone", (json_int_t)sum(&d->old), "added", (json_int_t)sum(&d->new),
	    "gone_by_source", counts_to_json(&d->old), "added_by_source",
	    counts_to_json(&d->new)));
}

static bool
open_side(struct side *s, const char *path)
{
	s->sources = list_names_open(path);
	s->fd = set_open(path);
	return s->fd != -1 &&
	    (list_reader_adopt(&s->reader, path, s->fd) ||
		list_reader_is_good(&s->reader));
}

static void
close_side(struct side *s)
{
	if (s->fd != -1)
		close(s->fd);
	if (s->sources != -1)
		close(s->sources);
}

static int
run_list_diff(const struct cli_command *cmd, int argc, char **argv)
{
	int json = false, all = false, force = false;
	const struct option options[] = {
		{ "all", no_argument, &all, true },
		{ "json", no_argument, &json, true },
		{ "force", no_argument, &force, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 2, 3,
	    "give the old list, the new one, and the delta to make, if one is "
	    "wanted");
	struct diffing *d;
	bool ok;

	if (status != -1)
		return status;
	if (json + all + (argc - optind == 3) > 1) {
		cli_error("give one of --all, --json and DELTA");
		return cli_usage_error(cmd);
	}
	if (argc - optind == 3)
		return delta_between(&set_list, argv + optind, force) ?
		    0 :
		    CLI_UNCHECKED;
	if ((d = calloc(1, sizeof(*d))) == NULL) {
		cli_error("%s", strerror(errno));
		return CLI_UNCHECKED;
	}
	d->all = all;
	/* Both, so that both can be closed. */
	ok = open_side(&d->old, argv[optind]);
	ok = open_side(&d->new, argv[optind + 1]) && ok && compare_lists(d);
	if (ok && json)
		ok = print_json(d);
	else if (ok) {
		print_counts(d);
		ok = cli_stdout_ok();
	}
	close_side(&d->old);
	close_side(&d->new);
	free(d);
	return ok ? 0 : CLI_UNCHECKED;
}

const struct cli_command list_diff = {
	.name = "list diff",
	.synopsis = "[--all | --json] OLD NEW [DELTA [--force]]",
	.help = "Tell what came and went between two lists, or write it",
	.details =
	    "  --all            print each of them, too: - or +, its hash and "
	    "its source\n"
	    "  --json           one JSON object\n"
	    "  --force          replace a DELTA that exists; keep any other "
	    "file beside it\n",
	.run = run_list_diff,
};
