/* SPDX-License-Identifier: ISC */
/* random.h: numbers that are the same in each run (xorshift64*). */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252U;

static inline uint64_t
next(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 2685821657736338717U;
}

#endif
