/* SPDX-License-Identifier: ISC */
/*
 * kv_log: formats the line that is logged for a decision. The guard and the PAM
 * module pass it to syslog(3).
 */
#ifndef KV_LOG_H
#define KV_LOG_H

#include "kv_verdict.h"

/* Holds any line: each value is cut to 512 bytes before it is quoted. */
#define KV_LOG_LINE_BYTES 10240

enum kv_authorized {
	KV_AUTHORIZED_UNKNOWN = 0, /* left out of the line */
	KV_AUTHORIZED_NO,
	KV_AUTHORIZED_YES,
};

/* Who came from where. A pair whose value is NULL is left out. */
struct kv_log_context {
	const char *via; /* "guard" or "pam" */
	const char *user;
	const char *rhost;
	enum kv_authorized authorized;
	bool disconnected; /* the connection ends after this line */
};

/*
 * Writes the key=value pairs of a decision to line, without a line end and with
 * a NUL. A value is quoted if it is empty or longer than 512 bytes, or holds
 * anything but [A-Za-z0-9._:/@+=,-]. Inside quotes a control or non-ASCII byte,
 * a quote and a backslash become \xNN: no value can forge another pair or line.
 */
void kv_log_format(const struct kv_log_context *ctx,
    const struct kv_decision *d, char line[static KV_LOG_LINE_BYTES]);

/*
 * The syslog priority of a decision (LOG_ERR, LOG_WARNING, ...), without
 * facility: debug for a clean key, err for an error, notice for the rest, and
 * warning for a listed key. A listed key that the account does not list gets
 * notice.
 */
int kv_log_priority(const struct kv_log_context *ctx,
    const struct kv_decision *d);

#endif
