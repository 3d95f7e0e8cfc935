/* SPDX-License-Identifier: ISC */
#include "sets/golomb.h"

#include <string.h>

#include "command.h"
#include "base/io.h"

/* ln 2 and its half plus one half, times 2^16: see golomb_guess. */
#define LN2 45426U
#define ROUNDING 55481U

struct golomb
golomb_code(uint64_t m)
{
	struct golomb code = { .m = m };

	while (code.bits < GOLOMB_RICE_MAX && (uint64_t)1 << code.bits < m)
		code.bits++;
	code.cut = ((uint64_t)1 << code.bits) - m;
	return code;
}

/*
 * Of gaps with the mean u, half are below about (u + 1/2) ln 2. With this m, q
 * is 0 for half of them.
 */
uint64_t
golomb_guess(uint64_t n, uint64_t sum)
{
	uint64_t m = n > 0 ? (sum * LN2 + n * ROUNDING) / (n << 16) : 1;

	return m > 0 ? m : 1;
}

void
golomb_choice_begin(struct golomb_choice *c, uint64_t guess)
{
	memset(c, 0, sizeof(*c));
	c->scattered_bits = guess == 0 ? UINT64_MAX : 0;
	c->scattered = golomb_code(guess > 0 ? guess : 1);
}

void
golomb_choice_add(struct golomb_choice *c, uint64_t gap)
{
	const struct golomb *s = &c->scattered;
	const bool is_short = gap % s->m < s->cut;

	c->n++;
	/* Gaps add up to no more than 2^64: no sum overflows. */
	for (unsigned int k = 0; k <= GOLOMB_RICE_MAX && gap >> k != 0; k++)
		c->rice[k] += gap >> k;
	if (c->scattered_bits != UINT64_MAX)
		c->scattered_bits += gap / s->m + 1 + s->bits - is_short;
}

uint64_t
golomb_choice_end(const struct golomb_choice *c, uint64_t *bitsp)
{
	uint64_t m = c->scattered.m, bits = c->scattered_bits;

	*bitsp = 0;
	if (c->n == 0)
		return 1;
	for (unsigned int k = 0; k <= GOLOMB_RICE_MAX; k++) {
		uint64_t fixed = c->n * (k + 1);
		uint64_t all = c->rice[k] > UINT64_MAX - fixed ?
		    UINT64_MAX :
		    c->rice[k] + fixed;

		if (all < bits) {
			m = (uint64_t)1 << k;
			bits = all;
		}
	}
	*bitsp = bits;
	return m;
}

/* --- writing -------------------------------------------------------------- */

void
bit_writer_begin(struct bit_writer *w, const struct delta_file *file,
    uint64_t at)
{
	w->file = file;
	w->at = at;
	w->acc = w->acc_bits = 0;
	w->used = 0;
}

static bool
write_buffer(struct bit_writer *w)
{
	const size_t n = w->used;

	w->used = 0;
	w->at += n;
	return io_write_at(w->file->fd, w->buffer, n, (off_t)(w->at - n)) ||
	    cli_failed(w->file->shown, "cannot be written");
}

/* n is at most 32, and value has no more bits. */
static bool
put_few(struct bit_writer *w, uint64_t value, unsigned int n)
{
	w->acc = w->acc << n | value;
	w->acc_bits += n;
	while (w->acc_bits >= 8) {
		w->acc_bits -= 8;
		w->buffer[w->used++] = (uint8_t)(w->acc >> w->acc_bits);
		if (w->used == sizeof(w->buffer) && !write_buffer(w))
			return false;
	}
	return true;
}

bool
bit_writer_put(struct bit_writer *w, uint64_t value, unsigned int n)
{
	if (n > 32 && !put_few(w, value >> 32, n - 32))
		return false;
	return put_few(w, value & UINT32_MAX, n < 32 ? n : 32);
}

bool
bit_writer_put_gap(struct bit_writer *w, const struct golomb *code,
    uint64_t gap)
{
	uint64_t q = gap / code->m, r = gap % code->m;

	for (; q >= 32; q -= 32)
		if (!put_few(w, UINT32_MAX, 32))
			return false;
	/* q ones, and a zero. */
	if (!bit_writer_put(w, ((uint64_t)1 << (q + 1)) - 2,
		(unsigned int)q + 1))
		return false;
	return r < code->cut ? bit_writer_put(w, r, code->bits - 1) :
			       bit_writer_put(w, r + code->cut, code->bits);
}

