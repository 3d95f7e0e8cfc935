/* SPDX-License-Identifier: ISC */
/* weak/tests: tests the RSA keys of a run. */
#ifndef CLI_WEAK_TESTS_H
#define CLI_WEAK_TESTS_H

#include "weak/moduli.h"

/* An exponent of more bytes may have a private half of its own. */
#define WEAK_EXPONENT_BYTES 4

#define WEAK_WHY_BYTES 512
#define PARALLEL_THREADS_MAX 64

/* A key with such an exponent. */
struct weak_exponent {
	size_t modulus; /* its index */
	struct kv_span e;
	enum weak_class class; /* of this key */
};

struct weak_tests {
	struct modulus *modulus; /* different ones */
	size_t n;
	struct weak_exponent *exponent;
	size_t n_exponents;
	size_t threads;
	bool progress; /* is shown on a terminal */
	char why[WEAK_WHY_BYTES];
};

/*
 * Sets what is found of each modulus and exponent, all of which have found
 * nothing yet. Always true: GMP ends the process if it gets no memory.
 */
bool weak_tests_run(struct weak_tests *t);

#endif
