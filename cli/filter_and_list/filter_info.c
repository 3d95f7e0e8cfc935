/* SPDX-License-Identifier: ISC */
/*
 * keyveto filter info and verify: print what a filter holds, and whether it is
 * consistent.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sets/filter_facts.h"
#include "filter_and_list/filter.h"
#include "sets/filter_file.h"
#include "base/json_text.h"

static void
print_facts(const struct filter_facts *f)
{
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
facts_to_json(const struct filter_facts *f)
{
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

/* Reads the filter that the arguments name. Returns -1, or the exit status. */
static int
read_filter(const struct cli_command *cmd, int argc, char **argv,
    const struct option *options, struct filter_facts *facts)
{
	int status = cli_read_arguments(cmd, argc, argv, options, 1, 1,
	    "give one filter");
	struct kv_pkbf f;

	if (status != -1)
		return status;
	if (!filter_open(argv[optind], &f))
		return CLI_UNCHECKED;
	if (!filter_facts_read(argv[optind], &f, facts))
		status = CLI_UNCHECKED;
	kv_pkbf_close(&f);
	return status;
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
	struct filter_facts facts;
	int status = read_filter(cmd, argc, argv, options, &facts);

	if (status != -1)
		return status;
	if (json)
		return json_print(facts_to_json(&facts)) ? 0 : CLI_UNCHECKED;
	print_facts(&facts);
	return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

static int
run_verify(const struct cli_command *cmd, int argc, char **argv)
{
	static const struct option options[] = {
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	char why[256], distrust[KV_TRUSTED_WHY_BYTES];
	struct filter_facts facts;
	int status = read_filter(cmd, argc, argv, options, &facts);
	const char *path;

	if (status != -1)
		return status;
	path = facts.path;
	if (!filter_facts_are_consistent(&facts, why, sizeof(why))) {
		cli_error("%s: %s", path, why);
		return CLI_UNCHECKED;
	}
	cli_find_distrust(path, distrust);
	cli_print_safe(stdout, path, strlen(path));
	printf(": ok: k %u, p %u, revision %" PRIu32 ", %" PRIu32 " %s, "
	       "lists a clean key with a chance of %.3g",
	    facts.header.hashes, facts.header.length, facts.header.revision,
	    facts.header.entries,
	    cli_plural(facts.header.entries, "entry", "entries"),
	    facts.rate_by_bits);
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
	.details =
	    "  --json   one JSON object: file revision time time_seconds "
	    "entries hashes\n"
	    "           length bits size set_bits fill fpr_by_header "
	    "fpr_by_bits\n"
	    "           entries_by_bits\n",
	.run = run_info,
};

const struct cli_command filter_verify = {
	.name = "filter verify",
	.synopsis = "FILE",
	.help = "Say in one line whether a filter is good, or what is wrong",
	.details = "The exit status is 0 for a good filter, 2 for any other.\n",
	.run = run_verify,
};
