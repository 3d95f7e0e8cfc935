/* SPDX-License-Identifier: ISC */
/* userfiles: what the guard does with an account's authorized keys files. */
#ifndef GUARD_USERFILES_H
#define GUARD_USERFILES_H

#include "kv_log.h"

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
bool userfiles_print(const struct kv_config *config,
    const struct kv_account *account, int out, userfiles_refused refused,
    void *arg);

/*
 * Whether the account lists the offered key: as a plain key, or its CA on a
 * cert-authority line. Only for the log; unknown where a file could not be
 * opened, searched for or read, or a line was too long, and no other line lists
 * the key.
 */
enum kv_authorized userfiles_list_key(const struct kv_config *config,
    const struct kv_account *account, const struct kv_sshkey *offered);

#endif
