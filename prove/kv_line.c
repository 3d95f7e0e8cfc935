/* SPDX-License-Identifier: ISC */
/*
 * Parts of a line of authorized_keys: whether it has an option, and how many bits the
 * numbers of a key of SSH protocol 1 have.
 *
 * shrink lib/kv_line.c: SSH1_MAX_DIGITS 4933 -> SSH1_MAX_DIGITS 16
 * proof  option [quick] --unwind LINE+2: options of up to LINE bytes, names of up to NAME characters
 * proof  digits --no-conversion-check --unwind 34: numbers of up to SSH1_MAX_DIGITS digits: as many bits as they have
 */
#define LINE 8
#define NAME 4

#include "lib/kv_line.c"

#include "libc.h"
#include "prove.h"

void
option(void)
{
	const char *name = any_text(NAME);
	size_t n = strlen(name);
	size_t len = any_size_up_to(LINE);
	const uint8_t *text = any_bytes(LINE);
	bool found;

	GIVEN(n > 0 && name[0] != '"' && name[0] != '\\');
	found = kv_line_has_option((struct kv_span){ text, len }, name);
	/* The first option is before any quote. */
	if (len == n && strncasecmp((const char *)text, name, n) == 0 &&
	    memchr(name, '"', n) == NULL && memchr(name, ',', n) == NULL)
		PROVE(found, "a single option");
	PROVE(!found || len >= n, "no option that is not there");
}

void
digits(void)
{
	size_t n = any_size_up_to(SSH1_MAX_DIGITS);
	uint8_t number[SSH1_MAX_DIGITS];
	uint64_t value = 0;
	uint32_t bits;

	for (size_t i = 0; i < n; i++) {
		GIVEN(number[i] >= '0' && number[i] <= '9');
		value = value * 10 + number[i] - '0';
	}
	bits = decimal_bits((struct kv_span){ number, n });
	PROVE(value != 0 || bits == 0, "zero has none");
	PROVE(value == 0 || (bits <= 64 && value >> (bits - 1) == 1),
	    "the number of bits");
}
