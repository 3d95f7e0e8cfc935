/* SPDX-License-Identifier: ISC */
/* update/options: the options of keyveto update. */
#ifndef CLI_UPDATE_OPTIONS_H
#define CLI_UPDATE_OPTIONS_H

#include "command.h"

struct update_options {
	struct cli_judge_options judge;
	const char *settings_path; /* NULL: the default, if it exists */
	const char *url;	   /* NULL: that of the settings */
	bool force, dry_run, quiet, rollback;
};

#endif
