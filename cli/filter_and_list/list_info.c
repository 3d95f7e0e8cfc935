/* SPDX-License-Identifier: ISC */
/*
 * keyveto list info and verify: print what an exact list holds, and whether a
 * login can use it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "sets/list_facts.h"
#include "filter_and_list/list.h"
#include "sets/list_names.h"
#include "base/json_text.h"

/* A list that was read whole. */
struct described {
	struct list_facts facts;
	int fd, sources; /* sources: -1 without names */
};

static void
print_facts(const struct described *d)
{
	const struct list_facts *f = &d->facts;
	char name[KV_SOURCE_NAME_BYTES];

	fputs("file               ", stdout);
	cli_print_safe(stdout, f->path, strlen(f->path));
	printf("\ndate               %s\n", f->dated ? f->date : "not known");
	printf("records            %" PRIu64 "\n", f->records);
	printf("different keys     %" PRIu64 "\n", f->hashes);
	printf("size in bytes      %" PRIu64 "\n",
	    f->records * KV_BLOCKLIST_RECORD_BYTES);
	puts("records by source");
	for (size_t id = 0; id < LIST_SOURCES; id++) {
		if (f->from[id] == 0)
			continue;
		kv_sources_name(d->sources, (uint8_t)id, name);
		printf("  %3zu %-12s %" PRIu64 "\n", id, name, f->from[id]);
	}
}

static json_t *
facts_to_json(const struct described *d)
{
	const struct list_facts *f = &d->facts;
	json_t *sources = json_array();
	char name[KV_SOURCE_NAME_BYTES];

	for (size_t id = 0; id < LIST_SOURCES; id++) {
		if (f->from[id] == 0)
			continue;
		kv_sources_name(d->sources, (uint8_t)id, name);
		json_array_append_new(sources,
		    json_pack("{s:i, s:s, s:I}", "id", (int)id, "source", name,
			"records", (json_int_t)f->from[id]));
	}
	return json_pack("{s:o, s:o, s:I, s:I, s:I, s:o}", "file",
	    json_text(f->path), "date",
	    f->dated ? json_string(f->date) : json_null(), "records",
	    (json_int_t)f->records, "hashes", (json_int_t)f->hashes, "size",
	    (json_int_t)f->records * KV_BLOCKLIST_RECORD_BYTES, "sources",
	    sources);
}

/* Reads the list that the arguments name. Returns -1, or the exit status. */
static int
read_list(const struct cli_command *cmd, int argc, char **argv,
    const struct option *options, struct described *d)
{
	int status = cli_read_arguments(cmd, argc, argv, options, 1, 1,
	    "give one list");
	char why[LIST_WHY_BYTES];
	const char *path;

	d->sources = -1;
	if (status != -1)
		return status;
	path = argv[optind];
	/* O_NONBLOCK: a FIFO or a device is refused without waiting. */
	d->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (d->fd == -1) {
		cli_error("%s: %s", path, strerror(errno));
		return CLI_UNCHECKED;
	}
	d->sources = list_names_open(path);
	if (list_facts_read(path, d->fd, d->sources, &d->facts, why))
		return -1;
	cli_error("%s: %s", path, why);
	return CLI_UNCHECKED;
}

static void
close_list(const struct described *d)
{
	if (d->fd != -1)
		close(d->fd);
	if (d->sources != -1)
		close(d->sources);
}

static int
run_info(const struct cli_command *cmd, int argc, char **argv)
{
	int json = false;
	const struct option options[] = {
		{ "json", no_argument, &json, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	struct described d = { .fd = -1 };
	int status = read_list(cmd, argc, argv, options, &d);

	if (status == -1 && json)
		status = json_print(facts_to_json(&d)) ? 0 : CLI_UNCHECKED;
	else if (status == -1) {
		print_facts(&d);
		status = cli_stdout_ok() ? 0 : CLI_UNCHECKED;
	}
	close_list(&d);
	return status;
}

static int
run_verify(const struct cli_command *cmd, int argc, char **argv)
{
	static const struct option options[] = {
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	char distrust[KV_TRUSTED_WHY_BYTES];
	struct described d = { .fd = -1 };
	int status = read_list(cmd, argc, argv, options, &d);
	const char *path = d.facts.path;
	uint64_t n = d.facts.records;

	close_list(&d);
	if (status != -1)
		return status;
	cli_find_distrust(path, distrust);
	cli_print_safe(stdout, path, strlen(path));
	printf(": ok: %" PRIu64 " %s in order", n,
	    cli_plural(n, "record", "records"));
	if (distrust[0] != '\0') {
		fputs("; but a login would not trust it: ", stdout);
		cli_print_safe(stdout, distrust, strlen(distrust));
	}
	putchar('\n');
	return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

const struct cli_command list_info = {
	.name = "list info",
	.synopsis = "[--json] FILE",
	.help = "Show date, size and sources of an exact list",
	.details = "  --json   one JSON object: file date records hashes size "
		   "sources (id source\n"
		   "           records)\n",
	.run = run_info,
};

const struct cli_command list_verify = {
	.name = "list verify",
	.synopsis = "FILE",
	.help = "Say in one line whether an exact list is good, or what is "
		"wrong",
	.details = "Reads the whole file. The exit status is 0 for a good "
		   "list, 2 for any other.\n",
	.run = run_verify,
};
