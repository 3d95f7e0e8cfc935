/* SPDX-License-Identifier: ISC */
#include "reading/log_records.h"

#include <string.h>

#include "wire/reading.h"

/* journald counts microseconds. */
#define SECONDS_MAX (INT64_MAX / 1000000)
/* Five digits. */
#define PORT_MAX 99999

/* Of READING_LOGIN. */
enum login_flags {
	LOGIN_UNDATED = 1,
	LOGIN_HOSTBASED = 2,
	LOGIN_PARTIAL = 4,
	LOGIN_MD5 = 8,
	LOGIN_LACKS_CA = 16,
	LOGIN_ALL = 31,
};

/* Each list of fields is of what is written and of what is read. */
#define LOGIN_FIELDS(l) R_ANY((l)->process), R_NUMBER((l)->seconds, SECONDS_MAX)
#define LOG_KEY_FIELDS(d) R_FLAG((d)->accepted), R_BYTES((d)->digest)
#define LOG_END_FIELDS(e) \
	R_ANY((e)->from_stderr), R_ANY((e)->from_unknown), R_TEXT((e)->why)

void
reading_send_login(struct record_out *o, const struct reading_login *l)
{
	const struct accepted *a = &l->a;
	const unsigned int flags = (l->undated ? LOGIN_UNDATED : 0u) |
	    (a->hostbased ? LOGIN_HOSTBASED : 0u) |
	    (a->partial ? LOGIN_PARTIAL : 0u) | (a->md5 ? LOGIN_MD5 : 0u) |
	    (a->lacks_ca ? LOGIN_LACKS_CA : 0u);
	const struct kv_span key = { a->key, a->has_key ? sizeof(a->key) : 0 };
	const struct kv_span ca = { a->ca, a->has_ca ? sizeof(a->ca) : 0 };

	record_send(o, READING_LOGIN, LOGIN_FIELDS(l), R_VALUE(flags),
	    R_TEXT(a->user), R_TEXT(a->from), R_VALUE(a->port), R_SPAN(key),
	    R_SPAN(ca));
}

void
reading_send_outcome(struct record_out *o, const struct reading_login *l)
{
	record_send(o, READING_LOGIN_OUTCOME, LOGIN_FIELDS(l),
	    R_VALUE(l->says));
}

void
reading_send_log_key(struct record_out *o, const struct log_decision *d)
{
	record_send(o, READING_LOG_KEY, LOG_KEY_FIELDS(d));
}

void
reading_send_log_since(struct record_out *o, int64_t since)
{
	record_send(o, READING_LOG_SINCE, R_ANY(since));
}

void
reading_send_log_end(struct record_out *o, const struct reading_log_end *e)
{
	record_send(o, READING_LOG_END, LOG_END_FIELDS(e));
}

static bool
get_digest(struct kv_bytes *b, bool *hasp,
    uint8_t digest[static KV_SHA256_BYTES])
{
	struct kv_span s;

	if (!record_get(b, R_SPAN(s)) ||
	    (s.len != 0 && s.len != KV_SHA256_BYTES))
		return false;
	*hasp = s.len > 0;
	if (*hasp)
		memcpy(digest, s.p, KV_SHA256_BYTES);
	return true;
}

bool
reading_receive_login(struct kv_bytes b, struct reading_login *l)
{
	struct accepted *a = &l->a;
	unsigned int flags;

	*l = (struct reading_login){ .process = 0 };
	if (!record_get(&b, LOGIN_FIELDS(l), R_NUMBER(flags, LOGIN_ALL),
		R_TEXT(a->user), R_TEXT(a->from),
		R_NUMBER(a->port, PORT_MAX)) ||
	    !get_digest(&b, &a->has_key, a->key) ||
	    !get_digest(&b, &a->has_ca, a->ca))
		return false;
	l->undated = (flags & LOGIN_UNDATED) != 0;
	a->hostbased = (flags & LOGIN_HOSTBASED) != 0;
	a->partial = (flags & LOGIN_PARTIAL) != 0;
	a->md5 = (flags & LOGIN_MD5) != 0;
	a->lacks_ca = (flags & LOGIN_LACKS_CA) != 0;
	return *a->user != '\0' && *a->from != '\0' &&
	    a->from[strspn(a->from, ACCEPTED_FROM_CHARS)] == '\0' &&
	    b.left == 0;
}

bool
reading_receive_outcome(struct kv_bytes b, struct reading_login *l)
{
	*l = (struct reading_login){ .process = 0 };
	return record_get_all(&b, LOGIN_FIELDS(l),
	    R_RANGE(l->says, OUTCOME_NOTHING + 1, OUTCOME_REFUSED));
}

bool
reading_receive_log_key(struct kv_bytes b, struct log_decision *d)
{
	return record_get_all(&b, LOG_KEY_FIELDS(d));
}

static bool
is_printable(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return *text == '\0';
}

bool
reading_receive_log_since(struct kv_bytes b, int64_t *since)
{
	return record_get_all(&b, R_NUMBER(*since, SECONDS_MAX));
}

bool
reading_receive_log_end(struct kv_bytes b, struct reading_log_end *e)
{
	return record_get_all(&b, LOG_END_FIELDS(e)) && is_printable(e->why);
}
