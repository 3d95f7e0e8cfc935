/* SPDX-License-Identifier: ISC */
/* reading/log_records: what keyveto-reader says of a log. */
#ifndef CLI_READING_LOG_RECORDS_H
#define CLI_READING_LOG_RECORDS_H

#include "base/record.h"
#include "log_lines/accepted.h"
#include "log_lines/decision.h"
#include "log_lines/log_lines.h"
#include "log_lines/outcome.h"

/* A login that sshd accepted, or what became of one. */
struct reading_login {
	uint64_t process; /* of sshd; 0: not known */
	int64_t seconds;  /* since 1970 */
	/*
	 * READING_LOGIN. It has a key, a CA or an MD5 fingerprint, unless it is
	 * of READING_LOG_SESSIONS.
	 */
	bool undated; /* its line has no year, which is not known yet */
	struct accepted a;
	/* READING_LOGIN_OUTCOME: not OUTCOME_NOTHING */
	enum outcome_says says;
};

/* The end of a log. */
struct reading_log_end {
	uint64_t from_stderr;	 /* entries of sshd -e that do not count */
	uint64_t from_unknown;	 /* entries of some program of root's */
	char why[LOG_WHY_BYTES]; /* why not all was read; "" */
};

void reading_send_login(struct record_out *o, const struct reading_login *l);
void reading_send_outcome(struct record_out *o, const struct reading_login *l);
void reading_send_log_key(struct record_out *o, const struct log_decision *d);
/* The time of the first line so far, in seconds. */
void reading_send_log_since(struct record_out *o, int64_t since);
void reading_send_log_end(struct record_out *o,
    const struct reading_log_end *e);

/*
 * Set *l, *d, *since or *e to what is in the payload of such a record. False if
 * the functions above send no such record.
 */
KV_MUST_CHECK bool reading_receive_login(struct kv_bytes payload,
    struct reading_login *l);
KV_MUST_CHECK bool reading_receive_outcome(struct kv_bytes payload,
    struct reading_login *l);
KV_MUST_CHECK bool reading_receive_log_key(struct kv_bytes payload,
    struct log_decision *d);
KV_MUST_CHECK bool reading_receive_log_since(struct kv_bytes payload,
    int64_t *since);
KV_MUST_CHECK bool reading_receive_log_end(struct kv_bytes payload,
    struct reading_log_end *e);

#endif
