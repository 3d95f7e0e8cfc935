/* SPDX-License-Identifier: ISC */
/*
 * kv_trusted: opening the administrator's own files (configuration, filters,
 * a chained command) so that nobody but root can have changed what is read.
 */
#ifndef KV_TRUSTED_H
#define KV_TRUSTED_H

#include <sys/types.h>

#include "kv_err.h"

#define KV_TRUSTED_WHY_BYTES 512

/*
 * Opens an absolute path read-only (close-on-exec) and sets *fdp. The path is
 * walked directory by directory, each judged through its descriptor before
 * anything in it is used, so there is no moment between check and use:
 *   - each directory belongs to root or owner and is not writable by group or
 *     others, unless it is sticky;
 *   - symbolic links belong to root or owner, and are followed by the same
 *     rules;
 *   - the file is regular, belongs to root or owner, and is not writable by
 *     group or others.
 * owner is 0 everywhere but in tests that run without root.
 *
 * KV_ERR_INSECURE, KV_ERR_NOT_REGULAR, or KV_ERR_SYSTEM (errno); *fdp is -1
 * then, and why holds a sentence that names the offending place.
 */
KV_MUST_CHECK enum kv_err kv_trusted_open(const char *path, uid_t owner,
    int *fdp, char why[static KV_TRUSTED_WHY_BYTES]);

/*
 * The same judgement of a file that is to be executed, and need not be
 * readable; nothing stays open.
 */
KV_MUST_CHECK enum kv_err kv_trusted_check(const char *path, uid_t owner,
    char why[static KV_TRUSTED_WHY_BYTES]);

#endif
