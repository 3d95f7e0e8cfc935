/* SPDX-License-Identifier: ISC */
/* base/texts: lists of texts. */
#ifndef CLI_BASE_TEXTS_H
#define CLI_BASE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

/* All zeroes: none. */
struct texts {
	char **v;
	size_t n;
};

bool texts_has(const struct texts *t, const char *text);

/* Adds a copy. False with errno without memory. */
bool texts_add(struct texts *t, const char *text);

/* The same, but only if it is not there. */
bool texts_add_new(struct texts *t, const char *text);

void texts_free(struct texts *t);

#endif
