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

/* The Makefile can set other directories. */
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
#define KV_CONFIG_MAX_BLOCKLISTS 64
#define KV_CONFIG_MAX_PATTERNS 256

/* What happens to a login. The zero value refuses it. */
enum kv_action {
	KV_ACTION_DENY = 0,
	KV_ACTION_WARN, /* log and let in */
	KV_ACTION_ALLOW,
};

/* An AllowKey or DenyKey line. */
struct kv_key_line {
	uint8_t digest[KV_SHA256_BYTES];
	/*
	 * As days since 1970 in UTC: the last day that an AllowKey line counts,
	 * or the first day that a DenyKey line does.
	 */
	int64_t day;
	const char *reason; /* "" without one */
};
/* The day of a line without until=, and of one without since=. */
#define KV_CONFIG_NO_END INT64_MAX
#define KV_CONFIG_NO_START INT64_MIN

struct kv_key_lines {
	struct kv_key_line *v;
	size_t n;
};

/* All strings live until kv_config_free. */
struct kv_config {
	char *text; /* the file, cut into the strings below */
	const char *filter[KV_CONFIG_MAX_FILTERS];
	size_t n_filters;
	const char *blocklist[KV_CONFIG_MAX_BLOCKLISTS];
	size_t n_blocklists;
	struct kv_key_lines allowed, denied;
	const char *pattern[KV_CONFIG_MAX_PATTERNS];
	size_t n_patterns;
	enum kv_action on_hit, on_probable, on_error, on_unsupported;
	enum kv_strictmodes strictmodes;
	enum kv_wildcards wildcards;
	int syslog_facility; /* LOG_AUTHPRIV, ... */
	const char *message; /* NULL: none is set */
};

/*
 * Read a value of StrictModes or AuthorizedKeysFileWildcards, in any case. They
 * return false for any other word, and leave the output alone.
 */
bool kv_config_read_strictmodes(const char *word, enum kv_strictmodes *mode);
bool kv_config_read_wildcards(const char *word, enum kv_wildcards *wildcards);
/* The word for a value of StrictModes. */
const char *kv_config_strictmodes_word(enum kv_strictmodes mode);

/* Sets the values that hold without a configuration file. */
void kv_config_defaults(struct kv_config *c);

/*
 * Reads the configuration file behind fd, which stays open. path is for
 * messages. c can be used even after an error; kv_config_free frees it. why is
 * "" without an error. Errors:
 * - KV_ERR_CONFIG: why names file, line and reason of the first mistake. The
 *   lines without a mistake hold: OnError decides what a mistake does. If the
 *   file is larger than KV_CONFIG_MAX_BYTES, the defaults hold.
 * - KV_ERR_SYSTEM (errno), KV_ERR_MEMORY: the defaults hold.
 */
KV_MUST_CHECK enum kv_err kv_config_read(int fd, const char *path,
    struct kv_config *c, char why[static KV_CONFIG_WHY_BYTES]);

/* Does the same with a copy of text, of len bytes. text may hold any byte. */
KV_MUST_CHECK enum kv_err kv_config_parse(const char *text, size_t len,
    const char *path, struct kv_config *c,
    char why[static KV_CONFIG_WHY_BYTES]);

void kv_config_free(struct kv_config *c);

/* Converts YYYY-MM-DD to days since 1970. False if there is no such day. */
bool kv_config_read_date(const char *s, int64_t *daysp);

/*
 * Returns the first AllowKey line that counts for digest at time now (seconds
 * since 1970), or NULL. It belongs to c.
 */
const struct kv_key_line *kv_config_find_allowed(const struct kv_config *c,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t now);

/* The same of DenyKey lines. */
const struct kv_key_line *kv_config_find_denied(const struct kv_config *c,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t now);

/*
 * Writes message to out, which holds cap (at least 1) bytes. Replaces %f by
 * fingerprint, %t by type and %% by %. Cuts what does not fit, and ends out
 * with a NUL.
 */
void kv_config_message(const char *message, const char *fingerprint,
    const char *type, char *out, size_t cap);

#endif
