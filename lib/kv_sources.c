/* SPDX-License-Identifier: ISC */
#include "kv_sources.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char name_chars[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

/* Reads the file, if fd is one, into text, and ends it with a NUL. */
static void
read_text(int fd, char text[static KV_SOURCES_MAX_BYTES + 1])
{
	size_t len = 0;
	ssize_t n = 1;

	while (n != 0 && len < KV_SOURCES_MAX_BYTES) {
		n = pread(fd, text + len, KV_SOURCES_MAX_BYTES - len,
		    (off_t)len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
}

/*
 * Copies the name if line names id, and returns what follows the name in text;
 * else returns NULL.
 */
static const char *
read_name(const char *line, uint8_t id, char name[static KV_SOURCE_NAME_BYTES])
{
	unsigned int value = 0;
	size_t digits = strspn(line, "0123456789"), len;

	if (digits == 0 || digits > 3 || line[digits] != ' ')
		return NULL;
	for (size_t i = 0; i < digits; i++)
		value = value * 10 + (unsigned int)(line[i] - '0');
	line += digits + 1;
	len = strspn(line, name_chars);
	if (value != id || len == 0 || len >= KV_SOURCE_NAME_BYTES ||
	    (line[len] != ' ' && line[len] != '\n' && line[len] != '\0'))
		return NULL;
	memcpy(name, line, len);
	name[len] = '\0';
	return line + len;
}

/* Copies the words after a name, up to the end of the line. */
static void
copy_words(const char *rest, char *more, size_t cap)
{
	size_t len;

	rest += strspn(rest, " ");
	len = strcspn(rest, "\n");
	if (len >= cap)
		return;
	memcpy(more, rest, len);
	more[len] = '\0';
}

/*
 * Reads the file into text, and copies the name of source id. Returns what
 * follows the name in text; NULL, and the number as the name, if it has none.
 */
static const char *
find_name(int fd, uint8_t id, char text[static KV_SOURCES_MAX_BYTES + 1],
    char name[static KV_SOURCE_NAME_BYTES])
{
	const char *rest;

	read_text(fd, text);
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if ((rest = read_name(line, id, name)) != NULL)
			return rest;
	}
	snprintf(name, KV_SOURCE_NAME_BYTES, "id%u", id);
	return NULL;
}

void
kv_sources_read(int fd, uint8_t id, char name[static KV_SOURCE_NAME_BYTES],
    char *more, size_t cap)
{
	char text[KV_SOURCES_MAX_BYTES + 1] = "";
	const char *rest = find_name(fd, id, text, name);

	more[0] = '\0';
	if (rest != NULL)
		copy_words(rest, more, cap);
}

void
kv_sources_name(int fd, uint8_t id, char name[static KV_SOURCE_NAME_BYTES])
{
	char text[KV_SOURCES_MAX_BYTES + 1] = "";

	(void)find_name(fd, id, text, name);
}
