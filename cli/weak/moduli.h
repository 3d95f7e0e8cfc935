/* SPDX-License-Identifier: ISC */
/* weak/moduli: the different RSA moduli of a run. */
#ifndef CLI_WEAK_MODULI_H
#define CLI_WEAK_MODULI_H

#include <stdbool.h>

#include "kv_bytes.h"
#include "weak/class.h"

struct modulus {
	uint8_t *bytes;
	struct kv_span n; /* in bytes; big endian, without leading zeros */
	bool is_open;	  /* to be tested for being prime */
	/* What the tests find of it under any exponent (weak/tests). */
	enum weak_class class;
};

/* All zeroes: none. */
struct moduli {
	struct modulus *v;
	size_t n, cap;
	size_t *slot; /* a hash table: index in v plus 1, or 0 */
	size_t n_slots;
	uint64_t seed; /* so that nobody can choose moduli that collide */
};

/*
 * Sets *ip to the index of modulus n, which is copied if it is not there yet;
 * then *addedp is true. False without memory.
 */
bool moduli_add(struct moduli *m, struct kv_span n, size_t *ip, bool *addedp);

void moduli_free(struct moduli *m);

#endif
