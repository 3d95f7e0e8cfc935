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
	/* READING_LOGIN; also of a login without a key */
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

/*
 * The fields of the records, on both sides. journald counts microseconds; a port
 * has five digits.
 */
#define READING_SINCE_FIELDS(s) R_NUMBER(s, INT64_MAX / 1000000)
#define READING_PROCESS_FIELDS(l) \
	R_ANY((l)->process), READING_SINCE_FIELDS((l)->seconds)
#define READING_LOGIN_FIELDS(l) \
	READING_PROCESS_FIELDS(l), R_TEXT((l)->a.user), R_TEXT((l)->a.from), \
	    R_NUMBER((l)->a.port, 99999), R_FLAG((l)->undated), \
	    R_FLAG((l)->a.hostbased), R_FLAG((l)->a.partial), \
	    R_FLAG((l)->a.md5), R_FLAG((l)->a.has_key), R_FLAG((l)->a.has_ca), \
	    R_BYTES((l)->a.key), R_BYTES((l)->a.ca)
#define READING_OUTCOME_FIELDS(l) \
	READING_PROCESS_FIELDS(l), \
	    R_RANGE((l)->says, OUTCOME_NOTHING + 1, OUTCOME_REFUSED)
#define READING_LOG_KEY_FIELDS(d) R_FLAG((d)->accepted), R_BYTES((d)->digest)
#define READING_LOG_END_FIELDS(e) \
	R_ANY((e)->from_stderr), R_ANY((e)->from_unknown), R_TEXT((e)->why)

/*
 * Set *l, *d, *since or *e to what is in the payload of such a record. False if
 * keyveto-reader sends no such record.
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
