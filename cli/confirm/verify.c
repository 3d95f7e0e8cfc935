/* SPDX-License-Identifier: ISC */
/* Starts the task "proof" of keyveto-worker. */
#include "confirm/verify.h"

#include <stdio.h>

#include "working/working.h"

struct verifying {
	struct answer *answer;
	bool done;
};

static bool
receive(struct kv_bytes b, void *arg)
{
	struct verifying *v = arg;
	const bool first = !v->done;

	v->done = true;
	return first && answer_receive(b, v->answer);
}

void
verify_answer(int fd, struct kv_span spki, struct answer *answer)
{
	struct verifying v = { .answer = answer };
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive,
		.arg = &v,
		.done = &v.done,
	};
	char why[WALL_WHY_BYTES];

	*answer = (struct answer){ .kind = ANSWER_UNREAD };
	working_task_begin(&t, "proof");
	record_add_bytes(&t.args, spki.p, spki.len);
	if (working_do(&t, why))
		return;
	answer->kind = ANSWER_UNREAD;
	snprintf(answer->why, sizeof(answer->why), "%.200s", why);
}
