/* SPDX-License-Identifier: ISC */
/*
 * weak/rsa: finds RSA keys whose private half anybody computes from the public
 * one, by the modulus and the exponent of a single key. lib/kv_nosecret finds
 * those that need no bignum library.
 */
#ifndef CLI_WEAK_RSA_H
#define CLI_WEAK_RSA_H

#include <stdbool.h>

#include "kv_bytes.h"

/* A way to the private half. The zero value: none was found. */
enum weak_class {
	WEAK_NONE = 0,
	WEAK_FACTOR,	   /* a factor below WEAK_FACTOR_BELOW */
	WEAK_PRIME,	   /* the modulus is prime */
	WEAK_SQUARE,	   /* the modulus is a square or another power */
	WEAK_FERMAT,	   /* its primes are close, or nearly in a ratio */
	WEAK_ROCA,	   /* CVE-2017-15361 */
	WEAK_SMALL_D,	   /* a private exponent that Wiener's method finds */
	WEAK_SHARED_PRIME, /* another modulus has one of its primes */
	WEAK_CLASSES,
};

/* The source of keys of this class in reports: "rsa-prime". */
const char *weak_class_name(enum weak_class class);

/* weak/common finds factors up to here. */
#define WEAK_FACTOR_BELOW (1 << 20)

/* Moduli of more bits are not tested for being prime. sshd's limit is 16384. */
#define WEAK_PRIME_BITS 8192

/*
 * Tests the modulus n with the exponent e, both big endian without leading
 * zeros: for all but WEAK_PRIME, WEAK_FACTOR and WEAK_SHARED_PRIME. It takes
 * some microseconds. A modulus below 2^16 is not tested. Several threads may
 * call it at the same time.
 */
enum weak_class weak_rsa_find(struct kv_span n, struct kv_span e);

/*
 * Whether n is prime. It takes about as long as a signature with that key does:
 * a millisecond or two for 2048 bits, eight times that for 4096. False for more
 * than WEAK_PRIME_BITS.
 */
bool weak_is_prime(struct kv_span n);

#endif
