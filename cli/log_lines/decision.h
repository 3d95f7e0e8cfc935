/* SPDX-License-Identifier: ISC */
/*
 * log_lines/decision: what a line that guard or module logged (kv_log) says of
 * a key that only filters list.
 */
#ifndef CLI_LOG_LINES_DECISION_H
#define CLI_LOG_LINES_DECISION_H

#include "kv_fingerprint.h"

struct log_decision {
	uint8_t digest[KV_SHA256_BYTES]; /* the key's */
	bool accepted; /* the line does not say authorized=no */
};

/* Reads a line of a log, without its line end. False if it has no such key. */
bool log_decision_parse(const char *line, struct log_decision *d);

#endif
