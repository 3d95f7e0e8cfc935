/* SPDX-License-Identifier: ISC */
/*
 * update: the steps of keyveto update. What is fetched goes into a hidden file
 * beside the filter, is verified there, and then takes its place in one step.
 */
#ifndef CLI_UPDATE_UPDATE_H
#define CLI_UPDATE_UPDATE_H

#include "update/installed.h"
#include "update/notes.h"
#include "update/options.h"
#include "update/received.h"
#include "update/source.h"

struct update {
	struct update_options options;
	struct update_source source;
	struct update_installed installed;
	struct update_received received;
	struct update_notes notes;
	bool unwanted;	/* what comes was rolled back from */
	bool keep_part; /* the next run can go on from it */
	bool replaced;	/* the filter is the new one */
};

/* How it went; the zero value is the bad one. */
enum update_outcome {
	UPDATE_FAILED = 0,
	UPDATE_REPLACED,
	UPDATE_CURRENT,
};

/*
 * update/install.c: with installed and received open. Failure comes after a
 * message.
 */
enum update_outcome update_install(struct update *u);

/* update/report.c: a line on standard output, unless --quiet was given. */
void update_report_replaced(const struct update *u,
    const struct filter_facts *fresh, const char *verb);
void update_report_current(const struct update *u);

#endif
