/* SPDX-License-Identifier: ISC */
/* userfiles: prints and searches an account's authorized keys files. */
#ifndef GUARD_USERFILES_H
#define GUARD_USERFILES_H

#include "kv_log.h"

#include "kv_userfile.h"

/* So many files are opened ahead. */
#define USERFILES_OPEN_MAX 32

/* A file that is open, or why it is left out. */
struct userfile {
	int fd;				  /* -1 if it is left out */
	int error;			  /* errno, if a system call failed */
	char text[KV_USERFILE_WHY_BYTES]; /* the path, or why */
};

/* Which files an account has, and how they are read. */
struct userfiles {
	const char *const *pattern; /* as in AuthorizedKeysFile */
	size_t n;
	bool expanded; /* sshd has expanded their tokens */
	enum kv_strictmodes strictmodes;
	enum kv_wildcards wildcards;
	/* What userfiles_open has opened. */
	bool are_open;
	size_t n_open;
	struct userfile open[USERFILES_OPEN_MAX];
};

/* Sets files to those that keyveto.conf names. config owns the patterns. */
void userfiles_of_config(const struct kv_config *config,
    struct userfiles *files);

/*
 * Opens all files, so that what follows opens nothing. False if they are too
 * many: then they will be opened one by one.
 */
bool userfiles_open(struct userfiles *files, const struct kv_account *account);

/* Called for a file that sshd would refuse. why is a sentence. */
typedef void (*userfiles_refused)(const char *why, void *arg);

/*
 * Writes the account's files to descriptor out byte for byte, one after the
 * other. If a file does not end with a line end, one is written before the next
 * file: sshd reads files separately. A missing file counts as empty. A file
 * that sshd would refuse is left out. As in sshd, a read error ends a file.
 * refused is called for both. False (errno) if something could not be written,
 * or memory ran out: the output must not be used then.
 */
bool userfiles_print(const struct userfiles *files,
    const struct kv_account *account, int out, userfiles_refused refused,
    void *arg);

/*
 * Whether the account lists the offered key: as a plain key, or its CA on a
 * cert-authority line. For the log only. KV_AUTHORIZED_UNKNOWN if no line that
 * could be read lists the key, but a file could not be opened, searched for or
 * read, or a line was too long.
 */
enum kv_authorized userfiles_list_key(const struct userfiles *files,
    const struct kv_account *account, const struct kv_sshkey *offered);

#endif
