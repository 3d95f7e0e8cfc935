/* SPDX-License-Identifier: ISC */
/* The tasks about exact lists: cli/tasks/list.h wants them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "kv_sources.h"
#include "published/index.h"
#include "published/lookup.h"
#include "published/manifest.h"
#include "published/records.h"
#include "published/sources.h"
#include "published/unpack.h"
#include "sets/list_facts.h"
#include "sets/losses.h"
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

	if (text == NULL ||
	    !record_get_limited(&t->args, KV_SOURCES_MAX_BYTES, &max))
		return false;
	update_sources_keep_lines(text, (size_t)max);
	record_add_text(task_result(), text);
	ask_tell();
	return true;
}

/* --- records ------------------------------------------------------------ */

bool
task_records(struct task_work *t)
{
	struct update_records r;

	(void)update_records_read(&r, t->fd[0]);
	update_records_put(task_result(), &r);
	ask_tell();
	return true;
}

/* The most bytes, and whether it is a list. */
bool
task_unpack(struct task_work *t)
{
	uint64_t max, is_list;
	struct unpacked u;

	if (!record_get_number(&t->args, &max) ||
	    !record_get_number(&t->args, &is_list))
		return false;
	unpack_file(t->fd[0], t->fd[1], max, is_list != 0, &u);
	unpack_put(task_result(), &u);
	ask_tell();
	return true;
}

/* The names of the old list and the new one. */
bool
task_lost_records(struct task_work *t)
{
	static char old[WORKING_TEXT_BYTES], new[WORKING_TEXT_BYTES];
	const struct losses_side a = { old, t->fd[0] }, b = { new, t->fd[1] };
	uint64_t lost;

	if (!record_get_text(&t->args, old, sizeof(old)) ||
	    !record_get_text(&t->args, new, sizeof(new)) ||
	    !losses_of_records(&a, &b, &lost))
		return false;
	record_add_number(task_result(), lost);
	ask_tell();
	return true;
}

/* --- what is installed ---------------------------------------------------- */

/*
 * The name of the list, and whether the second file has its sources. Whether a
 * login can use it, why not, and the facts.
 */
bool
task_list_facts(struct task_work *t)
{
	static char shown[WORKING_TEXT_BYTES];
	char why[LIST_WHY_BYTES];
	struct record_out *o;
	struct list_facts f;
	bool named, ok;

	if (!record_get_text(&t->args, shown, sizeof(shown)) ||
	    !record_get_flag(&t->args, &named))
		return false;
	ok = list_facts_read(shown, t->fd[0], named ? t->fd[1] : -1, &f, why);
	o = task_result();
	record_add_number(o, ok);
	record_add_text(o, why);
	record_add_number(o, f.records);
	record_add_number(o, f.hashes);
	record_add_number(o, f.dated);
	record_add_number(o, (uint64_t)f.time);
	ask_tell();
	return true;
}

/* A number. What LIST.sources says of that source, behind its name. */
bool
task_source(struct task_work *t)
{
	static char words[KV_SOURCES_MAX_BYTES];
	char name[KV_SOURCE_NAME_BYTES];
	uint64_t id;

	if (!record_get_limited(&t->args, UINT8_MAX, &id))
		return false;
	kv_sources_read(t->fd[0], (uint8_t)id, name, words, sizeof(words));
	record_add_text(task_result(), words);
	ask_tell();
	return true;
}

static void
tell_path(struct kv_span path, void *arg)
{
	struct record_out *o = task_result();

	(void)arg;
	record_add_number(o, true);
	record_add_bytes(o, path.p, path.len);
	ask_tell();
}

/* A hash. The paths that LIST.lookup has for it, and why it may have more. */
bool
task_lookup(struct task_work *t)
{
	char why[LOOKUP_WHY_BYTES] = "";
	struct kv_blocklist_hash h;
	struct record_out *o;
	struct kv_span hash;

	if (kv_bytes_get_string(&t->args, &hash) != KV_OK ||
	    hash.len != sizeof(h.byte))
		return false;
	memcpy(h.byte, hash.p, sizeof(h.byte));
	if (lookup_find(t->fd[0], &h, tell_path, NULL, why))
		*why = '\0';
	o = task_result();
	record_add_number(o, false);
	record_add_text(o, why);
	ask_tell();
	return true;
}
