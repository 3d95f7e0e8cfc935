/* SPDX-License-Identifier: ISC */
/*
 * published/manifest: badkeysdata.json, the manifest of an exact list, which
 * keyveto-worker parses, and the records in which it tells what it found.
 */
#ifndef CLI_PUBLISHED_MANIFEST_H
#define CLI_PUBLISHED_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"
#include "kv_fingerprint.h"
#include "kv_sources.h"

#define MANIFEST_MAX_BYTES (1024 * 1024)
#define MANIFEST_SOURCES 256
#define MANIFEST_WHY_BYTES 512
#define MANIFEST_URL_BYTES 1025
/* A longer repository or path is not kept. */
#define MANIFEST_PLACE_BYTES 81
#define MANIFEST_DEPRECATED_BYTES 501

/* The source of keys that has an id, as text that can be printed safely. */
struct manifest_source {
	/* As kv_sources wants it; "": not named. */
	char name[KV_SOURCE_NAME_BYTES];
	/* Where its files are; "": not said, or too long. */
	char repo[MANIFEST_PLACE_BYTES], path[MANIFEST_PLACE_BYTES];
};

struct manifest {
	char blocklist_url[MANIFEST_URL_BYTES];
	char lookup_url[MANIFEST_URL_BYTES];		/* "": there is none */
	char blocklist_sha256[2 * KV_SHA256_BYTES + 1]; /* lower case */
	char lookup_sha256[2 * KV_SHA256_BYTES + 1]; /* "" without lookup_url */
	int64_t time;				     /* seconds since 1970 */
	int64_t expires; /* the same, of the manifest; 0: never */
	/* The publisher's word that the format ends. */
	bool deprecated;
	/* The start of its reason, not safe to print; "": it gives none. */
	char deprecated_text[MANIFEST_DEPRECATED_BYTES];
	struct manifest_source source[MANIFEST_SOURCES];
	size_t left_out; /* sources whose id or name cannot be used */
};

/* --- manifest_parse.c --------------------------------------------------- */

/*
 * Parses len bytes. False with a sentence in why, which may hold any byte.
 * m->deprecated is set even then.
 */
bool manifest_parse(const char *text, size_t len, struct manifest *m,
    char why[static MANIFEST_WHY_BYTES]);

/* --- manifest.c --------------------------------------------------------- */

/*
 * Parses a date of ISO 8601: YYYY-MM-DD, then perhaps THH:MM:SS with a fraction
 * and Z or an offset. Without an offset it is UTC. False for anything else.
 */
bool manifest_parse_date(const char *text, int64_t *timep);

/* Whether text is the SHA-256 of a file in lower-case hexadecimal. */
bool manifest_is_sha256(const char *text);

/* Whether text is not empty, and printable ASCII without blanks. */
bool manifest_is_plain(const char *text);

/* What manifest_parse found, as one process tells it to another, in parts. */
struct manifest_found {
	struct manifest *manifest; /* the caller's; zeroes at first */
	bool ok;		   /* manifest_parse was true */
	char why[MANIFEST_WHY_BYTES];
	bool complete; /* for the receiver: all was received */
};

/*
 * Adds a part to a record that was begun: the source with an id, if it has a
 * name; with MANIFEST_SOURCES, the rest, which comes last. False if there is
 * none.
 */
bool manifest_add_part(struct record_out *o, const struct manifest_found *f,
    size_t id);
/*
 * Takes the next part, which may be a stranger's. False if it is none of a
 * manifest that manifest_parse could have found.
 */
bool manifest_get_part(struct kv_bytes b, struct manifest_found *f);

#endif
