/* SPDX-License-Identifier: ISC */
/*
 * kv_words: cuts a line of keyveto.conf, or of a file with its syntax, into
 * words.
 */
#ifndef KV_WORDS_H
#define KV_WORDS_H

/* Bounds, so that a damaged file cannot make a login slow. */
#define KV_WORDS_MAX 512

/*
 * Cuts a line into words, which point into line. Blanks separate words. Double
 * quotes hold blanks; inside them \" and \\ stand for " and \. A # at the start
 * of a word starts a comment. One = may follow the keyword. Returns the number
 * of words, or -1 with a static sentence in *whyp.
 */
int kv_words_split(char *line, char *word[static KV_WORDS_MAX],
    const char **whyp);

#endif
