/* SPDX-License-Identifier: ISC */
/*
 * kv_userfile: opens a user's authorized keys files as sshd does
 * (auth.c:expand_authorized_keys, auth.c:auth_openfile, misc.c:safe_path and,
 * on Debian, misc.c:secure_permissions).
 */
#ifndef KV_USERFILE_H
#define KV_USERFILE_H

#include <sys/types.h>

#include "kv_err.h"

#define KV_USERFILE_WHY_BYTES 512

/* How the local sshd checks a user's files (its StrictModes). */
enum kv_strictmodes {
	KV_STRICTMODES_YES = 0,	      /* upstream: no group may write */
	KV_STRICTMODES_PRIVATE_GROUP, /* Debian: a private group may */
	KV_STRICTMODES_NO,
};

/* The account whose files are read. */
struct kv_account {
	const char *name;
	uid_t uid;
	const char *home; /* as sshd, read from / if it begins elsewhere */
};

/*
 * Expands %h %u %U %% in an AuthorizedKeysFile pattern and puts the home
 * directory before a relative result; path is then absolute. It holds cap bytes.
 * KV_ERR_CONFIG for another token or an empty result; KV_ERR_NO_SPACE if the
 * path does not fit.
 */
KV_MUST_CHECK enum kv_err kv_userfile_expand(const char *pattern,
    const struct kv_account *account, char *path, size_t cap);

/*
 * Does the same for a path whose tokens sshd has already expanded.
 * KV_ERR_CONFIG for an empty path; KV_ERR_NO_SPACE.
 */
KV_MUST_CHECK enum kv_err kv_userfile_place(const char *expanded,
    const struct kv_account *account, char *path, size_t cap);

/*
 * Opens path for reading, with the rights of the running process: become the
 * user first. Never waits for a FIFO or a device. The file must be regular.
 * Unless mode is KV_STRICTMODES_NO, the file and each directory up to the home
 * must belong to root or the account, and nobody else may write to them; in
 * KV_STRICTMODES_PRIVATE_GROUP a group may whose only member is the account.
 *
 * On success *fdp is an open descriptor (close-on-exec), which the caller
 * closes. On an error *fdp is -1, and why holds a sentence that names the
 * place: KV_ERR_SYSTEM (errno; ENOENT for a missing file), KV_ERR_NOT_REGULAR,
 * KV_ERR_INSECURE.
 */
KV_MUST_CHECK enum kv_err kv_userfile_open(const char *path,
    const struct kv_account *account, enum kv_strictmodes mode, int *fdp,
    char why[static KV_USERFILE_WHY_BYTES]);

#endif
