/* SPDX-License-Identifier: ISC */
#include "logs/journalctl.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "working/working.h"

/* How journalctl ended. */
struct ended {
	uint64_t error, status; /* an errno or 0; waitpid(2)'s */
};

/* False with why if journalctl failed by itself. */
static bool
has_succeeded(const struct ended *e, bool none_is_1,
    char why[static LOG_WHY_BYTES])
{
	const int status = (int)e->status;

	if (e->error == 0 && WIFEXITED(status) &&
	    WEXITSTATUS(status) <= (none_is_1 ? 1 : 0))
		return true;
	snprintf(why, LOG_WHY_BYTES, "%s fails%s%s; name the file of the log",
	    JOURNALCTL, e->error != 0 ? ": " : "",
	    e->error != 0 ? strerror((int)e->error) : "");
	return false;
}

bool
journalctl_read(struct log_reading *l, enum reading_log what,
    const struct journalctl *j, char why[static LOG_WHY_BYTES])
{
	struct ended ended = { .error = 0 };
	struct working_task t = {
		.name = "journal",
		.args = RECORD_FIELDS(R_VALUE(j->prints),
		    R_STRING(j->path != NULL ? j->path : ""),
		    R_STRINGS(j->argv)),
		.n_fds = 1,
		/* The worker copies journalctl. */
		.file_bytes = WORKING_COPY_BYTES,
		.answer = RECORD_FIELDS(R_ANY(ended.error),
		    R_ANY(ended.status)),
		.deadline = l->deadline,
	};
	struct working *w;
	char reason[WALL_WHY_BYTES];
	int out[2];
	bool ok;

	/* Of journalctl, of its worker and of the reader. */
	if (l->deadline == 0)
		l->deadline = t.deadline = io_deadline(WORKING_SECONDS_MAX);
	if (pipe2(out, O_CLOEXEC) == -1) {
		snprintf(why, LOG_WHY_BYTES, "%s cannot be started: %s",
		    JOURNALCTL, strerror(errno));
		return false;
	}
	t.fd[0] = out[1];
	w = working_begin(&t, reason);
	close(out[1]);
	if (w == NULL) {
		snprintf(why, LOG_WHY_BYTES, "%.200s", reason);
		close(out[0]);
		return false;
	}
	ok = log_reading_read(l, what, out[0], why);
	close(out[0]);
	if (working_end(w, !ok, reason))
		return has_succeeded(&ended, j->none_is_1, why);
	if (ok)
		snprintf(why, LOG_WHY_BYTES, "%s fails: %.200s", JOURNALCTL,
		    reason);
	return false;
}
