/* SPDX-License-Identifier: ISC */
/*
 * host/program: runs a program as sshd runs its commands (misc.c:subprocess):
 * as an account, with five environment variables, standard input and error from
 * and to /dev/null.
 */
#ifndef CLI_HOST_PROGRAM_H
#define CLI_HOST_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "host/accounts.h"

#define PROGRAM_DIGEST_BYTES 32

struct program_output {
	uint8_t digest[PROGRAM_DIGEST_BYTES];	/* SHA-256 of standard output */
	uint64_t len;		/* of it, in bytes */
	int status;		/* as waitpid(2) has it */
};

/*
 * Runs argv[0], whose path is absolute, as an account, and reads all that it
 * prints. It is killed when timeout seconds have passed. False with a sentence
 * in why if it did not run to its end.
 */
bool program_run(char *const *argv, const struct account *as,
    unsigned int timeout, struct program_output *out, char *why, size_t cap);

#endif
