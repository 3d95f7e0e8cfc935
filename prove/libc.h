/* SPDX-License-Identifier: ISC */
/*
 * Functions of libc of which CBMC has no model, as the C standard says them.
 */
#ifndef PROVE_LIBC_H
#define PROVE_LIBC_H

#include <string.h>

void *
memchr(const void *s, int c, size_t len)
{
	const unsigned char *p = s;

	for (size_t i = 0; i < len; i++)
		if (p[i] == (unsigned char)(c & 0xff))
			return (void *)(p + i);
	return NULL;
}

size_t
strspn(const char *s, const char *accept)
{
	size_t n = 0;

	for (; s[n] != '\0'; n++) {
		size_t i = 0;

		while (accept[i] != '\0' && accept[i] != s[n])
			i++;
		if (accept[i] == '\0')
			break;
	}
	return n;
}

size_t
strcspn(const char *s, const char *reject)
{
	size_t n = 0;

	for (; s[n] != '\0'; n++) {
		for (size_t i = 0; reject[i] != '\0'; i++)
			if (reject[i] == s[n])
				return n;
	}
	return n;
}

#endif
