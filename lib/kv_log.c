/* SPDX-License-Identifier: ISC */
#include "kv_log.h"

#include <stdarg.h>
#include <string.h>
#include <syslog.h>

#define VALUE_MAX_BYTES 512

static const char plain[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/@+=,-";

struct line {
	char *p;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void
append(struct line *l, const char *fmt, ...)
{
	size_t left = KV_LOG_LINE_BYTES - l->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->p + l->len, left, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->len += (size_t)n < left ? (size_t)n : left - 1;
}

static void
append_pair(struct line *l, const char *name, const char *value)
{
	if (value == NULL)
		return;
	append(l, "%s%s=", l->len > 0 ? " " : "", name);
	if (*value != '\0' && value[strspn(value, plain)] == '\0' &&
	    strlen(value) <= VALUE_MAX_BYTES) {
		append(l, "%s", value);
		return;
	}
	append(l, "\"");
	for (size_t i = 0; i < VALUE_MAX_BYTES && value[i] != '\0'; i++) {
		unsigned char c = (unsigned char)value[i];

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			append(l, "\\x%02x", c);
		else
			append(l, "%c", c);
	}
	append(l, "\"");
}

static const char *
or_null(const char *s)
{
	return *s != '\0' ? s : NULL;
}

void
kv_log_format(const struct kv_log_context *ctx, const struct kv_decision *d,
    char line[static KV_LOG_LINE_BYTES])
{
	struct line l = { .p = line };
	char revision[16];

	line[0] = '\0';
	append_pair(&l, "verdict", kv_verdict_name(d->verdict));
	append_pair(&l, "action", kv_action_name(d->action));
	append_pair(&l, "user", ctx->user);
	append_pair(&l, "rhost", ctx->rhost);
	append_pair(&l, "via", ctx->via);
	append_pair(&l, "key_type", or_null(d->key_type));
	append_pair(&l, "key_fp", or_null(d->fingerprint));
	if (d->fingerprint[0] != '\0')
		append_pair(&l, "part", kv_part_name(d->part));
	if (ctx->authorized != KV_AUTHORIZED_UNKNOWN)
		append_pair(&l, "authorized",
		    ctx->authorized == KV_AUTHORIZED_YES ? "yes" : "no");
	if (d->list != NULL) {
		append_pair(&l, "list", d->list->path);
		append_pair(&l, "source", d->source);
	} else if (d->filter != NULL) {
		snprintf(revision, sizeof(revision), "%lu",
		    (unsigned long)d->filter->pkbf.header.revision);
		append_pair(&l, "filter", d->filter->path);
		append_pair(&l, "revision", revision);
	}
	append_pair(&l, "reason", or_null(d->reason));
	if (ctx->disconnected)
		append_pair(&l, "disconnected", "yes");
}

int
kv_log_priority(const struct kv_log_context *ctx, const struct kv_decision *d)
{
	switch (d->verdict) {
	case KV_VERDICT_LISTED:
		return ctx->authorized == KV_AUTHORIZED_NO ?
		    LOG_NOTICE :
		    LOG_WARNING;
	case KV_VERDICT_ALLOWED:
	case KV_VERDICT_UNSUPPORTED:
		return LOG_NOTICE;
	case KV_VERDICT_CLEAN:
		return LOG_DEBUG;
	case KV_VERDICT_ERROR:
		break;
	}
	return LOG_ERR;
}
