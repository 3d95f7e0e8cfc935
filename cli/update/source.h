/* SPDX-License-Identifier: ISC */
/*
 * update/source: where a new filter or list comes from, who must have signed it,
 * and what the settings allow.
 */
#ifndef CLI_UPDATE_SOURCE_H
#define CLI_UPDATE_SOURCE_H

#include <limits.h>

#include "command.h"
#include "net/fetch.h"
#include "upkeep/notes.h"
#include "upkeep/settings.h"

/* The options of keyveto update. */
struct update_options {
	struct cli_judge_options judge;
	const char *settings_path; /* NULL: the default, if it exists */
	const char *source[UPDATE_SOURCES_MAX]; /* NULL: all */
	size_t n_sources;
	const char *url; /* NULL: that of the settings */
	bool force, dry_run, quiet, rollback, lookup, yes;
};

struct update_source {
	struct update_settings settings;
	struct kv_config config;
	bool own;	     /* an ordinary user keeps the free list */
	char path[PATH_MAX]; /* of that list */
	struct fetch_place from, signature;
	struct https_limits limits;
	char name[UPDATE_DIGEST_CHARS];		/* in the notes */
	int signers;				/* -1: no signature needed */
	int never_listed;			/* -1: no such file */
	char signers_name[UPDATE_DIGEST_CHARS]; /* in the notes; "" if none */
};

/*
 * Sets s to what the settings of one source and the options ask for. *pathp is
 * the file to replace, valid until s is closed, while o and the settings live.
 * False after a message. Always call update_source_close, even after a failure.
 */
bool update_source_open(struct update_source *s,
    const struct update_settings *settings, const struct update_options *o,
    bool (*stopped)(void), const char **pathp);
void update_source_close(struct update_source *s);

/*
 * Returns the path of the keyveto.conf that o names, or of the default one;
 * NULL if there is none.
 */
const char *update_source_config_path(const struct update_options *o);

#endif
