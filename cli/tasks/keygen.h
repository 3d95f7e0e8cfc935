/* SPDX-License-Identifier: ISC */
/*
 * tasks/keygen: has ssh-keygen, behind the wall, look at a signature. What it
 * answers may be a lie of who wrote that.
 */
#ifndef CLI_TASKS_KEYGEN_H
#define CLI_TASKS_KEYGEN_H

#include "wall/wall.h"

/* The most of ssh-keygen's output that is kept. */
#define KEYGEN_ANSWER_BYTES 512
#define KEYGEN_PATH "/usr/bin/ssh-keygen"

struct keygen_said {
	int error;  /* errno, if ssh-keygen did not run */
	int status; /* its status of waitpid(2) */
	char answer[KEYGEN_ANSWER_BYTES];
};

/*
 * Verifies the signature of all that data holds, by identity of the file of
 * signers. False with a sentence about the worker.
 */
bool tasks_verify(int data, int signature, int signers, const char *identity,
    const char *namespace, struct keygen_said *said,
    char why[static WALL_WHY_BYTES]);

/* The same, by whom it may be: said->answer names the key. */
bool tasks_find_signer(int data, int signature, const char *namespace,
    struct keygen_said *said, char why[static WALL_WHY_BYTES]);

#endif
