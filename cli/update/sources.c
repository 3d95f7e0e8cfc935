/* SPDX-License-Identifier: ISC */
#include "update/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "host/replace.h"
#include "kv_sources.h"

#define DATE_MARK "# date "
#define TIME_MARK "# time "
/* The longest repository, and the longest path in it. */
#define PLACE_MAX 80
#define SHA256_MARK "# sha256 "

void
update_sources_date(int64_t time, char date[static UPDATE_DATE_BYTES])
{
	const time_t t = (time_t)time;
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL ||
	    strftime(date, UPDATE_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(date, UPDATE_DATE_BYTES, "?");
}

#define HEADLINE \
	"# The sources of the keys in the list beside this file. keyveto " \
	"update writes it.\n"

static void
print_comments(FILE *out, int64_t time, const char *sha256)
{
	char date[UPDATE_DATE_BYTES];

	update_sources_date(time, date);
	fprintf(out,
	    HEADLINE DATE_MARK "%.10s\n" TIME_MARK "%s\n" SHA256_MARK "%s\n",
	    date, date, sha256);
}

static void
print_sources(FILE *out, const struct manifest *m)
{
	print_comments(out, m->time, m->blocklist_sha256);
	for (int i = 0; i < MANIFEST_SOURCES; i++) {
		const struct manifest_source *s = &m->source[i];
		char place[2 * PLACE_MAX + 3] = "";

		if (s->name == NULL)
			continue;
		/* A long one is left out. */
		if (s->repo != NULL && s->path != NULL &&
		    strlen(s->repo) <= PLACE_MAX &&
		    strlen(s->path) <= PLACE_MAX)
			snprintf(place, sizeof(place), " %s %s", s->repo,
			    s->path);
		/* Logins read no more: the rest are called by their ids. */
		if ((size_t)ftell(out) + strlen(s->name) + strlen(place) +
			sizeof("255 \n") >
		    KV_SOURCES_MAX_BYTES)
			break;
		fprintf(out, "%d %s%s\n", i, s->name, place);
	}
}

char *
update_sources_text(const struct manifest *m)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out != NULL) {
		print_sources(out, m);
		if (fclose(out) == 0)
			return text;
		free(text);
	}
	cli_error("out of memory");
	return NULL;
}

static bool
begins_with(const char *line, const char *mark)
{
	return strncmp(line, mark, strlen(mark)) == 0;
}

char *
update_sources_text_of(int64_t time, const char *sha256, const char *lines)
{
	char *text = NULL;
	size_t len = 0, line;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL) {
		cli_error("out of memory");
		return NULL;
	}
	print_comments(out, time, sha256);
	for (; lines != NULL && *lines != '\0'; lines += line) {
		line = strcspn(lines, "\n");
		line += lines[line] == '\n' ? 1 : 0;
		if (begins_with(lines, HEADLINE) ||
		    begins_with(lines, DATE_MARK) ||
		    begins_with(lines, TIME_MARK) ||
		    begins_with(lines, SHA256_MARK))
			continue;
		/* Logins read no more: the rest are called by their ids. */
		if ((size_t)ftell(out) + line > KV_SOURCES_MAX_BYTES)
			break;
		fwrite(lines, 1, line, out);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	cli_error("out of memory");
	return NULL;
}

/* Copies the rest of the line that begins with mark; "" if there is none. */
static void
copy_comment(const char *text, const char *mark, char *value, size_t cap)
{
	const char *line = strstr(text, mark);
	size_t len;

	value[0] = '\0';
	if (line == NULL || (line != text && line[-1] != '\n'))
		return;
	line += strlen(mark);
	if ((len = strcspn(line, "\n")) < cap) {
		memcpy(value, line, len);
		value[len] = '\0';
	}
}

void
update_sources_parse(const char *text, struct update_sources *s)
{
	char date[UPDATE_DATE_BYTES];

	copy_comment(text, SHA256_MARK, s->sha256, sizeof(s->sha256));
	copy_comment(text, TIME_MARK, date, sizeof(date));
	if (!manifest_parse_date(date, &s->time))
		s->time = -1;
}

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

/* Reads the comments of the file; end is "" or ".previous". */
static void
read_sources(const char *list, const char *end, struct update_sources *s)
{
	char text[KV_SOURCES_MAX_BYTES + 1], *path = sources_path(list, end);
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

void
update_sources_read(const char *list, struct update_sources *s)
{
	read_sources(list, "", s);
}

void
update_sources_read_previous(const char *list, struct update_sources *s)
{
	read_sources(list, ".previous", s);
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
	if (ok &&
	    renameat2(r.dir, r.previous_name, r.dir, r.name,
		r.old != -1 ? RENAME_EXCHANGE : RENAME_NOREPLACE) == -1 &&
	    errno != ENOENT) {
		cli_error("%s: cannot be exchanged with the previous one: %s",
		    path, strerror(errno));
		ok = false;
	}
	replace_close(&r);
	free(path);
	return ok;
}
