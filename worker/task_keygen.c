/* SPDX-License-Identifier: ISC */
/* The task "keygen": whether a file has a good signature, by ssh-keygen. */
#include <sys/mman.h>
#include <sys/sendfile.h>

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system.h"
#include "tasks.h"

#define KEYGEN "/usr/bin/ssh-keygen"
/* The most of ssh-keygen's output that is kept. */
#define ANSWER_BYTES 512
#define SECONDS 600

enum { DATA, SIGNATURE, ALLOWED, FILES };

/* errno of what failed before the walls, or 0. */
static int failed;

/*
 * Copies a file into memory, where the account of the walls may open it by its
 * number. -1 with errno.
 */
static int
copy_file(int fd)
{
	const int copy = memfd_create("file", MFD_CLOEXEC);
	off_t at = 0;
	ssize_t n = 1;

	while (copy != -1 && n > 0 && at < WORKING_COPY_BYTES)
		if ((n = sendfile(copy, fd, &at,
			 (size_t)(WORKING_COPY_BYTES - at))) == -1 &&
		    errno == EINTR)
			n = 1;
	if (copy != -1 && n == -1) {
		const int error = errno;

		close(copy);
		errno = error;
		return -1;
	}
	return copy;
}

/* Whether /etc/passwd has the account of an ordinary user. */
static bool
has_account(void)
{
	FILE *f = geteuid() != 0 ? fopen("/etc/passwd", "re") : NULL;
	const struct passwd *pw = NULL;
	bool has;

	while (f != NULL && (pw = fgetpwent(f)) != NULL)
		if (pw->pw_uid == geteuid())
			break;
	has = geteuid() == 0 || pw != NULL;
	if (f != NULL)
		fclose(f);
	return has;
}

unsigned int
task_keygen_enter(struct task_work *t, uint64_t memory)
{
	for (int i = SIGNATURE; failed == 0 && i < FILES; i++)
		if ((t->fd[i] = copy_file(t->fd[i])) == -1)
			failed = errno;
	/*
	 * Who asks a directory server for the account needs sockets and files
	 * that nobody can list.
	 */
	return system_enter(&(struct system){
	    .program = KEYGEN,
	    .has_more = !has_account(),
	    .memory = memory,
	});
}

/* Returns 0, with ssh-keygen's status of waitpid(2), or an errno. */
static int
run_keygen(const struct task_work *t, const char *identity,
    const char *namespace, char answer[static ANSWER_BYTES], int *statusp)
{
	const char *const argv[] = { KEYGEN, "-Y", "verify", "-f",
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
