/* SPDX-License-Identifier: ISC */
/*
 * upkeep/settings: parses keyveto-update.conf(5). A Source line begins a section
 * for a source of that name. The lines before the first section are about the
 * source without a name, and most of them hold in each section, too.
 */
#ifndef CLI_UPKEEP_SETTINGS_H
#define CLI_UPKEEP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/change.h"
#include "kv_config.h"

#define UPDATE_SETTINGS_PATH KV_SYSCONFDIR "/keyveto/update.conf"
#define UPDATE_SETTINGS_MAX_BYTES (64 * 1024)
#define UPDATE_SETTINGS_WHY_BYTES 1024

#define UPDATE_SOURCES_MAX 32
#define UPDATE_SOURCE_NAME_MAX 63

/* The source that needs no settings. */
#define UPDATE_BADKEYS_NAME "badkeys"
#define UPDATE_BADKEYS_URL "https://update.badkeys.info/v0/badkeysdata.json"
#define UPDATE_BADKEYS_TARGET KV_STATEDIR "/badkeys.dat"

/* What the URL of a source leads to. */
enum update_format {
	UPDATE_FORMAT_PKBF = 0, /* a filter */
	UPDATE_FORMAT_BADKEYS,	/* the manifest of an exact list */
};

/* One source. Strings are constants, or the settings'. NULL: not set. */
struct update_settings {
	/* These hold for this source only. */
	const char *name; /* "": it has none */
	enum update_format format;
	const char *url;
	const char *target; /* a path */
	const char *signature_url;
	const char *allowed_signers; /* a path */
	const char *identity;
	bool lookup;
	/* These hold in sections, too. */
	const char *ca_file; /* a path */
	const char *proxy;   /* "": none, whatever the environment says */
	uint64_t max_bytes;
	uint64_t timeout, stall_timeout; /* seconds */
	double max_rate;		 /* of false positives */
	uint64_t max_age;		 /* days; 0: any */
	struct change_hold hold;	 /* HoldIfRefused */
	const char *never_listed;	 /* a path */
};

/* The whole file. */
struct update_conf {
	char *text; /* cut into the strings */
	/* source[0] has no name; the others are the sections, in their order. */
	struct update_settings source[UPDATE_SOURCES_MAX];
	size_t n;
	const char *confirm; /* the URL that keyveto confirm asks; NULL: none */
};

/* Sets the values that hold without a file: a single source, without a name. */
void update_conf_defaults(struct update_conf *c);

/*
 * Parses a copy of text, len bytes of the file called path. False with file,
 * line and reason of the first mistake in why; do not use c then. Always call
 * update_conf_free, even after a failure.
 */
bool update_conf_parse(const char *text, size_t len, const char *path,
    struct update_conf *c, char why[static UPDATE_SETTINGS_WHY_BYTES]);

/*
 * Reads the file at path, or without a path the default one, which may be
 * missing. Only this user or root may be able to write it. False after a message.
 * Always call update_conf_free, even after a failure.
 */
bool update_conf_read(const char *path, struct update_conf *c);

void update_conf_free(struct update_conf *c);

/* The path of the settings, for messages: path, or the default. */
const char *update_conf_path(const char *path);

/*
 * Opens a file that decides what is installed: only this user or root may be
 * able to write it. -1 after a message.
 */
int update_open_trusted(const char *path);

/*
 * Sets s to the source called name ("": the one without a name). The source
 * badkeys is there even if the file has no such section. False if there is none.
 */
bool update_conf_find(const struct update_conf *c, const char *name,
    struct update_settings *s);

#endif
