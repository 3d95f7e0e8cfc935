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

#include "base/io.h"
#include "command.h"
#include "publish/pack.h"
#include "published/manifest.h"
#include "published/records.h"
#include "sets/filter_facts.h"
#include "sets/filter_file.h"
#include "sets/list_facts.h"
#include "sets/list_names.h"

#define MAGIC "pkbfv1"
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
	if (fd != -1)
		close(fd);
	return -1;
}

/* Reads a small file. NULL after a message; too_long is about a longer one. */
static char *
read_text(const char *path, int fd, size_t max, const char *too_long,
    size_t *lenp)
{
	char *text = malloc(max + 1);
	ssize_t len;

	*lenp = 0;
	if (text == NULL || lseek(fd, 0, SEEK_SET) == -1 ||
	    (len = io_read(fd, text, max + 1)) == -1)
		(void)cli_failed(path, "cannot be read");
	else if ((size_t)len > max)
		cli_error("%s: %s", path, too_long);
	else {
		*lenp = (size_t)len;
		return text;
	}
	free(text);
	return NULL;
}

static bool
set_name(struct item *it, const char *name)
{
	if (index_is_name(name)) {
		snprintf(it->file.name, sizeof(it->file.name), "%s", name);
		return true;
	}
	cli_error("%s: cannot be published under this name; give it one of at "
		  "most %d letters, digits, dots, hyphens and underscores, "
		  "without a dot at the beginning",
	    name, INDEX_NAME_MAX);
	return false;
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

static void
set_companion(struct index_companion *c, const char *text, size_t len)
{
	uint8_t digest[KV_SHA256_BYTES];

	kv_fingerprint_digest_blob((const uint8_t *)text, len, digest);
	index_format_sha256(digest, c->sha256);
	c->size = len;
}

/* --- a filter ----------------------------------------------------------- */

static bool
judge_filter(struct item *it)
{
	struct filter_facts facts;
	struct kv_pkbf f;
	char why[256];

	if (!filter_adopt(it->shown, it->fd, &f) ||
	    !filter_facts_read(it->shown, &f, &facts))
		return false;
	if (!filter_facts_are_consistent(&facts, why, sizeof(why))) {
		cli_error("%s: %s", it->shown, why);
		return false;
	}
	if (facts.set == 0) {
		cli_error("%s: no bit is set, and those who follow refuse such "
			  "a filter; add keys with keyveto filter add",
		    it->shown);
		return false;
	}
	it->file.type = INDEX_PKBF;
	it->file.revision = f.header.revision;
	set_date(it, (int64_t)f.header.time);
	return true;
}

static bool
read_filter(struct item *it)
{
	struct pack_sum sum;

	if (!judge_filter(it) || !pack_sum(it->shown, it->fd, &sum))
		return false;
	it->file.size = sum.size;
	memcpy(it->file.sha256, sum.sha256, sizeof(sum.sha256));
	return true;
}

/* --- a list ------------------------------------------------------------- */

/* Judges the list behind it->fd as a follower does, and as a login does. */
static bool
judge_list(struct item *it, int sources)
{
	static const uint8_t xz[] = { 0xfd, '7', 'z', 'X', 'Z', 0 };
	uint8_t head[sizeof(xz)];
	struct update_records records;
	char why[LIST_WHY_BYTES];
	struct list_facts facts;

	if (pread(it->fd, head, sizeof(head), 0) == sizeof(head) &&
	    memcmp(head, xz, sizeof(xz)) == 0) {
		cli_error("%s: is packed; unpack it with xz -dk, and give that "
			  "file",
		    it->shown);
		return false;
	}
	if (!update_records_read(&records, it->fd)) {
		cli_error("%s: is neither a filter nor an exact list: %s",
		    it->shown, records.why);
		return false;
	}
	if (!list_facts_read(it->shown, it->fd, sources, &facts, why)) {
		cli_error("%s: %s", it->shown, why);
		return false;
	}
	it->file.type = INDEX_BLOCKLIST;
	it->file.size = records.n * KV_BLOCKLIST_RECORD_BYTES;
	memcpy(it->file.sha256, records.sha256, sizeof(records.sha256));
	if (facts.dated)
		set_date(it, facts.time);
	return true;
}

/* Takes LIST.sources, if there is one. */
static bool
read_sources(struct item *it, int fd)
{
	char *name = NULL;
	size_t len;

	if (fd == -1)
		return true;
	if (asprintf(&name, "%s" KV_SOURCES_SUFFIX, it->shown) == -1)
		return cli_failed(it->shown, "cannot be read");
	it->companion = read_text(name, fd, INDEX_COMPANION_MAX_BYTES,
	    "longer than 1 MiB: not the sources of a list", &len);
	free(name);
	if (it->companion != NULL && len > 0)
		set_companion(&it->file.sources, it->companion, len);
	return it->companion != NULL;
}

static bool
read_list(struct item *it)
{
	int sources = list_names_open(it->shown);
	bool ok = judge_list(it, sources) && read_sources(it, sources);

	if (sources != -1)
		close(sources);
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
	struct pack_sum sum;
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
	ok = packed ? pack_unpack(fd, it->fd, LIST_MAX_BYTES, &sum, why) :
		      pack_sum(path, fd, &sum);
	if (packed)
		close(fd);
	if (ok && strcmp(sum.sha256, sha256) == 0)
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
	char why[MANIFEST_WHY_BYTES];
	size_t len;
	bool ok;

	it->companion = read_text(it->given, it->fd, MANIFEST_MAX_BYTES,
	    "longer than 1 MiB: not a manifest of badkeys", &len);
	close(it->fd);
	it->fd = -1;
	if (it->companion == NULL)
		return false;
	ok = manifest_parse(it->companion, len, &m, why);
	if (!ok)
		cli_error("%s: %s", it->given, why);
	else if (m.deprecated)
		cli_error("warning: %s: its publisher will no longer serve "
			  "this format",
		    it->given);
	ok = ok && name_by_url(it, m.blocklist_url) &&
	    find_list(it, m.blocklist_sha256, folder) && judge_list(it, -1);
	if (ok) {
		set_companion(&it->file.manifest, it->companion, len);
		set_date(it, m.time);
	}
	return ok;
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
	char head[sizeof(MAGIC) - 1];
	bool is_filter;

	*it = (struct item){ .given = path, .fd = -1 };
	if (!set_shown(it, path) || (it->fd = open_file(path, false)) == -1)
		return false;
	is_filter = pread(it->fd, head, sizeof(head), 0) == sizeof(head) &&
	    memcmp(head, MAGIC, sizeof(head)) == 0;
	/* A list has no mark of its own. */
	if (!is_filter && is_json(path))
		return read_manifest(it, folder);
	return set_name(it, base_name(path)) &&
	    (is_filter ? read_filter(it) : read_list(it));
}

void
item_free(struct item *it)
{
	if (it->fd != -1)
		close(it->fd);
	free(it->shown);
	free(it->companion);
	*it = (struct item){ .fd = -1 };
}
