/* SPDX-License-Identifier: ISC */
/* kv_config: keyveto.conf(5). */
#ifndef KV_CONFIG_H
#define KV_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kv_fingerprint.h"
#include "kv_userfile.h"
#include "kv_wildcards.h"

/* The Makefile may say otherwise. */
#ifndef KV_SYSCONFDIR
#define KV_SYSCONFDIR "/etc"
#endif
#ifndef KV_STATEDIR
#define KV_STATEDIR "/var/lib/keyveto"
#endif

#define KV_CONFIG_PATH KV_SYSCONFDIR "/keyveto/keyveto.conf"
#define KV_CONFIG_FILTER_PATH KV_STATEDIR "/filter.pkbf"
#define KV_CONFIG_WHY_BYTES 1024

/* Bounds, so that a damaged file cannot make a login slow. */
#define KV_CONFIG_MAX_BYTES (1024 * 1024)
#define KV_CONFIG_MAX_FILTERS 64
#define KV_CONFIG_MAX_PATTERNS 256

/* What happens to a login; the zero value refuses. */
enum kv_action {
	KV_ACTION_DENY = 0,
	KV_ACTION_WARN, /* log and let in */
	KV_ACTION_ALLOW,
};

/* AllowKey: a key that is not vetoed. */
struct kv_allowed_key {
	uint8_t digest[KV_SHA256_BYTES];
	int64_t until;	    /* last day it counts, in days since 1970 UTC */
	const char *reason; /* "" without one */
};
#define KV_CONFIG_NO_DATE INT64_MAX

/* All strings are owned by the config. */
struct kv_config {
	char *text; /* the file, cut into the strings below */
	const char *filter[KV_CONFIG_MAX_FILTERS];
	size_t n_filters;
	struct kv_allowed_key *allowed;
	size_t n_allowed;
	const char *pattern[KV_CONFIG_MAX_PATTERNS];
	size_t n_patterns;
	enum kv_action on_hit, on_error, on_unsupported;
	enum kv_strictmodes strictmodes;
	enum kv_wildcards wildcards;
	int syslog_facility; /* LOG_AUTHPRIV, ... */
	const char *message;
};

/*
 * The values of StrictModes and AuthorizedKeysFileWildcards, as they are
 * written, in any case. False for another word.
 */
bool kv_config_read_strictmodes(const char *word, enum kv_strictmodes *mode);
bool kv_config_read_wildcards(const char *word, enum kv_wildcards *wildcards);
/* The word for a value of StrictModes. */
const char *kv_config_strictmodes_word(enum kv_strictmodes mode);

/* The values that hold without a configuration file. */
void kv_config_defaults(struct kv_config *c);

/*
 * Reads an open configuration file called path. Always leaves a config that
 * can be used and freed. On KV_ERR_CONFIG why names file, line and reason of
 * the first mistake, and the keywords without mistakes hold: OnError decides
 * what a mistake does. On another error (KV_ERR_SYSTEM with errno,
 * KV_ERR_MEMORY) the defaults hold.
 */
KV_MUST_CHECK enum kv_err kv_config_read(int fd, const char *path,
    struct kv_config *c, char why[static KV_CONFIG_WHY_BYTES]);

/*
 * The same for text of len bytes, which is copied; it may hold anything.
 */
KV_MUST_CHECK enum kv_err kv_config_parse(const char *text, size_t len,
    const char *path, struct kv_config *c,
    char why[static KV_CONFIG_WHY_BYTES]);

void kv_config_free(struct kv_config *c);

/* The AllowKey entry that counts for digest at time now, or NULL. */
const struct kv_allowed_key *kv_config_find_allowed(const struct kv_config *c,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t now);

/*
 * A message with %f, %t and %% replaced and a NUL at its end, cut to fit cap
 * bytes.
 */
void kv_config_message(const char *message, const char *fingerprint,
    const char *type, char *out, size_t cap);

#endif
