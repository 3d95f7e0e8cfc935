/* SPDX-License-Identifier: ISC */
/*
 * fuzz: the macros and functions of all libFuzzer targets. A failed check is a
 * crash.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define FUZZ_CHECK(condition) \
	do { \
		if (!(condition)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void *
fuzz_alloc(size_t size)
{
	void *p = malloc(size);

	FUZZ_CHECK(p != NULL);
	return p;
}

#endif
