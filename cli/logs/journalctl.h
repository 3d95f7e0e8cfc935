/* SPDX-License-Identifier: ISC */
/* logs/journalctl: has what journalctl prints read. */
#ifndef CLI_LOGS_JOURNALCTL_H
#define CLI_LOGS_JOURNALCTL_H

#include "logs/log_reading.h"

#define JOURNALCTL "/usr/bin/journalctl"

/*
 * Runs JOURNALCTL with these arguments, the first being JOURNALCTL itself, and
 * has what it prints read. err is the descriptor of its standard error, or
 * PROGRAM_NULL. Exit status 1 is no error with none_is_1: journalctl --grep ends
 * with it if no entry matches. False with why.
 */
bool journalctl_read(struct log_reading *l, enum reading_log what,
    const char *const *argv, int err, bool none_is_1,
    char why[static LOG_WHY_BYTES]);

#endif
