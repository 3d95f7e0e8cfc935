/* SPDX-License-Identifier: ISC */
/*
 * sshd/files: the configuration files that keyveto puts lines into: as they
 * are, without keyveto's lines, and as they are to be.
 */
#ifndef CLI_SSHD_FILES_H
#define CLI_SSHD_FILES_H

#include <sys/stat.h>

#include "sshd_config/tree.h"

#define SSHD_PAM_DIR "/etc/pam.d/"

struct sshd_file {
	char *path; /* below root */
	bool there;
	struct stat st;		 /* if it is there */
	char *now, *base, *next; /* base: without blocks; next may be NULL */
	size_t now_len, base_len, next_len;
	size_t blocks; /* in now */
	bool made;     /* was not there before keyveto made it */
};

struct sshd_files {
	const char *root;
	struct sshd_file **v;
	size_t n;
};

/*
 * The file of that path, read if it is not known yet; it need not be there.
 * NULL after a message.
 */
struct sshd_file *sshd_files_add(struct sshd_files *fs, const char *path);
struct sshd_file *sshd_files_find(const struct sshd_files *fs,
    const char *path);

/* Whose it is, by its name; keyveto.conf is neither's. */
bool sshd_file_is_pams(const struct sshd_file *f);
bool sshd_file_is_sshds(const struct sshd_file *f);

/* Adds all files of a tree; false after a message. */
bool sshd_files_add_tree(struct sshd_files *fs, const struct sshd_tree *t);

/* Puts a block before a line of next, or of base if there is no next yet. */
bool sshd_file_insert(struct sshd_file *f, size_t line, const char *lines);

/*
 * The changes that make the tree what it is without keyveto's lines, or what
 * it is to be: an array to be freed; NULL without memory.
 */
struct sshd_change *sshd_files_changes(const struct sshd_files *fs, bool next,
    size_t *np);

/*
 * Puts text in the place of now, in one step, unless it is the same; a file
 * that keyveto made is removed when text is empty. False after a message.
 */
bool sshd_file_write(const struct sshd_files *fs, struct sshd_file *f,
    const char *text, size_t len);

void sshd_files_free(struct sshd_files *fs);

#endif
