/* SPDX-License-Identifier: ISC */
#include "update/unwanted.h"

#include <stdio.h>
#include <string.h>

#include "command.h"

/* The notes have them with a blank between two. */

bool
update_unwanted_has(const struct update_notes *s, const char *sha256)
{
	return strlen(sha256) == UPDATE_DIGEST_CHARS - 1 &&
	    strstr(s->unwanted_files, sha256) != NULL;
}

void
update_unwanted_report(const char *shown, const char *name)
{
	cli_error("%s: still has the %s that was rolled back here, which is "
		  "not installed again. Any other one that is newer is "
		  "installed by itself; to take this one, use --force",
	    shown, name);
}

void
update_unwanted_remove(struct update_notes *s, const char *sha256)
{
	char *at = strstr(s->unwanted_files, sha256);
	size_t len = strlen(sha256);

	if (!update_unwanted_has(s, sha256))
		return;
	/* With the blank behind it, or else the one before. */
	if (at[len] == ' ')
		len++;
	else if (at > s->unwanted_files)
		*--at = '\0';
	if (*at != '\0')
		memmove(at, at + len, strlen(at + len) + 1);
}

void
update_unwanted_add(struct update_notes *s, const char *sha256)
{
	char *text = s->unwanted_files, *next;
	const size_t len = strlen(sha256);

	update_unwanted_remove(s, sha256);
	while (text[0] != '\0' &&
	    strlen(text) + 1 + len >= sizeof(s->unwanted_files)) {
		next = strchr(text, ' ');
		if (next == NULL)
			text[0] = '\0';
		else
			memmove(text, next + 1, strlen(next + 1) + 1);
	}
	next = text + strlen(text);
	snprintf(next, sizeof(s->unwanted_files) - (size_t)(next - text),
	    "%s%s", next > text ? " " : "", sha256);
}
