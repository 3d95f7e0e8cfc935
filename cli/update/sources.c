/* SPDX-License-Identifier: ISC */
#include "update/sources.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "host/replace.h"
#include "kv_sources.h"

/* The path of the file; the caller frees it. NULL after a message. */
static char *
sources_path(const char *list, const char *end)
{
	char *path;

	if (asprintf(&path, "%s" KV_SOURCES_SUFFIX "%s", list, end) != -1)
		return path;
	cli_error("out of memory");
	return NULL;
}

void
update_sources_read(const char *list, bool previous, struct update_sources *s)
{
	char text[KV_SOURCES_MAX_BYTES + 1];
	char *path = sources_path(list, previous ? ".previous" : "");
	struct stat st;
	ssize_t len = -1;
	int fd = -1;

	*s = (struct update_sources){ .time = -1 };
	if (path != NULL)
		fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	free(path);
	if (fd == -1)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_uid == 0 || st.st_uid == geteuid()) &&
	    (st.st_mode & 022) == 0)
		len = io_read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len > 0) {
		text[len] = '\0';
		update_sources_parse(text, s);
	}
}

/* Whether the old file has exactly this text. */
static bool
is_same_text(const struct replace *r, const char *text)
{
	const size_t len = strlen(text);
	char *old = malloc(len + 1);
	bool same;

	same = old != NULL && r->old != -1 &&
	    io_read(r->old, old, len + 1) == (ssize_t)len &&
	    memcmp(old, text, len) == 0;
	free(old);
	return same;
}

bool
update_sources_write(const char *list, const char *text, bool keep_old)
{
	char *path = sources_path(list, "");
	struct replace r;
	bool ok;

	if (path == NULL)
		return false;
	if ((ok = replace_open(&r, path)) && !is_same_text(&r, text)) {
		r.keep_old = keep_old;
		r.root_only = true;
		r.change = CHANGE_JUDGED;
		ok = replace_begin(&r) &&
		    replace_write_text(&r, text, strlen(text)) &&
		    replace_commit(&r);
	}
	replace_close(&r);
	free(path);
	return ok;
}

bool
update_sources_exchange(const char *list)
{
	char *path = sources_path(list, "");
	struct replace r;
	bool ok;

	if (path == NULL)
		return false;
	ok = replace_open(&r, path);
	if (ok && !io_exchange(r.dir, r.previous_name, r.name, r.old != -1) &&
	    errno != ENOENT) {
		cli_error("%s: cannot be exchanged with the previous one: %s",
		    path, strerror(errno));
		ok = false;
	}
	replace_close(&r);
	free(path);
	return ok;
}
