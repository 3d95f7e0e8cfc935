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
/* Room for a key's type, a host and an account with \xNN, each with a NUL. */
#define FORMER_TYPE_BYTES 64
#define FORMER_HOST_BYTES 256
#define FORMER_ACCOUNT_BYTES 1025

/* The argument of the task: what it tells. */
enum former_wanted {
	FORMER_LISTED, /* keys with "verdict": "listed" */
	FORMER_ALL,    /* keys of any verdict */
	/*
	 * Which account had which key. The first problem ends it, and an audit
	 * that is not whole is one.
	 */
	FORMER_ACCOUNTS,
};

/* A part of its result: this, then what belongs to it. */
enum former_part {
	FORMER_END,
	FORMER_KEY,	/* SHA-256, type, enum kv_verdict, whether it is a CA */
	FORMER_PROBLEM, /* line, reason */
	/* With FORMER_ACCOUNTS, instead of FORMER_KEY: */
	FORMER_HEADER,	/* host, seconds since 1970, whether without --user */
	FORMER_USER,	/* an account of --user, behind the header */
	FORMER_ACCOUNT, /* SHA-256, account ("": none), whether a CA */
};

#endif
