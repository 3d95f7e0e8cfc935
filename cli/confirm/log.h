/* SPDX-License-Identifier: ISC */
/*
 * confirm/log: the fingerprints of the keys that only filters list, by the lines
 * that guard and module logged (log_lines/decision). Any program can write to
 * the log: the fingerprints say which keys of this machine to judge, and nothing
 * else.
 */
#ifndef CLI_CONFIRM_LOG_H
#define CLI_CONFIRM_LOG_H

#include "kv_fingerprint.h"

#define LOG_KEYS_MAX 100000

struct log_key {
	uint8_t digest[KV_SHA256_BYTES];
	bool accepted; /* a line does not say authorized=no */
	bool found;    /* set by the caller */
};

/* All zeroes: empty. Freed by log_keys_free. */
struct log_keys {
	struct log_key **v;
	size_t n;
	void *by_digest; /* a tree of tsearch(3) */
	bool full;	 /* there are more than LOG_KEYS_MAX */
	bool failed;	 /* out of memory */
};

/*
 * Reads a log, "-" for standard input. It may be gzip or xz, and in any of
 * journalctl's forms. False after a message.
 */
bool log_keys_read(struct log_keys *k, const char *path);

/*
 * Reads the logs of this machine: the journal, /var/log/auth.log and
 * /var/log/secure, those that are there. False after a message, also if none is.
 */
bool log_keys_read_all(struct log_keys *k);

/* Returns the key, or NULL if the log does not have it. */
struct log_key *log_keys_find(const struct log_keys *k,
    const uint8_t digest[static KV_SHA256_BYTES]);

void log_keys_free(struct log_keys *k);

#endif
