/* SPDX-License-Identifier: ISC */
/*
 * Deltas of exact lists: the numbers of the records that went, and the records
 * that came.
 */

#include <string.h>

#include "command.h"
#include "sets/delta_parts.h"
#include "base/io.h"
#include "sets/list_reader.h"

/* Of a record, so many bits are in Golomb code, and the others as they are. */
#define LEADING_BYTES 8
#define REST_BITS 64

static uint64_t
rest_of(const uint8_t *record)
{
	return kv_blocklist_leading_bits(record + LEADING_BYTES);
}

/* Adds size bytes of f, all of it, to a SHA-256. False after a message. */
static bool
hash_file(const struct delta_file *f, uint64_t size, uint8_t *block,
    uint8_t digest[SHA256_BYTES])
{
	struct sha256 sha;
	bool ok = sha256_begin(&sha);

	for (uint64_t at = 0; ok && at < size; at += DELTA_BLOCK_BYTES) {
		size_t len = size - at < DELTA_BLOCK_BYTES ?
		    (size_t)(size - at) :
		    DELTA_BLOCK_BYTES;

		ok = cli_read_at(f->shown, f->fd, block, len, (off_t)at) &&
		    sha256_add(&sha, block, len);
	}
	ok = ok && sha256_end(&sha, digest);
	sha256_free(&sha);
	return ok;
}

/* --- making --------------------------------------------------------------- */

struct making {
	const struct delta_file *old, *fresh, *out;
	struct delta_full_header x;
	bool writes; /* else it only adds up sizes */
	struct list_reader a, b;
	uint64_t gone, came;
	uint64_t next; /* the number of the record behind the last that went */
	uint64_t last; /* the leading bits of the last that came */
	struct golomb_choice gone_choice, came_choice;
	struct golomb gone_code, came_code;
	struct bit_writer gone_writer, came_writer;
	uint8_t block[DELTA_BLOCK_BYTES];
};

/*
 * A record that only one list has: of the old one, its number goes, else it
 * comes.
 */
static bool
take_change(const uint8_t *record, bool is_new, bool again, void *arg)
{
	struct making *m = arg;
	const uint64_t leading = kv_blocklist_leading_bits(record);
	uint64_t gap;

	(void)again;
	if (!is_new) {
		gap = m->a.next - 1 - m->next;
		m->gone++;
		m->next = m->a.next;
		if (m->writes)
			return bit_writer_put_gap(&m->gone_writer,
			    &m->gone_code, gap);
		golomb_choice_add(&m->gone_choice, gap);
		return true;
	}
	gap = leading - m->last;
	m->came++;
	m->last = leading;
	if (m->writes)
		return bit_writer_put_gap(&m->came_writer, &m->came_code,
			   gap) &&
		    bit_writer_put(&m->came_writer, rest_of(record), REST_BITS);
	golomb_choice_add(&m->came_choice, gap);
	return true;
}

/* Reads both lists once. */
static enum delta_end
walk(struct making *m, bool writes, char why[static DELTA_WHY_BYTES])
{
	m->writes = writes;
	m->gone = m->came = m->next = m->last = 0;
	list_reader_adopt(&m->a, m->old->shown, m->old->fd);
	list_reader_adopt(&m->b, m->fresh->shown, m->fresh->fd);
	if (!list_reader_compare(&m->a, &m->b, take_change, m))
		return DELTA_FAILED;
	if (m->a.why[0] != '\0')
		return delta_refuse(why, "the old file: %.200s", m->a.why);
	if (m->b.why[0] != '\0')
		return delta_refuse(why, "the new file: %.200s", m->b.why);
	return DELTA_DONE;
}

