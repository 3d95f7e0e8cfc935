/* SPDX-License-Identifier: ISC */
/*
 * kv_userfile: opening a user's authorized keys files as sshd would
 * (auth.c:expand_authorized_keys, auth.c:auth_openfile, misc.c:safe_path and,
 * on Debian, misc.c:secure_permissions).
 */
#ifndef KV_USERFILE_H
#define KV_USERFILE_H

#include <sys/types.h>

#include "kv_err.h"

#define KV_USERFILE_WHY_BYTES 512

/* The check that the local sshd makes on a user's files. */
enum kv_strictmodes {
	KV_STRICTMODES_YES = 0,	      /* upstream's: no group write at all */
	KV_STRICTMODES_PRIVATE_GROUP, /* Debian's: but by the own group */
	KV_STRICTMODES_NO,
};

/* The account whose files are read. */
struct kv_account {
	const char *name;
	uid_t uid;
	const char *home;
};

/*
 * Expands %h %u %U %% in an AuthorizedKeysFile pattern and puts the home
 * directory before a relative result. KV_ERR_CONFIG for another token,
 * KV_ERR_NO_SPACE when the path does not fit in cap bytes.
 */
KV_MUST_CHECK enum kv_err kv_userfile_expand(const char *pattern,
    const struct kv_account *account, char *path, size_t cap);

/*
 * The same for a path whose tokens sshd has expanded already: puts the home
 * directory before a relative one. KV_ERR_CONFIG for an empty path.
 */
KV_MUST_CHECK enum kv_err kv_userfile_place(const char *expanded,
    const struct kv_account *account, char *path, size_t cap);

/*
 * Opens path for reading as the running process (which should have become the
 * user) without ever waiting for a FIFO or a device. The file must be regular;
 * unless mode is KV_STRICTMODES_NO, it and each directory up to the home must
 * belong to root or the account and be writable by nobody else.
 *
 * On success *fdp is an open descriptor (close-on-exec). Else it is -1:
 * KV_ERR_SYSTEM (errno; ENOENT for a missing file), KV_ERR_NOT_REGULAR,
 * KV_ERR_INSECURE; why holds a sentence that names the place.
 */
KV_MUST_CHECK enum kv_err kv_userfile_open(const char *path,
    const struct kv_account *account, enum kv_strictmodes mode, int *fdp,
    char why[static KV_USERFILE_WHY_BYTES]);

#endif
