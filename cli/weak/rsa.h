/* SPDX-License-Identifier: ISC */
/*
 * weak/rsa: finds RSA keys whose private half anybody computes from the public
 * one, by the modulus and the exponent of a single key. lib/kv_nosecret finds
 * those that need no bignum library.
 */
#ifndef CLI_WEAK_RSA_H
#define CLI_WEAK_RSA_H

#include <gmp.h>

#include "weak/moduli.h"

/*
 * Tests the modulus n with the exponent e, both big endian without leading
 * zeros: for all but WEAK_PRIME. It takes some microseconds. A modulus below
 * WEAK_FACTOR_BELOW is not tested. Several threads may call it at the same time.
 */
enum weak_class weak_rsa_find(struct kv_span n, struct kv_span e);

/*
 * Whether n is prime. It takes about as long as a signature with that key does:
 * a millisecond or two for 2048 bits, eight times that for 4096. False for more
 * than WEAK_PRIME_BITS.
 */
bool weak_is_prime(struct kv_span n);

/*
 * Whether Infineon's RSALib made n (CVE-2017-15361): whether it is a power of
 * 65537 modulo the product of the primes from 3 to 167: "The Return of
 * Coppersmith's Attack", section 3. Such a prime is k * M + (65537^a mod M),
 * where that product divides M. Of all odd numbers without small factors one in
 * 2^150 or so is such a power.
 */
bool weak_has_roca_fingerprint(const mpz_t n);

#endif
