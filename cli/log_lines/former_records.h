/* SPDX-License-Identifier: ISC */
/*
 * log_lines/former_records: what the task "former" of keyveto-worker tells of a
 * former audit.
 */
#ifndef CLI_LOG_LINES_FORMER_RECORDS_H
#define CLI_LOG_LINES_FORMER_RECORDS_H

/* After so many problems the rest is not read: it is a file of another kind. */
#define FORMER_PROBLEMS_MAX 20
/* Less than any object with a verdict and a fingerprint has. */
#define FORMER_KEY_BYTES_MIN 64
/* Room for a key's type and a NUL. */
#define FORMER_TYPE_BYTES 64

/* A part of its result: this, then what belongs to it. */
enum former_part {
	FORMER_END,
	FORMER_KEY,	/* SHA-256, type, enum kv_verdict, whether it is a CA */
	FORMER_PROBLEM, /* line, reason */
};

#endif
