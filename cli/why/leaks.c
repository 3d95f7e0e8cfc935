/* SPDX-License-Identifier: ISC */
#include "why/leaks.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name, *leak;
} leaks[] = {
	{ "debianssl",
	    "it was made by the OpenSSL of Debian from 2006 to 2008, which "
	    "could make only 32,767 keys of each type and size "
	    "(CVE-2008-0166)" },
	{ "keypair",
	    "it was made by the JavaScript library keypair, which made the "
	    "same keys again (CVE-2021-41117)" },
	{ "ransomware", "its private half was published with ransomware" },
	{ "documentation", "its private half stands in documentation" },
	{ "firmware", "its private half is part of the firmware of devices" },
	{ "firmwares", "its private half is part of the firmware of devices" },
	{ "localhostcert",
	    "its private half came with software that brings a certificate "
	    "for localhost" },
	{ "localroot",
	    "its private half came with software that installs a root "
	    "certificate" },
	{ "misc", "its private half was published" },
	{ "softwaretests",
	    "its private half is part of the tests of software" },
	{ "testvectors", "its private half is a published test vector" },
	{ "rfc", "its private half stands in an RFC" },
	{ "web", "its private half was found on a web server" },
	{ "git", "its private half was found in a public git repository" },
	{ "forti",
	    "its private half was in the configurations of Fortinet devices "
	    "that were leaked" },
	{ "pkg", "its private half is part of a software package" },
	{ "new", "its private half was found lately" },
};

/* As kv_nosecret.h and weak_class_name name them. */
static const struct {
	const char *name, *sentences;
} built_in[] = {
	{ "rsa-exponent",
	    "Its exponent is 0, 1 or even, and no program that makes keys "
	    "chooses such a one.\nWith an exponent of 1 the padded hash is the "
	    "signature, so anybody has it." },
	{ "rsa-factor",
	    "A small prime divides its modulus, so some divisions tell the "
	    "other factor.\nIf that is a prime, anybody computes the private "
	    "half from the public one." },
	{ "ed25519-order",
	    "Its point has an order of 8 or less: multiplied by any number, it "
	    "is one of eight\npoints at most. So anybody finds a signature "
	    "that fits, after some tries." },
	{ "ecdsa-generator",
	    "Its point is the generator of the curve, or the generator times a "
	    "number of up to\n8, or the negative of that. The number is the "
	    "private half, so everybody has it." },
	{ "dsa-group",
	    "Its y or its g is 0, 1 or p - 1, and powers of these have only "
	    "these values.\nSo anybody finds a signature that fits, after some "
	    "tries." },
	{ "rsa-prime",
	    "Its modulus is a prime, not the product of two.\nThe private "
	    "exponent follows from the modulus alone, so anybody computes "
	    "it." },
	{ "rsa-square",
	    "Its modulus is a power of one number, such as a prime times "
	    "itself.\nA root tells the number, so anybody computes the "
	    "private half." },
	{ "rsa-fermat",
	    "Its two primes are close to each other, or nearly in a ratio of "
	    "small numbers.\nThe square root of the modulus then leads to "
	    "them in some steps (CVE-2022-26320 was\nsuch a generator)." },
	{ "rsa-roca",
	    "It was made by a chip or a library of Infineon that chooses "
	    "primes of one form\n(CVE-2017-15361, ROCA). Such a modulus can "
	    "be factored, at a cost that depends on\nits size." },
	{ "rsa-small-d",
	    "Its private exponent is so small that it follows from the "
	    "public key.\nWiener's method computes it at once." },
	{ "rsa-shared-prime",
	    "Another public key has one of its primes, as two devices with "
	    "the same random\nnumbers make them. The greatest common divisor "
	    "of the two moduli tells that prime,\nand so both private "
	    "halves." },
};

const char *
leak_of_source(const char *name)
{
	for (size_t i = 0; i < sizeof(leaks) / sizeof(leaks[0]); i++) {
		if (strcmp(leaks[i].name, name) == 0)
			return leaks[i].leak;
	}
	return NULL;
}

const char *
leak_of_built_in(const char *name)
{
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		if (strcmp(built_in[i].name, name) == 0)
			return built_in[i].sentences;
	}
	return NULL;
}
