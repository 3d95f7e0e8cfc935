/* SPDX-License-Identifier: ISC */
/*
 * The index of a published folder: what is taken must be within the bounds of
 * published/index.h, and be taken again, with the same bytes, when it is
 * written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "published/index.h"

/* The one text of these bytes. */
static void
check_sha256(const char *sha256)
{
	uint8_t digest[KV_SHA256_BYTES];
	char again[INDEX_SHA256_BYTES];

	for (size_t i = 0; i < sizeof(digest); i++)
		FUZZ_CHECK(sscanf(sha256 + 2 * i, "%2hhx", &digest[i]) == 1);
	index_format_sha256(digest, again);
	FUZZ_CHECK(strcmp(again, sha256) == 0);
}

static void
check_file(const struct index *x, const struct index_file *f)
{
	char path[INDEX_PATH_BYTES];

	check_sha256(f->sha256);
	index_packed_path(f->sha256, path);
	FUZZ_CHECK(strstr(path, f->sha256) != NULL);
	index_companion_path(f->sha256, path);
	FUZZ_CHECK(strstr(path, f->sha256) != NULL);
	FUZZ_CHECK(index_is_name(f->name) && strchr(f->name, '/') == NULL);
	FUZZ_CHECK(index_find(x, f->name) == f);
	FUZZ_CHECK(index_is_sha256(f->sha256));
	FUZZ_CHECK(f->size > 0 && f->size <= INT64_MAX);
	FUZZ_CHECK(f->packed_size > 0 && f->packed_size <= INT64_MAX);
	FUZZ_CHECK(f->n_deltas <= INDEX_DELTAS);
	for (size_t i = 0; i < f->n_deltas; i++) {
		index_delta_path(f->delta[i].from, f->delta[i].to, path);
		FUZZ_CHECK(strlen(path) == strlen("deltas/-.delta") + 64);
		FUZZ_CHECK(strstr(path, "..") == NULL);
	}
}

static void
check_again(const struct index *x)
{
	char why[INDEX_WHY_BYTES], *text, *same;
	struct index again;
	size_t len, same_len;

	text = index_format(x, &len);
	FUZZ_CHECK(text != NULL);
	FUZZ_CHECK(index_parse(text, len, &again, why));
	same = index_format(&again, &same_len);
	FUZZ_CHECK(
	    same != NULL && same_len == len && memcmp(same, text, len) == 0);
	index_free(&again);
	free(same);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	char why[INDEX_WHY_BYTES];
	struct index x;
	size_t len;
	bool ok;

	if (index_split(bytes, size, &len))
		FUZZ_CHECK(len < size && (len == 0 || bytes[len - 1] == '\n'));
	else
		FUZZ_CHECK(len == size);
	ok = index_parse(bytes, len, &x, why);
	FUZZ_CHECK(ok == (why[0] == '\0'));
	if (ok) {
		FUZZ_CHECK(x.n <= INDEX_FILES);
		FUZZ_CHECK(x.serial > 0 && x.serial <= INDEX_SERIAL_MAX);
		for (size_t i = 0; i < x.n; i++)
			check_file(&x, &x.file[i]);
		check_again(&x);
	}
	index_free(&x);
	return 0;
}
