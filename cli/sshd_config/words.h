/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/words: a line of sshd_config, taken apart as sshd does it: what
 * looks odd to us and not to sshd would be a way to hide a setting.
 */
#ifndef CLI_SSHD_CONFIG_WORDS_H
#define CLI_SSHD_CONFIG_WORDS_H

#include <stdbool.h>

/*
 * The keyword of a line, which is cut up; *restp is what follows it, without
 * blanks at its end. NULL for a line that says nothing.
 */
char *sshd_words_keyword(char *line, char **restp);

/* Cuts off the next argument; NULL at the end. */
char *sshd_words_next(char **sp);

/* Whether a value, as it is written, is that one word, in any case. */
bool sshd_words_is(const char *value, const char *word);

/* Whether each of its words is "none", or it is empty. */
bool sshd_words_none(const char *value);

#endif
