/* SPDX-License-Identifier: ISC */
#include "tasks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"

#define READ_BYTES (256 * 1024)

struct record_out *
task_result(void)
{
	return ask_begin(WORKING_RESULT);
}

bool
task_tell_fields(const struct record_field *f)
{
	record_add_fields(task_result(), f);
	ask_tell();
	return true;
}

/* The SHA-256 of a file: errno or 0, then its hex digits. */
static bool
hash(struct task_work *t)
{
	static uint8_t buf[READ_BYTES];
	uint8_t digest[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];
	struct sha256 sha;
	ssize_t n = 1;
	int error = 0;
	bool ok = sha256_begin(&sha);

	for (off_t at = 0; ok && n > 0; at += n > 0 ? n : 0) {
		do
			n = pread(t->fd[0], buf, sizeof(buf), at);
		while (n == -1 && errno == EINTR);
		if (n == -1)
			error = errno;
		else
			ok = sha256_add(&sha, buf, (size_t)n);
	}
	ok = ok && sha256_end(&sha, digest);
	sha256_free(&sha);
	if (!ok)
		return false;
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	return task_tell(R_VALUE(error), R_TEXT(hex));
}

static const struct task {
	const char *name;
	size_t n_fds;
	bool (*run)(struct task_work *t);
	/* Builds other walls than most tasks have; NULL: those. */
	unsigned int (*enter)(struct task_work *t, uint64_t memory);
} tasks[] = {
	{ "fingerprints", 1, task_fingerprints, NULL },
	{ "hash", 1, hash, NULL },
	{ "journal", 1, task_journal, task_journal_enter },
	{ "keygen", 3, task_keygen, task_keygen_enter },
	{ "signer", 2, task_signer, task_keygen_enter },
	{ "split", 1, task_split, NULL },
	{ "index", 1, task_index, NULL },
	{ "filter-head", 1, task_filter_head, NULL },
	{ "judge-filter", 2, task_judge_filter, NULL },
	{ "filter-facts", 1, task_filter_facts, NULL },
	{ "list-facts", 2, task_list_facts, NULL },
	{ "source", 1, task_source, NULL },
	{ "lookup", 1, task_lookup, NULL },
	{ "lost-records", 2, task_lost_records, NULL },
	{ "patch", 3, task_patch, NULL },
	{ "manifest", 1, task_manifest, NULL },
	{ "records", 1, task_records, NULL },
	{ "sources", 1, task_sources, NULL },
	{ "unpack", 2, task_unpack, NULL },
	{ "proof", 1, task_proof, NULL },
	{ "judge", 2, task_judge, NULL },
	{ "pack", 2, task_pack, NULL },
	{ "delta", 4, task_delta, NULL },
	{ "weak", 1, task_weak, NULL },
};

/* The task of this name, if it has its descriptors; or NULL. */
static const struct task *
find_task(const struct task_work *t)
{
	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
		if (t->name != NULL && strcmp(tasks[i].name, t->name) == 0)
			return t->n_fds == tasks[i].n_fds ? &tasks[i] : NULL;
	return NULL;
}

unsigned int
task_enter(struct task_work *t, const struct wall_kept *kept)
{
	const struct task *task = find_task(t);
	unsigned int walls;

	if (task != NULL && task->enter != NULL)
		return task->enter(t, kept->memory);
	walls = wall_enter(kept);
	return walls | wall_refuse_calls(kept);
}

bool
task_do(struct task_work *t)
{
	const struct task *task = find_task(t);

	return task != NULL && task->run(t);
}
