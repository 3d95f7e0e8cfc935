/* SPDX-License-Identifier: ISC */
/*
 * report/forms: the forms of keyveto report. Each reads the joined database.
 * They are false after a message.
 */
#ifndef CLI_REPORT_FORMS_H
#define CLI_REPORT_FORMS_H

#include <jansson.h>

#include <stdio.h>

#include "report/fleet.h"

/* Text for people, on standard output. */
bool report_text(struct fleet *f, const struct fleet_totals *t);

/*
 * CSV (RFC 4180) on standard output, a row for each finding. No cell is a
 * formula to a spreadsheet: see csv.c.
 */
bool report_csv(struct fleet *f);

/*
 * SARIF 2.1.0, or a page with the data in it, into out, which stays open. With
 * all, the page also has clean keys of one account.
 */
bool report_sarif(struct fleet *f, bool all, FILE *out);
bool report_html(struct fleet *f, bool all, FILE *out);

/* "2026-11-23T13:20:00Z"; "" if the time has no such form. */
#define REPORT_TIME_BYTES 32
const char *report_time(int64_t seconds, char text[static REPORT_TIME_BYTES]);

/* "yes", "no", or "" if that is not known. */
const char *report_yes_or_no(int64_t n);

/*
 * Writes a value, and frees it: ASCII only, and without < > and &, so that it
 * can stand in a page. False without memory, with value NULL, or if out fails.
 */
bool report_json(FILE *out, json_t *value);

#endif
