/* SPDX-License-Identifier: ISC */
/* keyveto filter merge: makes one filter of several. */
#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "filter_and_list/filter.h"
#include "sets/filter_file.h"
#include "sets/pkbf_writer.h"
#include "base/progress.h"

#define BLOCK_BYTES (1024 * 1024)

struct source {
	const char *path;
	struct kv_pkbf pkbf;
	struct stat st;
};

struct merging {
	struct pkbf_writer writer;
	struct source *source; /* n of them, each another file */
	size_t n;
	int fold, force, yes; /* the options */
	struct progress progress;
};

/* One block of the result, and of an input. */
static uint8_t out[BLOCK_BYTES], in[BLOCK_BYTES];

static off_t
bit_bytes(uint8_t length)
{
	return kv_pkbf_file_bytes(length) - KV_PKBF_HEADER_BYTES;
}

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

		s->path = *paths;
		if (!filter_open(s->path, &s->pkbf))
			return false;
		if (fstat(s->pkbf.fd, &s->st) == -1) {
			cli_error("%s: %s", s->path, strerror(errno));
			kv_pkbf_close(&s->pkbf);
			return false;
		}
		if (is_input(m, &s->st))
			kv_pkbf_close(&s->pkbf);
		else
			m->n++;
	}
	return true;
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

	*h = first->pkbf.header;
	for (size_t i = 0; i < m->n; i++) {
		const struct source *s = &m->source[i];
		const struct kv_pkbf_header *from = &s->pkbf.header;

		if (from->hashes != h->hashes) {
			cli_error(
			    "%s has k %u and %s k %u: such filters "
			    "cannot be merged, add the keys to one instead",
			    first->path, h->hashes, s->path, from->hashes);
			return false;
		}
		if (from->length != first->pkbf.header.length && !m->fold) {
			cli_error("%s has p %u and %s p %u: --fold makes all "
				  "as short as the shortest, with more false "
				  "positives",
			    first->path, first->pkbf.header.length, s->path,
			    from->length);
			return false;
		}
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
 * offset at, into out. Clears out first, unless *usedp is set already. In a
 * filter of 2^q bits, a key's positions are its positions in a filter of 2^p
 * bits modulo 2^q. So folding ors each stretch of 2^q bits (stretch bytes) over
 * the first. If the result is shorter than a block, many stretches are read at
 * once. False after a message.
 */
static bool
or_source(struct merging *m, const struct source *s, size_t len, off_t at,
    off_t stretch, bool *usedp)
{
	off_t end = bit_bytes(s->pkbf.header.length);
	size_t want = len;

	if (len < BLOCK_BYTES) {
		want = end < BLOCK_BYTES ? (size_t)end : BLOCK_BYTES;
		stretch = (off_t)want;
	}
	for (; at < end; at += stretch) {
		off_t from = KV_PKBF_HEADER_BYTES + at;

		progress_add(&m->progress, want);
		if (filter_is_hole(s->pkbf.fd, from, want))
			continue;
		if (!cli_read_at(s->path, s->pkbf.fd, in, want, from))
			return false;
		if (!*usedp)
			memset(out, 0, len);
		*usedp = true;
		for (size_t done = 0; done < want; done += len) {
			for (size_t i = 0; i < len; i++)
				out[i] |= in[done + i];
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
		total += (uint64_t)bit_bytes(m->source[i].pkbf.header.length);
	progress_start(&m->progress, "merging", total);
	for (off_t at = 0; ok && at < bytes; at += (off_t)len) {
		bool used = false;

		for (size_t i = 0; ok && i < m->n; i++)
			ok = or_source(m, &m->source[i], len, at, bytes, &used);
		if (ok && used)
			ok = pkbf_writer_put(&m->writer, out, len, at);
	}
	progress_clear(&m->progress);
	return ok;
}

static bool
merge_filters(struct merging *m, const char *path, char **inputs)
{
	struct kv_pkbf_header h;
	const char *why = NULL;

	/* Lock first: the result is often one of the inputs. */
	if (!pkbf_writer_open(&m->writer, path, m->yes) ||
	    !open_sources(m, inputs))
		return false;
	if (!is_input(m, &m->writer.file.old_st))
		why = "exists, and is not among the filters to merge; name it "
		      "again to keep what it lists, or give --force";
	if (!pkbf_writer_may_replace(&m->writer, m->force, why) ||
	    !combine_headers(m, &h) || !pkbf_writer_start(&m->writer, &h) ||
	    !merge_bits(m, h.length) || !pkbf_writer_commit(&m->writer))
		return false;
	cli_error("%s: merged: k %u, p %u, revision %" PRIu32
		  ", at most %" PRIu32 " %s",
	    path, h.hashes, h.length, h.revision, h.entries,
	    cli_plural(h.entries, "entry", "entries"));
	return true;
}

static int
run_filter_merge(const struct cli_command *cmd, int argc, char **argv)
{
	struct merging m = { .n = 0 };
	const struct option options[] = {
		{ "fold", no_argument, &m.fold, true },
		{ "force", no_argument, &m.force, true },
		{ "yes", no_argument, &m.yes, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 2, INT_MAX,
	    "give the resulting filter and those to merge");
	bool ok;

	if (status != -1)
		return status;
	m.source = calloc((size_t)(argc - optind), sizeof(*m.source));
	if (m.source == NULL) {
		cli_error("%s", strerror(errno));
		return CLI_UNCHECKED;
	}
	ok = merge_filters(&m, argv[optind], argv + optind + 1);
	for (size_t i = 0; i < m.n; i++)
		kv_pkbf_close(&m.source[i].pkbf);
	pkbf_writer_close(&m.writer);
	free(m.source);
	return ok ? 0 : CLI_UNCHECKED;
}

const struct cli_command filter_merge = {
	.name = "filter merge",
	.synopsis = "OUT IN... [--fold] [--force] [--yes]",
	.help = "Make one filter of several",
	.details =
	    "OUT may be one of the filters to merge, or new. All must have "
	    "the same k.\n"
	    "\n"
	    "  --fold    if p differs, make all as short as the shortest\n"
	    "  --force   replace an OUT that is not among them; one that is "
	    "no filter is\n"
	    "            kept beside it\n"
	    "  --yes     although it may lock out root or an administrator\n"
	    "\n"
	    "The number of entries becomes the sum, an upper bound: keys that "
	    "several filters\n"
	    "list cannot be told apart.\n",
	.run = run_filter_merge,
};
