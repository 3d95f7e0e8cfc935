/* SPDX-License-Identifier: ISC */
/*
 * The task "keygen": whether a file has a good signature, by ssh-keygen.
 * cli/update/signature.c wants it.
 */
#include <errno.h>
#include <string.h>

#include "system.h"
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

/* Takes the identity and the namespace; the files are ssh-keygen's 0, 3 and 4. */
bool
task_keygen(struct task_work *t)
{
	static char identity[WORKING_TEXT_BYTES], namespace[WORKING_TEXT_BYTES];
	const char *const argv[] = { KEYGEN_PATH, "-Y", "verify", "-f",
		"/proc/self/fd/4", "-I", identity, "-n", namespace, "-s",
		"/proc/self/fd/3", NULL };
	struct program keygen = { .argv = argv };
	char answer[KEYGEN_ANSWER_BYTES] = "";
	int error = failed, status = 0;

	if (!record_get(&t->args, R_TEXT(identity), R_TEXT(namespace)))
		return false;
	program_fds(&keygen, t->fd[0], SYSTEM_PIPE, SYSTEM_PIPE);
	for (size_t i = 1; i < t->n_fds; i++)
		keygen.fd[2 + i] = t->fd[i];
	if (error == 0)
		error = system_run(&keygen, SECONDS, answer, sizeof(answer),
		    &status);
	/* The first line says most. */
	answer[strcspn(answer, "\r\n")] = '\0';
	return task_tell(R_VALUE(error), R_VALUE(status), R_TEXT(answer));
}
