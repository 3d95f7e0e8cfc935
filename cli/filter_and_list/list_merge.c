/* SPDX-License-Identifier: ISC */
/* keyveto list merge: makes one exact list of several. */
#include <sys/stat.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter_and_list/list.h"
#include "sets/list_names.h"
#include "sets/list_writer.h"
#include "base/progress.h"

#define PROGRESS_RECORDS 65536

struct source {
	struct list_reader reader;
	struct stat st;
	const uint8_t *record;	 /* its next one; NULL: none is left */
	bool has[UINT8_MAX + 1]; /* records of these ids */
};

struct merging {
	struct source *source; /* n of them, each another file */
	size_t n;
	int force, yes;
	struct progress progress;
};

static struct list_writer writer;

/* Whether this file is one of the inputs. */
static bool
is_input(const struct merging *m, const struct stat *st)
{
	for (size_t i = 0; i < m->n; i++) {
		if (st->st_dev == m->source[i].st.st_dev &&
		    st->st_ino == m->source[i].st.st_ino)
			return true;
	}
	return false;
}

/* Opens all inputs. A file that is given twice is used once. */
static bool
open_sources(struct merging *m, char **paths)
{
	for (; *paths != NULL; paths++) {
		struct source *s = &m->source[m->n];

		if (!list_reader_open(&s->reader, *paths) ||
		    fstat(s->reader.fd, &s->st) == -1) {
			list_reader_is_good(&s->reader);
			list_reader_close(&s->reader);
			return false;
		}
		if (is_input(m, &s->st))
			list_reader_close(&s->reader);
		else
			m->n++;
	}
	return true;
}

/* The source with the lowest next record; NULL if none is left. */
static struct source *
find_lowest(const struct merging *m)
{
	struct source *lowest = NULL;

	for (size_t i = 0; i < m->n; i++) {
		struct source *s = &m->source[i];

		if (s->record != NULL &&
		    (lowest == NULL ||
			memcmp(s->record, lowest->record, sizeof(list_record)) <
			    0))
			lowest = s;
	}
	return lowest;
}

/* Writes each record that any source has, once. False after a message. */
static bool
merge_records(struct merging *m)
{
	list_record last = { 0 };
	struct source *s;
	uint64_t total = 0, done = 0;
	bool ok = true;

	for (size_t i = 0; i < m->n; i++) {
		m->source[i].record = list_reader_next(&m->source[i].reader);
		total += m->source[i].reader.records;
	}
	progress_start(&m->progress, "merging", total * sizeof(list_record));
	while (ok && (s = find_lowest(m)) != NULL) {
		if (writer.records == 0 ||
		    memcmp(last, s->record, sizeof(last)) != 0) {
			memcpy(last, s->record, sizeof(last));
			ok = list_writer_put(&writer, last);
		}
		s->has[s->record[KV_BLOCKLIST_HASH_BYTES]] = true;
		s->record = list_reader_next(&s->reader);
		if (++done % PROGRESS_RECORDS == 0)
			progress_add(&m->progress,
			    PROGRESS_RECORDS * sizeof(list_record));
	}
	progress_clear(&m->progress);
	for (size_t i = 0; ok && i < m->n; i++)
		ok = list_reader_is_good(&m->source[i].reader);
	return ok;
}

/*
 * Prints which sources of s have another name beside the list at path: a login
 * calls them by that.
 */
static void
compare_names(const struct source *s, const char *path)
{
	char name[KV_SOURCE_NAME_BYTES], number[KV_SOURCE_NAME_BYTES];
	char result[KV_SOURCE_NAME_BYTES];
	int in = list_names_open(s->reader.path), out = list_names_open(path);

	for (unsigned int id = 0; id <= UINT8_MAX; id++) {
		if (!s->has[id])
			continue;
		kv_sources_name(-1, (uint8_t)id, number);
		kv_sources_name(in, (uint8_t)id, name);
		kv_sources_name(out, (uint8_t)id, result);
		if (strcmp(name, result) != 0 && strcmp(result, number) != 0)
			cli_error("note: source %u is %s in %s; in %s it is "
				  "called %s",
			    id, name, s->reader.path, path, result);
	}
	if (in != -1)
		close(in);
	if (out != -1)
		close(out);
}

static bool
merge_lists(struct merging *m, const char *path, char **inputs)
{
	const char *why = NULL;

	/* Lock first: the result is often one of the inputs. */
	if (!list_writer_open(&writer, path, m->yes) ||
	    !open_sources(m, inputs))
		return false;
	if (writer.file.old != -1 && !is_input(m, &writer.file.old_st))
		why = "exists, and is not among the lists to merge; name it "
		      "again to keep what it lists, or give --force";
	if (!list_writer_may_replace(&writer, m->force, why) ||
	    !list_writer_start(&writer) || !merge_records(m))
		return false;
	if (writer.records == 0) {
		cli_error("%s: no record to put into it, and logins refuse an "
			  "empty list; nothing was written",
		    path);
		return false;
	}
	if (!list_writer_commit(&writer))
		return false;
	cli_error("%s: merged: %" PRIu64 " %s", path, writer.records,
	    cli_plural(writer.records, "record", "records"));
	for (size_t i = 0; i < m->n; i++)
		compare_names(&m->source[i], path);
	return true;
}

static int
run_list_merge(const struct cli_command *cmd, int argc, char **argv)
{
	struct merging m = { .n = 0 };
	const struct option options[] = {
		{ "force", no_argument, &m.force, true },
		{ "yes", no_argument, &m.yes, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 2, INT_MAX,
	    "give the resulting list and those to merge");
	bool ok;

	if (status != -1)
		return status;
	m.source = calloc((size_t)(argc - optind), sizeof(*m.source));
	if (m.source == NULL) {
		cli_error("%s", strerror(errno));
		return CLI_UNCHECKED;
	}
	ok = merge_lists(&m, argv[optind], argv + optind + 1);
	for (size_t i = 0; i < m.n; i++)
		list_reader_close(&m.source[i].reader);
	list_writer_close(&writer);
	free(m.source);
	return ok ? 0 : CLI_UNCHECKED;
}

const struct cli_command list_merge = {
	.name = "list merge",
	.synopsis = "OUT IN... [--force] [--yes]",
	.help = "Make one exact list of several",
	.details =
	    "OUT may be one of the lists to merge, or new. It gets each record "
	    "that any of\n"
	    "them has, once; a key that two sources list keeps both.\n"
	    "\n"
	    "  --force   replace an OUT that is not among them; one that is "
	    "no list is\n"
	    "            kept beside it\n"
	    "  --yes     although it may lock out root or an administrator\n"
	    "\n"
	    "The names of sources in IN.sources are not merged. A source that "
	    "OUT.sources\n"
	    "calls by another name is reported.\n",
	.run = run_list_merge,
};
