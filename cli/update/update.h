/* SPDX-License-Identifier: ISC */
/*
 * update: the steps of keyveto update. What is fetched goes into a hidden file
 * beside the filter, is verified there, and then takes its place in one step.
 */
#ifndef CLI_UPDATE_UPDATE_H
#define CLI_UPDATE_UPDATE_H

#include "command.h"
#include "update/fetch.h"
#include "update/part.h"
#include "update/settings.h"
#include "update/state.h"
#include "update/target.h"

struct update {
	/* The options. */
	struct cli_judge_options judge;
	const char *settings_path;	/* NULL: the default, if it exists */
	const char *url;
	bool force, dry_run, quiet, rollback;

	/* By update_setup. */
	struct update_settings settings;
	struct kv_config config;
	int signers;			/* -1: no signature is asked for */
	char signers_name[UPDATE_DIGEST_CHARS];	/* "" then */
	struct fetch_place from, signature;
	struct fetch_limits limits;
	char source[UPDATE_DIGEST_CHARS];

	/* The filter, what is to replace it, and what is known of both. */
	struct update_target target;
	struct update_part part;
	struct update_state state;
	bool unwanted;			/* what comes was rolled back from */
	bool keep_part;			/* the next run can go on from it */
	bool replaced;			/* the filter is the new one */
};

/* How it went; the zero value is the bad one. */
enum update_outcome {
	UPDATE_FAILED = 0,
	UPDATE_REPLACED,
	UPDATE_CURRENT,
};

/*
 * update/setup.c: reads the settings, finds out which filter it is about and
 * where another one comes from. False after a message. update_teardown in both
 * cases.
 */
bool update_setup(struct update *u);
void update_teardown(struct update *u);

/*
 * update/install.c: with target and part open. Failure comes after a message.
 */
enum update_outcome update_install(struct update *u);

/* update/report.c: a line on standard output, unless --quiet was given. */
void update_report_replaced(const struct update *u,
    const struct filter_facts *fresh, const char *verb);
void update_report_current(const struct update *u);

#endif
