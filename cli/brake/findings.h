/* SPDX-License-Identifier: ISC */
/*
 * brake/findings: prints and logs the keys in use that a change lists newly,
 * each once, although several configurations may refuse it.
 */
#ifndef CLI_BRAKE_FINDINGS_H
#define CLI_BRAKE_FINDINGS_H

#include "reading/report.h"

/* Begins. via is the command, for the log; NULL: only counts. */
void brake_findings_start(const char *via);

/* For the report's on_listed and on_unjudged. */
void brake_findings_key(const struct report *r, const struct input_key *key,
    const struct kv_decision *d);
void brake_findings_problem(const struct input_problem *p);

/* So many keys. */
size_t brake_findings_keys(void);

void brake_findings_free(void);

#endif
