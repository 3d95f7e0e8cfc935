/* SPDX-License-Identifier: ISC */
/* The tasks about exact lists: cli/update/list_tasks.h wants them. */
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "published/index.h"
#include "published/manifest.h"
#include "published/sources.h"
#include "tasks.h"

/* --- texts -------------------------------------------------------------- */

/*
 * Reads the whole file, of at most max bytes, which a NUL follows. NULL if it
 * cannot be read. It is freed with the process.
 */
static char *
read_text(int fd, size_t max, size_t *lenp)
{
	char *text = malloc(max + 1);
	ssize_t len = -1;

	if (text != NULL && lseek(fd, 0, SEEK_SET) != -1)
		len = io_read(fd, text, max);
	if (len == -1)
		return NULL;
	text[len] = '\0';
	*lenp = (size_t)len;
	return text;
}

bool
task_manifest(struct task_work *t)
{
	static struct manifest m;
	static struct manifest_found found = { .manifest = &m };
	size_t len;
	const char *text = read_text(t->fd[0], MANIFEST_MAX_BYTES, &len);

	if (text == NULL)
		return false;
	found.ok = manifest_parse(text, len, &m, found.why);
	for (size_t id = 0; id <= MANIFEST_SOURCES; id++)
		if (manifest_add_part(task_result(), &found, id))
			ask_tell();
	return true;
}

/* The most bytes that are kept. Then the lines, as one text. */
bool
task_sources(struct task_work *t)
{
	uint64_t max;
	size_t len;
	char *text = read_text(t->fd[0], INDEX_COMPANION_MAX_BYTES, &len);

	if (text == NULL || record_get_number(&t->args, &max) != KV_OK ||
	    max > KV_SOURCES_MAX_BYTES)
		return false;
	update_sources_keep_lines(text, (size_t)max);
	record_add_text(task_result(), text);
	ask_tell();
	return true;
}
