/* SPDX-License-Identifier: ISC */
/*
 * sets/golomb: gaps in Golomb code, and other bits, to and from files. In a
 * byte the bit of value 128 comes first.
 *
 * A gap g has the quotient q = g / m and the remainder r = g % m. q is written
 * as q one bits and a zero bit. With b = the least number for which m <= 2^b
 * and c = 2^b - m, r is written in b - 1 bits if r < c, else r + c in b bits. If
 * m is a power of two, this is the Rice code. Source: S. W. Golomb, Run-length
 * encodings, 1966; pkbf-delta(5).
 */
#ifndef CLI_SETS_GOLOMB_H
#define CLI_SETS_GOLOMB_H

#include "sets/delta.h"

#define GOLOMB_BUFFER_BYTES 65536
#define GOLOMB_RICE_MAX 63 /* the largest m is 2^63 */

/* The parameter of a code, with what follows from it. */
struct golomb {
	uint64_t m, cut;   /* cut is c */
	unsigned int bits; /* b */
};

/* m is 1 to 2^63. */
struct golomb golomb_code(uint64_t m);

/* Adds up the sizes of gaps in several codes, to choose one. */
struct golomb_choice {
	uint64_t n;			    /* gaps */
	uint64_t rice[GOLOMB_RICE_MAX + 1]; /* the sums of g >> k */
	struct golomb scattered;	    /* the code for a guess of m */
	uint64_t scattered_bits;
};

/*
 * If n gaps that add up to sum are those of a random choice, this m is best, or
 * nearly so; 1 for n = 0. sum + n is at most 2^40.
 */
uint64_t golomb_guess(uint64_t n, uint64_t sum);

/* guess is golomb_guess; 0: only powers of two come into question. */
void golomb_choice_begin(struct golomb_choice *c, uint64_t guess);
void golomb_choice_add(struct golomb_choice *c, uint64_t gap);
/*
 * The parameter that takes the fewest bits: the guess, or a power of two that
 * takes fewer (the smallest of those that take the fewest). 1 if there was no
 * gap. Sets *bitsp to the bits of all gaps; UINT64_MAX if they are too many.
 */
uint64_t golomb_choice_end(const struct golomb_choice *c, uint64_t *bitsp);

struct bit_writer {
	const struct delta_file *file;
	uint64_t at;  /* of the buffer's first byte in the file */
	uint64_t acc; /* bits that are no whole byte yet, the last one lowest */
	unsigned int acc_bits;
	size_t used;
	uint8_t buffer[GOLOMB_BUFFER_BYTES];
};

/* Begins at byte offset at of the file. */
void bit_writer_begin(struct bit_writer *w, const struct delta_file *file,
    uint64_t at);
/* The n low bits of value, n at most 64. These are false after a message. */
bool bit_writer_put(struct bit_writer *w, uint64_t value, unsigned int n);
bool bit_writer_put_gap(struct bit_writer *w, const struct golomb *code,
    uint64_t gap);
/* Fills the last byte with zero bits, and writes all. Sets *endp to the end. */
bool bit_writer_end(struct bit_writer *w, uint64_t *endp);

struct bit_reader {
	const struct delta_file *file;
	uint64_t at, end; /* of what is not in the buffer yet */
	uint64_t acc;	  /* bits to read, the next one highest, then zeros */
	unsigned int acc_bits;
	size_t next, filled;
	bool failed; /* the file cannot be read; there was a message */
	uint8_t buffer[GOLOMB_BUFFER_BYTES];
};

/* Reads the bytes from offset at to offset end of the file. */
void bit_reader_begin(struct bit_reader *r, const struct delta_file *file,
    uint64_t at, uint64_t end);
/* False at the end, or with r->failed. */
bool bit_reader_get(struct bit_reader *r, unsigned int n, uint64_t *valuep);
/* False too if the gap is above max. */
bool bit_reader_get_gap(struct bit_reader *r, const struct golomb *code,
    uint64_t max, uint64_t *gapp);
/* Whether nothing but less than a byte of zero bits is left. */
bool bit_reader_is_at_end(struct bit_reader *r);

#endif
