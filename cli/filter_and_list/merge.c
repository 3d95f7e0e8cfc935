/* SPDX-License-Identifier: ISC */
/* keyveto filter merge and list merge: make one set of several. */
#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/progress.h"
#include "filter_and_list/commands.h"
#include "sets/filter_file.h"
#include "sets/list_names.h"
#include "sets/list_writer.h"
#include "sets/pkbf_writer.h"

#define BLOCK_BYTES (1024 * 1024)
#define PROGRESS_RECORDS 65536

struct source {
	struct set set;
	struct stat st;
	const uint8_t *record;	 /* its next one; NULL: none is left */
	bool has[UINT8_MAX + 1]; /* records of these ids */
};

struct merging {
	struct source *source; /* n of them, each another file */
	size_t n;
	bool fold;
	struct progress progress;
};

/* --- filters -------------------------------------------------------------- */

static struct pkbf_writer filter_writer;

/* One block of the result, and of an input. */
static uint8_t merged[BLOCK_BYTES], block[BLOCK_BYTES];

static off_t
bit_bytes(uint8_t length)
{
	return kv_pkbf_file_bytes(length) - KV_PKBF_HEADER_BYTES;
}

/*
 * Sets the header of the result: the shortest length, and a revision above all
 * of theirs. The number of entries is the sum, an upper bound: nobody knows
 * which keys are in several inputs. False after a message.
 */
static bool
combine_headers(const struct merging *m, struct kv_pkbf_header *h)
{
	const struct source *first = &m->source[0];
	uint64_t entries = 0, revision = 0;

	*h = first->set.filter.header;
	for (size_t i = 0; i < m->n; i++) {
		const struct source *s = &m->source[i];
		const struct kv_pkbf_header *from = &s->set.filter.header;

		if (from->hashes != h->hashes)
			return cli_error(
			    "%s has k %u and %s k %u: such filters cannot be "
			    "merged, add the keys to one instead",
			    first->set.path, h->hashes, s->set.path,
			    from->hashes);
		if (from->length != first->set.filter.header.length && !m->fold)
			return cli_error(
			    "%s has p %u and %s p %u: --fold makes all as "
			    "short as the shortest, with more false positives",
			    first->set.path, first->set.filter.header.length,
			    s->set.path, from->length);
		if (from->length < h->length)
			h->length = from->length;
		if (from->revision > revision)
			revision = from->revision;
		entries += from->entries;
	}
	h->entries = entries < UINT32_MAX ? (uint32_t)entries : UINT32_MAX;
	h->revision = revision < UINT32_MAX ?
	    (uint32_t)revision + 1 :
	    UINT32_MAX;
	return filter_now(&h->time);
}

/*
 * Ors the bits of source s for one block of the result, len bytes at byte
 * offset at, into merged. Clears it first, unless *usedp is set already. In a
 * filter of 2^q bits, a key's positions are its positions in a filter of 2^p
 * bits modulo 2^q. So folding ors each stretch of 2^q bits (stretch bytes) over
 * the first. If the result is shorter than a block, many stretches are read at
 * once. False after a message.
 */
static bool
or_source(struct merging *m, const struct source *s, size_t len, off_t at,
    off_t stretch, bool *usedp)
{
	off_t end = bit_bytes(s->set.filter.header.length);
	size_t want = len;

	if (len < BLOCK_BYTES) {
		want = end < BLOCK_BYTES ? (size_t)end : BLOCK_BYTES;
		stretch = (off_t)want;
	}
	for (; at < end; at += stretch) {
		off_t from = KV_PKBF_HEADER_BYTES + at;

		progress_add(&m->progress, want);
		if (filter_is_hole(s->set.fd, from, want))
			continue;
		if (!cli_read_at(s->set.path, s->set.fd, block, want, from))
			return false;
		if (!*usedp)
			memset(merged, 0, len);
		*usedp = true;
		for (size_t done = 0; done < want; done += len) {
			for (size_t i = 0; i < len; i++)
				merged[i] |= block[done + i];
		}
	}
	return true;
}

static bool
merge_bits(struct merging *m, uint8_t length)
{
	off_t bytes = bit_bytes(length);
	size_t len = bytes < BLOCK_BYTES ? (size_t)bytes : BLOCK_BYTES;
	uint64_t total = 0;
	bool ok = true;

	for (size_t i = 0; i < m->n; i++)
		total += (uint64_t)bit_bytes(
		    m->source[i].set.filter.header.length);
	progress_start(&m->progress, "merging", total);
	for (off_t at = 0; ok && at < bytes; at += (off_t)len) {
		bool used = false;

		for (size_t i = 0; ok && i < m->n; i++)
			ok = or_source(m, &m->source[i], len, at, bytes, &used);
		if (ok && used)
			ok = pkbf_writer_put(&filter_writer, merged, len, at);
	}
	progress_clear(&m->progress);
	return ok;
}

static bool
merge_filters(struct merging *m, const char *path)
{
	struct kv_pkbf_header h;

	if (!combine_headers(m, &h) || !pkbf_writer_start(&filter_writer, &h) ||
	    !merge_bits(m, h.length) || !pkbf_writer_commit(&filter_writer))
		return false;
	cli_error("%s: merged: k %u, p %u, revision %" PRIu32
		  ", at most %" PRIu32 " %s",
	    path, h.hashes, h.length, h.revision, h.entries,
	    cli_plural(h.entries, "entry", "entries"));
	return true;
}

/* --- exact lists ---------------------------------------------------------- */

