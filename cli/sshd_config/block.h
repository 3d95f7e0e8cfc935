/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/block: keyveto's lines in a configuration file. They stand between
 * two marks, so that "keyveto disable" can remove them and nothing else.
 */
#ifndef CLI_SSHD_CONFIG_BLOCK_H
#define CLI_SSHD_CONFIG_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

/* A line is a mark if it starts so. */
#define SSHD_BLOCK_BEGIN "# BEGIN keyveto"
#define SSHD_BLOCK_END "# END keyveto"

/*
 * The keywords of keyveto's lines: first those for sshd, which uses the first
 * line of each, then those for keyveto.conf.
 */
#define SSHD_BLOCK_KEYWORDS 5
#define SSHD_BLOCK_ALL_KEYWORDS 9
extern const char *const sshd_block_keywords[SSHD_BLOCK_ALL_KEYWORDS];

/*
 * Copies text without the blocks in it; the caller frees the copy. A line that
 * somebody else wrote into a block is copied. *np is the number of blocks. NULL
 * with a sentence in why if one mark of a pair is missing, or without memory.
 */
char *sshd_block_remove(const char *text, size_t len, size_t *out_lenp,
    size_t *np, char *why, size_t cap);

/* The same, but copies all lines between the marks, and no others. */
char *sshd_block_lines(const char *text, size_t len, size_t *out_lenp,
    size_t *np, char *why, size_t cap);

/*
 * The number that line number line (from 1) has after sshd_block_remove; 0 if
 * it is in a block. The marks of text must be in pairs.
 */
size_t sshd_block_line_outside(const char *text, size_t len, size_t line);

/*
 * Copies text with a block of these lines before line number line (from 1); the
 * caller frees the copy. The line must exist, or be 1. NULL without memory.
 */
char *sshd_block_insert(const char *text, size_t len, size_t line,
    const char *lines, size_t *out_lenp);

#endif
