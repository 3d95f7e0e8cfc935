/* SPDX-License-Identifier: ISC */
#include "tasks/keygen.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/io.h"
#include "working/working.h"

static bool
run_keygen(struct working_task *t, struct keygen_said *said,
    char why[static WALL_WHY_BYTES])
{
	t->answer = RECORD_FIELDS(R_NUMBER(said->error, INT_MAX),
	    R_NUMBER(said->status, UINT16_MAX), R_TEXT(said->answer));
	t->file_bytes = WORKING_COPY_BYTES;
	*said = (struct keygen_said){ .error = 0 };
	return working_do(t, why);
}

/* Does the task, whose first file is data. */
static bool
run_with_data(struct working_task *t, int data, struct keygen_said *said,
    char why[static WALL_WHY_BYTES])
{
	bool ok;

	if ((t->fd[0] = io_reopen(data)) == -1) {
		*said = (struct keygen_said){ .error = errno };
		return true;
	}
	ok = run_keygen(t, said, why);
	close(t->fd[0]);
	return ok;
}

bool
tasks_verify(int data, int signature, int signers, const char *identity,
    const char *namespace, struct keygen_said *said,
    char why[static WALL_WHY_BYTES])
{
	struct working_task t = {
		.name = "keygen",
		.args = RECORD_FIELDS(R_STRING(identity), R_STRING(namespace)),
		.fd = { -1, signature, signers },
		.n_fds = 3,
	};

	return run_with_data(&t, data, said, why);
}

bool
tasks_find_signer(int data, int signature, const char *namespace,
    struct keygen_said *said, char why[static WALL_WHY_BYTES])
{
	struct working_task t = {
		.name = "signer",
		.args = RECORD_FIELDS(R_STRING(namespace)),
		.fd = { -1, signature },
		.n_fds = 2,
	};

	return run_with_data(&t, data, said, why);
}
