/* SPDX-License-Identifier: ISC */
#include "tasks/keygen.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/io.h"
#include "working/working.h"

static bool
receive_said(struct kv_bytes b, void *arg)
{
	struct keygen_said *s = arg;

	return record_get_limited(&b, INT_MAX, &s->error) &&
	    record_get_limited(&b, UINT16_MAX, &s->status) &&
	    record_get_text(&b, s->answer, sizeof(s->answer)) && b.left == 0;
}

static bool
run_keygen(struct working_task *t, struct keygen_said *said,
    char why[static WALL_WHY_BYTES])
{
	t->result = receive_said;
	t->file_bytes = WORKING_COPY_BYTES;
	t->arg = said;
	return working_do(t, why);
}

/* Does the task, whose first file is data. */
static bool
run_with_data(struct working_task *t, int data, struct keygen_said *said,
    char why[static WALL_WHY_BYTES])
{
	bool ok;

	*said = (struct keygen_said){ .error = 0 };
	if ((t->fd[0] = io_reopen(data)) == -1) {
		said->error = (uint64_t)errno;
		record_out_free(&t->args);
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
		.fd = { -1, signature, signers },
		.n_fds = 3,
	};

	working_task_begin(&t, "keygen");
	record_add_text(&t.args, identity);
	record_add_text(&t.args, namespace);
	return run_with_data(&t, data, said, why);
}

bool
tasks_find_signer(int data, int signature, const char *namespace,
    struct keygen_said *said, char why[static WALL_WHY_BYTES])
{
	struct working_task t = { .fd = { -1, signature }, .n_fds = 2 };

	working_task_begin(&t, "signer");
	record_add_text(&t.args, namespace);
	return run_with_data(&t, data, said, why);
}

bool
tasks_convert(int key, const char *passphrase, struct keygen_said *said,
    char why[static WALL_WHY_BYTES])
{
	struct working_task t = { .fd = { key }, .n_fds = 1 };

	*said = (struct keygen_said){ .error = 0 };
	working_task_begin(&t, "convert");
	record_add_number(&t.args, passphrase != NULL);
	record_add_text(&t.args, passphrase != NULL ? passphrase : "");
	return run_keygen(&t, said, why);
}
