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
#include "tasks/keygen.h"

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

/* Prints why ssh-keygen failed; said is what it said about it, or "". */
static void
report_failure(const char *key, int error, const char *said)
{
	if (error == ENOENT)
		cli_error("%s cannot be run; install openssh-client",
		    KEYGEN_PATH);
	else if (error != 0)
		cli_error("%s cannot be run: %s", KEYGEN_PATH, strerror(error));
	else
		cli_error("%s: the index cannot be signed with it%s%s%s; name "
			  "a private key, or a public one whose private half "
			  "the agent has",
		    key, *said != '\0' ? " (ssh-keygen: " : "", said,
		    *said != '\0' ? ")" : "");
}

/*
 * Has ssh-keygen sign what in holds, and reads what it prints. False after a
 * message.
 */
static bool
run_keygen(const char *key, int in, struct answer *answer)
{
	const char *const argv[] = { KEYGEN_PATH, "-q", "-Y", "sign", "-f", key,
		"-n", INDEX_NAMESPACE, NULL };
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
		io_close(errors);
		return false;
	}
	program_fds(&keygen, in, ends[1],
	    errors != -1 ? errors : STDERR_FILENO);
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
	io_close(errors);
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
	io_close(fd);
	return -1;
}

/*
 * Whether the signature of what text holds is good. Writes who made it, or what
 * ssh-keygen says instead. False without a message, but for one about a worker.
 */
static bool
find_signer(const char *shown, int text, int signature,
    char who[static SIGN_KEY_BYTES])
{
	struct keygen_said said;
	char why[WALL_WHY_BYTES] = "";
	bool good = tasks_find_signer(text, signature, INDEX_NAMESPACE, &said,
	    why);

	if (!good)
		cli_error("%s: its signature cannot be verified: %s", shown,
		    why);
	good = good && said.error == 0 && said.status == 0 &&
	    strncmp(said.answer, GOOD_SIGNATURE, strlen(GOOD_SIGNATURE)) == 0;
	snprintf(who, SIGN_KEY_BYTES, "%.200s",
	    said.answer + (good ? strlen(GOOD_SIGNATURE) : 0));
	return good;
}

/* As a follower will. False after a message. */
static bool
verify(const char *key, int text, struct sign_result *r)
{
	const int signature = in_memory(r->text, r->len);
	bool ok = signature != -1;

	if (ok && !find_signer(key, text, signature, r->key)) {
		cli_error("%s: ssh-keygen does not verify the signature that "
			  "it made: %s",
		    key, r->key);
		ok = false;
	}
	io_close(signature);
	return ok;
}

bool
sign_index(const char *key, const char *text, size_t len, struct sign_result *r)
{
	struct answer answer = { .text = r->text, .cap = sizeof(r->text) - 1 };
	int fd = in_memory(text, len);
	bool ok = fd != -1 && run_keygen(key, fd, &answer);

	r->len = answer.len;
	ok = ok && verify(key, fd, r);
	io_close(fd);
	return ok;
}

bool
sign_was_by(const char *key, const char *shown, int text, int signature)
{
	char who[SIGN_KEY_BYTES];

	return find_signer(shown, text, signature, who) &&
	    strcmp(who, key) == 0;
}
