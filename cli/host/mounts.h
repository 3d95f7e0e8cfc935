/* SPDX-License-Identifier: ISC */
/*
 * host/mounts: file systems of this machine that should be mounted and are not.
 * A file that is not there may be on one of them.
 */
#ifndef CLI_HOST_MOUNTS_H
#define CLI_HOST_MOUNTS_H

#include "base/texts.h"

/* All zeroes: none. */
struct mounts {
	struct texts missing; /* mount points of /etc/fstab */
	bool autofs;	      /* an autofs is mounted */
};

/*
 * Reads /etc/fstab and /proc/self/mounts. What cannot be read has no mounts.
 * Always call mounts_free.
 */
void mounts_read(struct mounts *m);
void mounts_free(struct mounts *m);

/*
 * The mount point of /etc/fstab at or above path where nothing is mounted; NULL
 * if there is none. path need not exist.
 */
const char *mounts_missing(const struct mounts *m, const char *path);

/*
 * Whether path is below an autofs that has mounted nothing for it, or could
 * not.
 */
bool mounts_awaits(const struct mounts *m, const char *path);

#endif
