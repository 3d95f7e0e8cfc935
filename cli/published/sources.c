/* SPDX-License-Identifier: ISC */
#include "published/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "kv_sources.h"

#define DATE_MARK "# date "
#define TIME_MARK "# time "
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
		char place[2 * MANIFEST_PLACE_BYTES + 1] = "";

		if (s->name[0] == '\0')
			continue;
		if (s->repo[0] != '\0' && s->path[0] != '\0')
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
