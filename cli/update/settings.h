/* SPDX-License-Identifier: ISC */
/* update/settings: parses keyveto-update.conf(5). */
#ifndef CLI_UPDATE_SETTINGS_H
#define CLI_UPDATE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kv_config.h"

#define UPDATE_SETTINGS_PATH KV_SYSCONFDIR "/keyveto/update.conf"
#define UPDATE_SETTINGS_MAX_BYTES (64 * 1024)
#define UPDATE_SETTINGS_WHY_BYTES 1024

/* Strings are in text, or constants. NULL: not set. */
struct update_settings {
	char *text;
	const char *url;
	const char *signature_url;
	const char *allowed_signers; /* a path */
	const char *identity;
	const char *ca_file; /* a path */
	const char *proxy;   /* "": none, whatever the environment says */
	uint64_t max_bytes;
	uint64_t timeout, stall_timeout; /* seconds */
	double max_rate;		 /* of false positives */
	uint64_t max_age;		 /* days; 0: any */
};

/* Sets the defaults. */
void update_settings_defaults(struct update_settings *s);

/*
 * Parses a copy of text, len bytes of the file called path. False with file,
 * line and reason of the first mistake in why; do not use s then. Always call
 * update_settings_free, even after a failure.
 */
bool update_settings_parse(const char *text, size_t len, const char *path,
    struct update_settings *s, char why[static UPDATE_SETTINGS_WHY_BYTES]);

void update_settings_free(struct update_settings *s);

#endif
