/* SPDX-License-Identifier: ISC */
#include "published/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DELTA_NAME_DIGITS 32 /* of each SHA-256 in a delta's name */
#define DIGITS "0123456789abcdef"

bool
index_is_name(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= INDEX_NAME_MAX && name[0] != '.' &&
	    strspn(name,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
	    len;
}

bool
index_is_sha256(const char *text)
{
	return strspn(text, DIGITS) == INDEX_SHA256_BYTES - 1 &&
	    text[INDEX_SHA256_BYTES - 1] == '\0';
}

void
index_format_sha256(const uint8_t digest[static KV_SHA256_BYTES],
    char text[static INDEX_SHA256_BYTES])
{
	for (size_t i = 0; i < KV_SHA256_BYTES; i++) {
		text[2 * i] = DIGITS[digest[i] >> 4];
		text[2 * i + 1] = DIGITS[digest[i] & 15];
	}
	text[2 * KV_SHA256_BYTES] = '\0';
}

bool
index_format_time(int64_t when, char text[static INDEX_TIME_BYTES])
{
	time_t t = (time_t)when;
	struct tm tm;

	text[0] = '\0';
	return when >= 0 && gmtime_r(&t, &tm) != NULL &&
	    tm.tm_year <= 9999 - 1900 &&
	    strftime(text, INDEX_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0;
}

void
index_packed_path(const char *sha256, char path[static INDEX_PATH_BYTES])
{
	snprintf(path, INDEX_PATH_BYTES, INDEX_FILES_DIR "/%s.xz", sha256);
}

void
index_companion_path(const char *sha256, char path[static INDEX_PATH_BYTES])
{
	snprintf(path, INDEX_PATH_BYTES, INDEX_FILES_DIR "/%s", sha256);
}

void
index_delta_path(const char *from, const char *to,
    char path[static INDEX_PATH_BYTES])
{
	snprintf(path, INDEX_PATH_BYTES, INDEX_DELTAS_DIR "/%.*s-%.*s.delta",
	    DELTA_NAME_DIGITS, from, DELTA_NAME_DIGITS, to);
}

struct index_file *
index_find(const struct index *x, const char *name)
{
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->file[i].name, name) == 0)
			return &x->file[i];
	return NULL;
}

void
index_free(struct index *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->file[i].delta);
	free(x->file);
	*x = (struct index){ .serial = 0 };
}
