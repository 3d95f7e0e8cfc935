/* SPDX-License-Identifier: ISC */
/* published/manifest: parses badkeysdata.json, the manifest of an exact list. */
#ifndef CLI_PUBLISHED_MANIFEST_H
#define CLI_PUBLISHED_MANIFEST_H

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kv_fingerprint.h"

#define MANIFEST_MAX_BYTES (1024 * 1024)
#define MANIFEST_SOURCES 256
#define MANIFEST_WHY_BYTES 512

/* The source of keys that has an id, as text that can be printed safely. */
struct manifest_source {
	const char *name;	 /* as kv_sources wants it; NULL: not named */
	const char *repo, *path; /* where its files are; NULL: not said */
};

/* The strings live until manifest_free. */
struct manifest {
	json_t *root;
	const char *blocklist_url, *lookup_url; /* lookup_url may be NULL */
	char blocklist_sha256[2 * KV_SHA256_BYTES + 1]; /* lower case */
	char lookup_sha256[2 * KV_SHA256_BYTES + 1]; /* "" without lookup_url */
	int64_t time;				     /* seconds since 1970 */
	/* The publisher's word that the format ends; not safe to print. */
	bool deprecated;
	const char *deprecated_text; /* NULL: it gives no reason */
	struct manifest_source source[MANIFEST_SOURCES];
	size_t left_out; /* sources whose id or name cannot be used */
};

/*
 * Parses len bytes. False with a sentence in why, which may hold any byte.
 * Always call manifest_free, even after a failure. m->deprecated is set even
 * then.
 */
bool manifest_parse(const char *text, size_t len, struct manifest *m,
    char why[static MANIFEST_WHY_BYTES]);
void manifest_free(struct manifest *m);

/*
 * Parses a date of ISO 8601: YYYY-MM-DD, then perhaps THH:MM:SS with a fraction
 * and Z or an offset. Without an offset it is UTC. False for anything else.
 */
bool manifest_parse_date(const char *text, int64_t *timep);

#endif
