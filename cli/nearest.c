/* SPDX-License-Identifier: ISC */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

/* More characters than any command or option has. */
#define WORD_MAX 31

static size_t
min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The optimal string alignment distance: how many characters are changed, put
 * in, taken out or swapped with the next one.
 */
static size_t
measure(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= a_len; i++) {
		for (size_t j = 0; j <= b_len; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = min(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
			    min(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[a_len][b_len];
}

void
nearest_try(struct nearest *n, const char *name)
{
	const size_t len = strlen(n->word), name_len = strlen(name);
	size_t distance;

	if (len > WORD_MAX || name_len > WORD_MAX)
		return;
	distance = measure(n->word, len, name, name_len);
	if (distance > len / 3 || (n->name != NULL && distance >= n->distance))
		return;
	n->name = name;
	n->distance = distance;
}

const char *
nearest_ask(const struct nearest *n, const char *prefix, char text[static 64])
{
	text[0] = '\0';
	if (n->name != NULL)
		snprintf(text, 64, "; did you mean %s%s?", prefix, n->name);
	return text;
}
