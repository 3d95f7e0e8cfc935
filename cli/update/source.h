/* SPDX-License-Identifier: ISC */
/*
 * update/source: where a new filter comes from, who must have signed it, and
 * what the settings allow.
 */
#ifndef CLI_UPDATE_SOURCE_H
#define CLI_UPDATE_SOURCE_H

#include "command.h"
#include "net/fetch.h"
#include "update/notes.h"
#include "update/settings.h"

/* The options of keyveto update. */
struct update_options {
	struct cli_judge_options judge;
	const char *settings_path; /* NULL: the default, if it exists */
	const char *url;	   /* NULL: that of the settings */
	int force, dry_run, quiet, rollback;
};

struct update_source {
	struct update_settings settings;
	struct kv_config config;
	struct fetch_place from, signature;
	struct https_limits limits;
	char name[UPDATE_DIGEST_CHARS];		/* in the notes */
	int signers;				/* -1: no signature needed */
	char signers_name[UPDATE_DIGEST_CHARS]; /* in the notes; "" if none */
};

/*
 * Reads the settings, and sets s to what they and the options ask for. *pathp
 * is the filter to replace, valid until s is closed, while o lives. False after
 * a message. Always call update_source_close, even after a failure.
 */
bool update_source_open(struct update_source *s, const struct update_options *o,
    bool (*stopped)(void), const char **pathp);
void update_source_close(struct update_source *s);

#endif