bool
bit_writer_end(struct bit_writer *w, uint64_t *endp)
{
	const unsigned int missing = (8 - w->acc_bits) % 8;

	if (!put_few(w, 0, missing) || !write_buffer(w))
		return false;
	*endp = w->at;
	return true;
}

/* --- reading -------------------------------------------------------------- */

void
bit_reader_begin(struct bit_reader *r, const struct delta_file *file,
    uint64_t at, uint64_t end)
{
	r->file = file;
	r->at = at;
	r->end = end;
	r->acc = r->acc_bits = 0;
	r->next = r->filled = 0;
	r->failed = false;
}

/* Reads more bytes of the file. False at its end, or with r->failed. */
static bool
fill_buffer(struct bit_reader *r)
{
	uint64_t left = r->end - r->at;
	size_t n = left < sizeof(r->buffer) ? (size_t)left : sizeof(r->buffer);

	if (n == 0 || r->failed)
		return false;
	if (!cli_read_at(r->file->shown, r->file->fd, r->buffer, n,
		(off_t)r->at)) {
		r->failed = true;
		return false;
	}
	r->at += n;
	r->next = 0;
	r->filled = n;
	return true;
}

/* Moves bytes into r->acc, until it has at least 57 bits or none is left. */
static void
fill_acc(struct bit_reader *r)
{
	while (r->acc_bits <= 56 && (r->next < r->filled || fill_buffer(r))) {
		r->acc |= (uint64_t)r->buffer[r->next++] << (56 - r->acc_bits);
		r->acc_bits += 8;
	}
}

/* n is at most 63. */
static void
drop_bits(struct bit_reader *r, unsigned int n)
{
	r->acc <<= n;
	r->acc_bits -= n;
}

/* n is at most 56. */
static bool
get_few(struct bit_reader *r, unsigned int n, uint64_t *valuep)
{
	*valuep = 0;
	if (r->acc_bits < n)
		fill_acc(r);
	if (r->acc_bits < n || r->failed)
		return false;
	*valuep = n > 0 ? r->acc >> (64 - n) : 0;
	drop_bits(r, n);
	return true;
}

bool
bit_reader_get(struct bit_reader *r, unsigned int n, uint64_t *valuep)
{
	uint64_t high = 0;

	if (n > 32 && !get_few(r, n - 32, &high))
		return false;
	if (!get_few(r, n < 32 ? n : 32, valuep))
		return false;
	*valuep |= high << 32;
	return true;
}

/* The number of ones before the next zero. False if there are more than max. */
static bool
get_ones(struct bit_reader *r, uint64_t max, uint64_t *np)
{
	*np = 0;
	for (;;) {
		unsigned int ones;

		fill_acc(r);
		if (r->acc_bits == 0 || r->failed)
			return false;
		/* Behind the last bit stand zeros. */
		ones = ~r->acc == 0 ? 64 :
				      (unsigned int)__builtin_clzll(~r->acc);
		*np += ones;
		if (*np > max)
			return false;
		if (ones < r->acc_bits) {
			drop_bits(r, ones);
			drop_bits(r, 1);
			return true;
		}
		r->acc = 0;
		r->acc_bits = 0;
	}
}

bool
bit_reader_get_gap(struct bit_reader *r, const struct golomb *code,
    uint64_t max, uint64_t *gapp)
{
	uint64_t q, rest, bit;

	*gapp = 0;
	if (!get_ones(r, max / code->m, &q))
		return false;
	if (code->bits == 0)
		rest = 0;
	else if (!bit_reader_get(r, code->bits - 1, &rest))
		return false;
	else if (rest >= code->cut) {
		if (!bit_reader_get(r, 1, &bit))
			return false;
		rest = (rest << 1 | bit) - code->cut;
	}
	/* q * m is at most max, and rest below m. */
	if (rest > max - q * code->m)
		return false;
	*gapp = q * code->m + rest;
	return true;
}

bool
bit_reader_is_at_end(struct bit_reader *r)
{
	fill_acc(r);
	return !r->failed && r->at == r->end && r->next == r->filled &&
	    r->acc_bits < 8 && r->acc == 0;
}
