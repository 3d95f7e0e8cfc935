/* SPDX-License-Identifier: ISC */
/*
 * kv_log: the line that is logged for a decision. Formats only; the guard and
 * the module hand it to syslog(3).
 */
#ifndef KV_LOG_H
#define KV_LOG_H

#include "kv_verdict.h"

/* Holds a line whatever the values: each is cut to 512 bytes of input. */
#define KV_LOG_LINE_BYTES 10240

enum kv_authorized {
	KV_AUTHORIZED_UNKNOWN = 0, /* left out of the line */
	KV_AUTHORIZED_NO,
	KV_AUTHORIZED_YES,
};

/* Who came from where; NULL leaves a pair out. */
struct kv_log_context {
	const char *via; /* "guard" or "pam" */
	const char *user;
	const char *rhost;
	enum kv_authorized authorized;
	bool disconnected; /* the connection ends after this line */
};

/*
 * Writes the key=value pairs of a decision to line, one line without its end,
 * always with a NUL. Values that hold anything but [A-Za-z0-9._:/@+=,-] are
 * quoted, and in them control and non-ASCII bytes, quotes and backslashes are
 * \xNN, so that no value can forge another pair or another line.
 */
void kv_log_format(const struct kv_log_context *ctx,
    const struct kv_decision *d, char line[static KV_LOG_LINE_BYTES]);

/*
 * The syslog priority of a decision (LOG_ERR, LOG_WARNING, ...), without
 * facility: err for errors; warning for a listed key, but notice when the
 * account does not list it; notice for the rest; debug for a clean key.
 */
int kv_log_priority(const struct kv_log_context *ctx,
    const struct kv_decision *d);

#endif
