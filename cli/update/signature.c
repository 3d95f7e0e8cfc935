/* SPDX-License-Identifier: ISC */
/* Whether a file has a good signature, by ssh-keygen and AllowedSigners. */
#include "update/update.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/program.h"
#include "base/io.h"

#define SIGNATURE_KEYGEN_PATH "/usr/bin/ssh-keygen"
#define SIGNATURE_MAX_BYTES (64 * 1024)
/* The most of ssh-keygen's output that is kept. */
#define ANSWER_BYTES 512
#define SECONDS 600

/* Opens the same file again, with an offset of its own. */
static int
reopen_at_start(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
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
run_keygen(int data, int signature, int allowed, const char *identity,
    const char *namespace, char answer[static ANSWER_BYTES], int *statusp)
{
	const char *const argv[] = { SIGNATURE_KEYGEN_PATH, "-Y", "verify",
		"-f", "/proc/self/fd/4", "-I", identity, "-n", namespace, "-s",
		"/proc/self/fd/3", NULL };
	struct program keygen = {
		.argv = argv,
		.dies_with_us = true,
		.no_new_privs = true,
	};
	struct program_process process;
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC) == -1)
		return errno;
	program_fds(&keygen, reopen_at_start(data), ends[1], ends[1]);
	keygen.fd[3] = reopen_at_start(signature);
	keygen.fd[4] = reopen_at_start(allowed);
	error = keygen.fd[0] == -1 || keygen.fd[3] == -1 ||
		keygen.fd[4] == -1 || !program_start(&keygen, &process) ?
	    errno :
	    0;
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
	close(keygen.fd[0]);
	close(keygen.fd[3]);
	close(keygen.fd[4]);
	return error;
}

bool
update_signature_verify(const struct update_source *s, int fd,
    const char *namespace, const char *what, const char *shown,
    const struct fetch_memory *signature)
{
	const char *identity = s->settings.identity;
	char answer[ANSWER_BYTES] = "";
	int file = memfd_create("signature", MFD_CLOEXEC), status = 0, error;

	error = file == -1 ||
		!io_write(file, signature->bytes, signature->len) ?
	    errno :
	    run_keygen(fd, file, s->signers, identity, namespace, answer,
		&status);
	if (file != -1)
		close(file);
	if (error == ENOENT)
		cli_error("%s: %s cannot be run; install openssh-client", shown,
		    SIGNATURE_KEYGEN_PATH);
	else if (error != 0)
		cli_error("%s: %s cannot be run: %s", shown,
		    SIGNATURE_KEYGEN_PATH, strerror(error));
	else if (WIFSIGNALED(status))
		cli_error("%s: %s was ended by signal %d; run this again",
		    shown, SIGNATURE_KEYGEN_PATH, WTERMSIG(status));
	else if (status != 0)
		cli_error(
		    "%s: no good signature by %s for this %s "
		    "(ssh-keygen: %s); if the publisher has a new key, put it "
		    "into AllowedSigners",
		    shown, identity, what, answer);
	return error == 0 && status == 0;
}

bool
update_signature_check(struct update *u, int fd, const char *namespace)
{
	struct fetch_memory signature = { NULL, 0 };
	bool ok;

	if (u->source.signers == -1)
		return true;
	if (!fetch_to_memory(&u->source.signature, &u->source.limits,
		&u->progress, SIGNATURE_MAX_BYTES,
		"too long for a signature; correct SignatureURL", &signature)) {
		cli_error("%s: has no signature that could be checked, and "
			  "AllowedSigners asks for one",
		    u->source.from.shown);
		ok = false;
	} else {
		/* If the signature is bad, the part must not be resumed. */
		u->keep_part = false;
		ok = update_signature_verify(&u->source, fd, namespace,
		    u->kind->what, u->source.signature.shown, &signature);
	}
	free(signature.bytes);
	return ok;
}
