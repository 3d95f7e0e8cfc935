/* SPDX-License-Identifier: ISC */
/*
 * logs/journalctl: has what journalctl prints read. keyveto-worker starts it:
 * it parses what others wrote, and may do nothing but that.
 */
#ifndef CLI_LOGS_JOURNALCTL_H
#define CLI_LOGS_JOURNALCTL_H

#include "logs/log_reading.h"

#define JOURNALCTL "/usr/bin/journalctl"

struct journalctl {
	const char *const *argv; /* JOURNALCTL, then its arguments */
	const char *path;	 /* a file or folder among them; NULL: none */
	bool prints;		 /* its messages are printed */
	/* 1 is no error: journalctl --grep ends with it if nothing matches. */
	bool none_is_1;
};

/* Runs JOURNALCTL, and has what it prints read. False with why. */
bool journalctl_read(struct log_reading *l, enum reading_log what,
    const struct journalctl *j, char why[static LOG_WHY_BYTES]);

#endif
