/* SPDX-License-Identifier: ISC */
/* The tasks about exact lists: cli/tasks/list.h wants them. */
#include <string.h>

#include "kv_sources.h"
#include "published/lookup.h"
#include "published/manifest.h"
#include "published/records.h"
#include "published/sources.h"
#include "published/unpack.h"
#include "sets/list_facts.h"
#include "tasks.h"

/* --- the manifest ------------------------------------------------------- */

bool
task_manifest(struct task_work *t)
{
	static struct manifest m;
	static struct manifest_found found = { .manifest = &m };
	struct kv_bytes b;

	if (!task_read(t->fd[0], &b))
		return false;
	found.ok = manifest_parse((const char *)b.p, b.left, &m, found.why);
	for (size_t id = 0; id <= MANIFEST_SOURCES; id++)
		if (manifest_add_part(task_result(), &found, id))
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
	struct unpacked u;
	uint64_t max;
	bool is_list;

	if (!record_get(&t->args, R_ANY(max), R_FLAG(is_list)))
		return false;
	unpack_file(t->fd[0], t->fd[1], max, is_list, &u);
	return task_tell(UNPACKED_FIELDS(&u));
}

/*
 * The names of the old list and the new one. The number of records of the old
 * one whose hashes the new one has not: a source that is called otherwise is no
 * loss. Both are read side by side, in constant memory. Of an old list only the
 * part before a hole counts.
 */
bool
task_lost_records(struct task_work *t)
{
	static char old[WORKING_TEXT_BYTES], new[WORKING_TEXT_BYTES];
	static struct list_reader a, b;
	const uint8_t *x, *y;
	uint64_t lost = 0;

	if (!record_get(&t->args, R_TEXT(old), R_TEXT(new)))
		return false;
	(void)list_reader_adopt(&a, old, t->fd[0]);
	(void)list_reader_adopt(&b, new, t->fd[1]);
	y = list_reader_next(&b);
	while ((x = list_reader_next(&a)) != NULL) {
		while (y != NULL && memcmp(y, x, KV_BLOCKLIST_HASH_BYTES) < 0)
			y = list_reader_next(&b);
		lost += y == NULL || !list_same_hash(x, y);
	}
	/* To its end, since a hole in it is a loss, too. */
	while (y != NULL)
		y = list_reader_next(&b);
	return list_reader_is_good(&b) && task_tell(R_ANY(lost));
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
	struct list_facts f;
	bool named, ok;

	if (!record_get(&t->args, R_TEXT(shown), R_FLAG(named)))
		return false;
	ok = list_facts_read(shown, t->fd[0], named ? t->fd[1] : -1, &f, why);
	return task_tell(R_FLAG(ok), R_TEXT(why), R_ANY(f.records),
	    R_ANY(f.hashes), R_FLAG(f.dated), R_ANY(f.time));
}

/* A number. What LIST.sources says of that source, behind its name. */
bool
task_source(struct task_work *t)
{
	static char words[KV_SOURCES_MAX_BYTES];
	char name[KV_SOURCE_NAME_BYTES];
	uint8_t id;

	if (!record_get(&t->args, R_NUMBER(id, UINT8_MAX)))
		return false;
	kv_sources_read(t->fd[0], id, name, words, sizeof(words));
	return task_tell(R_TEXT(words));
}

static void
tell_path(struct kv_span path, void *arg)
{
	(void)arg;
	task_tell(R_VALUE(true), R_SPAN(path));
}

/* A hash. The paths that LIST.lookup has for it, and why it may have more. */
bool
task_lookup(struct task_work *t)
{
	char why[LOOKUP_WHY_BYTES] = "";
	struct kv_blocklist_hash h;

	if (!record_get(&t->args, R_BYTES(h.byte)))
		return false;
	if (lookup_find(t->fd[0], &h, tell_path, NULL, why))
		*why = '\0';
	return task_tell(R_VALUE(false), R_TEXT(why));
}
