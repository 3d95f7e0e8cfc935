/* SPDX-License-Identifier: ISC */
#include "sets/list_names.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "host/files.h"
#include "host/replace.h"

/* Writes the name of the file beside the list at path. False: too long. */
static bool
name_file(const char *path, char name[static PATH_MAX])
{
	int n = snprintf(name, PATH_MAX, "%s" KV_SOURCES_SUFFIX, path);

	return n > 0 && n < PATH_MAX;
}

int
list_names_open(const char *path)
{
	char name[PATH_MAX];

	return name_file(path, name) ? files_open(name, O_NONBLOCK) : -1;
}

void
list_names_promise(const char *path)
{
	char name[PATH_MAX];

	if (name_file(path, name))
		files_promise(name);
}

bool
list_names_is_valid(const char *name)
{
	return *name != '\0' && strlen(name) < KV_SOURCE_NAME_BYTES &&
	    name[strspn(name,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")] ==
	    '\0';
}

/*
 * Whether source id may be called name, by the names behind fd (-1: none). Sets
 * *hasp to whether it is called so already. False after a message.
 */
static bool
may_be_called(const char *path, int fd, uint8_t id, const char *name,
    bool *hasp)
{
	char has[KV_SOURCE_NAME_BYTES], number[KV_SOURCE_NAME_BYTES];

	kv_sources_name(fd, id, has);
	kv_sources_name(-1, id, number);
	*hasp = strcmp(has, name) == 0;
	if (*hasp || strcmp(has, number) == 0)
		return true;
	return cli_error("%s" KV_SOURCES_SUFFIX
			 ": calls source %u %s, not %s; give another "
			 "number with --id",
	    path, id, has, name);
}

bool
list_names_may_set(const char *path, uint8_t id, const char *name)
{
	int fd = list_names_open(path);
	bool has, may = may_be_called(path, fd, id, name, &has);

	io_close(fd);
	return may;
}

/* Writes the old text and a line for the name to the new file. */
static bool
write_names(struct replace *r, uint8_t id, const char *name)
{
	char text[KV_SOURCES_MAX_BYTES + 1] = "", line[256];
	ssize_t len = 0;
	int n;

	if (r->old != -1 &&
	    (len = io_read(r->old, text, sizeof(text) - 1)) == -1)
		return cli_failed(r->path, "cannot be read");
	n = snprintf(line, sizeof(line), "%s%u %s\n",
	    len > 0 && text[len - 1] != '\n' ? "\n" : "", id, name);
	/* Logins pass over what lies behind the limit. */
	if ((size_t)len + (size_t)n > KV_SOURCES_MAX_BYTES)
		return cli_error(
		    "%s: has no room for another name: a login reads %d bytes",
		    r->path, KV_SOURCES_MAX_BYTES);
	memcpy(text + len, line, (size_t)n + 1);
	return replace_begin(r) &&
	    replace_write_text(r, text, (size_t)len + (size_t)n) &&
	    replace_commit(r);
}

bool
list_names_set(const char *path, uint8_t id, const char *name, bool readable)
{
	char file[PATH_MAX];
	struct replace r;
	struct stat list;
	bool ok, has;

	if (!name_file(path, file)) {
		errno = ENAMETOOLONG;
		return cli_failed(path, "has no file of names");
	}
	ok = replace_open(&r, file);
	if (ok) {
		r.root_only = true;
		r.change = CHANGE_JUDGED;
		r.readable = readable ||
		    (files_stat(path, &list) && (list.st_mode & 044) == 044);
		/* Another run may have named it since. */
		ok = may_be_called(path, r.old, id, name, &has) &&
		    (has || write_names(&r, id, name));
	}
	replace_close(&r);
	return ok;
}
