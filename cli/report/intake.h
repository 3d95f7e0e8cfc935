/* SPDX-License-Identifier: ISC */
/*
 * report/intake: reads what keyveto audit --json wrote on other hosts, line by
 * line, into the database. Every byte of it may be hostile.
 */
#ifndef CLI_REPORT_INTAKE_H
#define CLI_REPORT_INTAKE_H

#include "report/fleet.h"

/* A longer line is a problem, and is passed over. */
#define INTAKE_LINE_BYTES (2 * 1024 * 1024)

/*
 * Reads the audit of one host; "-" is standard input. What cannot be read is a
 * problem of the host, after a message with file and line; the rest is read all
 * the same, but nothing from a second header on: a host could write that of
 * another one. False only if the database fails.
 */
bool intake_audit(struct fleet *f, const char *path);

/* Does the same of a file, or of all audits (.json, .jsonl) in a folder. */
bool intake_audits(struct fleet *f, const char *path);

/*
 * Reads the names of the hosts that should have an audit: one a line; # begins a
 * comment. False after a message.
 */
bool intake_hosts(struct fleet *f, const char *path);

/* Reads whose keys are whose: report/owners. False after a message. */
bool intake_owners(struct fleet *f, const char *path);

#endif
