/* SPDX-License-Identifier: ISC */
/*
 * sshd/result: what "keyveto enable --json" and "disable --json" print,
 * for programs that have to know what was, or would be, changed.
 */
#ifndef CLI_SSHD_RESULT_H
#define CLI_SSHD_RESULT_H

#include "accounts/refused.h"
#include "sshd/files.h"

struct sshd_result {
	const char *what; /* "enable" or "disable" */
	bool dry_run;
	bool planned;	 /* it is known what each file becomes */
	bool guard, pam; /* lines for them are written */
	bool reloaded;
	const struct audit_refused *refused; /* NULL: nobody was asked */
	bool stops; /* enable ends there without --warn and --yes */
};

/*
 * Prints one object: what, status, dry_run, changed, guard, pam, reloaded,
 * files (path, before and after, null if not there), and who is refused. Before
 * a change that was not made, after is what it would be. False after a message.
 */
bool sshd_result_print(const struct sshd_result *r,
    const struct sshd_files *files, int status);

#endif
