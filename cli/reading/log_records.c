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
	LOGIN_ALL = 15,
};

static void
begin_login(struct record_out *o, enum reading_answer tag,
    const struct reading_login *l)
{
	record_begin(o, (uint8_t)tag);
	record_add_number(o, l->process);
	record_add_number(o, (uint64_t)l->seconds);
}

static void
add_digest(struct record_out *o, bool has,
    const uint8_t digest[static KV_SHA256_BYTES])
{
	record_add_bytes(o, digest, has ? KV_SHA256_BYTES : 0);
}

void
reading_send_login(struct record_out *o, const struct reading_login *l)
{
	const struct accepted *a = &l->a;

	begin_login(o, READING_LOGIN, l);
	record_add_number(o,
	    (l->undated ? LOGIN_UNDATED : 0u) |
		(a->hostbased ? LOGIN_HOSTBASED : 0u) |
		(a->partial ? LOGIN_PARTIAL : 0u) | (a->md5 ? LOGIN_MD5 : 0u));
	record_add_text(o, a->user);
	record_add_text(o, a->from);
	record_add_number(o, a->port);
	add_digest(o, a->has_key, a->key);
	add_digest(o, a->has_ca, a->ca);
	record_end(o);
}

void
reading_send_outcome(struct record_out *o, const struct reading_login *l)
{
	begin_login(o, READING_LOGIN_OUTCOME, l);
	record_add_number(o, l->says);
	record_end(o);
}

void
reading_send_log_key(struct record_out *o, const struct log_decision *d)
{
	record_begin(o, READING_LOG_KEY);
	record_add_number(o, d->accepted);
	add_digest(o, true, d->digest);
	record_end(o);
}

void
reading_send_log_since(struct record_out *o, int64_t since)
{
	record_begin(o, READING_LOG_SINCE);
	record_add_number(o, (uint64_t)since);
	record_end(o);
}

void
reading_send_log_end(struct record_out *o, const struct reading_log_end *e)
{
	record_begin(o, READING_LOG_END);
	record_add_number(o, e->from_stderr);
	record_add_number(o, e->from_unknown);
	record_add_text(o, e->why);
	record_end(o);
}

static bool
get_seconds(struct kv_bytes *b, int64_t *secondsp)
{
	uint64_t n;

	if (!record_get_limited(b, SECONDS_MAX, &n))
		return false;
	*secondsp = (int64_t)n;
	return true;
}

static bool
get_login(struct kv_bytes *b, struct reading_login *l)
{
	*l = (struct reading_login){ .process = 0 };
	return record_get_number(b, &l->process) && get_seconds(b, &l->seconds);
}

static bool
get_digest(struct kv_bytes *b, bool *hasp,
    uint8_t digest[static KV_SHA256_BYTES])
{
	struct kv_span s;

	if (kv_bytes_get_string(b, &s) != KV_OK ||
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
	uint64_t flags, port;

	if (!get_login(&b, l) || !record_get_limited(&b, LOGIN_ALL, &flags) ||
	    !record_get_text(&b, a->user, sizeof(a->user)) ||
	    !record_get_text(&b, a->from, sizeof(a->from)) ||
	    !record_get_limited(&b, PORT_MAX, &port) ||
	    !get_digest(&b, &a->has_key, a->key) ||
	    !get_digest(&b, &a->has_ca, a->ca))
		return false;
	l->undated = (flags & LOGIN_UNDATED) != 0;
	a->hostbased = (flags & LOGIN_HOSTBASED) != 0;
	a->partial = (flags & LOGIN_PARTIAL) != 0;
	a->md5 = (flags & LOGIN_MD5) != 0;
	a->port = (unsigned int)port;
	return *a->user != '\0' && *a->from != '\0' &&
	    a->from[strspn(a->from, ACCEPTED_FROM_CHARS)] == '\0' &&
	    b.left == 0;
}

bool
reading_receive_outcome(struct kv_bytes b, struct reading_login *l)
{
	uint64_t says;

	if (!get_login(&b, l) || !record_get_number(&b, &says) ||
	    says == OUTCOME_NOTHING || says > OUTCOME_REFUSED)
		return false;
	l->says = (enum outcome_says)says;
	return b.left == 0;
}

bool
reading_receive_log_key(struct kv_bytes b, struct log_decision *d)
{
	bool has;

	return record_get_flag(&b, &d->accepted) &&
	    get_digest(&b, &has, d->digest) && has && b.left == 0;
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
	return get_seconds(&b, since) && b.left == 0;
}

bool
reading_receive_log_end(struct kv_bytes b, struct reading_log_end *e)
{
	return record_get_number(&b, &e->from_stderr) &&
	    record_get_number(&b, &e->from_unknown) &&
	    record_get_text(&b, e->why, sizeof(e->why)) &&
	    is_printable(e->why) && b.left == 0;
}
