/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/tree: the lines of sshd's configuration file and of all that it
 * includes, in the order in which sshd reads them. This is the one place that
 * follows Include and Match.
 */
#ifndef CLI_SSHD_CONFIG_TREE_H
#define CLI_SSHD_CONFIG_TREE_H

#include <stdbool.h>
#include <stddef.h>

#define SSHD_TREE_TOP "/etc/ssh/sshd_config"
#define SSHD_TREE_DROP_INS "/etc/ssh/sshd_config.d"

/* A planned file: sshd_tree_read reads text instead of the file. */
struct sshd_change {
	const char *path;
	const char *text; /* NULL: as if the file did not exist */
	size_t len;
};

/* A file. One that is included twice is twice in the tree. */
struct sshd_config_file {
	char *path;
	char *text;
	size_t len;
	size_t include; /* 1 + the index of its Include line; 0: none */
};

struct sshd_line {
	size_t file;	       /* an index in the tree's files */
	size_t number;	       /* from 1 */
	size_t at, len;	       /* where it is in the file's text */
	char *memory;	       /* the next two point into it */
	char *keyword, *value; /* the value as written, without outer blanks */
	/*
	 * The Match block that the line is in: 1 + the index of its Match line;
	 * 0: none. A block ends with its file. A Match line itself is in the
	 * block that includes its file.
	 */
	size_t match;
};

/* A struct of zeroes is empty. */
struct sshd_tree {
	struct sshd_config_file *file;
	size_t n_files;
	struct sshd_line *line; /* without blank lines and comments */
	size_t n_lines;
};

/*
 * Reads the file top, and all that it includes, with n changes. False if
 * something cannot be read, which is left out; why has a sentence about the
 * first one. Always call sshd_tree_free, even after a failure.
 */
bool sshd_tree_read(struct sshd_tree *t, const char *top,
    const struct sshd_change *change, size_t n, char *why, size_t cap);
void sshd_tree_free(struct sshd_tree *t);

/*
 * The first line with the keyword in Match block number match, 0 for outside of
 * all. NULL if there is none.
 */
const struct sshd_line *sshd_tree_find(const struct sshd_tree *t, size_t match,
    const char *keyword);

/* Whether all lines are the same, in the same places. */
bool sshd_tree_equals(const struct sshd_tree *a, const struct sshd_tree *b);

/*
 * Whether the line's Match block, or a block around it, has a criterion about
 * something else than the account, such as Address.
 */
bool sshd_tree_is_by_origin(const struct sshd_tree *t,
    const struct sshd_line *l);

#endif
