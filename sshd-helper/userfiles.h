/* SPDX-License-Identifier: ISC */
/* userfiles: what the guard does with an account's authorized keys files. */
#ifndef GUARD_USERFILES_H
#define GUARD_USERFILES_H

#include "kv_log.h"

/* Which files an account has, and how they are read. */
struct userfiles {
	const char *const *pattern; /* as AuthorizedKeysFile has them */
	size_t n;
	bool expanded; /* sshd has expanded their tokens */
	enum kv_strictmodes strictmodes;
	enum kv_wildcards wildcards;
};

/* Those that keyveto.conf names, which own the patterns. */
void userfiles_of_config(const struct kv_config *config,
    struct userfiles *files);

/* Told of a file that sshd would refuse, with the reason. */
typedef void (*userfiles_refused)(const char *why, void *arg);

/*
 * Writes the account's files to descriptor out byte for byte, one after the
 * other, with a line end between two when the first lacks one (sshd reads them
 * apart). A missing file is empty; one that sshd would refuse is left out and
 * told. A read error is the end of a file, as it is for sshd, and told. False,
 * with errno, when something could not be written whole, or memory ran out: the
 * output must not be used then.
 */
bool userfiles_print(const struct userfiles *files,
    const struct kv_account *account, int out, userfiles_refused refused,
    void *arg);

/*
 * Whether the account lists the offered key: as a plain key, or its CA on a
 * cert-authority line. Only for the log; unknown where a file could not be
 * opened, searched for or read, or a line was too long, and no other line lists
 * the key.
 */
enum kv_authorized userfiles_list_key(const struct userfiles *files,
    const struct kv_account *account, const struct kv_sshkey *offered);

#endif
