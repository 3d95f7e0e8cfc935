/* SPDX-License-Identifier: ISC */
/*
 * kv_trusted: opens the administrator's own files (configuration, filters, a
 * chained command), and refuses those that anybody but root could have changed.
 */
#ifndef KV_TRUSTED_H
#define KV_TRUSTED_H

#include <sys/types.h>

#include "kv_err.h"

#define KV_TRUSTED_WHY_BYTES 512

/*
 * Opens an absolute path read-only (close-on-exec) and sets *fdp, which the
 * caller closes. The walk judges each directory through its descriptor before
 * it uses anything in it, so nothing can change between check and use:
 * - each directory belongs to root or owner and is not writable by group or
 *   others, unless it is sticky;
 * - a symbolic link belongs to root or owner, and the walk follows it by the
 *   same rules;
 * - the file is regular, belongs to root or owner, and is not writable by
 *   group or others.
 * owner is 0 everywhere but in tests that run without root.
 *
 * Errors: KV_ERR_INSECURE, KV_ERR_NOT_REGULAR, KV_ERR_SYSTEM (errno). *fdp is
 * -1 then, and why holds a sentence that names the offending place.
 */
KV_MUST_CHECK enum kv_err kv_trusted_open(const char *path, uid_t owner,
    int *fdp, char why[static KV_TRUSTED_WHY_BYTES]);

/*
 * Judges a file that is to be executed by the same rules. The file need not be
 * readable. Nothing stays open.
 */
KV_MUST_CHECK enum kv_err kv_trusted_check(const char *path, uid_t owner,
    char why[static KV_TRUSTED_WHY_BYTES]);

#endif
