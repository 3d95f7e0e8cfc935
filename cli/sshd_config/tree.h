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

/* What a file is to be; text NULL: it is not to be there. */
struct sshd_change {
	const char *path;
	const char *text;
	size_t len;
};

/* A file, each time that it is included. */
struct sshd_config_file {
	char *path; /* as sshd has it */
	char *text;
	size_t len;
	size_t include; /* 1 + the index of its Include line; 0: none */
};

struct sshd_line {
	size_t file;	       /* of those in the tree */
	size_t number;	       /* from 1 */
	size_t at, len;	       /* where it is in the file's text */
	char *keyword, *value; /* the value as written, no blanks around */
	/*
	 * The Match block it is in: 1 + the index of its Match line; 0: none.
	 * A block ends with its file. That of a Match line itself is the one in
	 * which its file is included.
	 */
	size_t match;
};

/* Zeroes are an empty one. */
struct sshd_tree {
	struct sshd_config_file *file;
	size_t n_files;
	struct sshd_line *line; /* all but blanks and comments */
	size_t n_lines;
};

/*
 * Reads the file top (SSHD_TREE_TOP, or another that an sshd is started with)
 * below root, as it is with n changes. What cannot be read is left out: false
 * then, and the first reason is a sentence in why. Ended by sshd_tree_free in
 * any case.
 */
bool sshd_tree_read(struct sshd_tree *t, const char *root, const char *top,
    const struct sshd_change *change, size_t n, char *why, size_t cap);
void sshd_tree_free(struct sshd_tree *t);

/* Whether all lines are the same, in the same places. */
bool sshd_tree_equals(const struct sshd_tree *a, const struct sshd_tree *b);

/*
 * Whether the line's Match block, or one that includes its file, asks for more
 * than who logs in.
 */
bool sshd_tree_is_by_origin(const struct sshd_tree *t,
    const struct sshd_line *l);

#endif
