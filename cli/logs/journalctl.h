/* SPDX-License-Identifier: ISC */
/* logs/journalctl: reads what journalctl prints. */
#ifndef CLI_LOGS_JOURNALCTL_H
#define CLI_LOGS_JOURNALCTL_H

#include "log_lines/log_lines.h"

#define JOURNALCTL "/usr/bin/journalctl"

/*
 * Runs JOURNALCTL with these arguments, the first being JOURNALCTL itself, and
 * reads what it prints. err is the descriptor of its standard error, or
 * PROGRAM_NULL. Exit status 1 is no error with none_is_1: journalctl --grep ends
 * with it if no entry matches. False with why.
 */
bool journalctl_read(const struct log_lines *l, const char *const *argv,
    int err, bool none_is_1, char why[static LOG_WHY_BYTES]);

#endif