static struct list_writer list_writer;

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
		m->source[i].record = list_reader_next(
		    &m->source[i].set.reader);
		total += m->source[i].set.reader.records;
	}
	progress_start(&m->progress, "merging", total * sizeof(list_record));
	while (ok && (s = find_lowest(m)) != NULL) {
		if (list_writer.records == 0 ||
		    memcmp(last, s->record, sizeof(last)) != 0) {
			memcpy(last, s->record, sizeof(last));
			ok = list_writer_put(&list_writer, last);
		}
		s->has[s->record[KV_BLOCKLIST_HASH_BYTES]] = true;
		s->record = list_reader_next(&s->set.reader);
		if (++done % PROGRESS_RECORDS == 0)
			progress_add(&m->progress,
			    PROGRESS_RECORDS * sizeof(list_record));
	}
	progress_clear(&m->progress);
	for (size_t i = 0; ok && i < m->n; i++)
		ok = list_reader_is_good(&m->source[i].set.reader);
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
	int in = list_names_open(s->set.path), out = list_names_open(path);

	for (unsigned int id = 0; id <= UINT8_MAX; id++) {
		if (!s->has[id])
			continue;
		kv_sources_name(-1, (uint8_t)id, number);
		kv_sources_name(in, (uint8_t)id, name);
		kv_sources_name(out, (uint8_t)id, result);
		if (strcmp(name, result) != 0 && strcmp(result, number) != 0)
			cli_error("note: source %u is %s in %s; in %s it is "
				  "called %s",
			    id, name, s->set.path, path, result);
	}
	io_close(in);
	io_close(out);
}

static bool
merge_lists(struct merging *m, const char *path)
{
	if (!replace_begin(&list_writer.file) || !merge_records(m))
		return false;
	if (list_writer.records == 0)
		return cli_error(
		    "%s: no record to put into it, and logins refuse an empty "
		    "list; nothing was written",
		    path);
	if (!list_writer_commit(&list_writer))
		return false;
	cli_error("%s: merged: %" PRIu64 " %s", path, list_writer.records,
	    cli_plural(list_writer.records, "record", "records"));
	for (size_t i = 0; i < m->n; i++)
		compare_names(&m->source[i], path);
	return true;
}

/* --- both ----------------------------------------------------------------- */

static bool
is_input(const struct merging *m, const struct stat *st)
{
	for (size_t i = 0; i < m->n; i++)
		if (io_is_same(st, &m->source[i].st))
			return true;
	return false;
}

/* Opens all inputs. A file that is given twice is used once. */
static bool
open_sources(struct merging *m, const struct set_kind *kind, char **paths)
{
	for (; *paths != NULL; paths++) {
		struct source *s = &m->source[m->n];

		if (!set_open(&s->set, kind, *paths) ||
		    (fstat(s->set.fd, &s->st) == -1 &&
			!cli_failed(*paths, "cannot be read"))) {
			set_close(&s->set);
			return false;
		}
		if (is_input(m, &s->st))
			set_close(&s->set);
		else
			m->n++;
	}
	return true;
}

static bool
merge_into(struct merging *m, const struct set_command *c, bool force,
    char **path)
{
	const bool is_list = c->kind == &set_list;
	struct replace *file = is_list ?
	    &list_writer.file :
	    &filter_writer.file;
	char why[128];
	bool ok;

	snprintf(why, sizeof(why),
	    "exists, and is not among the %ss to merge; name it again to keep "
	    "what it lists, or give --force",
	    c->kind->name);
	/* Lock first: the result is often one of the inputs. */
	ok = (is_list ? list_writer_open(&list_writer, *path) :
			pkbf_writer_open(&filter_writer, *path)) &&
	    open_sources(m, c->kind, path + 1) &&
	    set_may_replace(file, c->kind, force,
		is_input(m, &file->old_st) ? NULL : why) &&
	    (is_list ? merge_lists : merge_filters)(m, *path);

	replace_close(file);
	return ok;
}

static bool
merge_sets(const struct set_command *c, const struct set_options *o,
    char **operand)
{
	struct merging m = { .fold = o->fold };
	size_t n = 0;
	bool ok;

	while (operand[n] != NULL)
		n++;
	m.source = calloc(n + 1, sizeof(*m.source));
	if (m.source == NULL)
		return cli_error("%s", strerror(errno));
	ok = merge_into(&m, c, o->force, operand);
	for (size_t i = 0; i < m.n; i++)
		set_close(&m.source[i].set);
	free(m.source);
	return ok;
}

const struct set_command filter_merge = {
	SET_COMMAND(filter, "merge"),
	.cmd.synopsis = "OUT IN... [--fold] [--force] [--yes]",
	.cmd.help = "Make one filter of several",
	.cmd.details =
	    "  --fold           if p differs, make all as short as the "
	    "shortest\n"
	    "  --force          replace an OUT that is not among them\n"
	    "  --yes            although it may lock out root or an "
	    "administrator\n",
	.operands = { 2, INT_MAX },
	.wanted = "give the resulting filter and those to merge",
	.run = merge_sets,
};

const struct set_command list_merge = {
	SET_COMMAND(list, "merge"),
	.cmd.synopsis = "OUT IN... [--force] [--yes]",
	.cmd.help = "Make one exact list of several",
	.cmd.details =
	    "  --force          replace an OUT that is not among them\n"
	    "  --yes            although it may lock out root or an "
	    "administrator\n",
	.operands = { 2, INT_MAX },
	.wanted = "give the resulting list and those to merge",
	.run = merge_sets,
};