static enum delta_end
write_changes(struct making *m, char why[static DELTA_WHY_BYTES])
{
	const struct delta_header *h = &m->x.h;
	const uint64_t came_at = DELTA_LIST_BYTES + m->x.gone_bytes;
	uint64_t gone_end, end;
	enum delta_end walked;

	bit_writer_begin(&m->gone_writer, m->out, DELTA_LIST_BYTES);
	bit_writer_begin(&m->came_writer, m->out, came_at);
	if (!delta_write_header(m->out, &m->x))
		return DELTA_FAILED;
	walked = walk(m, true, why);
	if (walked != DELTA_DONE)
		return walked;
	if (!bit_writer_end(&m->gone_writer, &gone_end) ||
	    !bit_writer_end(&m->came_writer, &end))
		return DELTA_FAILED;
	if (m->gone == h->gone && m->came == h->came && gone_end == came_at)
		return DELTA_DONE;
	cli_error("%s or %s: was changed while it was read; try again",
	    m->old->shown, m->fresh->shown);
	return DELTA_FAILED;
}

static enum delta_end
compare_lists(struct making *m, char why[static DELTA_WHY_BYTES])
{
	struct delta_header *h = &m->x.h;
	uint64_t bits;
	enum delta_end end;

	golomb_choice_begin(&m->gone_choice, 0);
	golomb_choice_begin(&m->came_choice, 0);
	end = walk(m, false, why);
	if (end != DELTA_DONE)
		return end;
	h->kind = DELTA_LIST;
	h->gone = m->gone;
	h->came = m->came;
	h->old_size = m->a.records * sizeof(list_record);
	h->new_size = m->b.records * sizeof(list_record);
	if (m->a.records > 0 && m->b.records > 0 && m->gone == m->a.records)
		return delta_refuse(why, "the lists have no record in common");
	m->x.m = golomb_choice_end(&m->gone_choice, &bits);
	m->x.gone_bytes = (bits + 7) / 8;
	m->x.came_m = golomb_choice_end(&m->came_choice, &bits);
	m->gone_code = golomb_code(m->x.m);
	m->came_code = golomb_code(m->x.came_m);
	return hash_file(m->old, h->old_size, m->block, h->old_sha256) &&
		hash_file(m->fresh, h->new_size, m->block, h->new_sha256) ?
	    write_changes(m, why) :
	    DELTA_FAILED;
}

enum delta_end
delta_make_list(const struct delta_file *old, const struct delta_file *fresh,
    const struct delta_file *out, char why[static DELTA_WHY_BYTES])
{
	static struct making m;

	memset(&m, 0, sizeof(m));
	m.old = old;
	m.fresh = fresh;
	m.out = out;
	return compare_lists(&m, why);
}

/* --- applying ------------------------------------------------------------- */

struct applying {
	const struct delta_file *old, *out;
	const struct delta_full_header *x;
	struct list_reader reader;
	struct golomb gone_code, came_code;
	struct bit_reader gone, came;
	uint64_t gone_left, came_left; /* not read yet */
	bool has_gone, has_came;       /* a next one was read */
	uint64_t number;	       /* of the next record that went */
	list_record record;	       /* the next one that came */
	struct sha256 sha;
	uint64_t written;
	size_t used;
	uint8_t block[DELTA_BLOCK_BYTES];
};

/* The next functions are false if the delta is wrong, or cannot be read. */
static bool
next_gone(struct applying *a)
{
	const uint64_t from = a->has_gone ? a->number + 1 : 0;
	const uint64_t records = a->reader.records;
	uint64_t gap;

	a->has_gone = a->gone_left > 0;
	if (!a->has_gone)
		return true;
	if (from >= records ||
	    !bit_reader_get_gap(&a->gone, &a->gone_code, records - 1 - from,
		&gap))
		return false;
	a->number = from + gap;
	a->gone_left--;
	return true;
}

static bool
next_came(struct applying *a)
{
	uint64_t leading = kv_blocklist_leading_bits(a->record);
	uint64_t gap, rest, last_rest = rest_of(a->record);

	a->has_came = a->came_left > 0;
	if (!a->has_came)
		return true;
	/* The record is zero at first. */
	if (!bit_reader_get_gap(&a->came, &a->came_code, UINT64_MAX - leading,
		&gap) ||
	    !bit_reader_get(&a->came, REST_BITS, &rest) ||
	    (gap == 0 && rest < last_rest))
		return false;
	leading = htobe64(leading + gap);
	rest = htobe64(rest);
	memcpy(a->record, &leading, LEADING_BYTES);
	memcpy(a->record + LEADING_BYTES, &rest, sizeof(rest));
	a->came_left--;
	return true;
}

