/* SPDX-License-Identifier: ISC */
/* base/color: colours a word, for commands that chose to, and where one sees it. */
#ifndef CLI_BASE_COLOR_H
#define CLI_BASE_COLOR_H

#include <stdbool.h>
#include <stdio.h>

enum color { COLOR_GOOD, COLOR_WARNING, COLOR_BAD };

#define COLOR_HELP \
	"  --color WHEN     always, never, or auto: on a terminal (default)\n"

/*
 * Sets whether color_print colours, as the option --color says; NULL: auto, which
 * is if standard output is a terminal and NO_COLOR is not set. Without a call
 * nothing is coloured. False after a message.
 */
bool color_choose(const char *when);

/* Prints the text, which has no untrusted bytes. */
void color_print(FILE *out, enum color color, const char *text);

#endif
