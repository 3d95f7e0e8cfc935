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

#include "host/program.h"
#include "tasks.h"

#define KEYGEN "/usr/bin/ssh-keygen"
/* The most of ssh-keygen's output that is kept. */
#define ANSWER_BYTES 512
#define SECONDS 600
/* Of a signature, and of a file of allowed signers. */
#define COPY_MAX_BYTES (16 * 1024 * 1024)

enum { DATA, SIGNATURE, ALLOWED, FILES };

/* What ssh-keygen and its libraries read or execute. */
static const char *const needed[] = {
	KEYGEN,
	"/lib",
	"/lib32",
	"/lib64",
	"/usr/lib",
	"/usr/lib32",
	"/usr/lib64",
	"/usr/local/lib",
	"/usr/share",
	"/dev/null",
	"/dev/random",
	"/dev/urandom",
	"/etc/crypto-policies",
	"/etc/gcrypt",
	"/etc/ld.so.cache",
	"/etc/ld.so.preload",
	"/etc/localtime",
	"/etc/nsswitch.conf",
	"/etc/passwd",
	"/etc/pki/tls/openssl.cnf",
	"/etc/selinux/config",
	"/etc/ssl/openssl.cnf",
	"/proc/filesystems",
	"/proc/sys/crypto",
};
static const char *const all[] = { "/", "/dev/null" };

/* errno of what failed before the walls, or 0. */
static int failed;
static bool is_plain;

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

	while (copy != -1 && n > 0 && at < COPY_MAX_BYTES)
		if ((n = sendfile(copy, fd, &at,
			 (size_t)(COPY_MAX_BYTES - at))) == -1 &&
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

/* Whether it is a program, and no script or link that leads elsewhere. */
static bool
is_program(const char *path)
{
	static const char magic[] = "\177ELF";
	char start[sizeof(magic)] = "";
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd == -1)
		return errno == ENOENT;
	(void)!read(fd, start, sizeof(magic) - 1);
	close(fd);
	return strcmp(start, magic) == 0;
}

unsigned int
task_keygen_enter(struct task_work *t, uint64_t memory)
{
	struct wall_kept kept = {
		.memory = memory,
		.path = needed,
		.n_paths = sizeof(needed) / sizeof(needed[0]),
		.executes = true,
	};
	unsigned int walls;

	for (int i = SIGNATURE; failed == 0 && i < FILES; i++)
		if ((t->fd[i] = copy_file(t->fd[i])) == -1)
			failed = errno;
	/*
	 * Who asks a directory server for the account needs sockets and files
	 * that nobody can list. So does a script.
	 */
	is_plain = has_account() && is_program(KEYGEN);
	if (!is_plain) {
		kept.path = all;
		kept.n_paths = sizeof(all) / sizeof(all[0]);
		kept.connects = true;
	}
	walls = wall_enter(&kept);
	return walls | wall_deny_calls(&kept);
}

/* Keeps the start of ssh-keygen's output, and drops the rest. */
static int
keep_start(const void *p, size_t len, void *arg)
{
	char *answer = arg;
	size_t have = strlen(answer);
	const size_t room = ANSWER_BYTES - 1 - have;

	memcpy(answer + have, p, len < room ? len : room);
	answer[have + (len < room ? len : room)] = '\0';
	return 0;
}

/* Returns 0, with ssh-keygen's status of waitpid(2), or an errno. */
static int
run_keygen(const struct task_work *t, const char *identity,
    const char *namespace, char answer[static ANSWER_BYTES], int *statusp)
{
	const char *const argv[] = { KEYGEN, "-Y", "verify", "-f",
		"/proc/self/fd/4", "-I", identity, "-n", namespace, "-s",
		"/proc/self/fd/3", NULL };
	struct program keygen = {
		.argv = argv,
		.dies_with_us = true,
		.no_new_privs = true,
		.before_exec = is_plain ? wall_deny_processes : NULL,
	};
	struct program_process process;
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC) == -1)
		return errno;
	program_fds(&keygen, t->fd[DATA], ends[1], ends[1]);
	keygen.fd[3] = t->fd[SIGNATURE];
	keygen.fd[4] = t->fd[ALLOWED];
	error = program_start(&keygen, &process) ? 0 : errno;
	close(ends[1]);
	if (error == 0) {
		error = program_read(ends[0], SECONDS, keep_start, answer);
		if (error != 0)
			program_kill(&process);
		else
			error = program_wait(&process, statusp);
		/* The first line says most. */
		answer[strcspn(answer, "\r\n")] = '\0';
	}
	close(ends[0]);
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
