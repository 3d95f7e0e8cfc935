/* SPDX-License-Identifier: ISC */
/*
 * kv_words: a line of keyveto.conf, or of a file with its syntax, cut into
 * words.
 */
#ifndef KV_WORDS_H
#define KV_WORDS_H

/* Bounds, so that a damaged file cannot make a login slow. */
#define KV_WORDS_MAX 512

/*
 * Cuts a line into words in place: blanks separate, double quotes hold blanks
 * (with \" and \\ inside), a # that starts a word starts a comment, and one =
 * may follow the keyword. Returns the number of words, or -1 with a sentence
 * in *whyp.
 */
int kv_words_split(char *line, char *word[static KV_WORDS_MAX],
    const char **whyp);

#endif
