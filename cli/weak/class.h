/* SPDX-License-Identifier: ISC */
/* weak/class: how anybody computes the private half of an RSA key. */
#ifndef CLI_WEAK_CLASS_H
#define CLI_WEAK_CLASS_H

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

#endif
