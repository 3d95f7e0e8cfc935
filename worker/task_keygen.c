/* SPDX-License-Identifier: ISC */
/* The task "keygen": whether a file has a good signature, by ssh-keygen. */
#include <errno.h>
#include <string.h>

#include "system.h"
#include "tasks.h"

/* The most of ssh-keygen's output that is kept. */
#define ANSWER_BYTES 512
#define SECONDS 600

enum { DATA, SIGNATURE, ALLOWED, FILES };

/* errno of what failed before the walls, or 0. */
static int failed;

unsigned int
task_keygen_enter(struct task_work *t, uint64_t memory)
{
	for (int i = SIGNATURE; failed == 0 && i < FILES; i++)
		if ((t->fd[i] = system_copy(t->fd[i], WORKING_COPY_BYTES)) ==
		    -1)
			failed = errno;
	return system_enter(&(struct system){
	    .program = SYSTEM_KEYGEN,
	    .has_more = !system_has_account(),
	    .memory = memory,
	});
}

/* Returns 0, with ssh-keygen's status of waitpid(2), or an errno. */
static int
run_keygen(const struct task_work *t, const char *identity,
    const char *namespace, char answer[static ANSWER_BYTES], int *statusp)
{
	const char *const argv[] = { SYSTEM_KEYGEN, "-Y", "verify", "-f",
		"/proc/self/fd/4", "-I", identity, "-n", namespace, "-s",
		"/proc/self/fd/3", NULL };
	struct program keygen = { .argv = argv };
	int error;

	program_fds(&keygen, t->fd[DATA], SYSTEM_PIPE, SYSTEM_PIPE);
	keygen.fd[3] = t->fd[SIGNATURE];
	keygen.fd[4] = t->fd[ALLOWED];
	error = system_run(&keygen, SECONDS, answer, ANSWER_BYTES, statusp);
	/* The first line says most. */
	answer[strcspn(answer, "\r\n")] = '\0';
	return error;
}

/* Takes the identity and the namespace. */
bool
task_keygen(struct task_work *t)
{
	static char identity[WORKING_TEXT_BYTES], namespace[WORKING_TEXT_BYTES];
	char answer[ANSWER_BYTES] = "";
	struct record_out *o;
	int error = failed, status = 0;

	if (!record_get_text(&t->args, identity, sizeof(identity)) ||
	    !record_get_text(&t->args, namespace, sizeof(namespace)))
		return false;
	if (error == 0)
		error = run_keygen(t, identity, namespace, answer, &status);
	o = task_result();
	record_add_number(o, (uint64_t)error);
	record_add_number(o, (uint64_t)status);
	record_add_text(o, answer);
	ask_tell();
	return true;
}
