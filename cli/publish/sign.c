/* SPDX-License-Identifier: ISC */
#include "publish/sign.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "host/memory.h"
#include "host/program.h"
#include "published/index.h"

#define KEYGEN "/usr/bin/ssh-keygen"
/* A person may have to find a token, or remember a passphrase. */
#define SECONDS 600
#define SAID_BYTES 1024
#define GOOD_SIGNATURE "Good \"" INDEX_NAMESPACE "\" signature with "

/* What ssh-keygen prints: at most cap bytes of it, and a NUL. */
struct answer {
	char *text;
	size_t len, cap;
};

static int
take(const void *p, size_t len, void *arg)
{
	struct answer *a = arg;

	if (len > a->cap - a->len)
		return EFBIG;
	memcpy(a->text + a->len, p, len);
	a->len += len;
	a->text[a->len] = '\0';
	return 0;
}

/* The first line of what is in a file in memory; "" if there is nothing. */
static void
first_line(int fd, char line[static SAID_BYTES])
{
	ssize_t len = fd == -1 ? -1 : pread(fd, line, SAID_BYTES - 1, 0);

	line[len > 0 ? len : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
}

/*
 * Prints why ssh-keygen failed; said is what it said about it, or "". Without a
 * key, it may fail.
 */
static void
report_failure(const char *key, int error, const char *said)
{
	if (key == NULL && error == 0)
		return;
	if (error == ENOENT)
		cli_error("%s cannot be run; install openssh-client", KEYGEN);
	else if (error != 0)
		cli_error("%s cannot be run: %s", KEYGEN, strerror(error));
	else
		cli_error("%s: the index cannot be signed with it%s%s%s; name "
			  "a private key, or a public one whose private half "
			  "the agent has",
		    key, *said != '\0' ? " (ssh-keygen: " : "", said,
		    *said != '\0' ? ")" : "");
}

/*
 * Runs ssh-keygen with its standard input and descriptor 3, and reads what it
 * prints. False after a message.
 */
static bool
run_keygen(const char *key, const char *const *argv, int in, int third,
    struct answer *answer)
{
	struct program keygen = {
		.argv = argv,
		/* For the agent, and for whatever asks for a passphrase. */
		.env = environ,
		.dies_with_us = true,
		.no_new_privs = true,
	};
	struct program_process process;
	char said[SAID_BYTES];
	int ends[2], status = 0, error, errors = -1;

	/* A person sees at once that a token wants to be touched. */
	if (isatty(STDERR_FILENO) != 1)
		errors = memory_file("errors");
	if (pipe2(ends, O_CLOEXEC) == -1) {
		report_failure(key, errno, "");
		if (errors != -1)
			close(errors);
		return false;
	}
	program_fds(&keygen, in, ends[1],
	    errors != -1 ? errors : STDERR_FILENO);
	keygen.fd[3] = third;
	error = program_start(&keygen, &process) ? 0 : errno;
	close(ends[1]);
	if (error == 0) {
		error = program_read(ends[0], SECONDS, take, answer);
		if (error != 0)
			program_kill(&process);
		else
			error = program_wait(&process, &status);
	}
	close(ends[0]);
	first_line(errors, said);
	if (errors != -1)
		close(errors);
	if (error != 0 || status != 0)
		report_failure(key, error, said);
	return error == 0 && status == 0;
}

/* A file in memory with these bytes, at its start. -1 after a message. */
static int
in_memory(const char *text, size_t len)
{
	int fd = memory_file("index");

	if (fd != -1 && io_write_at(fd, text, len, 0))
		return fd;
	(void)cli_failed("index", "cannot be signed");
	if (fd != -1)
		close(fd);
	return -1;
}

static bool
rewind_file(int fd)
{
	return lseek(fd, 0, SEEK_SET) == 0 ||
	    cli_failed("index", "cannot be signed");
}

/*
 * Verifies the signature of what text holds, and writes who made it. False
 * after a message, of which there is none without a key if it is not good.
 */
static bool
verify(const char *key, int text, const char *bytes, size_t len,
    char who[static SIGN_KEY_BYTES])
{
	static const char *const argv[] = { KEYGEN, "-Y", "check-novalidate",
		"-n", INDEX_NAMESPACE, "-s", "/proc/self/fd/3", NULL };
	char said[SAID_BYTES] = "";
	struct answer answer = { .text = said, .cap = sizeof(said) - 1 };
	int signature = in_memory(bytes, len);
	bool ok = signature != -1 && rewind_file(text) &&
	    run_keygen(key, argv, text, signature, &answer);

	if (signature != -1)
		close(signature);
	if (!ok)
		return false;
	said[strcspn(said, "\r\n")] = '\0';
	if (strncmp(said, GOOD_SIGNATURE, strlen(GOOD_SIGNATURE)) != 0) {
		if (key != NULL)
			cli_error("%s: ssh-keygen does not verify the "
				  "signature that it made: %s",
			    key, said);
		return false;
	}
	snprintf(who, SIGN_KEY_BYTES, "%.200s", said + strlen(GOOD_SIGNATURE));
	return true;
}

bool
sign_index(const char *key, const char *text, size_t len, struct sign_result *r)
{
	const char *const argv[] = { KEYGEN, "-q", "-Y", "sign", "-f", key,
		"-n", INDEX_NAMESPACE, NULL };
	struct answer answer = { .text = r->text, .cap = sizeof(r->text) - 1 };
	int fd = in_memory(text, len);
	bool ok = fd != -1 && rewind_file(fd) &&
	    run_keygen(key, argv, fd, PROGRAM_NULL, &answer);

	r->len = answer.len;
	/* As a follower will. */
	ok = ok && verify(key, fd, r->text, r->len, r->key);
	if (fd != -1)
		close(fd);
	return ok;
}

bool
sign_was_by(const char *key, const char *text, size_t len,
    const char *signature, size_t signature_len)
{
	char who[SIGN_KEY_BYTES];
	int fd = in_memory(text, len);
	bool ok = fd != -1 && verify(NULL, fd, signature, signature_len, who) &&
	    strcmp(who, key) == 0;

	if (fd != -1)
		close(fd);
	return ok;
}
