/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/words: splits a line of sshd_config into words exactly as sshd
 * does. A difference could hide a setting from keyveto. Knows which keywords
 * matter for keys.
 */
#ifndef CLI_SSHD_CONFIG_WORDS_H
#define CLI_SSHD_CONFIG_WORDS_H

#include <stdbool.h>

/*
 * The keyword of a line, which it writes into. *restp is what follows the
 * keyword, without blanks at its end. NULL for a blank line, a comment, or a
 * line with an open quote in its keyword.
 */
char *sshd_words_keyword(char *line, char **restp);

/* What a keyword has to do with the keys that sshd accepts. */
enum sshd_keyword {
	SSHD_KEYWORD_DECIDES = 1, /* where keys come from, or who judges them */
	SSHD_KEYWORD_GUARD = 2,	  /* one of the guard's lines */
	SSHD_KEYWORD_SWITCH = 4,  /* decides by yes or no */
	SSHD_KEYWORD_WORDS = 8,	  /* its value may have several words */
};

/* Those bits for the keyword that line begins with. */
unsigned int sshd_keyword(const char *line);

/* Cuts the next argument off *sp, which it writes into. NULL at the end. */
char *sshd_words_next(char **sp);

/* Whether a value, as written in the file, is that one word, in any case. */
bool sshd_words_is(const char *value, const char *word);

/* Whether a value is empty, or all its words are "none". */
bool sshd_words_none(const char *value);

#endif
