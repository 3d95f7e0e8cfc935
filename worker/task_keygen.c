/* SPDX-License-Identifier: ISC */
/*
 * The tasks "keygen" and "signer": whether a file has a good signature, and by
 * whom, by ssh-keygen. cli/tasks/keygen.h wants them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "system.h"
#include "tasks/keygen.h"
#include "tasks.h"

#define SECONDS 600

/* errno of what failed before the walls, or 0. */
static int failed;

unsigned int
task_keygen_enter(struct task_work *t, uint64_t memory)
{
	for (size_t i = 1; failed == 0 && i < t->n_fds; i++)
		if ((t->fd[i] = system_copy(t->fd[i], WORKING_COPY_BYTES)) ==
		    -1)
			failed = errno;
	return system_enter(&(struct system){
	    .program = KEYGEN_PATH,
	    .has_more = !system_has_account(),
	    .memory = memory,
	});
}

/*
 * Runs ssh-keygen with the n files as its descriptors 0, 3 and 4. Returns 0, with
 * its status of waitpid(2), or an errno.
 */
static int
run_keygen(const char *const *argv, const int *fd, size_t n,
    char answer[static KEYGEN_ANSWER_BYTES], int *statusp)
{
	struct program keygen = { .argv = argv };
	int error;

	program_fds(&keygen, fd[0], SYSTEM_PIPE, SYSTEM_PIPE);
	for (size_t i = 1; i < n; i++)
		keygen.fd[2 + i] = fd[i];
	error = system_run(&keygen, SECONDS, answer, KEYGEN_ANSWER_BYTES,
	    statusp);
	/* The first line says most. */
	answer[strcspn(answer, "\r\n")] = '\0';
	return error;
}

/* Runs ssh-keygen, and tells what it says. */
static bool
tell_answer(const char *const *argv, const int *fd, size_t n)
{
	char answer[KEYGEN_ANSWER_BYTES] = "";
	int error = failed, status = 0;

	if (error == 0)
		error = run_keygen(argv, fd, n, answer, &status);
	return task_tell(R_VALUE(error), R_VALUE(status), R_TEXT(answer));
}

static char identity[WORKING_TEXT_BYTES], namespace[WORKING_TEXT_BYTES];

/* Takes the identity and the namespace. */
bool
task_keygen(struct task_work *t)
{
	const char *const argv[] = { KEYGEN_PATH, "-Y", "verify", "-f",
		"/proc/self/fd/4", "-I", identity, "-n", namespace, "-s",
		"/proc/self/fd/3", NULL };

	return record_get(&t->args, R_TEXT(identity), R_TEXT(namespace)) &&
	    tell_answer(argv, t->fd, t->n_fds);
}

/* Takes the namespace. Whoever has signed, the answer names the key. */
bool
task_signer(struct task_work *t)
{
	const char *const argv[] = { KEYGEN_PATH, "-Y", "check-novalidate",
		"-n", namespace, "-s", "/proc/self/fd/3", NULL };

	return record_get(&t->args, R_TEXT(namespace)) &&
	    tell_answer(argv, t->fd, t->n_fds);
}
