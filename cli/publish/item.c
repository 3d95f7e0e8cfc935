/* SPDX-License-Identifier: ISC */
#include "publish/item.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "publish/copy.h"
#include "publish/pack.h"
#include "publish/tasks.h"
#include "sets/list_names.h"
#include "tasks/filter.h"
#include "tasks/list.h"
#include "working/hash.h"

#define LIST_MAX_BYTES (KV_BLOCKLIST_RECORDS_MAX * KV_BLOCKLIST_RECORD_BYTES)

#define MISSING (-2)

/* Opens a regular file. -1 after a message; MISSING without one if it may be. */
static int
open_file(const char *path, bool may_be_missing)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd == -1 && may_be_missing && errno == ENOENT)
		return MISSING;
	if (fd == -1 || fstat(fd, &st) == -1)
		(void)cli_failed(path, "cannot be opened");
	else if (S_ISREG(st.st_mode))
		return fd;
	else
		cli_error("%s: not a regular file", path);
	io_close(fd);
	return -1;
}

/* Copies a small file. -1 after a message; too_long is about a longer one. */
static int
copy_small(const char *path, int fd, off_t max, const char *too_long,
    off_t *sizep)
{
	struct stat st;

	if (fstat(fd, &st) == -1) {
		(void)cli_failed(path, "cannot be read");
		return -1;
	}
	if (st.st_size > max) {
		cli_error("%s: %s", path, too_long);
		return -1;
	}
	*sizep = st.st_size;
	return copy_part(path, fd, 0, (size_t)st.st_size);
}

static bool
set_name(struct item *it, const char *name)
{
	if (index_is_name(name)) {
		snprintf(it->file.name, sizeof(it->file.name), "%s", name);
		return true;
	}
	return cli_error(
	    "%s: cannot be published under this name; give it one of at most "
	    "%d letters, digits, dots, hyphens and underscores, without a dot "
	    "at the beginning",
	    name, INDEX_NAME_MAX);
}

static bool
set_shown(struct item *it, const char *path)
{
	return (it->shown = strdup(path)) != NULL ||
	    cli_failed(path, "cannot be read");
}

static void
set_date(struct item *it, int64_t when)
{
	char text[INDEX_TIME_BYTES];

	it->file.dated = index_format_time(when, text);
	it->file.date = it->file.dated ? when : 0;
}

/* False after a message. */
static bool
set_companion(const struct item *it, struct index_companion *c, off_t size)
{
	c->size = (uint64_t)size;
	return size == 0 || working_hash(it->companion, it->shown, c->sha256);
}

/* --- a filter or a list ------------------------------------------------- */

/* Has the file behind it->fd judged. sources has a list's date, or is -1. */
static bool
judge(struct item *it, enum index_type type, int sources)
{
	struct publish_facts facts;
	struct stat st;

	if (!publish_task_judge(it->shown, it->fd, type, sources, &facts) ||
	    !working_hash(it->fd, it->shown, it->file.sha256))
		return false;
	if (fstat(it->fd, &st) == -1)
		return cli_failed(it->shown, "cannot be read");
	it->file.type = type;
	it->file.size = (uint64_t)st.st_size;
	it->file.revision = facts.revision;
	if (facts.dated)
		set_date(it, facts.date);
	return true;
}

/* Takes LIST.sources, if there is one. */
static bool
read_sources(struct item *it, int fd)
{
	char *name = NULL;
	off_t size;

	if (fd == -1)
		return true;
	if (asprintf(&name, "%s" KV_SOURCES_SUFFIX, it->shown) == -1)
		return cli_failed(it->shown, "cannot be read");
	it->companion = copy_small(name, fd, INDEX_COMPANION_MAX_BYTES,
	    "longer than 1 MiB: not the sources of a list", &size);
	free(name);
	return it->companion != -1 &&
	    set_companion(it, &it->file.sources, size);
}

static bool
read_list(struct item *it)
{
	int sources = list_names_open(it->shown);
	bool ok = judge(it, INDEX_BLOCKLIST, sources) &&
	    read_sources(it, sources);

	io_close(sources);
	return ok;
}

/* --- a manifest of badkeys ---------------------------------------------- */

/* The name of the list that the URL names, unpacked. */
static bool
name_by_url(struct item *it, const char *url)
{
	const size_t len = strcspn(url, "?#");
	char name[INDEX_NAME_MAX + 4] = "";
	const char *base = url;
	size_t n;

	for (const char *p = url; p < url + len; p++)
		if (*p == '/')
			base = p + 1;
	n = (size_t)(url + len - base);
	if (n < sizeof(name))
		memcpy(name, base, n);
	if (n > 3 && n < sizeof(name) && strcmp(name + n - 3, ".xz") == 0)
		name[n - 3] = '\0';
	return set_name(it, name);
}

