/* SPDX-License-Identifier: ISC */
/*
 * sshd/block: lines of keyveto's own in a configuration file, between two
 * marks, so that they can be told from the administrator's and be taken out
 * again to the byte.
 */
#ifndef CLI_SSHD_BLOCK_H
#define CLI_SSHD_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies text without the blocks in it; to be freed. A line in a block that is
 * of no kind that enable writes stays. *np says how many blocks there were.
 * NULL with a sentence in why if a mark lacks its other one, or without memory.
 */
char *sshd_block_remove(const char *text, size_t len, size_t *out_lenp,
    size_t *np, char *why, size_t cap);

/* The same, of the lines between the marks alone, all of them. */
char *sshd_block_lines(const char *text, size_t len, size_t *out_lenp,
    size_t *np, char *why, size_t cap);

/*
 * The number that a line (from 1) has once the blocks are taken out; 0 if it is
 * in one. The text's marks are in order, or all of it counts as outside.
 */
size_t sshd_block_line_outside(const char *text, size_t len, size_t line);

/*
 * Copies text with a block of these lines before line number line (from 1),
 * which must be there, or be 1; to be freed. NULL without memory.
 */
char *sshd_block_insert(const char *text, size_t len, size_t line,
    const char *lines, size_t *out_lenp);

#endif
