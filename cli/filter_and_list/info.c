/* SPDX-License-Identifier: ISC */
/*
 * keyveto filter info and verify, list info and verify: print what a set holds,
 * and whether it is consistent, so that a login can use it.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json_text.h"
#include "filter_and_list/commands.h"
#include "sets/filter_facts.h"
#include "sets/list_facts.h"
#include "sets/list_names.h"

/* A set that was read whole. */
struct facts {
	struct set set;
	struct filter_facts filter;
	struct list_facts list;
};

/* How a kind of set is read and printed. */
struct inspector {
	/* Reads all of the set. False after a message. */
	bool (*read)(struct facts *f);
	void (*print)(const struct facts *f);
	json_t *(*to_json)(const struct facts *f);
	/* Prints the start of the line about a good set. False after a message. */
	bool (*print_good)(const struct facts *f);
};

/* --- a filter ------------------------------------------------------------- */

static bool
read_filter(struct facts *f)
{
	return filter_facts_read(f->set.path, &f->set.filter, &f->filter);
}

static void
print_filter(const struct facts *facts)
{
	const struct filter_facts *f = &facts->filter;
	const struct kv_pkbf_header *h = &f->header;
	char when[64];

	if (!filter_facts_format_time(h->time, when, sizeof(when)))
		snprintf(when, sizeof(when), "second %" PRIu64, h->time);
	cli_printf(stdout, "file               %s\n", f->path);
	printf("revision           %" PRIu32 "\n", h->revision);
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
print_good_filter(const struct facts *f)
{
	const struct kv_pkbf_header *h = &f->filter.header;
	char why[256];

	if (!filter_facts_are_consistent(&f->filter, why, sizeof(why)))
		return cli_error("%s: %s", f->set.path, why);
	cli_printf(stdout,
	    "%s: ok: k %u, p %u, revision %" PRIu32 ", %" PRIu32 " %s, lists a "
	    "clean key with a chance of %.3g",
	    f->set.path, h->hashes, h->length, h->revision, h->entries,
	    cli_plural(h->entries, "entry", "entries"), f->filter.rate_by_bits);
	return true;
}

static const struct inspector of_filters = {
	.read = read_filter,
	.print = print_filter,
	.to_json = filter_to_json,
	.print_good = print_good_filter,
};

/* --- an exact list -------------------------------------------------------- */

static bool
read_list(struct facts *f)
{
	char why[LIST_WHY_BYTES];

	f->set.sources = list_names_open(f->set.path);
	if (list_facts_read(f->set.path, f->set.fd, f->set.sources, &f->list,
		why))
		return true;
	return cli_error("%s: %s", f->set.path, why);
}

static void
print_list(const struct facts *facts)
{
	const struct list_facts *f = &facts->list;
	char name[KV_SOURCE_NAME_BYTES];

	cli_printf(stdout, "file               %s\n", f->path);
	printf("date               %s\n", f->dated ? f->date : "not known");
	printf("records            %" PRIu64 "\n", f->records);
	printf("different keys     %" PRIu64 "\n", f->hashes);
	printf("size in bytes      %" PRIu64 "\n",
	    f->records * KV_BLOCKLIST_RECORD_BYTES);
	puts("records by source");
	for (size_t id = 0; id < LIST_SOURCES; id++) {
		if (f->from[id] == 0)
			continue;
		kv_sources_name(facts->set.sources, (uint8_t)id, name);
		printf("  %3zu %-12s %" PRIu64 "\n", id, name, f->from[id]);
	}
}

/* The numbers of records by source, which have names in the file names. */
static json_t *
sources_to_json(int names, const uint64_t from[static UINT8_MAX + 1])
{
	json_t *sources = json_array();
	char name[KV_SOURCE_NAME_BYTES];

	for (int id = 0; id <= UINT8_MAX; id++) {
		if (from[id] == 0)
			continue;
		kv_sources_name(names, (uint8_t)id, name);
		json_array_append_new(sources,
		    json_pack("{s:i, s:s, s:I}", "id", id, "source", name,
			"records", (json_int_t)from[id]));
	}
	return sources;
}

static json_t *
list_to_json(const struct facts *facts)
{
	const struct list_facts *f = &facts->list;

	return json_pack("{s:o, s:o, s:I, s:I, s:I, s:o}", "file",
	    json_text(f->path), "date",
	    f->dated ? json_string(f->date) : json_null(), "records",
	    (json_int_t)f->records, "hashes", (json_int_t)f->hashes, "size",
	    (json_int_t)f->records * KV_BLOCKLIST_RECORD_BYTES, "sources",
	    sources_to_json(facts->set.sources, f->from));
}

static bool
print_good_list(const struct facts *f)
{
	cli_printf(stdout, "%s: ok: %" PRIu64 " %s in order", f->set.path,
	    f->list.records, cli_plural(f->list.records, "record", "records"));
	return true;
}

static const struct inspector of_lists = {
	.read = read_list,
	.print = print_list,
	.to_json = list_to_json,
	.print_good = print_good_list,
};

/* --- both ----------------------------------------------------------------- */

/* Prints how good a set is, and whether a login trusts it. */
static bool
print_verdict(const struct inspector *of, const struct facts *f)
{
	char distrust[KV_TRUSTED_WHY_BYTES];

	if (!of->print_good(f))
		return false;
	cli_find_distrust(f->set.path, distrust);
	if (distrust[0] != '\0')
		cli_printf(stdout, "; but a login would not trust it: %s",
		    distrust);
	putchar('\n');
	return cli_stdout_ok();
}

static bool
inspect(const struct set_command *c, const struct set_options *o,
    char **operand)
{
	const struct inspector *of = c->kind == &set_filter ?
	    &of_filters :
	    &of_lists;
	static struct facts f;
	bool ok = set_open(&f.set, c->kind, operand[0]) && of->read(&f);

	if (ok && (c == &filter_verify || c == &list_verify))
		ok = print_verdict(of, &f);
	else if (ok && o->json)
		ok = json_print(of->to_json(&f));
	else if (ok) {
		of->print(&f);
		ok = cli_stdout_ok();
	}
	set_close(&f.set);
	return ok;
}

const struct set_command filter_info = {
	SET_COMMAND(filter, "info"),
	.cmd.synopsis = "[--json] FILE",
	.cmd.help = "Show header, size, fill and rate of false positives",
	.cmd.details = "  --json           one JSON object\n",
	.operands = { 1, 1 },
	.wanted = "give one filter",
	.run = inspect,
};

const struct set_command filter_verify = {
	SET_COMMAND(filter, "verify"),
	.cmd.synopsis = "FILE",
	.cmd.help =
	    "Say in one line whether a filter is good, or what is wrong",
	.cmd.details = "",
	.operands = { 1, 1 },
	.wanted = "give one filter",
	.run = inspect,
};

const struct set_command list_info = {
	SET_COMMAND(list, "info"),
	.cmd.synopsis = "[--json] FILE",
	.cmd.help = "Show date, size and sources of an exact list",
	.cmd.details = "  --json           one JSON object\n",
	.operands = { 1, 1 },
	.wanted = "give one list",
	.run = inspect,
};

const struct set_command list_verify = {
	SET_COMMAND(list, "verify"),
	.cmd.synopsis = "FILE",
	.cmd.help = "Say in one line whether an exact list is good, or what is "
		    "wrong",
	.cmd.details = "",
	.operands = { 1, 1 },
	.wanted = "give one list",
	.run = inspect,
};
