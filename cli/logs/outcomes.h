/* SPDX-License-Identifier: ISC */
/*
 * logs/outcomes: whether a login that sshd accepted came in. PAM's session is
 * opened after the message "Accepted": when PAM refuses it, the same process of
 * sshd says so in a later one (log_lines/outcome).
 */
#ifndef CLI_LOGS_OUTCOMES_H
#define CLI_LOGS_OUTCOMES_H

#include "log_lines/outcome.h"
#include "logs/logins.h"

/* So many logins wait at a time for what becomes of them. */
#define OUTCOMES_MAX 256
/* A message that comes later is about another login with the process's id. */
#define OUTCOMES_SECONDS 600

/* The logins of one log. All zeroes but l and log: none. */
struct outcomes {
	struct logins *l;
	const char *log; /* its name; the caller's, as long as l */
	struct outcome {
		uint64_t process; /* 0: no login */
		int64_t seconds;
		struct accepted a;
		bool refused;
	} v[OUTCOMES_MAX];
	size_t n, next;
};

/*
 * Adds a login that the process of sshd accepted. Without a process (0) counts
 * it at once; if too many wait, counts the oldest.
 */
void outcomes_add(struct outcomes *o, uint64_t process, int64_t seconds,
    const struct accepted *a);

/* Takes another message of the process. "Accepted" decides about "Partial". */
void outcomes_note(struct outcomes *o, uint64_t process, int64_t seconds,
    enum outcome_says says);

/* Counts all that wait. */
void outcomes_end(struct outcomes *o);

#endif
