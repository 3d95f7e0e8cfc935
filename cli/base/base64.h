/* SPDX-License-Identifier: ISC */
/* base/base64: the digits of base64 (RFC 4648 section 4). */
#ifndef CLI_BASE_BASE64_H
#define CLI_BASE_BASE64_H

#include <stdbool.h>
#include <stdint.h>

/* What c stands for; -1 if it is no digit. */
static inline int
base64_value(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static inline bool
base64_is_digit(uint8_t c)
{
	return base64_value(c) != -1;
}

#endif
