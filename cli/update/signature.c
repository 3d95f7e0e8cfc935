/* SPDX-License-Identifier: ISC */
/* Whether a file has a good signature, by ssh-keygen and AllowedSigners. */
#include "update/update.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "update/text.h"
#include "working/working.h"

#define SIGNATURE_KEYGEN_PATH "/usr/bin/ssh-keygen"
#define SIGNATURE_MAX_BYTES (64 * 1024)
/* The most of ssh-keygen's output that is kept. */
#define ANSWER_BYTES 512

/* Opens the same file again, with an offset of its own. */
static int
reopen_at_start(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* What the task "keygen" answers. */
struct verified {
	bool done;
	uint64_t error;	 /* errno, if ssh-keygen did not run */
	uint64_t status; /* its status of waitpid(2) */
	char answer[ANSWER_BYTES];
};

static bool
receive_verified(struct kv_bytes b, void *arg)
{
	struct verified *v = arg;

	v->done = !v->done && record_get_number(&b, &v->error) == KV_OK &&
	    v->error <= INT_MAX && record_get_number(&b, &v->status) == KV_OK &&
	    v->status <= UINT16_MAX &&
	    record_get_text(&b, v->answer, sizeof(v->answer)) && b.left == 0;
	return v->done;
}

/* Has the worker run ssh-keygen. False with a sentence. */
static bool
run_keygen(const struct update_source *s, int fd, const char *namespace,
    int signature, struct verified *v, char why[static WALL_WHY_BYTES])
{
	struct working_task t = {
		.fd = { reopen_at_start(fd), signature, s->signers },
		.n_fds = 3,
		.file_bytes = WORKING_COPY_BYTES,
		.result = receive_verified,
		.arg = v,
		.done = &v->done,
	};
	bool ok;

	if (t.fd[0] == -1) {
		v->error = (uint64_t)errno;
		return true;
	}
	working_task_begin(&t, "keygen");
	record_add_text(&t.args, s->settings.identity);
	record_add_text(&t.args, namespace);
	ok = working_do(&t, why);
	close(t.fd[0]);
	return ok;
}

bool
update_signature_verify(const struct update_source *s, int fd,
    const char *namespace, const char *what, const char *shown, int signature)
{
	struct verified v = { .done = false };
	char why[WALL_WHY_BYTES] = "";
	const bool ok = run_keygen(s, fd, namespace, signature, &v, why);
	const int status = (int)v.status;

	if (!ok)
		cli_error("%s: its signature cannot be verified: %s", shown,
		    why);
	else if (v.error == ENOENT)
		cli_error("%s: %s cannot be run; install openssh-client", shown,
		    SIGNATURE_KEYGEN_PATH);
	else if (v.error != 0)
		cli_error("%s: %s cannot be run: %s", shown,
		    SIGNATURE_KEYGEN_PATH, strerror((int)v.error));
	else if (WIFSIGNALED(status))
		cli_error("%s: %s was ended by signal %d; run this again",
		    shown, SIGNATURE_KEYGEN_PATH, WTERMSIG(status));
	else if (status != 0)
		cli_error(
		    "%s: no good signature by %s for this %s "
		    "(ssh-keygen: %s); if the publisher has a new key, put it "
		    "into AllowedSigners",
		    shown, s->settings.identity, what, v.answer);
	return ok && v.error == 0 && status == 0;
}

bool
update_signature_check(struct update *u, int fd, const char *namespace)
{
	int signature;
	bool ok;

	if (u->source.signers == -1)
		return true;
	signature = update_text_get(&u->source.signature, &u->source.limits,
	    &u->progress, SIGNATURE_MAX_BYTES,
	    "too long for a signature; correct SignatureURL");
	if (signature == -1) {
		cli_error("%s: has no signature that could be checked, and "
			  "AllowedSigners asks for one",
		    u->source.from.shown);
		ok = false;
	} else {
		/* If the signature is bad, the part must not be resumed. */
		u->keep_part = false;
		ok = update_signature_verify(&u->source, fd, namespace,
		    u->kind->what, u->source.signature.shown, signature);
		close(signature);
	}
	return ok;
}
