/* SPDX-License-Identifier: ISC */
/* accounts/revoked: whether sshd refuses a key by its RevokedKeys. */
#ifndef CLI_ACCOUNTS_REVOKED_H
#define CLI_ACCOUNTS_REVOKED_H

#include "kv_sshkey.h"
#include "sshd_config/sshd_config.h"

/* Whether settings have a RevokedKeys. settings may be NULL: no. */
bool revoked_any(const struct sshd_settings *settings);

/*
 * Whether the RevokedKeys of settings has the plain key in this blob. A file
 * that cannot be read has every key, as for sshd. doubt is the answer where
 * sshd's is not known. keyveto-worker reads the file, which takes some
 * milliseconds.
 */
bool revoked_has(const struct sshd_settings *settings, struct kv_span blob,
    bool doubt);

#endif
