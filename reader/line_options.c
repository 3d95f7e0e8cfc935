/* SPDX-License-Identifier: ISC */
#include "line_options.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#define DAY (24 * 60 * 60)
/* Who has to replace a listed key needs another one for so long. */
#define EXPIRY_SECONDS (7 * DAY)
#define OPTION_BYTES 1024

/* What the options so far make of the key. */
struct line_options {
	bool pty, from;
};

/*
 * Cuts the next option off, up to a comma outside quotes. False at the end, or
 * with *bad if it is too long for text.
 */
static bool
next_option(struct kv_span *rest, char text[static OPTION_BYTES], bool *bad)
{
	bool quoted = false;
	size_t n = 0;

	if (rest->len == 0)
		return false;
	for (; n < rest->len && (quoted || rest->p[n] != ','); n++) {
		if (rest->p[n] == '\\' && n + 1 < rest->len &&
		    rest->p[n + 1] == '"')
			n++;
		else if (rest->p[n] == '"')
			quoted = !quoted;
	}
	*bad = n >= OPTION_BYTES || quoted || memchr(rest->p, '\0', n) != NULL;
	if (*bad)
		return false;
	memcpy(text, rest->p, n);
	text[n] = '\0';
	if (n < rest->len)
		n++;
	*rest = (struct kv_span){ rest->p + n, rest->len - n };
	return true;
}

/*
 * The value of an option NAME="VALUE", without a quote or a backslash in VALUE.
 * Writes into text. NULL if text is not that.
 */
static char *
option_value(char *text, const char *name)
{
	const size_t len = strlen(name);
	char *value = text + len + 2, *end;

	if (strlen(text) < len + 2 || strncasecmp(text, name, len) != 0 ||
	    text[len] != '=' || text[len + 1] != '"')
		return NULL;
	end = value + strcspn(value, "\"\\");
	if (strcmp(end, "\"") != 0)
		return NULL;
	*end = '\0';
	return value;
}

/*
 * Reads the value of expiry-time=: YYYYMMDD[HHMM[SS]][Z], as
 * misc.c:parse_absolute_time does. *whenp may be wrong by a time zone.
 */
static bool
read_expiry(const char *value, int64_t *whenp)
{
	const size_t digits = strspn(value, "0123456789");
	const char *end = NULL;
	struct tm tm = { 0 };

	if (digits == 8)
		end = strptime(value, "%Y%m%d", &tm);
	else if (digits == 12)
		end = strptime(value, "%Y%m%d%H%M", &tm);
	else if (digits == 14)
		end = strptime(value, "%Y%m%d%H%M%S", &tm);
	if (end != value + digits || (*end != '\0' && strcmp(end, "Z") != 0))
		return false;
	*whenp = timegm(&tm);
	return true;
}

/* Whether a key with expiry-time="value" stays for EXPIRY_SECONDS. */
static bool
expires_late(const char *value, int64_t now)
{
	int64_t when;

	return read_expiry(value, &when) && when > now + EXPIRY_SECONDS;
}

/* Whether a list of from= matches every client. */
static bool
is_everywhere(const char *list)
{
	bool all = false;

	if (strchr(list, '!') != NULL)
		return false;
	while (list != NULL) {
		all |= *list == '*' && (list[1] == ',' || list[1] == '\0');
		if ((list = strchr(list, ',')) != NULL)
			list++;
	}
	return all;
}

/* Whether a value is NAME=TEXT, as sshd demands of environment=. */
static bool
is_variable(const char *value)
{
	const size_t n = strspn(value,
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n > 0 && value[n] == '=';
}

/* Whether an option without a value takes nothing away but what it may. */
static bool
is_flag(const char *text)
{
	static const char *const flags[] = {
		"agent-forwarding",
		"port-forwarding",
		"touch-required",
		"user-rc",
		"verify-required",
		"x11-forwarding",
	};

	if (strncasecmp(text, "no-", 3) == 0)
		text += 3;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcasecmp(text, flags[i]) == 0)
			return true;
	return false;
}

/* Adds an option to o. False if the key may let nobody in to a shell. */
static bool
add_option(struct line_options *o, char *text, int64_t now)
{
	char *value;

	/* sshd passes over an empty option. */
	if (*text == '\0' || is_flag(text))
		return true;
	if (strcasecmp(text, "restrict") == 0 ||
	    strcasecmp(text, "no-pty") == 0) {
		o->pty = false;
		return true;
	}
	if (strcasecmp(text, "pty") == 0) {
		o->pty = true;
		return true;
	}
	if ((value = option_value(text, "from")) != NULL) {
		/* sshd refuses a line with two. */
		if (o->from || !is_everywhere(value))
			return false;
		o->from = true;
		return true;
	}
	if ((value = option_value(text, "expiry-time")) != NULL)
		return expires_late(value, now);
	if ((value = option_value(text, "environment")) != NULL)
		return is_variable(value);
	/* command=, cert-authority, principals=, or unknown to this keyveto. */
	return false;
}

bool
line_options_are_free(struct kv_span options, int64_t now)
{
	struct line_options o = { .pty = true };
	char text[OPTION_BYTES];
	bool bad = false;

	while (next_option(&options, text, &bad))
		if (!add_option(&o, text, now))
			return false;
	return !bad && o.pty;
}

bool
line_options_have_expired(struct kv_span options, int64_t now)
{
	char text[OPTION_BYTES] = "";
	const char *value;
	bool bad = false;
	int64_t when;

	while (next_option(&options, text, &bad))
		if ((value = option_value(text, "expiry-time")) != NULL &&
		    read_expiry(value, &when) && when < now - DAY)
			return true;
	return false;
}
