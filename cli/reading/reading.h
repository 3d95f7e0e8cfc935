/* SPDX-License-Identifier: ISC */
/*
 * reading: has files read by keyveto-reader, which has no powers, and prints
 * what it found. This process opens the files, and reads none of them.
 */
#ifndef CLI_READING_READING_H
#define CLI_READING_READING_H

#include "base/progress.h"
#include "reading/report.h"
#include "reading/talk.h"

/*
 * Reads the paths, up to a NULL, as input_walk finds files there, prints the
 * findings as the report r says, in the order of the input, and sets the totals
 * of r. t is of judging_start_report, for such a report. False after a message:
 * then not all was read.
 */
bool reading_run(struct report *r, struct talk *t, char **paths,
    struct progress *progress);

#endif
