/* SPDX-License-Identifier: ISC */
#include "sets/set.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "host/files.h"
#include "sets/filter_file.h"

_Static_assert(SET_WHY_BYTES == LIST_WHY_BYTES, "find_list_fault copies it");

static bool
adopt_filter(struct set *s)
{
	return filter_adopt(s->path, s->fd, &s->filter);
}

static bool
adopt_list(struct set *s)
{
	return list_reader_adopt(&s->reader, s->path, s->fd) ||
	    list_reader_is_good(&s->reader);
}

static bool
find_filter_fault(const char *path, int fd, char why[static SET_WHY_BYTES])
{
	struct kv_pkbf f;
	enum kv_err r = kv_pkbf_open_fd(fd, &f);

	if (r == KV_ERR_SYSTEM)
		return cli_failed(path, "cannot be read; move it away");
	snprintf(why, SET_WHY_BYTES, "%s", r == KV_OK ? "" : kv_strerror(r));
	return true;
}

/* Reads all of the file. */
static bool
find_list_fault(const char *path, int fd, char why[static SET_WHY_BYTES])
{
	static struct list_reader r;

	list_reader_adopt(&r, path, fd);
	while (list_reader_next(&r) != NULL)
		;
	memcpy(why, r.why, SET_WHY_BYTES);
	return true;
}

const struct set_kind set_filter = {
	.name = "filter",
	.article = "a filter",
	.change = CHANGE_FILTER,
	.adopt = adopt_filter,
	.find_fault = find_filter_fault,
};

const struct set_kind set_list = {
	.name = "list",
	.article = "an exact list",
	.change = CHANGE_LIST,
	.adopt = adopt_list,
	.find_fault = find_list_fault,
};

bool
set_open(struct set *s, const struct set_kind *kind, const char *path)
{
	s->path = path;
	s->sources = -1;
	/* O_NONBLOCK: a FIFO or a device is refused without waiting. */
	if ((s->fd = files_open(path, O_NONBLOCK)) == -1)
		return cli_error("%s: %s", path, strerror(errno));
	return kind->adopt(s);
}

void
set_close(const struct set *s)
{
	io_close(s->fd);
	io_close(s->sources);
}

bool
set_replace(struct replace *r, const struct set_kind *kind, const char *path)
{
	if (!replace_open(r, path))
		return false;
	r->root_only = true;
	r->change = kind->change;
	r->via = kind->name;
	return true;
}

bool
set_may_replace(struct replace *r, const struct set_kind *kind, bool force,
    const char *why)
{
	char fault[SET_WHY_BYTES];

	if (r->old == -1)
		return true;
	if (!kind->find_fault(r->path, r->old, fault))
		return false;
	if (!force && fault[0] != '\0')
		cli_error("%s: is not %s (%s); --force keeps it beside under "
			  "another name, and makes a %s here",
		    r->path, kind->article, fault, kind->name);
	else if (!force && why != NULL)
		cli_error("%s: %s", r->path, why);
	else {
		r->keep_beside = fault[0] != '\0';
		return true;
	}
	return false;
}

bool
set_commit(struct replace *r)
{
	if (!replace_commit(r))
		return false;
	cli_warn_if_distrusted(r->path);
	return true;
}
