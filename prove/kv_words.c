/* SPDX-License-Identifier: ISC */
/*
 * A line of keyveto.conf, split into words.
 *
 * source lib/kv_words.c
 * shrink lib/kv_words.h: KV_WORDS_MAX 512 -> KV_WORDS_MAX 2
 * proof  split --unwind LINE+3: lines of up to LINE characters, at most KV_WORDS_MAX words
 * proof  plain --unwind LINE+3: lines of up to LINE characters without quotes, # and =
 */
#define LINE 7

#include "kv_words.h"

#include <string.h>

#include "libc.h"
#include "prove.h"

static char *line, *word[KV_WORDS_MAX];
static const char *why;
static size_t len;
static int n;

void
split(void)
{
	const char *free_from;
	int i;

	line = any_text(LINE);
	len = strlen(line);
	n = kv_words_split(line, word, &why);
	PROVE(n >= -1 && n <= KV_WORDS_MAX, "a number of words, or -1");
	if (n == -1) {
		PROVE(why != NULL && why[0] != '\0', "-1 says why");
		return;
	}
	PROVE(n > 0 || line[0] == '\0' || strchr(" \t\r#", line[0]) != NULL,
	    "only blanks and comments have no word");
	/* join_words of kv_config moves words to the left, in place. */
	free_from = line;
	for (i = 0; i < n; i++) {
		PROVE(lies_in(word[i], 1, line, len + 1), "inside the line");
		PROVE(word[i] >= free_from, "behind the word before");
		free_from = word[i] + strlen(word[i]) + 1;
		PROVE(lies_in(line, (size_t)(free_from - line), line, len + 1),
		    "ends inside the line");
	}
}

/* Where nothing is special, the words are the parts between blanks. */
void
plain(void)
{
	static char copy[LINE + 1];
	size_t at = 0;

	line = any_text(LINE);
	len = strlen(line);
	memcpy(copy, line, len + 1);
	for (size_t i = 0; i < len; i++)
		GIVEN(strchr("\"#=\\", copy[i]) == NULL);
	n = kv_words_split(line, word, &why);
	for (int i = 0; i < n; i++) {
		at += strspn(copy + at, " \t\r");
		for (size_t k = 0; word[i][k] != '\0'; k++, at++)
			PROVE(word[i][k] == copy[at], "as written");
		PROVE(word[i][0] != '\0', "no empty word");
		PROVE(copy[at] == '\0' || strchr(" \t\r", copy[at]) != NULL,
		    "up to the next blank");
	}
	at += strspn(copy + at, " \t\r");
	PROVE(n == -1 || copy[at] == '\0', "all of the line");
	PROVE(n != -1 || why[0] == 'm', "too many words are the only mistake");
}
