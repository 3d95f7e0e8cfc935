/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/tree: sshd's configuration file and all that it includes, in the
 * order in which sshd reads it, and a copy of it, in a directory that goes
 * away, with changes that are not made yet or for a machine below another root.
 *
 * In the copy nothing differs but the Include lines, which name other files of
 * the copy. Paths in other lines stay as they are: sshd looks at none of those
 * files but the host keys when it is asked for its settings.
 */
#ifndef CLI_SSHD_CONFIG_TREE_H
#define CLI_SSHD_CONFIG_TREE_H

#include <sys/types.h>

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

struct sshd_line {
	size_t file;		/* of those in the tree */
	size_t number;		/* from 1 */
	char *keyword, *value;	/* the value as written, no blanks around */
	/*
	 * The Match block it is in: 1 + the index of its Match line; 0: none.
	 * That of a Match line itself is the one in which its file is included.
	 */
	size_t match;
};

struct sshd_tree {
	char **file;		/* paths, as sshd has them */
	size_t n_files;
	struct sshd_line *line;	/* all but blanks and comments */
	size_t n_lines;
	char *copy;		/* the directory */
	char *top;		/* the copy of the first file */
	char *host_key;		/* one that was made for sshd, or NULL */
	pid_t remover;		/* removes the copy, even if we are killed */
	int alive;		/* what it waits for the end of */
};

/*
 * Reads the file top (SSHD_TREE_TOP, or another that an sshd is started with)
 * below root with n changes, and copies it. False with a sentence in why. Ended
 * by sshd_tree_close in any case, which removes the copy.
 */
bool sshd_tree_open(struct sshd_tree *t, const char *root, const char *top,
    const struct sshd_change *change, size_t n, char *why, size_t cap);
void sshd_tree_close(struct sshd_tree *t);

/* Whether all lines are the same, in the same places. */
bool sshd_tree_equals(const struct sshd_tree *a, const struct sshd_tree *b);

/* Makes a host key in the copy: sshd says nothing without one. */
bool sshd_tree_make_host_key(struct sshd_tree *t, char *why, size_t cap);

/* Puts the names of the files in the place of those of their copies. */
void sshd_tree_rename(const struct sshd_tree *t, char *text, size_t cap);

#endif
