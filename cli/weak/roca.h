/* SPDX-License-Identifier: ISC */
/*
 * weak/roca: the fingerprint of moduli that Infineon's RSALib made
 * (CVE-2017-15361).
 */
#ifndef CLI_WEAK_ROCA_H
#define CLI_WEAK_ROCA_H

#include <gmp.h>
#include <stdbool.h>

/*
 * Whether n is a power of 65537 modulo the product of the primes from 3 to 167:
 * "The Return of Coppersmith's Attack", section 3. Such a prime is
 * k * M + (65537^a mod M), where that product divides M. Of all odd numbers
 * without small factors one in 2^150 or so is such a power.
 */
bool weak_has_roca_fingerprint(const mpz_t n);

#endif
