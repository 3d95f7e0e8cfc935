/* SPDX-License-Identifier: ISC */
/*
 * reading: has files read by keyveto-reader, which has no powers, and prints
 * what it found. This process opens the files, and reads none of them.
 */
#ifndef CLI_READING_READING_H
#define CLI_READING_READING_H

#include "base/progress.h"
#include "reading/opened.h"
#include "reading/report.h"

struct reading_options {
	/* With which the judge was opened, and what opening its files gave. */
	const struct cli_judge_options *judge;
	struct opened_files *files;
	bool weak; /* looks for RSA keys that anybody factors, too */
	size_t threads;
};

/*
 * Reads the paths, up to a NULL, as input_walk finds files there, prints the
 * findings as the report r says, in the order of the input, and sets the totals
 * of r. False after a message: then not all was read.
 */
bool reading_run(struct report *r, const struct reading_options *options,
    char **paths, struct progress *progress);

#endif
