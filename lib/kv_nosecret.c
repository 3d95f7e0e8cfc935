/* SPDX-License-Identifier: ISC */
#include "kv_nosecret.h"

#include <endian.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/*
 * The y coordinates, little endian, of the points whose order divides 8. The
 * top bit, the sign of x, is left out. Two of the numbers are p and more.
 * RFC 8032 section 5.1.3 decodes none of these, and no x = 0 with a sign, but
 * OpenSSH does (ed25519.c:ge25519_unpackneg_vartime). From p to 2^255 there are
 * only p to p + 18, and no point of such an order has a y of 2 to 18.
 *
 * A sound key is sB for a multiple s of 8 from 2^254 to 2^255 - 8 (RFC 8032
 * section 5.1.5), so s / 8 is below the order of B, a prime of more than 2^252.
 * So sB is not the neutral element, and has that prime as its order.
 */
static const char ed25519_y[][KV_ED25519_BYTES + 1] = {
	/* y = 1: the neutral element */
	{ "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	  "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" },
	/* y = p - 1: order 2 */
	{ "\xec\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
	  "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f" },
	/* y = 0: order 4 */
	{ "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	  "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" },
	/* order 8 */
	{ "\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0"
	  "\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05" },
	/* order 8 */
	{ "\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f"
	  "\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a" },
	/* y = p, which stands for 0 */
	{ "\xed\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
	  "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f" },
	/* y = p + 1, which stands for 1 */
	{ "\xee\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
	  "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f" },
};

/*
 * The x coordinates of G, 2G ... 8G (FIPS 186-4 appendix D.1.2). A point and
 * its negative have the same x, so these are the keys of the secrets 1 to 8 and
 * n - 8 to n - 1. A secret that was chosen at random is one of these 16 with a
 * probability of 2^-252, as it is any other 16 that somebody may guess.
 *
 * sshd itself refuses infinity, points off the curve and coordinates of p and
 * more (sshkey.c:sshkey_ec_validate_public; OpenSSL's EC_POINT_oct2point). So a
 * key with one of these x and another y is no key to any sshd.
 */
static const char p256_x[][32 + 1] = {
	{ "\x6b\x17\xd1\xf2\xe1\x2c\x42\x47\xf8\xbc\xe6\xe5\x63\xa4\x40\xf2"
	  "\x77\x03\x7d\x81\x2d\xeb\x33\xa0\xf4\xa1\x39\x45\xd8\x98\xc2\x96" },
	{ "\x7c\xf2\x7b\x18\x8d\x03\x4f\x7e\x8a\x52\x38\x03\x04\xb5\x1a\xc3"
	  "\xc0\x89\x69\xe2\x77\xf2\x1b\x35\xa6\x0b\x48\xfc\x47\x66\x99\x78" },
	{ "\x5e\xcb\xe4\xd1\xa6\x33\x0a\x44\xc8\xf7\xef\x95\x1d\x4b\xf1\x65"
	  "\xe6\xc6\xb7\x21\xef\xad\xa9\x85\xfb\x41\x66\x1b\xc6\xe7\xfd\x6c" },
	{ "\xe2\x53\x4a\x35\x32\xd0\x8f\xbb\xa0\x2d\xde\x65\x9e\xe6\x2b\xd0"
	  "\x03\x1f\xe2\xdb\x78\x55\x96\xef\x50\x93\x02\x44\x6b\x03\x08\x52" },
	{ "\x51\x59\x0b\x7a\x51\x51\x40\xd2\xd7\x84\xc8\x56\x08\x66\x8f\xdf"
	  "\xef\x8c\x82\xfd\x1f\x5b\xe5\x24\x21\x55\x4a\x0d\xc3\xd0\x33\xed" },
	{ "\xb0\x1a\x17\x2a\x76\xa4\x60\x2c\x92\xd3\x24\x2c\xb8\x97\xdd\xe3"
	  "\x02\x4c\x74\x0d\xeb\xb2\x15\xb4\xc6\xb0\xaa\xe9\x3c\x22\x91\xa9" },
	{ "\x8e\x53\x3b\x6f\xa0\xbf\x7b\x46\x25\xbb\x30\x66\x7c\x01\xfb\x60"
	  "\x7e\xf9\xf8\xb8\xa8\x0f\xef\x5b\x30\x06\x28\x70\x31\x87\xb2\xa3" },
	{ "\x62\xd9\x77\x9d\xbe\xe9\xb0\x53\x40\x42\x74\x2d\x3a\xb5\x4c\xad"
	  "\xc1\xd2\x38\x98\x0f\xce\x97\xdb\xb4\xdd\x9d\xc1\xdb\x6f\xb3\x93" },
};
static const char p384_x[][48 + 1] = {
	{ "\xaa\x87\xca\x22\xbe\x8b\x05\x37\x8e\xb1\xc7\x1e\xf3\x20\xad\x74"
	  "\x6e\x1d\x3b\x62\x8b\xa7\x9b\x98\x59\xf7\x41\xe0\x82\x54\x2a\x38"
	  "\x55\x02\xf2\x5d\xbf\x55\x29\x6c\x3a\x54\x5e\x38\x72\x76\x0a\xb7" },
	{ "\x08\xd9\x99\x05\x7b\xa3\xd2\xd9\x69\x26\x00\x45\xc5\x5b\x97\xf0"
	  "\x89\x02\x59\x59\xa6\xf4\x34\xd6\x51\xd2\x07\xd1\x9f\xb9\x6e\x9e"
	  "\x4f\xe0\xe8\x6e\xbe\x0e\x64\xf8\x5b\x96\xa9\xc7\x52\x95\xdf\x61" },
	{ "\x07\x7a\x41\xd4\x60\x6f\xfa\x14\x64\x79\x3c\x7e\x5f\xdc\x7d\x98"
	  "\xcb\x9d\x39\x10\x20\x2d\xcd\x06\xbe\xa4\xf2\x40\xd3\x56\x6d\xa6"
	  "\xb4\x08\xbb\xae\x50\x26\x58\x0d\x02\xd7\xe5\xc7\x05\x00\xc8\x31" },
	{ "\x13\x82\x51\xcd\x52\xac\x92\x98\xc1\xc8\xaa\xd9\x77\x32\x1d\xeb"
	  "\x97\xe7\x09\xbd\x0b\x4c\xa0\xac\xa5\x5d\xc8\xad\x51\xdc\xfc\x9d"
	  "\x15\x89\xa1\x59\x7e\x3a\x51\x20\xe1\xef\xd6\x31\xc6\x3e\x18\x35" },
	{ "\x11\xde\x24\xa2\xc2\x51\xc7\x77\x57\x3c\xac\x5e\xa0\x25\xe4\x67"
	  "\xf2\x08\xe5\x1d\xbf\xf9\x8f\xc5\x4f\x66\x61\xcb\xe5\x65\x83\xb0"
	  "\x37\x88\x2f\x4a\x1c\xa2\x97\xe6\x0a\xbc\xdb\xc3\x83\x6d\x84\xbc" },
	{ "\x62\x7b\xe1\xac\xd0\x64\xd2\xb2\x22\x6f\xe0\xd2\x6f\x2d\x15\xd3"
	  "\xc3\x3e\xbc\xbb\x7f\x0f\x5d\xa5\x1c\xbd\x41\xf2\x62\x57\x38\x30"
	  "\x21\x31\x7d\x72\x02\xff\x30\xe5\x09\x37\xf0\x85\x4e\x35\xc5\xdf" },
	{ "\x28\x3c\x1d\x73\x65\xce\x47\x88\xf2\x9f\x8e\xbf\x23\x4e\xdf\xfe"
	  "\xad\x6f\xe9\x97\xfb\xea\x5f\xfa\x2d\x58\xcc\x9d\xfa\x7b\x1c\x50"
	  "\x8b\x05\x52\x6f\x55\xb9\xeb\xb2\x04\x0f\x05\xb4\x8f\xb6\xd0\xe1" },
	{ "\x16\x92\x77\x8e\xa5\x96\xe0\xbe\x75\x11\x42\x97\xa6\xfa\x38\x34"
	  "\x45\xbf\x22\x7f\xbe\x58\x19\x0a\x90\x0c\x3c\x73\x25\x6f\x11\xfb"
	  "\x5a\x32\x58\xd6\xf4\x03\xd5\xec\xe6\xe9\xb2\x69\xd8\x22\xc8\x7d" },
};
static const char p521_x[][66 + 1] = {
	{ "\x00\xc6\x85\x8e\x06\xb7\x04\x04\xe9\xcd\x9e\x3e\xcb\x66\x23\x95"
	  "\xb4\x42\x9c\x64\x81\x39\x05\x3f\xb5\x21\xf8\x28\xaf\x60\x6b\x4d"
	  "\x3d\xba\xa1\x4b\x5e\x77\xef\xe7\x59\x28\xfe\x1d\xc1\x27\xa2\xff"
	  "\xa8\xde\x33\x48\xb3\xc1\x85\x6a\x42\x9b\xf9\x7e\x7e\x31\xc2\xe5"
	  "\xbd\x66" },
	{ "\x00\x43\x3c\x21\x90\x24\x27\x7e\x7e\x68\x2f\xcb\x28\x81\x48\xc2"
	  "\x82\x74\x74\x03\x27\x9b\x1c\xcc\x06\x35\x2c\x6e\x55\x05\xd7\x69"
	  "\xbe\x97\xb3\xb2\x04\xda\x6e\xf5\x55\x07\xaa\x10\x4a\x3a\x35\xc5"
	  "\xaf\x41\xcf\x2f\xa3\x64\xd6\x0f\xd9\x67\xf4\x3e\x39\x33\xba\x6d"
	  "\x78\x3d" },
	{ "\x01\xa7\x3d\x35\x24\x43\xde\x29\x19\x5d\xd9\x1d\x6a\x64\xb5\x95"
	  "\x94\x79\xb5\x2a\x6e\x5b\x12\x3d\x9a\xb9\xe5\xad\x7a\x11\x2d\x7a"
	  "\x8d\xd1\xad\x3f\x16\x4a\x3a\x48\x32\x05\x1d\xa6\xbd\x16\xb5\x9f"
	  "\xe2\x1b\xae\xb4\x90\x86\x2c\x32\xea\x05\xa5\x91\x9d\x2e\xde\x37"
	  "\xad\x7d" },
	{ "\x00\x35\xb5\xdf\x64\xae\x2a\xc2\x04\xc3\x54\xb4\x83\x48\x7c\x90"
	  "\x70\xcd\xc6\x1c\x89\x1c\x5f\xf3\x9a\xfc\x06\xc5\xd5\x55\x41\xd3"
	  "\xce\xac\x86\x59\xe2\x4a\xfe\x3d\x07\x50\xe8\xb8\x8e\x9f\x07\x8a"
	  "\xf0\x66\xa1\xd5\x02\x5b\x08\xe5\xa5\xe2\xfb\xc8\x74\x12\x87\x19"
	  "\x02\xf3" },
	{ "\x00\x65\x2b\xf3\xc5\x29\x27\xa4\x32\xc7\x3d\xbc\x33\x91\xc0\x4e"
	  "\xb0\xbf\x7a\x59\x6e\xfd\xb5\x3f\x0d\x24\xcf\x03\xda\xb8\xf1\x77"
	  "\xac\xe4\x38\x3c\x0c\x6d\x5e\x30\x14\x23\x71\x12\xfe\xaf\x13\x7e"
	  "\x79\xa3\x29\xd7\xe1\xe6\xd8\x93\x17\x38\xd5\xab\x50\x96\xec\x8f"
	  "\x30\x78" },
	{ "\x01\xee\x45\x69\xd6\xcd\xb5\x92\x19\x53\x2e\xff\x34\xf9\x44\x80"
	  "\xd1\x95\x62\x3d\x30\x97\x7f\xd7\x1c\xf3\x98\x15\x06\xad\xe4\xab"
	  "\x01\x52\x5f\xbc\xca\x16\x15\x3f\x73\x94\xe0\x72\x7a\x23\x95\x31"
	  "\xbe\x8c\x2f\x66\xe9\x56\x57\xf3\x80\xae\x23\x73\x1b\xed\xf7\x92"
	  "\x06\xb9" },
	{ "\x00\x56\xd5\xd1\xd9\x9d\x5b\x7f\x63\x46\xee\xb6\x5f\xda\x0b\x07"
	  "\x3a\x0c\x5f\x22\xe0\xe8\xf5\x48\x32\x28\xf0\x18\xd2\xc2\xf7\x11"
	  "\x4c\x5d\x8c\x30\x8d\x0a\xbf\xc6\x98\xd8\xc9\xa6\xdf\x30\xdc\xe3"
	  "\xbb\xc4\x6f\x95\x3f\x50\xfd\xc2\x61\x9a\x01\xce\xad\x88\x28\x16"
	  "\xec\xd4" },
	{ "\x00\x08\x22\xc4\x0f\xb6\x30\x1f\x72\x62\xa8\x34\x83\x96\xb0\x10"
	  "\xe2\x5b\xd4\xe2\x9d\x8a\x9b\x00\x3e\x0a\x8b\x8a\x3b\x05\xf8\x26"
	  "\x29\x8f\x5b\xfe\xa5\xb8\x57\x9f\x49\xf0\x8b\x59\x8c\x1b\xc8\xd7"
	  "\x9e\x1a\xb5\x62\x89\xb5\xa6\xf4\x04\x05\x86\xf9\xea\x54\xaa\x78"
	  "\xce\x68" },
};

/* What a processor multiplies at once is a limb. The product is wide. */
#ifdef __SIZEOF_INT128__
typedef uint64_t limb;
__extension__ typedef unsigned __int128 wide;
#define LIMB_FROM_BYTES be64toh
#define PRIMES 7
#define ROW(a, b, c, d, e, f, g) \
	DIVISOR(PRODUCT(a, b, c) * PRODUCT(d, e, f) * (g), PRIME(a), PRIME(b), \
	    PRIME(c), PRIME(d), PRIME(e), PRIME(f), PRIME(g))
#else
typedef uint32_t limb;
typedef uint64_t wide;
#define LIMB_FROM_BYTES be32toh
#define PRIMES 3
#define ROW(a, b, c, d, e, f, g) \
	DIVISOR(PRODUCT(a, b, c), PRIME(a), PRIME(b), PRIME(c)), \
	    DIVISOR(PRODUCT(d, e, f), PRIME(d), PRIME(e), PRIME(f)), \
	    DIVISOR((limb)(g), PRIME(g), PRIME(g), PRIME(g))
#endif
#define PRODUCT(a, b, c) ((limb)(a) * (b) * (c))
#define LIMB_BITS (8 * sizeof(limb))

/* As much of a number is divided at once: a byte less than is wide. */
#define CHUNK_BYTES (sizeof(wide) - 1)

struct divisor {
	limb m;	      /* the product of its primes */
	limb inverse; /* of m, modulo 2^LIMB_BITS */
	limb low;     /* 2^(8 * CHUNK_BYTES) modulo m */
	limb high;    /* the same times 2^LIMB_BITS, modulo m */
	struct {
		limb inverse; /* of the prime, modulo 2^LIMB_BITS */
		limb most;    /* times the prime it is still a limb */
	} prime[PRIMES];
};

/*
 * The x with x * odd = 1 modulo 2^LIMB_BITS. The first five bits of START are
 * right. If x * odd is 1 + d, NEXT makes it 1 - d * d: twice the bits are.
 */
#define START(odd) (3 * (odd) ^ 2)
#define NEXT(odd, x) ((x) * (2 - (odd) * (x)))
#define INVERSE(odd) NEXT(odd, NEXT(odd, NEXT(odd, NEXT(odd, START(odd)))))

#define LOW(m) (((wide)1 << 8 * CHUNK_BYTES) % (m))
#define HIGH(m) ((LOW(m) << LIMB_BITS) % (m))
#define PRIME(p) \
	{ \
		INVERSE((limb)(p)), ~(limb)0 / (p) \
	}
#define DIVISOR(m, ...) \
	{ \
		m, INVERSE(m), LOW(m), HIGH(m), \
		{ \
			__VA_ARGS__ \
		} \
	}

/* The odd primes below 1000, and 3 again. Each product is below 2^60. */
static const struct divisor divisors[] = {
	ROW(3, 223, 227, 503, 509, 827, 829),
	ROW(3, 211, 229, 499, 521, 823, 839),
	ROW(5, 199, 233, 491, 523, 821, 853),
	ROW(7, 197, 239, 487, 541, 811, 857),
	ROW(11, 193, 241, 479, 547, 809, 859),
	ROW(13, 191, 251, 467, 557, 797, 863),
	ROW(17, 181, 257, 463, 563, 787, 877),
	ROW(19, 179, 263, 461, 569, 773, 881),
	ROW(23, 173, 269, 457, 571, 769, 883),
	ROW(29, 167, 271, 449, 577, 761, 887),
	ROW(31, 163, 277, 443, 587, 757, 907),
	ROW(37, 157, 281, 439, 593, 751, 911),
	ROW(41, 151, 283, 433, 599, 743, 919),
	ROW(43, 149, 293, 431, 601, 739, 929),
	ROW(47, 139, 307, 421, 607, 733, 937),
	ROW(53, 137, 311, 419, 613, 727, 941),
	ROW(59, 131, 313, 409, 617, 719, 947),
	ROW(61, 127, 317, 401, 619, 709, 953),
	ROW(67, 113, 331, 397, 631, 701, 967),
	ROW(71, 109, 337, 389, 641, 691, 971),
	ROW(73, 107, 347, 383, 643, 683, 977),
	ROW(79, 103, 349, 379, 647, 677, 983),
	ROW(83, 101, 353, 373, 653, 673, 991),
	ROW(89, 97, 359, 367, 659, 661, 997),
};

#define DSA_WORDS (KV_MPINT_MAX_BYTES / 4)

static bool
is_even(struct kv_span n)
{
	return n.len == 0 || (n.p[n.len - 1] & 1) == 0;
}

static bool
is_zero_or_one(struct kv_span n)
{
	return n.len == 0 || (n.len == 1 && n.p[0] == 1);
}

/* Cuts the last 32 bits off *n. Zeros stand before its first bit. */
static uint32_t
cut_word(struct kv_span *n)
{
	uint32_t word = 0;

	for (unsigned int shift = 0; shift < 32 && n->len > 0; shift += 8)
		word |= (uint32_t)n->p[--n->len] << shift;
	return word;
}

static limb
read_limb(const uint8_t *p)
{
	limb n;

	memcpy(&n, p, sizeof(n));
	return LIMB_FROM_BYTES(n);
}

static wide
read_chunk(const uint8_t *p)
{
	return (wide)(read_limb(p) >> 8) << LIMB_BITS |
	    read_limb(p + CHUNK_BYTES - sizeof(limb));
}

static wide
product_of(limb a, limb b)
{
	return (wide)a * b;
}

/*
 * Returns a number that is rest * 2^(8 * CHUNK_BYTES) + chunk modulo d->m. It
 * needs not be below d->m, but does not outgrow wide.
 */
static wide
append_chunk(wide rest, wide chunk, const struct divisor *d)
{
	return product_of((limb)(rest >> LIMB_BITS), d->high) +
	    product_of((limb)rest, d->low) + chunk;
}

/*
 * Makes rest a limb: adds that multiple of d->m that makes its low limb 0, and
 * divides by 2^LIMB_BITS, which none of the primes divides.
 */
static limb
shorten(wide rest, const struct divisor *d)
{
	const limb q = (limb)product_of(-(limb)rest, d->inverse);

	return (limb)((rest + product_of(q, d->m)) >> LIMB_BITS);
}

/*
 * Whether one of the primes divides rest. Multiplication by the inverse of p,
 * modulo 2^LIMB_BITS, makes k of p * k for each k up to most. It makes
 * different numbers of different ones, so it makes larger ones of the others.
 */
static bool
has_prime(limb rest, const struct divisor *d)
{
	for (size_t i = 0; i < PRIMES; i++) {
		const limb k = (limb)product_of(rest, d->prime[i].inverse);

		if (k <= d->prime[i].most)
			return true;
	}
	return false;
}

/*
 * Whether a prime of the table divides n. A division by each of them would take
 * longer than all else that a login does with the key. So n is divided by their
 * products, all at a time.
 *
 * A sound n is the product of two primes of hundreds of bits, so no prime below
 * 1000 divides it.
 */
static bool
has_small_factor(struct kv_span n)
{
	size_t at = n.len % CHUNK_BYTES;
	wide rest[COUNT(divisors)], head = 0;

	for (size_t i = 0; i < at; i++)
		head = head << 8 | n.p[i];
	for (size_t i = 0; i < COUNT(divisors); i++)
		rest[i] = head;
	for (; at < n.len; at += CHUNK_BYTES) {
		const wide chunk = read_chunk(n.p + at);

		for (size_t i = 0; i < COUNT(divisors); i++)
			rest[i] = append_chunk(rest[i], chunk, &divisors[i]);
	}
	for (size_t i = 0; i < COUNT(divisors); i++) {
		if (has_prime(shorten(rest[i], &divisors[i]), &divisors[i]))
			return true;
	}
	return false;
}

/*
 * With an exponent of 1 the padded hash is the signature. A sound exponent is 3
 * or more (RFC 8017 section 3.1), and has an inverse modulo an even number, so
 * it is odd.
 */
static const char *
rsa_source(struct kv_span e, struct kv_span n)
{
	if (is_even(e) || is_zero_or_one(e))
		return "rsa-exponent";
	return is_even(n) || has_small_factor(n) ? "rsa-factor" : NULL;
}

static const char *
ed25519_source(struct kv_span key)
{
	uint8_t y[KV_ED25519_BYTES];

	memcpy(y, key.p, sizeof(y));
	y[sizeof(y) - 1] &= 0x7f;
	for (size_t i = 0; i < COUNT(ed25519_y); i++) {
		if (memcmp(y, ed25519_y[i], sizeof(y)) == 0)
			return "ed25519-order";
	}
	return NULL;
}

/* x has n rows of len bytes, and a NUL after each. The point is 04 x y. */
static const char *
ecdsa_source(struct kv_span point, const char *x, size_t n, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (memcmp(point.p + 1, x + i * (len + 1), len) == 0)
			return "ecdsa-generator";
	}
	return NULL;
}

/* Sets word to n, which fits, from its last word on. */
static void
set_words(struct kv_span n, uint32_t *word, size_t words)
{
	for (size_t i = 0; i < words; i++)
		word[i] = cut_word(&n);
}

/* Makes n, which is below m, 2n + bit modulo m. */
static void
append_bit(uint32_t *n, const uint32_t *m, size_t words, uint32_t bit)
{
	uint32_t less[DSA_WORDS];
	uint64_t borrow = 0;

	for (size_t i = 0; i < words; i++) {
		uint32_t top = n[i] >> 31;

		n[i] = n[i] << 1 | bit;
		bit = top;
	}
	for (size_t i = 0; i < words; i++) {
		uint64_t difference = (uint64_t)n[i] - m[i] - borrow;

		less[i] = (uint32_t)difference;
		borrow = difference >> 63;
	}
	for (size_t i = 0; i < words && (bit == 1 || borrow == 0); i++)
		n[i] = less[i];
}

static bool
is_at_most_one(const uint32_t *n, size_t words)
{
	for (size_t i = 1; i < words; i++) {
		if (n[i] != 0)
			return false;
	}
	return n[0] <= 1;
}

/* Whether n, which is below m, is m - 1. */
static bool
is_one_less(const uint32_t *n, const uint32_t *m, size_t words)
{
	uint64_t sum = 1;

	for (size_t i = 0; i < words; i++) {
		sum += n[i];
		if ((uint32_t)sum != m[i])
			return false;
		sum >>= 32;
	}
	return true;
}

/*
 * Whether n is 0, 1 or p - 1 modulo p. sshd reads an n of p and more, and
 * computes modulo p.
 */
static bool
is_trivial(struct kv_span n, struct kv_span p)
{
	uint32_t modulus[DSA_WORDS], rest[DSA_WORDS] = { 0 };
	const size_t words = (p.len + 3) / 4;
	struct kv_span head = n;

	if (p.len == 0 || p.len > KV_MPINT_MAX_BYTES)
		return is_zero_or_one(n);
	/* So many bytes are below p, whose first byte is not 0. */
	if (head.len > p.len - 1)
		head.len = p.len - 1;
	set_words(p, modulus, words);
	set_words(head, rest, words);
	for (size_t i = 8 * head.len; i < 8 * n.len; i++)
		append_bit(rest, modulus, words,
		    (uint32_t)n.p[i / 8] >> (7 - i % 8) & 1);
	return is_at_most_one(rest, words) || is_one_less(rest, modulus, words);
}

/*
 * With y or g of 1 anybody computes signatures, and with p - 1 every other one:
 * g^a * y^b takes only one or two values, or is a power of the other one. A
 * sound g has a large prime order (FIPS 186-4 section 4.1), and y = g^x has it
 * too, so neither is 0, 1 or p - 1, whose square is 1.
 */
static const char *
dsa_source(const struct kv_pubkey *key)
{
	const struct kv_span p = key->field[0];

	return is_trivial(key->field[2], p) || is_trivial(key->field[3], p) ?
	    "dsa-group" :
	    NULL;
}

const char *
kv_nosecret_source(const struct kv_pubkey *key)
{
	const struct kv_span *field = key->field;

	switch (key->type) {
	case KV_KEY_RSA:
		return rsa_source(field[0], field[1]);
	case KV_KEY_DSA:
		return dsa_source(key);
	case KV_KEY_ECDSA_P256:
	case KV_KEY_SK_ECDSA_P256:
		return ecdsa_source(field[0], p256_x[0], COUNT(p256_x), 32);
	case KV_KEY_ECDSA_P384:
		return ecdsa_source(field[0], p384_x[0], COUNT(p384_x), 48);
	case KV_KEY_ECDSA_P521:
		return ecdsa_source(field[0], p521_x[0], COUNT(p521_x), 66);
	case KV_KEY_ED25519:
	case KV_KEY_SK_ED25519:
		return ed25519_source(field[0]);
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		return ed25519_source(field[1]);
	case KV_KEY_ED448: /* no sshd takes it */
	case KV_KEY_NONE:
		break;
	}
	return NULL;
}
