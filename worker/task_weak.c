/* SPDX-License-Identifier: ISC */
/* The task "weak": tests RSA keys, for cli/working/weak.h. */
#include <sys/stat.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "tasks.h"
#include "weak/records.h"

/* Reads the whole file. It is freed with the process. */
static bool
read_all(int fd, struct kv_bytes *b)
{
	struct stat st;
	uint8_t *p;

	if (fstat(fd, &st) == -1 || lseek(fd, 0, SEEK_SET) == -1 ||
	    (p = malloc((size_t)st.st_size + 1)) == NULL)
		return false;
	*b = (struct kv_bytes){ p, (size_t)st.st_size };
	return io_read(fd, p, b->left) == (ssize_t)b->left;
}

bool
task_weak(struct task_work *t)
{
	struct weak_tests tests;
	struct kv_bytes b;

	if (!read_all(t->fd[0], &b) || !weak_records_get(b, &tests) ||
	    !weak_tests_run(&tests))
		return false;
	for (size_t i = 0; i < tests.n + tests.n_exponents; i++)
		if (weak_records_put_found(task_result(), &tests, i))
			ask_tell();
	return true;
}
