/* SPDX-License-Identifier: ISC */
/*
 * tasks/fingerprints: has keyveto-worker, behind the wall, find the fingerprints
 * of a text (a list of them, a log, what ssh-keygen -l prints), or of the keys that
 * a KRL of OpenSSH revokes. A line with a key has none: its owner wrote the
 * comment. But in a line of JSON, other strings may be fingerprints. What a
 * scanner reports is only recognised: reading_keys_fd reads it.
 */
#ifndef CLI_TASKS_FINGERPRINTS_H
#define CLI_TASKS_FINGERPRINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kv_fingerprint.h"

struct fingerprints {
	/* Gets each. False, after a message, if no more are taken. */
	bool (*found)(const uint8_t digest[static KV_SHA256_BYTES], void *arg);
	void *arg;
	/* Set by tasks_fingerprints. */
	uint64_t n;
	uint64_t key_line;    /* the number of the first with a key; 0: none */
	uint64_t others;      /* lines without one, that are no comment */
	uint64_t first_other; /* the number of the first; 0: there is none */
	bool is_krl;
	bool is_report; /* of a scanner: it has no n, even if keys are in it */
	uint64_t no_keys;  /* its findings that are no SSH keys */
	uint64_t left_out; /* enum krl_left_out: what it also revokes */
};

/*
 * Reads fd to its end, from its start if it is a KRL. False after a message about
 * shown: it cannot be read, is a part of a KRL, or a line has "SHA256:" before
 * something that is no fingerprint.
 */
bool tasks_fingerprints(const char *shown, int fd, struct fingerprints *f);

#endif
