/* SPDX-License-Identifier: ISC */
/*
 * sshd/files: the configuration files that keyveto puts lines into. Each has
 * three texts: now, base (without keyveto's lines), and next (as enable plans
 * it).
 */
#ifndef CLI_SSHD_FILES_H
#define CLI_SSHD_FILES_H

#include <sys/stat.h>

#include "sshd_config/tree.h"

#define SSHD_PAM_DIR "/etc/pam.d/"

/* Whose file it is, by its path; in the order in which enable writes them. */
enum sshd_file_owner { SSHD_FILE_KEYVETOS, SSHD_FILE_PAMS, SSHD_FILE_SSHDS };

struct sshd_file {
	char *path;
	enum sshd_file_owner whose;
	bool there;	/* the file exists */
	bool was_there; /* it did when it was read */
	struct stat st; /* set if there is true, unless special is */
	char *now, *base,
	    *next;   /* now is "" without a file; next may be NULL */
	char *found; /* the now before sshd_file_write; NULL: not written */
	char *kept;  /* where a too large one was kept then; or NULL */
	size_t now_len, base_len, next_len, found_len;
	size_t blocks;	/* in now */
	bool made;	/* enable makes, or has made, the file */
	bool special;	/* no regular file: now is "" */
	bool too_large; /* a keyveto.conf that no login reads; now may be "" */
};

struct sshd_files {
	struct sshd_file **v;
	size_t n;
};

/*
 * Returns the file of that path, which fs owns. Reads it if fs does not have it
 * yet. The file need not exist. NULL after a message.
 */
struct sshd_file *sshd_files_add(struct sshd_files *fs, const char *path);
/* The same, but NULL, without a message, if fs does not have it. */
struct sshd_file *sshd_files_find(const struct sshd_files *fs,
    const char *path);

/*
 * Puts a block of lines before line number line of next. The first call starts
 * from base. False after a message, also if the file is special.
 */
bool sshd_file_insert(struct sshd_file *f, size_t line, const char *lines);

/* Whether keyveto's lines are in one of these files. */
bool sshd_files_have_lines(const struct sshd_files *fs,
    enum sshd_file_owner whose);

/*
 * The changes that give each file its base, or with next true its next where
 * there is one. In the place of a missing SSHD_TREE_TOP they have one that
 * includes SSHD_TREE_DROP_INS, as the next one that a package installs. The
 * caller frees the array; its strings belong to fs. NULL without memory.
 */
struct sshd_change *sshd_files_changes(const struct sshd_files *fs, bool next,
    size_t *np);

/*
 * Replaces the file's content by text, atomically, and sets now to it. Writes
 * nothing if now is text already. Removes a file that keyveto made if text is
 * empty. False after a message: now and found then tell whether the file was
 * changed all the same, and only its directory could not be flushed.
 */
bool sshd_file_write(struct sshd_file *f, const char *text, size_t len);

/* Undoes what sshd_file_write did. False after a message. */
bool sshd_file_put_back(struct sshd_file *f);

void sshd_files_free(struct sshd_files *fs);

#endif