/* These are false after a message. */
static bool
write_block(struct applying *a)
{
	const size_t len = a->used;

	a->used = 0;
	a->written += len;
	if (!sha256_add(&a->sha, a->block, len))
		return false;
	return io_write_at(a->out->fd, a->block, len,
		   (off_t)(a->written - len)) ||
	    cli_failed(a->out->shown, "cannot be written");
}

static bool
put_record(struct applying *a, const uint8_t *record)
{
	if (a->used == sizeof(a->block) && !write_block(a))
		return false;
	memcpy(a->block + a->used, record, sizeof(list_record));
	a->used += sizeof(list_record);
	return true;
}

/* Why the delta does not fit, if the files could be read. */
static enum delta_end
report_misfit(const struct applying *a, char why[static DELTA_WHY_BYTES])
{
	if (a->gone.failed || a->came.failed)
		return DELTA_FAILED;
	return a->reader.why[0] != '\0' ?
	    delta_refuse(why, "the old file: %.200s", a->reader.why) :
	    delta_refuse(why, "a damaged delta; get it again");
}

/*
 * Writes the records of both in order, without those that went. *fitsp becomes
 * false if the delta is wrong. False after a message.
 */
static bool
merge_records(struct applying *a, bool *fitsp)
{
	const uint8_t *old = list_reader_next(&a->reader);

	*fitsp = next_gone(a) && next_came(a);
	while (*fitsp && (old != NULL || a->has_came)) {
		bool goes = old != NULL && a->has_gone &&
		    a->reader.next - 1 == a->number;
		int order = old == NULL ? -1 :
		    !a->has_came	? 1 :
				   memcmp(a->record, old, sizeof(list_record));

		if (a->reader.why[0] != '\0')
			*fitsp = false;
		else if (order <= 0) {
			if (!put_record(a, a->record))
				return false;
			*fitsp = next_came(a);
		} else {
			if (!goes && !put_record(a, old))
				return false;
			*fitsp = !goes || next_gone(a);
			old = list_reader_next(&a->reader);
		}
	}
	*fitsp = *fitsp && a->reader.why[0] == '\0' && !a->has_gone &&
	    bit_reader_is_at_end(&a->gone) && bit_reader_is_at_end(&a->came);
	return true;
}

static enum delta_end
apply_to_list(struct applying *a, char why[static DELTA_WHY_BYTES])
{
	const struct delta_header *h = &a->x->h;
	uint8_t old[SHA256_BYTES], fresh[SHA256_BYTES];
	enum delta_end end;
	bool fits;

	/* First, so that a list with another order is not called damaged. */
	if (!hash_file(a->old, h->old_size, a->block, old))
		return DELTA_FAILED;
	end = delta_judge_hashes(h, old, h->new_sha256, why);
	if (end != DELTA_DONE)
		return end;
	if (!list_reader_adopt(&a->reader, a->old->shown, a->old->fd))
		return report_misfit(a, why);
	if (!sha256_begin(&a->sha) || !merge_records(a, &fits))
		return DELTA_FAILED;
	if (!fits)
		return report_misfit(a, why);
	return write_block(a) && sha256_end(&a->sha, fresh) ?
	    delta_judge_hashes(h, old, fresh, why) :
	    DELTA_FAILED;
}

enum delta_end
delta_apply_list(const struct delta_file *old, const struct delta_file *delta,
    const struct delta_full_header *x, const struct delta_file *out,
    char why[static DELTA_WHY_BYTES])
{
	static struct applying a;
	const uint64_t came_at = DELTA_LIST_BYTES + x->gone_bytes;
	enum delta_end end;

	memset(&a, 0, sizeof(a));
	a.old = old;
	a.out = out;
	a.x = x;
	a.gone_left = x->h.gone;
	a.came_left = x->h.came;
	a.gone_code = golomb_code(x->m);
	a.came_code = golomb_code(x->came_m);
	bit_reader_begin(&a.gone, delta, DELTA_LIST_BYTES, came_at);
	bit_reader_begin(&a.came, delta, came_at, x->h.size);
	end = apply_to_list(&a, why);
	sha256_free(&a.sha);
	return end;
}
