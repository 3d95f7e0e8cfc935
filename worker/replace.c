/* SPDX-License-Identifier: ISC */
/* Replaces files by asking the front: the functions of host/replace.h. */
#include "host/replace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "base/io.h"
#include "command.h"

bool
replace_open(struct replace *r, const char *path)
{
	struct kv_bytes b;
	bool has_old;
	int error;

	*r = (struct replace){ .path = path,
		.dir = -1,
		.lock = -1,
		.old = -1,
		.fd = -1 };
	record_add_text(ask_begin(WORKING_REPLACE), path);
	error = ask(&b, &r->old);
	if (!record_get(&b, R_FLAG(has_old), R_BYTES(r->old_st)) ||
	    has_old != (r->old != -1))
		ask_failed();
	/* The front has it open, also after a failure. */
	r->lock = STDIN_FILENO;
	return error == 0;
}

bool
replace_begin(struct replace *r)
{
	struct kv_bytes b;

	ask_begin(WORKING_REPLACE_BEGIN);
	return ask(&b, &r->fd) == 0 && r->fd != -1;
}

bool
replace_make_scratch(struct replace *r, int *fdp)
{
	struct kv_bytes b;

	(void)r;
	ask_begin(WORKING_REPLACE_SCRATCH);
	return ask(&b, fdp) == 0 && *fdp != -1;
}

bool
replace_write_text(const struct replace *r, const char *text, size_t len)
{
	struct kv_bytes b;

	if (!io_write(r->fd, text, len))
		return cli_error("%s: cannot be written, and is as it was: %s",
		    r->path, strerror(errno));
	ask_begin(WORKING_REPLACE_AS_TEXT);
	return ask(&b, NULL) == 0;
}

bool
replace_commit(struct replace *r)
{
	struct record_out *o = ask_begin(WORKING_REPLACE_COMMIT);
	struct kv_bytes b;
	int error;

	record_add(o, R_FLAG(r->keep_beside), R_FLAG(r->readable),
	    R_STRING(r->sources != NULL ? r->sources : ""));
	/* The front sees that nobody can write it any more, or makes a copy. */
	close(r->fd);
	r->fd = -1;
	error = ask(&b, NULL);
	if (!record_get(&b, R_FLAG(r->readable), R_TEXT(r->kept_name)))
		ask_failed();
	return error == 0;
}

void
replace_close(struct replace *r)
{
	struct kv_bytes b;

	if (r->lock != -1) {
		ask_begin(WORKING_REPLACE_CLOSE);
		(void)ask(&b, NULL);
	}
	io_close(r->fd);
	io_close(r->old);
	r->fd = r->old = r->lock = -1;
}
