/* SPDX-License-Identifier: ISC */
#include "update/list_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "update/task.h"

/* --- the manifest ------------------------------------------------------- */

static bool
receive_manifest(struct kv_bytes b, void *arg)
{
	return manifest_get_part(b, arg);
}

bool
update_task_manifest(const char *shown, int fd, struct manifest *m,
    bool *parsedp, char why[static MANIFEST_WHY_BYTES])
{
	struct manifest_found found = { .manifest = m };
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive_manifest,
		.arg = &found,
	};

	*m = (struct manifest){ .time = 0 };
	working_task_begin(&t, "manifest");
	if (!update_task_do(&t, shown, &found.complete))
		return false;
	*parsedp = found.ok;
	memcpy(why, found.why, sizeof(found.why));
	return true;
}

/* --- the sources -------------------------------------------------------- */

struct lines {
	bool done;
	size_t max;
	char *text;
};

static bool
receive_lines(struct kv_bytes b, void *arg)
{
	struct lines *l = arg;

	l->done = !l->done && record_get_text(&b, l->text, l->max + 1) &&
	    b.left == 0;
	return l->done;
}

char *
update_task_sources(const char *shown, int fd, size_t max)
{
	struct lines l = { .max = max, .text = malloc(max + 1) };
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive_lines,
		.arg = &l,
	};

	if (l.text == NULL) {
		cli_error("out of memory");
		return NULL;
	}
	working_task_begin(&t, "sources");
	record_add_number(&t.args, max);
	if (update_task_do(&t, shown, &l.done))
		return l.text;
	free(l.text);
	return NULL;
}
