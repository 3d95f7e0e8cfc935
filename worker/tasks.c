/* SPDX-License-Identifier: ISC */
#include "tasks.h"

#include <sys/stat.h>

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "kv_fingerprint.h"

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

bool
task_read(int fd, struct kv_bytes *b)
{
	struct stat st;
	uint8_t *p;

	if (fstat(fd, &st) == -1 || lseek(fd, 0, SEEK_SET) == -1 ||
	    (p = malloc((size_t)st.st_size + 1)) == NULL)
		return false;
	*b = (struct kv_bytes){ p, (size_t)st.st_size };
	return io_read(fd, p, b->left) == (ssize_t)b->left;
}

/* Adds all of a file. *errorp is errno or 0. False if OpenSSL fails. */
static bool
add_file(EVP_MD_CTX *ctx, int fd, int *errorp)
{
	static uint8_t buf[READ_BYTES];
	ssize_t n = 1;
	bool ok = true;

	*errorp = 0;
	for (off_t at = 0; ok && n > 0; at += n > 0 ? n : 0) {
		do
			n = pread(fd, buf, sizeof(buf), at);
		while (n == -1 && errno == EINTR);
		if (n == -1)
			*errorp = errno;
		else
			ok = EVP_DigestUpdate(ctx, buf, (size_t)n) == 1;
	}
	return ok;
}

/*
 * The SHA-256 of a file: errno or 0, then its hex digits. OpenSSL uses the
 * processor's instructions for it.
 */
static bool
hash(struct task_work *t)
{
	uint8_t digest[KV_SHA256_BYTES];
	char hex[2 * KV_SHA256_BYTES + 1];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int error;
	const bool ok = ctx != NULL &&
	    EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
	    add_file(ctx, t->fd[0], &error) &&
	    EVP_DigestFinal_ex(ctx, digest, NULL) == 1;

	EVP_MD_CTX_free(ctx);
	if (!ok)
		return cli_error("OpenSSL cannot make a SHA-256");
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
	{ "filter-head", 1, task_filter_head, NULL },
	{ "judge-filter", 2, task_judge_filter, NULL },
	{ "filter-facts", 1, task_filter_facts, NULL },
	{ "list-facts", 2, task_list_facts, NULL },
	{ "source", 1, task_source, NULL },
	{ "lookup", 1, task_lookup, NULL },
	{ "lost-records", 2, task_lost_records, NULL },
	{ "apply", 3, task_apply, task_apply_enter },
	{ "manifest", 1, task_manifest, NULL },
	{ "records", 1, task_records, NULL },
	{ "unpack", 2, task_unpack, NULL },
	{ "proof", 1, task_proof, NULL },
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
