/* SPDX-License-Identifier: ISC */
/*
 * Deltas of filters: the bits that were set, as gaps among the zero bits of the
 * old filter.
 */
#include <sys/stat.h>

#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "sets/delta_parts.h"
#include "base/io.h"

#define WORD_BYTES 8
/* So a header is whole words, and blocks are at whole pages of the file. */
_Static_assert(KV_PKBF_HEADER_BYTES % WORD_BYTES == 0, "header in words");

#if defined(__x86_64__) && !defined(KV_PORTABLE)
#define WITH_POPCNT __attribute__((target("popcnt")))
#define HAS_POPCNT __builtin_cpu_supports("popcnt")
#else
#define WITH_POPCNT
#define HAS_POPCNT 0
#endif
#define INLINED static inline __attribute__((always_inline))

static uint64_t
load_word(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static void
store_word(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static unsigned int
ones(uint64_t v)
{
	return (unsigned int)__builtin_popcountll(v);
}

/* The highest bit that is set; v is not 0. */
static uint64_t
highest(uint64_t v)
{
	return (uint64_t)1 << (63 - __builtin_clzll(v));
}

/*
 * The block of a filter at offset at: how many bytes of it there are, and of
 * these, how many are the header.
 */
static size_t
block_bytes(uint64_t size, uint64_t at)
{
	return size - at < DELTA_BLOCK_BYTES ?
	    (size_t)(size - at) :
	    DELTA_BLOCK_BYTES;
}

static size_t
header_bytes(uint64_t at)
{
	return at == 0 ? KV_PKBF_HEADER_BYTES : 0;
}

/*
 * A filter of less than 64 bits ends within a word. What is behind its end must
 * not look like zero bits. Returns the bytes of whole words.
 */
static size_t
fill_last_word(uint8_t *block, size_t len)
{
	size_t more = (WORD_BYTES - len % WORD_BYTES) % WORD_BYTES;

	memset(block + len, 0xff, more);
	return len + more;
}

static uint8_t old_block[DELTA_BLOCK_BYTES + WORD_BYTES];
static uint8_t new_block[DELTA_BLOCK_BYTES + WORD_BYTES];

/* --- making --------------------------------------------------------------- */

enum pass { FIND, MEASURE, WRITE };

/*
 * So many gaps are kept, as 6000 keys make. If there are more, both filters are
 * read again to choose the parameter, and to write.
 */
#define KEPT_GAPS (128 * 1024)
static uint64_t kept_gap[KEPT_GAPS];

struct making {
	const struct delta_file *old, *fresh, *out;
	struct delta_full_header x;
	struct sha256 old_sha, new_sha;
	enum pass pass;
	uint64_t zeros, set; /* bits so far: zero in old, set in fresh only */
	uint64_t cleared;    /* bits of old that are not set in fresh */
	uint64_t run;	     /* zeros since the last bit that was set */
	struct golomb_choice choice;
	struct golomb code;
	struct bit_writer writer;
};

static bool
take_gap(struct making *m, uint64_t gap)
{
	const uint64_t number = m->set++;

	if (m->pass == WRITE)
		return bit_writer_put_gap(&m->writer, &m->code, gap);
	if (m->pass == MEASURE)
		golomb_choice_add(&m->choice, gap);
	else if (number < KEPT_GAPS)
		kept_gap[number] = gap;
	return true;
}

INLINED bool
find_gaps(struct making *m, size_t from, size_t end)
{
	for (size_t at = from; at < end; at += WORD_BYTES) {
		uint64_t b = load_word(new_block + at);
		uint64_t zeros = ~load_word(old_block + at), set = b & zeros;

		m->cleared |= ~(b | zeros);
		m->zeros += ones(zeros);
		while (set != 0) {
			uint64_t bit = highest(set), below = bit - 1;

			m->run += ones(zeros & ~(bit | below));
			if (!take_gap(m, m->run))
				return false;
			m->run = 0;
			zeros &= below;
			set &= below;
		}
		m->run += ones(zeros);
	}
	return true;
}

WITH_POPCNT static bool
find_with_popcnt(struct making *m, size_t from, size_t end)
{
	return find_gaps(m, from, end);
}

static bool
scan(struct making *m, size_t from, size_t end)
{
	return HAS_POPCNT ? find_with_popcnt(m, from, end) :
			    find_gaps(m, from, end);
}

/* Reads both filters once. False after a message. */
static bool
scan_all(struct making *m, enum pass pass)
{
	const uint64_t size = m->x.h.old_size;

	m->pass = pass;
	m->zeros = m->set = m->run = 0;
	for (uint64_t at = 0; at < size && m->cleared == 0;
	     at += DELTA_BLOCK_BYTES) {
		size_t len = block_bytes(size, at);

		if (!cli_read_at(m->old->shown, m->old->fd, old_block, len,
			(off_t)at) ||
		    !cli_read_at(m->fresh->shown, m->fresh->fd, new_block, len,
			(off_t)at))
			return false;
		if (pass == FIND &&
		    (!sha256_add(&m->old_sha, old_block, len) ||
			!sha256_add(&m->new_sha, new_block, len)))
			return false;
		fill_last_word(old_block, len);
		if (!scan(m, header_bytes(at), fill_last_word(new_block, len)))
			return false;
	}
	return true;
}

/* Takes all gaps again. False after a message. */
static bool
take_all_gaps(struct making *m, enum pass pass)
{
	bool ok = true;

	if (m->x.h.came > KEPT_GAPS)
		return scan_all(m, pass);
	m->pass = pass;
	m->set = 0;
	while (ok && m->set < m->x.h.came)
		ok = take_gap(m, kept_gap[m->set]);
	return ok;
}

static bool
write_gaps(struct making *m, uint64_t bits)
{
	const uint64_t count = m->x.h.came;
	uint64_t end;

	bit_writer_begin(&m->writer, m->out, DELTA_FILTER_BYTES);
	if (!delta_write_header(m->out, &m->x) || !take_all_gaps(m, WRITE) ||
	    !bit_writer_end(&m->writer, &end))
		return false;
	if (m->set == count && end == DELTA_FILTER_BYTES + (bits + 7) / 8)
		return true;
	return cli_error("%s or %s: was changed while it was read; try again",
	    m->old->shown, m->fresh->shown);
}

static enum delta_end
compare_filters(struct making *m, char why[static DELTA_WHY_BYTES])
{
	struct delta_header *h = &m->x.h;
	uint64_t bits;

	if (!sha256_begin(&m->old_sha) || !sha256_begin(&m->new_sha) ||
	    !scan_all(m, FIND))
		return DELTA_FAILED;
	if (m->cleared != 0)
		return delta_refuse(why,
		    "bits of the old filter are not set in the new one");
	h->came = m->set;
	if (!sha256_end(&m->old_sha, h->old_sha256) ||
	    !sha256_end(&m->new_sha, h->new_sha256))
		return DELTA_FAILED;
	golomb_choice_begin(&m->choice,
	    golomb_guess(m->set, m->zeros - m->set));
	if (!take_all_gaps(m, MEASURE))
		return DELTA_FAILED;
	m->x.m = golomb_choice_end(&m->choice, &bits);
	m->code = golomb_code(m->x.m);
	return write_gaps(m, bits) ? DELTA_DONE : DELTA_FAILED;
}

/* Opens both filters, and compares k and p. */
static enum delta_end
compare_headers(struct making *m, char why[static DELTA_WHY_BYTES])
{
	struct delta_header *h = &m->x.h;
	struct kv_pkbf old, fresh;
	enum kv_err err;

	if ((err = kv_pkbf_open_fd(m->old->fd, &old)) != KV_OK)
		return delta_refuse(why, "the old file is no filter: %s",
		    kv_strerror(err));
	if ((err = kv_pkbf_open_fd(m->fresh->fd, &fresh)) != KV_OK)
		return delta_refuse(why, "the new file is no filter: %s",
		    kv_strerror(err));
	h->kind = DELTA_FILTER;
	h->old_header = old.header;
	h->new_header = fresh.header;
	kv_pkbf_header_encode(&old.header, m->x.old_raw);
	kv_pkbf_header_encode(&fresh.header, m->x.new_raw);
	if (old.header.hashes != fresh.header.hashes)
		return delta_refuse(why, "k is %u, and in the new filter %u",
		    old.header.hashes, fresh.header.hashes);
	if (old.header.length != fresh.header.length)
		return delta_refuse(why, "p is %u, and in the new filter %u",
		    old.header.length, fresh.header.length);
	h->old_size = h->new_size = (uint64_t)kv_pkbf_file_bytes(
	    old.header.length);
	return DELTA_DONE;
}

enum delta_end
delta_make_filter(const struct delta_file *old, const struct delta_file *fresh,
    const struct delta_file *out, char why[static DELTA_WHY_BYTES])
{
	static struct making m;
	enum delta_end end;

	memset(&m, 0, sizeof(m));
	m.old = old;
	m.fresh = fresh;
	m.out = out;
	end = compare_headers(&m, why);
	if (end == DELTA_DONE)
		end = compare_filters(&m, why);
	sha256_free(&m.old_sha);
	sha256_free(&m.new_sha);
	return end;
}

/* --- applying ------------------------------------------------------------- */

struct applying {
	const struct delta_file *old, *out;
	const struct delta_full_header *x;
	struct sha256 old_sha, new_sha;
	struct golomb code;
	struct bit_reader reader;
	uint64_t left; /* bits to set */
	uint64_t skip; /* zeros of old before the next of them */
	uint64_t room; /* zeros that there may still be from there on */
};

/* Reads the gap before the next bit. False if there is none in the delta. */
static bool
next_gap(struct applying *a)
{
	if (a->left == 0)
		return true;
	if (a->room == 0 ||
	    !bit_reader_get_gap(&a->reader, &a->code, a->room - 1, &a->skip))
		return false;
	a->room -= a->skip + 1;
	return true;
}

/* Sets the bits that are in this word, which has more than a->skip zeros. */
static bool
set_bits(struct applying *a, uint8_t *word)
{
	uint64_t v = load_word(word), zeros = ~v;

	for (;;) {
		for (; a->skip > 0; a->skip--)
			zeros &= ~highest(zeros);
		v |= highest(zeros);
		store_word(word, v);
		zeros &= highest(zeros) - 1;
		a->left--;
		if (!next_gap(a))
			return false;
		if (a->left == 0 || a->skip >= ones(zeros)) {
			a->skip -= a->left > 0 ? ones(zeros) : 0;
			return true;
		}
	}
}

INLINED bool
set_words(struct applying *a, size_t from, size_t end)
{
	for (size_t at = from; at < end && a->left > 0; at += WORD_BYTES) {
		unsigned int zeros = ones(~load_word(new_block + at));

		if (a->skip >= zeros)
			a->skip -= zeros;
		else if (!set_bits(a, new_block + at))
			return false;
	}
	return true;
}

WITH_POPCNT static bool
set_with_popcnt(struct applying *a, size_t from, size_t end)
{
	return set_words(a, from, end);
}

static bool
set_block(struct applying *a, size_t from, size_t end)
{
	return HAS_POPCNT ? set_with_popcnt(a, from, end) :
			    set_words(a, from, end);
}

static enum delta_end
report_misfit(const struct applying *a, char why[static DELTA_WHY_BYTES])
{
	return a->reader.failed ?
	    DELTA_FAILED :
	    delta_refuse(why,
		"it does not fit this file: it is damaged, or of another file");
}

/* False after a message. */
static bool
write_block(const struct applying *a, size_t len, uint64_t at)
{
	if (!io_write_sparse_at(a->out->fd, new_block, len, (off_t)at))
		return cli_failed(a->out->shown, "cannot be written");
	/* The disk writes while the next blocks are made. A hint, no more. */
	(void)sync_file_range(a->out->fd, (off_t)at, (off_t)len,
	    SYNC_FILE_RANGE_WRITE);
	return true;
}

/* Makes the new block of the old one, at offset at, and writes it. */
static enum delta_end
make_block(struct applying *a, uint64_t at, char why[static DELTA_WHY_BYTES])
{
	const struct delta_full_header *x = a->x;
	size_t len = block_bytes(x->h.old_size, at);

	if (!cli_read_at(a->old->shown, a->old->fd, new_block, len,
		(off_t)at) ||
	    !sha256_add(&a->old_sha, new_block, len))
		return DELTA_FAILED;
	if (at == 0) {
		if (memcmp(new_block, x->old_raw, sizeof(x->old_raw)) != 0)
			return delta_refuse(why,
			    "it applies to revision %" PRIu32
			    ", made at %" PRIu64 ", and not to this one",
			    x->h.old_header.revision, x->h.old_header.time);
		memcpy(new_block, x->new_raw, sizeof(x->new_raw));
	}
	if (!set_block(a, header_bytes(at), fill_last_word(new_block, len)))
		return report_misfit(a, why);
	return sha256_add(&a->new_sha, new_block, len) &&
		write_block(a, len, at) ?
	    DELTA_DONE :
	    DELTA_FAILED;
}

static enum delta_end
make_blocks(struct applying *a, char why[static DELTA_WHY_BYTES])
{
	enum delta_end end = DELTA_DONE;

	for (uint64_t at = 0; end == DELTA_DONE && at < a->x->h.old_size;
	     at += DELTA_BLOCK_BYTES)
		end = make_block(a, at, why);
	return end;
}

/* Whether the old file and the new one are those of the header. */
static enum delta_end
compare_hashes(struct applying *a, char why[static DELTA_WHY_BYTES])
{
	uint8_t old[SHA256_BYTES], fresh[SHA256_BYTES];

	return sha256_end(&a->old_sha, old) && sha256_end(&a->new_sha, fresh) ?
	    delta_judge_hashes(&a->x->h, old, fresh, why) :
	    DELTA_FAILED;
}

static enum delta_end
apply_to_filter(struct applying *a, char why[static DELTA_WHY_BYTES])
{
	enum delta_end end;

	if (!sha256_begin(&a->old_sha) || !sha256_begin(&a->new_sha))
		return DELTA_FAILED;
	if (ftruncate(a->out->fd, (off_t)a->x->h.new_size) == -1) {
		cli_failed(a->out->shown, "cannot be made that large");
		return DELTA_FAILED;
	}
	if (!next_gap(a))
		return report_misfit(a, why);
	end = make_blocks(a, why);
	if (end == DELTA_DONE &&
	    (a->left > 0 || !bit_reader_is_at_end(&a->reader)))
		end = report_misfit(a, why);
	return end == DELTA_DONE ? compare_hashes(a, why) : end;
}

enum delta_end
delta_apply_filter(const struct delta_file *old, const struct delta_file *delta,
    const struct delta_full_header *x, const struct delta_file *out,
    char why[static DELTA_WHY_BYTES])
{
	static struct applying a;
	enum delta_end end;

	memset(&a, 0, sizeof(a));
	a.old = old;
	a.out = out;
	a.x = x;
	a.left = x->h.came;
	a.room = (uint64_t)1 << x->h.old_header.length;
	a.code = golomb_code(x->m);
	bit_reader_begin(&a.reader, delta, DELTA_FILTER_BYTES, x->h.size);
	end = apply_to_filter(&a, why);
	sha256_free(&a.old_sha);
	sha256_free(&a.new_sha);
	return end;
}
