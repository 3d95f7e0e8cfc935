/* SPDX-License-Identifier: ISC */
#include "keys/base64_vector.h"

#include "kv_base64.h"

#if defined(__x86_64__) && !defined(KV_PORTABLE)

#include <immintrin.h>
#include <stdbool.h>

#define CHARACTERS 32 /* in a vector; they decode to 24 bytes */

/*
 * A base64 digit is classified by its upper four bits: 2 for + and /, 3 for 0
 * to 9, 4 and 5 for A to Z, 6 and 7 for a to z. A_TO_O stands for 4 and 6,
 * P_TO_Z for 5 and 7: both have the same lower halves. OTHER is no digit.
 */
enum { SIGNS = 1, NUMBERS = 2, A_TO_O = 4, P_TO_Z = 8, OTHER = 16 };

#define BOTH_HALVES(...) _mm256_setr_epi8(__VA_ARGS__, __VA_ARGS__)

/*
 * Decodes 32 characters of text into 24 bytes at out, but writes 32. False,
 * with nothing written, if any character is not a base64 digit.
 */
__attribute__((target("avx2"))) static inline bool
decode_vector(const uint8_t *text, uint8_t *out)
{
	/* The class of each upper half; the classes without a lower half. */
	const __m256i can = BOTH_HALVES(OTHER, OTHER, SIGNS, NUMBERS, A_TO_O,
	    P_TO_Z, A_TO_O, P_TO_Z, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER,
	    OTHER, OTHER);
	const __m256i cannot = BOTH_HALVES(OTHER | SIGNS | A_TO_O,
	    OTHER | SIGNS, OTHER | SIGNS, OTHER | SIGNS, OTHER | SIGNS,
	    OTHER | SIGNS, OTHER | SIGNS, OTHER | SIGNS, OTHER | SIGNS,
	    OTHER | SIGNS, OTHER | SIGNS | NUMBERS, OTHER | NUMBERS | P_TO_Z,
	    OTHER | SIGNS | NUMBERS | P_TO_Z, OTHER | SIGNS | NUMBERS | P_TO_Z,
	    OTHER | SIGNS | NUMBERS | P_TO_Z, OTHER | NUMBERS | P_TO_Z);
	/* What is added to a digit, by upper half; 1 is for '/'. */
	const __m256i difference = BOTH_HALVES(0, 63 - '/', 62 - '+', 52 - '0',
	    0 - 'A', 0 - 'A', 26 - 'a', 26 - 'a', 0, 0, 0, 0, 0, 0, 0, 0);
	/* The low three of each four bytes, the highest first. */
	const __m256i order = BOTH_HALVES(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13,
	    12, -1, -1, -1, -1);
	const __m256i low_bits = _mm256_set1_epi8(0x0f);
	const __m256i in = _mm256_loadu_si256(
	    (const __m256i *)(const void *)text);
	const __m256i upper = _mm256_and_si256(_mm256_srli_epi32(in, 4),
	    low_bits);
	const __m256i lower = _mm256_and_si256(in, low_bits);
	const __m256i slash = _mm256_cmpeq_epi8(in, _mm256_set1_epi8('/'));
	__m256i v;

	if (!_mm256_testz_si256(_mm256_shuffle_epi8(can, upper),
		_mm256_shuffle_epi8(cannot, lower)))
		return false;
	v = _mm256_add_epi8(in,
	    _mm256_shuffle_epi8(difference, _mm256_add_epi8(upper, slash)));
	/* Pairs of 6-bit values become 12 bits, and pairs of these 24. */
	v = _mm256_maddubs_epi16(v, _mm256_set1_epi16(0x0140));
	v = _mm256_madd_epi16(v, _mm256_set1_epi32(0x00011000));
	v = _mm256_shuffle_epi8(v, order);
	v = _mm256_permutevar8x32_epi32(v,
	    _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
	_mm256_storeu_si256((__m256i *)(void *)out, v);
	return true;
}

__attribute__((target("avx2"))) static size_t
decode_vectors(const uint8_t *text, size_t len, uint8_t *out, size_t cap)
{
	size_t used = 0;

	while (len - used >= CHARACTERS &&
	    cap - used / 4 * 3 >= CHARACTERS / 4 * 3 &&
	    decode_vector(text + used, out + used / 4 * 3))
		used += CHARACTERS;
	return used;
}

#define HAVE_VECTORS

#endif

size_t
base64_vector_groups(const uint8_t *text, size_t len, uint8_t *out, size_t cap)
{
	size_t used = 0;

#ifdef HAVE_VECTORS
	if (__builtin_cpu_supports("avx2"))
		used = decode_vectors(text, len, out, cap);
#endif
	return used +
	    kv_base64_decode_groups(text + used, len - used, out + used / 4 * 3,
		cap - used / 4 * 3);
}
