/* SPDX-License-Identifier: ISC */
/*
 * weak/moduli: the different RSA moduli of a run, and how anybody computes the
 * private half of a key.
 */
#ifndef CLI_WEAK_MODULI_H
#define CLI_WEAK_MODULI_H

#include <stdbool.h>

#include "kv_bytes.h"

/* A way to the private half. The zero value: none was found. */
enum weak_class {
	WEAK_NONE = 0,
	WEAK_FACTOR,  /* a factor below WEAK_FACTOR_BELOW */
	WEAK_PRIME,   /* the modulus is prime */
	WEAK_SQUARE,  /* the modulus is a square or another power */
	WEAK_FERMAT,  /* its primes are close, or nearly in a ratio */
	WEAK_ROCA,    /* CVE-2017-15361 */
	WEAK_SMALL_D, /* a private exponent that Wiener's method finds */
	WEAK_CLASSES,
};

#define WEAK_FACTOR_BELOW (1 << 16)
/* Moduli of more bits are not tested for being prime. sshd's limit is 16384. */
#define WEAK_PRIME_BITS 8192

/* The source of keys of this class in reports: "rsa-prime". */
const char *weak_class_name(enum weak_class class);

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
	size_t n;
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
