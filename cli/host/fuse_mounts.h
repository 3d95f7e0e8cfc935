/* SPDX-License-Identifier: ISC */
/*
 * host/fuse_mounts: the file systems in user space (FUSE) that an account has
 * mounted itself, as fusermount lets it.
 */
#ifndef CLI_HOST_FUSE_MOUNTS_H
#define CLI_HOST_FUSE_MOUNTS_H

#include "host/accounts.h"

#define FUSE_MOUNTS_REMEDY_BYTES 1024

/*
 * Sets remedy to the command that takes such file systems of the account away:
 * "umount -l PLACE...", quoted for a shell, as the account chose the names.
 * Those at or below its home; if there are none there, its others. "" if there
 * are none, if they are not known, and for root.
 */
void fuse_mounts_remedy(const struct account *account,
    char remedy[static FUSE_MOUNTS_REMEDY_BYTES]);

#endif
