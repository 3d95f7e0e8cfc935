/* SPDX-License-Identifier: ISC */
/* proof/whole: reads a whole file into memory, also gzip, xz and UTF-16. */
#ifndef CLI_PROOF_WHOLE_H
#define CLI_PROOF_WHOLE_H

#include <stddef.h>
#include <stdint.h>

/* The longest text, when unpacked: some hundred thousand proofs. */
#define WHOLE_MAX_MIB 64

/*
 * Reads fd to its end. Returns the text in it for the caller to free, and its
 * length; NULL with a reason. If the text is too long, errno is EFBIG then.
 */
uint8_t *whole_read(int fd, size_t *lenp, const char **whyp);

#endif