/*
 * Opens the list beside the manifest, under its name and suffix. Returns 1 if
 * it has the SHA-256, 0 if it has another one or is missing, -1 after a
 * message.
 */
static int
open_beside(struct item *it, const char *suffix, const char *sha256,
    const struct folder *folder, char why[static PACK_WHY_BYTES])
{
	const char *slash = strrchr(it->given, '/');
	const int before = slash != NULL ? (int)(slash + 1 - it->given) : 0;
	const bool packed = *suffix != '\0';
	char path[PATH_MAX];
	char found[INDEX_SHA256_BYTES];
	bool ok;
	int fd;

	if (snprintf(path, sizeof(path), "%.*s%s%s", before, it->given,
		it->file.name, suffix) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		(void)cli_failed(it->given, "has no list beside it");
		return -1;
	}
	if ((fd = open_file(path, true)) < 0)
		return fd == MISSING ? 0 : -1;
	free(it->shown);
	if (!set_shown(it, path)) {
		close(fd);
		return -1;
	}
	it->fd = packed ? folder_scratch(folder) : fd;
	if (it->fd == -1) {
		close(fd);
		return -1;
	}
	ok = packed ?
	    pack_unpack(path, fd, it->fd, LIST_MAX_BYTES, found, why) :
	    working_hash(fd, path, found);
	if (packed)
		close(fd);
	if (ok && strcmp(found, sha256) == 0)
		return 1;
	close(it->fd);
	it->fd = -1;
	if (ok)
		snprintf(why, PACK_WHY_BYTES,
		    "is not the list that the manifest names");
	return why[0] != '\0' ? 0 : -1;
}

static bool
find_list(struct item *it, const char *sha256, const struct folder *folder)
{
	char why[PACK_WHY_BYTES] = "";
	int found = open_beside(it, "", sha256, folder, why);

	if (found == 0)
		found = open_beside(it, ".xz", sha256, folder, why);
	if (found == 0 && why[0] != '\0')
		cli_error("%s: %s (SHA-256 %s); fetch it again", it->shown, why,
		    sha256);
	else if (found == 0)
		cli_error("%s: the list that it names, %s or %s.xz, is not "
			  "beside it; fetch it there",
		    it->given, it->file.name, it->file.name);
	return found == 1;
}

static bool
read_manifest(struct item *it, const struct folder *folder)
{
	static struct manifest m;
	char why[MANIFEST_WHY_BYTES] = "";
	off_t size;
	bool ok;

	it->companion = copy_small(it->given, it->fd, MANIFEST_MAX_BYTES,
	    "longer than 1 MiB: not a manifest of badkeys", &size);
	close(it->fd);
	it->fd = -1;
	if (it->companion == -1 ||
	    !tasks_manifest(it->given, it->companion, &m, &ok, why))
		return false;
	if (!ok)
		cli_error("%s: %s", it->given, why);
	else if (m.deprecated)
		cli_error("warning: %s: its publisher will no longer serve "
			  "this format",
		    it->given);
	if (!ok || !set_companion(it, &it->file.manifest, size) ||
	    !name_by_url(it, m.blocklist_url) ||
	    !find_list(it, m.blocklist_sha256, folder) ||
	    !judge(it, INDEX_BLOCKLIST, -1))
		return false;
	set_date(it, m.time);
	return true;
}

/* --- any file ----------------------------------------------------------- */

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool
is_json(const char *path)
{
	const char *dot = strrchr(base_name(path), '.');

	return dot != NULL && strcmp(dot, ".json") == 0;
}

bool
item_read(struct item *it, const char *path, const struct folder *folder)
{
	struct filter_head head;
	bool is_filter;

	*it = (struct item){ .given = path, .fd = -1, .companion = -1 };
	if (!set_shown(it, path) || (it->fd = open_file(path, false)) == -1 ||
	    !tasks_filter_head(path, it->fd, &head))
		return false;
	/* A list has no mark of its own. */
	is_filter = head.header_err != KV_ERR_FILTER_MARKER;
	if (!is_filter && is_json(path))
		return read_manifest(it, folder);
	return set_name(it, base_name(path)) &&
	    (is_filter ? judge(it, INDEX_PKBF, -1) : read_list(it));
}

void
item_free(struct item *it)
{
	io_close(it->fd);
	io_close(it->companion);
	free(it->shown);
	*it = (struct item){ .fd = -1, .companion = -1 };
}
