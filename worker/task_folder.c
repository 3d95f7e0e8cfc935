/* SPDX-License-Identifier: ISC */
/* The tasks about what a published folder has, for cli/update/folder.h. */
#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <errno.h>
#include <sha2.h>
#include <unistd.h>

#include "base/io.h"
#include "published/index_records.h"
#include "tasks.h"

/* --- the index ---------------------------------------------------------- */

static char index_bytes[INDEX_MAX_BYTES];

/* All of it. False if it cannot be read, or is too long. */
static bool
read_index(int fd, size_t *lenp)
{
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) == -1 ||
	    (n = io_read(fd, index_bytes, sizeof(index_bytes))) == -1)
		return false;
	*lenp = (size_t)n;
	return true;
}

bool
task_split(struct task_work *t)
{
	size_t len, text_len;

	if (!read_index(t->fd[0], &len))
		return false;
	(void)index_split(index_bytes, len, &text_len);
	record_add_number(task_result(), text_len);
	ask_tell();
	return true;
}

bool
task_index(struct task_work *t)
{
	char why[INDEX_WHY_BYTES], sha256[INDEX_SHA256_BYTES];
	struct record_out *o;
	struct index x;
	size_t len;
	bool ok;

	if (!read_index(t->fd[0], &len))
		return false;
	ok = index_parse(index_bytes, len, &x, why);
	(void)SHA256Data((const uint8_t *)index_bytes, len, sha256);
	o = task_result();
	record_add_text(o, why);
	record_add_text(o, sha256);
	ask_tell();
	if (ok) {
		index_add_head(task_result(), &x);
		ask_tell();
	}
	for (size_t i = 0; ok && i < x.n; i++) {
		index_add_file(task_result(), &x.file[i]);
		ask_tell();
	}
	index_free(&x);
	return true;
}
