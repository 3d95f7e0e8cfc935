/* SPDX-License-Identifier: ISC */
/*
 * published/index: the index of a published folder, keyveto-index(5): one JSON
 * text, behind which its signature stands in the same file.
 */
#ifndef CLI_PUBLISHED_INDEX_H
#define CLI_PUBLISHED_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kv_fingerprint.h"

#define INDEX_NAME "index" /* of the file in the folder */
#define INDEX_FILES_DIR "files"
#define INDEX_DELTAS_DIR "deltas"
#define INDEX_NAMESPACE "keyveto-index" /* of ssh-keygen -Y sign -n */

/* Bounds, so that no index costs much memory or time. */
#define INDEX_MAX_BYTES (1024 * 1024) /* of the whole file */
#define INDEX_COMPANION_MAX_BYTES (1024 * 1024)
#define INDEX_FILES 64
#define INDEX_DELTAS 256 /* of each file */
#define INDEX_NAME_MAX 128
#define INDEX_SERIAL_MAX (UINT64_C(1) << 53)

/*
 * A revision that is more than this above the highest one so far is a mistake,
 * or is meant to leave no room for later ones. A publisher may count seconds:
 * this is three years of them.
 */
#define INDEX_REVISION_JUMP_MAX 100000000

#define INDEX_WHY_BYTES 512
#define INDEX_SHA256_BYTES (2 * KV_SHA256_BYTES + 1) /* hex digits, NUL */
#define INDEX_TIME_BYTES sizeof("9999-12-31T23:59:59Z")
#define INDEX_PATH_BYTES 96

enum index_type {
	INDEX_PKBF,
	INDEX_BLOCKLIST, /* an exact list */
};

/* A small file that belongs to a file; sha256 is "" if there is none. */
struct index_companion {
	char sha256[INDEX_SHA256_BYTES]; /* lower case, as all of these */
	uint64_t size;
};

/* From one whole unpacked file to another, by their SHA-256. */
struct index_delta {
	char from[INDEX_SHA256_BYTES], to[INDEX_SHA256_BYTES];
	uint64_t size; /* of the delta */
};

struct index_file {
	char name[INDEX_NAME_MAX + 1];
	enum index_type type;
	uint64_t size; /* unpacked; this and all sizes are at most INT64_MAX */
	char sha256[INDEX_SHA256_BYTES]; /* unpacked */
	uint64_t packed_size;		 /* of files/SHA256.xz */
	uint32_t revision;		 /* of a filter */
	bool dated;
	int64_t date; /* of a filter's header, or of the manifest */
	struct index_companion manifest; /* badkeysdata.json, as it came */
	struct index_companion sources;	 /* LIST.sources of an own list */
	struct index_delta *delta;
	size_t n_deltas;
};

struct index {
	uint64_t serial;
	int64_t date, expires; /* seconds since 1970, as all times */
	struct index_file *file;
	size_t n;
};

/*
 * Sets *text_lenp to the length of the text before the signature: that is what
 * is signed, and what index_parse takes. False if there is no signature; then
 * the text is all of it.
 */
bool index_split(const char *bytes, size_t len, size_t *text_lenp);

/*
 * Parses the text without the signature. Unknown members are ignored; all else
 * that keyveto-index(5) does not allow is an error. False with a sentence in
 * why, without a subject ("has no serial"), which may hold any byte but NUL.
 * Always call index_free, even after a failure.
 */
bool index_parse(const char *text, size_t len, struct index *x,
    char why[static INDEX_WHY_BYTES]);
void index_free(struct index *x);

/*
 * The text of an index that index_parse would take, with a line end, for free.
 * Not terminated by a NUL that counts. NULL: out of memory. Longer than
 * INDEX_MAX_BYTES it is of no use.
 */
char *index_format(const struct index *x, size_t *lenp);

/* The file of that name; NULL: none. */
struct index_file *index_find(const struct index *x, const char *name);

/*
 * Whether a file may have that name in an index: 1 to INDEX_NAME_MAX of
 * A-Za-z0-9._- without a dot at the beginning.
 */
bool index_is_name(const char *name);

/* 64 lower-case hexadecimal digits. */
bool index_is_sha256(const char *text);
void index_format_sha256(const uint8_t digest[static KV_SHA256_BYTES],
    char text[static INDEX_SHA256_BYTES]);

/* YYYY-MM-DDTHH:MM:SSZ. False if the year has not four digits. */
bool index_format_time(int64_t when, char text[static INDEX_TIME_BYTES]);

/* Where a file, a companion and a delta are, below the folder. */
void index_packed_path(const char *sha256, char path[static INDEX_PATH_BYTES]);
void index_companion_path(const char *sha256,
    char path[static INDEX_PATH_BYTES]);
void index_delta_path(const char *from, const char *to,
    char path[static INDEX_PATH_BYTES]);

#endif
