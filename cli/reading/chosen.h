/* SPDX-License-Identifier: ISC */
/* reading/chosen: the judge of those commands that say what one chose. */
#ifndef CLI_READING_CHOSEN_H
#define CLI_READING_CHOSEN_H

#include "command.h"
#include "reading/judging.h"

/* How keyveto check has files read: as judging_start_report. */
struct chosen_reading {
	unsigned int flags;
	uint64_t total;
	bool quiet;
	struct talk *talk; /* is set */
};

/*
 * Opens the configuration, the filters and the lists. Prints a warning for a
 * file that is not secure. False after a message, with nothing to close: exit
 * with CLI_UNCHECKED.
 */
bool chosen_open(struct judging *j, const struct cli_judge_options *o);

/*
 * Does the same. If o names no filter and no list but an own one, and not all
 * files can be read, it is true after the messages, too: *partlyp is set, keys
 * that need no secret are listed, and most others have no verdict. files is
 * NULL unless the reader is to read files.
 */
bool chosen_open_partly(struct judging *j, const struct cli_judge_options *o,
    struct chosen_reading *files, bool *partlyp);

/* Closes it. False after a message: the reader failed before. */
bool chosen_close(struct judging *j);

#endif
