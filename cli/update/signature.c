/* SPDX-License-Identifier: ISC */
/*
 * Fetches texts, and tells whether one has a good signature, by ssh-keygen and
 * AllowedSigners.
 */
#include "update/update.h"

#include <sys/wait.h>

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "host/memory.h"
#include "working/working.h"

#define SIGNATURE_MAX_BYTES (64 * 1024)
#define PARTS_A_SECOND 10

enum fetch_end
update_text_fetch(struct fetch *f, size_t max, const char *too_long, int *fdp)
{
	enum fetch_end end;

	*fdp = f->into = memory_file("text");
	f->max = max;
	if (*fdp == -1) {
		cli_error("%s: %s", f->place->shown, strerror(errno));
		return FETCH_FAILED;
	}
	end = fetch_run(f);
	if (f->error != 0 || f->len > max) {
		progress_clear(f->progress);
		cli_error("%s: %s", f->place->shown,
		    f->error != 0 ? strerror(f->error) : too_long);
	}
	if (end != FETCH_DONE) {
		close(*fdp);
		*fdp = -1;
	}
	return end;
}

/* What ssh-keygen answers, which may be a lie of who wrote the signature. */
struct keygen_said {
	int error;  /* errno, if it did not run */
	int status; /* of waitpid(2) */
	char answer[KEYGEN_ANSWER_BYTES];
};

/*
 * Has ssh-keygen, behind the wall, verify the signature of all that fd holds.
 * False with a sentence about the worker.
 */
static bool
run_keygen(const struct update_source *s, int fd, const char *namespace,
    int signature, struct keygen_said *said, char why[static WALL_WHY_BYTES])
{
	const struct working_task t = {
		.name = "keygen",
		.args = RECORD_FIELDS(R_STRING(s->settings.identity),
		    R_STRING(namespace)),
		.fd = { io_reopen(fd), signature, s->signers },
		.n_fds = 3,
		.file_bytes = WORKING_COPY_BYTES,
		.answer = RECORD_FIELDS(R_NUMBER(said->error, INT_MAX),
		    R_NUMBER(said->status, UINT16_MAX), R_TEXT(said->answer)),
	};
	bool ok;

	*said = (struct keygen_said){ .error = t.fd[0] == -1 ? errno : 0 };
	ok = said->error != 0 || working_do(&t, why);
	io_close(t.fd[0]);
	return ok;
}

/* Always failure. */
static enum update_signature
report_not_run(const char *shown, int error)
{
	if (error == ENOENT)
		cli_error("%s: %s cannot be run; install openssh-client", shown,
		    KEYGEN_PATH);
	else
		cli_error("%s: %s cannot be run: %s", shown, KEYGEN_PATH,
		    strerror(error));
	return UPDATE_SIGNATURE_FAILED;
}

enum update_signature
update_signature_verify(const struct update *u, int fd, const char *namespace,
    const char *what, const char *shown, int signature)
{
	const struct update_source *s = &u->source;
	struct keygen_said v;
	char why[WALL_WHY_BYTES] = "";

	if (!run_keygen(s, fd, namespace, signature, &v, why)) {
		cli_error("%s: its signature cannot be verified: %s", shown,
		    why);
		return UPDATE_SIGNATURE_FAILED;
	}
	if (v.error != 0)
		return report_not_run(shown, v.error);
	if (WIFSIGNALED(v.status)) {
		cli_error("%s: %s was ended by signal %d; run this again",
		    shown, KEYGEN_PATH, WTERMSIG(v.status));
		return UPDATE_SIGNATURE_FAILED;
	}
	if (v.status == 0)
		return UPDATE_SIGNATURE_GOOD;
	if (what != NULL)
		cli_error(
		    "%s: no good signature by %s for this %s "
		    "(ssh-keygen: %s); if the publisher has a new key, put it "
		    "into AllowedSigners",
		    shown, s->settings.identity, what, v.answer);
	return UPDATE_SIGNATURE_BAD;
}

enum fetch_end
update_signature_fetch(struct update *u, const char *etag, struct fetch *f,
    int *fdp)
{
	enum fetch_end end;

	*f = (struct fetch){
		.place = &u->source.signature,
		.limits = &u->source.limits,
		.if_none_match = etag,
		.progress = &u->progress,
	};
	end = update_text_fetch(f, SIGNATURE_MAX_BYTES,
	    "too long for a signature; correct SignatureURL", fdp);
	if (end == FETCH_FAILED)
		cli_error("%s: has no signature that could be checked, and "
			  "AllowedSigners asks for one",
		    u->source.from.shown);
	return end;
}

bool
update_wait_before_again(const struct update *u)
{
	const struct timespec part = { .tv_nsec = 1000000000 / PARTS_A_SECOND };
	bool (*const stopped)(void) = u->source.limits.stopped;

	for (int i = 0; i < UPDATE_AGAIN_SECONDS * PARTS_A_SECOND && !stopped();
	     i++)
		(void)nanosleep(&part, NULL);
	if (!stopped())
		return true;
	return cli_error("%s: interrupted", u->source.from.shown);
}
