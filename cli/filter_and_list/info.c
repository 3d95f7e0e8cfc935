/* SPDX-License-Identifier: ISC */
/*
 * keyveto filter info and verify, list info and verify: print what a set holds,
 * and whether it is consistent, so that a login can use it.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/json_text.h"
#include "filter_and_list/commands.h"
#include "sets/filter_facts.h"
#include "sets/filter_file.h"
#include "sets/list_facts.h"
#include "sets/list_names.h"
#include "sets/set.h"

/* A set that was read whole. */
struct facts {
	struct filter_facts filter;
	struct list_facts list;
	int sources; /* of a list; -1: none */
};

/* How a kind of set is read and printed. */
struct inspector {
	const char *wanted; /* the argument */
	/* Reads all of an open set. False after a message. */
	bool (*read)(const char *path, int fd, struct facts *f);
	void (*print)(const struct facts *f);
	json_t *(*to_json)(const struct facts *f);
	/* False after a message. NULL: read finds all that can be wrong. */
	bool (*judge)(const struct facts *f);
	/* Prints the middle of the line about a good set. */
	void (*print_good)(const struct facts *f);
};

/* --- a filter ------------------------------------------------------------- */

static bool
read_filter(const char *path, int fd, struct facts *f)
{
	struct kv_pkbf pkbf;

	return filter_adopt(path, fd, &pkbf) &&
	    filter_facts_read(path, &pkbf, &f->filter);
}

static void
print_filter(const struct facts *facts)
{
	const struct filter_facts *f = &facts->filter;
	const struct kv_pkbf_header *h = &f->header;
	char when[64];

	if (!filter_facts_format_time(h->time, when, sizeof(when)))
		snprintf(when, sizeof(when), "second %" PRIu64, h->time);
	fputs("file               ", stdout);
	cli_print_safe(stdout, f->path, strlen(f->path));
	printf("\nrevision           %" PRIu32 "\n", h->revision);
	printf("time               %s\n", when);
	printf("entries            %" PRIu32 "\n", h->entries);
	printf("hashes (k)         %u\n", h->hashes);
	printf("length (p)         %u\n", h->length);
	printf("bits               %" PRIu64 "\n", f->bits);
	printf("size in bytes      %jd\n",
	    (intmax_t)kv_pkbf_file_bytes(h->length));
	printf("bits set           %" PRIu64 " (%.4g%%)\n", f->set,
	    f->share * 100);
	if (isfinite(f->entries))
		printf("entries by bits    %.0f\n", f->entries);
	else
		printf("entries by bits    unknown: all bits are set\n");
	puts("false positives");
	printf("  by the header    %.4g\n", f->rate_by_header);
	printf("  by the bits      %.4g\n", f->rate_by_bits);
}

static json_t *
filter_to_json(const struct facts *facts)
{
	const struct filter_facts *f = &facts->filter;
	const struct kv_pkbf_header *h = &f->header;
	char when[64];
	bool dated = filter_facts_format_time(h->time, when, sizeof(when));

	return json_pack("{s:o, s:I, s:o, s:o, s:I, s:i, s:i, s:I, s:I, s:I, "
			 "s:f, s:f, s:f, s:o}",
	    "file", json_text(f->path), "revision", (json_int_t)h->revision,
	    "time", dated ? json_string(when) : json_null(), "time_seconds",
	    h->time <= INT64_MAX ? json_integer((json_int_t)h->time) :
				   json_null(),
	    "entries", (json_int_t)h->entries, "hashes", h->hashes, "length",
	    h->length, "bits", (json_int_t)f->bits, "size",
	    (json_int_t)kv_pkbf_file_bytes(h->length), "set_bits",
	    (json_int_t)f->set, "fill", f->share, "fpr_by_header",
	    f->rate_by_header, "fpr_by_bits", f->rate_by_bits,
	    "entries_by_bits",
	    isfinite(f->entries) ? json_real(f->entries) : json_null());
}

static bool
judge_filter(const struct facts *f)
{
	char why[256];

	if (filter_facts_are_consistent(&f->filter, why, sizeof(why)))
		return true;
	cli_error("%s: %s", f->filter.path, why);
	return false;
}

static void
print_good_filter(const struct facts *f)
{
	const struct kv_pkbf_header *h = &f->filter.header;

	printf(": ok: k %u, p %u, revision %" PRIu32 ", %" PRIu32 " %s, "
	       "lists a clean key with a chance of %.3g",
	    h->hashes, h->length, h->revision, h->entries,
	    cli_plural(h->entries, "entry", "entries"), f->filter.rate_by_bits);
}

