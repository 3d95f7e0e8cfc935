/* SPDX-License-Identifier: ISC */
/*
 * weak/common: finds moduli that share a prime with another one, or with the
 * small numbers, among many: by product trees, as in "How to find smooth parts
 * of integers" (Bernstein, 2004) and "Mining Your Ps and Qs" (2012).
 */
#ifndef CLI_WEAK_COMMON_H
#define CLI_WEAK_COMMON_H

#include "kv_bytes.h"
#include "weak/rsa.h"

/* What was found of a modulus. */
struct weak_common {
	enum weak_class class; /* WEAK_FACTOR or WEAK_SHARED_PRIME, or none */
	/*
	 * WEAK_SHARED_PRIME: another modulus with the same prime, or
	 * WEAK_COMMON_UNKNOWN.
	 */
	size_t other;
};

#define WEAK_COMMON_UNKNOWN SIZE_MAX

/*
 * Sets found[i] for each modulus, which differ from each other, are big endian
 * and have no leading zeros. It uses so many threads, and about 24 times the
 * memory of the moduli. done is told of steps, so that total comes to
 * weak_common_steps(n). False without memory for the tree; GMP ends the process
 * if it gets none.
 */
bool weak_common_find(const struct kv_span *modulus, size_t n, size_t threads,
    struct weak_common *found, void (*done)(size_t steps, void *arg),
    void *arg);

size_t weak_common_steps(size_t n);

#endif
