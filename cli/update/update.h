/* SPDX-License-Identifier: ISC */
/*
 * update/update: the steps of keyveto update. The new filter is fetched into a
 * hidden file beside the old one, verified there, and then replaces the old one
 * in one step.
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
	bool unwanted;	/* the server's filter was rolled back */
	bool keep_part; /* the next run can resume it */
	bool replaced;	/* the new filter is in place */
};

/* The result. The zero value is failure. */
enum update_outcome {
	UPDATE_FAILED = 0,
	UPDATE_REPLACED,
	UPDATE_CURRENT,
};

/*
 * update/install.c: fetches, verifies and installs. installed and received must
 * be open. UPDATE_FAILED comes after a message.
 */
enum update_outcome update_install(struct update *u);

/* update/report.c: print a line on standard output, unless with --quiet. */
void update_report_replaced(const struct update *u,
    const struct filter_facts *fresh, const char *verb);
void update_report_current(const struct update *u);

#endif
