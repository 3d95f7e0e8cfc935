/* SPDX-License-Identifier: ISC */
/* nearest: the name that somebody meant who mistyped it. */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

struct nearest {
	const char *word; /* what was typed */
	const char *name; /* the nearest name so far; NULL: none is close */
	size_t distance;  /* of name to word */
};

/*
 * Keeps name if it is nearer to the word than those before, and close: a third
 * of the word's characters may be wrong, left out, too many or swapped.
 */
void nearest_try(struct nearest *n, const char *name);

/*
 * Sets text to "; did you mean NAME?", with prefix before the name; to "" if no
 * name is close. Returns text.
 */
const char *nearest_ask(const struct nearest *n, const char *prefix,
    char text[static 64]);

#endif