static const struct inspector of_filters = {
	.wanted = "give one filter",
	.read = read_filter,
	.print = print_filter,
	.to_json = filter_to_json,
	.judge = judge_filter,
	.print_good = print_good_filter,
};

/* --- an exact list -------------------------------------------------------- */

static bool
read_list(const char *path, int fd, struct facts *f)
{
	char why[LIST_WHY_BYTES];

	f->sources = list_names_open(path);
	if (list_facts_read(path, fd, f->sources, &f->list, why))
		return true;
	cli_error("%s: %s", path, why);
	return false;
}

static void
print_list(const struct facts *facts)
{
	const struct list_facts *f = &facts->list;
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
		kv_sources_name(facts->sources, (uint8_t)id, name);
		printf("  %3zu %-12s %" PRIu64 "\n", id, name, f->from[id]);
	}
}

static json_t *
list_to_json(const struct facts *facts)
{
	const struct list_facts *f = &facts->list;
	json_t *sources = json_array();
	char name[KV_SOURCE_NAME_BYTES];

	for (size_t id = 0; id < LIST_SOURCES; id++) {
		if (f->from[id] == 0)
			continue;
		kv_sources_name(facts->sources, (uint8_t)id, name);
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

static void
print_good_list(const struct facts *f)
{
	printf(": ok: %" PRIu64 " %s in order", f->list.records,
	    cli_plural(f->list.records, "record", "records"));
}

static const struct inspector of_lists = {
	.wanted = "give one list",
	.read = read_list,
	.print = print_list,
	.to_json = list_to_json,
	.print_good = print_good_list,
};

/* --- both ----------------------------------------------------------------- */

static const struct inspector *
inspector_of(const struct cli_command *cmd)
{
	return is_of_filter(cmd) ? &of_filters : &of_lists;
}

/* Reads the set at path, and closes it. False after a message. */
static bool
read_set(const struct inspector *of, const char *path, struct facts *f)
{
	int fd = set_open(path);
	bool ok = fd != -1 && of->read(path, fd, f);

	if (fd != -1)
		close(fd);
	return ok;
}

static int
run_info(const struct cli_command *cmd, int argc, char **argv)
{
	const struct inspector *of = inspector_of(cmd);
	int json = false;
	const struct option options[] = {
		{ "json", no_argument, &json, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 1, 1,
	    of->wanted);
	struct facts f = { .sources = -1 };
	bool ok;

	if (status != -1)
		return status;
	ok = read_set(of, argv[optind], &f);
	if (ok && json)
		ok = json_print(of->to_json(&f));
	else if (ok) {
		of->print(&f);
		ok = cli_stdout_ok();
	}
	if (f.sources != -1)
		close(f.sources);
	return ok ? 0 : CLI_UNCHECKED;
}

static int
run_verify(const struct cli_command *cmd, int argc, char **argv)
{
	const struct inspector *of = inspector_of(cmd);
	static const struct option options[] = {
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 1, 1,
	    of->wanted);
	char distrust[KV_TRUSTED_WHY_BYTES];
	struct facts f = { .sources = -1 };
	const char *path;
	bool ok;

	if (status != -1)
		return status;
	path = argv[optind];
	ok = read_set(of, path, &f) && (of->judge == NULL || of->judge(&f));
	if (f.sources != -1)
		close(f.sources);
	if (!ok)
		return CLI_UNCHECKED;
	cli_find_distrust(path, distrust);
	cli_print_safe(stdout, path, strlen(path));
	of->print_good(&f);
	if (distrust[0] != '\0') {
		fputs("; but a login would not trust it: ", stdout);
		cli_print_safe(stdout, distrust, strlen(distrust));
	}
	putchar('\n');
	return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

const struct cli_command filter_info = {
	.name = "filter info",
	.synopsis = "[--json] FILE",
	.help = "Show header, size, fill and rate of false positives",
	.details = "  --json           one JSON object\n",
	.run = run_info,
};

const struct cli_command filter_verify = {
	.name = "filter verify",
	.synopsis = "FILE",
	.help = "Say in one line whether a filter is good, or what is wrong",
	.details = "",
	.run = run_verify,
};

const struct cli_command list_info = {
	.name = "list info",
	.synopsis = "[--json] FILE",
	.help = "Show date, size and sources of an exact list",
	.details = "  --json           one JSON object\n",
	.run = run_info,
};

const struct cli_command list_verify = {
	.name = "list verify",
	.synopsis = "FILE",
	.help = "Say in one line whether an exact list is good, or what is "
		"wrong",
	.details = "",
	.run = run_verify,
};
