/* SPDX-License-Identifier: ISC */
/* Does the tasks that a command of keyveto's hands over. */
#include "tasks.h"

#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <errno.h>
#include <sha2.h>
#include <string.h>
#include <unistd.h>

#include "kv_fingerprint.h"

#define READ_BYTES (256 * 1024)

struct record_out *
task_result(void)
{
	return ask_begin(WORKING_RESULT);
}

/* The SHA-256 of a file: errno or 0, then its hex digits. */
static bool
hash(struct task_work *t)
{
	static uint8_t buf[READ_BYTES];
	char sha256[2 * KV_SHA256_BYTES + 1];
	struct record_out *o;
	SHA2_CTX ctx;
	ssize_t n = 1;
	int error = 0;

	SHA256Init(&ctx);
	for (off_t at = 0; n > 0; at += n > 0 ? n : 0) {
		do
			n = pread(t->fd[0], buf, sizeof(buf), at);
		while (n == -1 && errno == EINTR);
		if (n == -1)
			error = errno;
		else
			SHA256Update(&ctx, buf, (size_t)n);
	}
	(void)SHA256End(&ctx, sha256);
	o = task_result();
	record_add_number(o, (uint64_t)error);
	record_add_text(o, sha256);
	ask_tell();
	return true;
}

static const struct {
	const char *name;
	size_t n_fds;
	bool (*run)(struct task_work *t);
} tasks[] = {
	{ "hash", 1, hash },
};

bool
task_do(struct task_work *t)
{
	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
		if (strcmp(tasks[i].name, t->name) == 0)
			return t->n_fds == tasks[i].n_fds && tasks[i].run(t);
	return false;
}
