/* SPDX-License-Identifier: ISC */
/*
 * What the proofs share. A function whose name begins with nondet_ has no body:
 * CBMC lets it return every value of its type. README.md says how to read a proof.
 */
#ifndef PROVE_H
#define PROVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Must hold on every path; the text is what CBMC prints if it does not. With REACHED,
 * run.py sees whether any input gets there.
 */
#ifdef REACHED
#define PROVE(condition, text) __CPROVER_assert(((void)(condition), 0), text)
#else
#define PROVE(condition, text) __CPROVER_assert(condition, text)
#endif
/* Leaves out the inputs for which this does not hold: the bounds of the proof. */
#define GIVEN(condition) __CPROVER_assume(condition)

/* A proof that is one call. */
#define PROOF(name, call) \
	void name(void) \
	{ \
		call; \
	}

bool nondet_bool(void);
char nondet_char(void);
uint8_t nondet_byte(void);
int nondet_int(void);
unsigned int nondet_unsigned(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
int64_t nondet_i64(void);
size_t nondet_size(void);
void *nondet_pointer(void);

/* That its upper bits are zero saves CBMC most of the arithmetic. */
static inline size_t
any_size_up_to(size_t max)
{
	size_t n = max < 8    ? nondet_byte() & 7U :
	    max < 16	      ? nondet_byte() & 15U :
	    max <= UINT8_MAX  ? nondet_byte() :
	    max <= UINT16_MAX ? nondet_u16() :
				nondet_size();

	GIVEN(n <= max);
	return n;
}

/* Memory of exactly len bytes, of any content: CBMC reports a byte beyond. */
static inline uint8_t *
any_bytes(size_t len)
{
	uint8_t *p = malloc(len);

	GIVEN(p != NULL);
	return p;
}

/*
 * The last len bytes of an object of max bytes, a constant, which costs CBMC less: it
 * reports a byte beyond, and one before if len is max.
 */
static inline uint8_t *
any_end(size_t max, size_t len)
{
	return any_bytes(max) + (max - len);
}

/*
 * Any text of up to max characters. The memory ends with the NUL of the longest one: a
 * start that differs would cost CBMC much.
 */
static inline char *
any_text(size_t max)
{
	char *p = (char *)any_bytes(max + 1);

	p[any_size_up_to(max)] = '\0';
	return p;
}

/* Whether [p, p + len) lies inside the memory [start, start + cap). */
static inline bool
lies_in(const void *p, size_t len, const void *start, size_t cap)
{
	return __CPROVER_same_object(p, start) &&
	    __CPROVER_POINTER_OFFSET(p) >= __CPROVER_POINTER_OFFSET(start) &&
	    __CPROVER_POINTER_OFFSET(p) + len <=
	    __CPROVER_POINTER_OFFSET(start) + cap;
}

#endif
