/* SPDX-License-Identifier: ISC */
#include "update/signature.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "host/child.h"

/* The numbers that the files have in the child. */
enum { FD_SIGNATURE = 3, FD_ALLOWED = 4, FD_COUNT };

/* The status of a child that could not become ssh-keygen; that has others. */
#define NOT_RUN 127

/* What ssh-keygen is to say, cut to fit. */
#define ANSWER_BYTES 512

/* A file of the same content, at its start, under a number out of the way. */
static int
reopen(int fd)
{
	char path[64];
	int again, high;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if ((again = open(path, O_RDONLY)) == -1)
		return -1;
	high = fcntl(again, F_DUPFD, FD_COUNT);
	close(again);
	return high;
}

/* Never returns. What it holds open is what it needs. */
static void
be_keygen(int data, int signature, int allowed, int answer,
    const char *identity)
{
	char *argv[] = { "ssh-keygen", "-Y", "verify", "-f", "/proc/self/fd/4",
		"-I", NULL, "-n", SIGNATURE_NAMESPACE, "-s", "/proc/self/fd/3",
		NULL };
	char *envp[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };

	argv[6] = strdup(identity);
	data = reopen(data);
	signature = reopen(signature);
	allowed = reopen(allowed);
	answer = fcntl(answer, F_DUPFD, FD_COUNT);
	if (argv[6] == NULL || data == -1 || signature == -1 ||
	    allowed == -1 || answer == -1 ||
	    dup2(data, STDIN_FILENO) == -1 ||
	    dup2(answer, STDOUT_FILENO) == -1 ||
	    dup2(answer, STDERR_FILENO) == -1 ||
	    dup2(signature, FD_SIGNATURE) == -1 ||
	    dup2(allowed, FD_ALLOWED) == -1 ||
	    close_range(FD_COUNT, ~0U, 0) == -1)
		_exit(NOT_RUN);
	signal(SIGPIPE, SIG_DFL);
	child_die_with_parent();
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	execve(SIGNATURE_KEYGEN_PATH, argv, envp);
	_exit(NOT_RUN);
}

/* All that comes is read, its start kept. */
static void
read_answer(int fd, char answer[static ANSWER_BYTES])
{
	char rest[256] = "";
	size_t len = 0;
	ssize_t n;

	do {
		bool full = len == ANSWER_BYTES - 1;

		n = read(fd, full ? rest : answer + len,
		    full ? sizeof(rest) : ANSWER_BYTES - 1 - len);
		if (n > 0 && !full)
			len += (size_t)n;
	} while (n > 0 || (n == -1 && errno == EINTR));
	answer[len] = '\0';
	/* Of several lines the first says most. */
	answer[strcspn(answer, "\r\n")] = '\0';
}

/* The status of ssh-keygen, as waitpid(2) gives it; -1 with errno. */
static int
ask_keygen(int data, int signature, int allowed, const char *identity,
    char answer[static ANSWER_BYTES])
{
	int ends[2], status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) == -1)
		return -1;
	if ((pid = fork()) == 0)
		be_keygen(data, signature, allowed, ends[1], identity);
	close(ends[1]);
	if (pid != -1) {
		read_answer(ends[0], answer);
		while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
			;
	}
	close(ends[0]);
	return status;
}

/* The bytes as a file that has no name. */
static int
make_file(const void *p, size_t len)
{
	int fd = memfd_create("signature", MFD_CLOEXEC);
	ssize_t n = fd != -1 ? write(fd, p, len) : -1;

	if (n != -1 && (size_t)n == len)
		return fd;
	if (fd != -1)
		close(fd);
	return -1;
}

static bool
judge(int status, const char *answer, const char *identity, const char *shown)
{
	if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (status == -1)
		cli_error("%s: %s cannot be run: %s", shown,
		    SIGNATURE_KEYGEN_PATH, strerror(errno));
	else if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_RUN)
		cli_error("%s: %s cannot be run; install openssh-client",
		    shown, SIGNATURE_KEYGEN_PATH);
	else if (WIFSIGNALED(status))
		cli_error("%s: %s was ended by signal %d; run this again",
		    shown, SIGNATURE_KEYGEN_PATH, WTERMSIG(status));
	else
		cli_error("%s: no good signature by %s for this filter "
		    "(ssh-keygen: %s); if the publisher has a new key, put it "
		    "into AllowedSigners", shown, identity, answer);
	return false;
}

bool
signature_verify(int fd, const void *signature, size_t len,
    int allowed_signers, const char *identity, const char *shown)
{
	char answer[ANSWER_BYTES] = "";
	int file = make_file(signature, len);
	int status = file != -1 ? ask_keygen(fd, file, allowed_signers,
	    identity, answer) : -1;
	bool ok = judge(status, answer, identity, shown);

	if (file != -1)
		close(file);
	return ok;
}
