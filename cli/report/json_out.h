/* SPDX-License-Identifier: ISC */
/* report/json_out: JSON written piece by piece. */
#ifndef CLI_REPORT_JSON_OUT_H
#define CLI_REPORT_JSON_OUT_H

#include <jansson.h>

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes a value, and frees it: ASCII only, and without < > and &, so that it
 * can stand in a page. False without memory, with value NULL, or if out fails.
 */
bool json_out(FILE *out, json_t *value);

/* A string, or null. */
json_t *json_out_text(const char *text);

#endif
