/* SPDX-License-Identifier: ISC */
#include "accounts/way_in.h"

#include <sys/stat.h>

#include <pwd.h>
#include <shadow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "host/groups.h"
#include "sshd_config/match.h"

#define DAY (24 * 60 * 60)
/* Who has to replace a listed key needs another one for so long. */
#define EXPIRY_SECONDS (7 * DAY)
/* sshkey.h: SSH_RSA_MINIMUM_MODULUS_SIZE */
#define RSA_BITS_MIN 1024
#define OPTION_BYTES 1024

/* --- the options of a line ---------------------------------------------- */

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

/* The number in the first n characters, all digits, of text. */
static int
read_number(const char *text, size_t n)
{
	int number = 0;

	while (n-- > 0)
		number = 10 * number + (*text++ - '0');
	return number;
}

/*
 * Reads the value of expiry-time=: YYYYMMDD[HHMM[SS]][Z], as
 * misc.c:parse_absolute_time does. *whenp may be wrong by a time zone.
 */
static bool
read_expiry(const char *value, int64_t *whenp)
{
	const size_t digits = strspn(value, "0123456789");
	struct tm tm = { 0 };

	if ((digits != 8 && digits != 12 && digits != 14) ||
	    (value[digits] != '\0' && strcmp(value + digits, "Z") != 0))
		return false;
	tm.tm_year = read_number(value, 4) - 1900;
	tm.tm_mon = read_number(value + 4, 2) - 1;
	tm.tm_mday = read_number(value + 6, 2);
	if (digits > 8) {
		tm.tm_hour = read_number(value + 8, 2);
		tm.tm_min = read_number(value + 10, 2);
	}
	if (tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 ||
	    tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59)
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
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789_");

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
way_in_options(struct kv_span options, int64_t now)
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
way_in_has_expired(struct kv_span options, int64_t now)
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

/* --- what sshd's settings say -------------------------------------------- */

/*
 * The value of the next line with this keyword in what is left of settings's
 * login; cut off at cap - 1 bytes. False at the end.
 */
static bool
next_value(const char **login, const char *keyword, char *value, size_t cap)
{
	const size_t len = strlen(keyword);

	while (**login != '\0') {
		const char *line = *login;
		const size_t n = strcspn(line, "\n");

		*login = line + n + (line[n] == '\n');
		if (strncasecmp(line, keyword, len) != 0 || line[len] != ' ')
			continue;
		snprintf(value, cap, "%.*s", (int)(n - len - 1),
		    line + len + 1);
		return true;
	}
	return false;
}

/* Whether a list with commas has a pattern that matches. */
static bool
list_has(char *list, const char *name)
{
	const char *pattern;

	while ((pattern = strsep(&list, ",")) != NULL)
		if (sshd_match_pattern(name, pattern))
			return true;
	return false;
}

bool
way_in_accepts(const struct sshd_settings *settings, const char *type,
    unsigned int bits)
{
	const bool rsa = strcmp(type, "ssh-rsa") == 0;
	char value[SSHD_VALUE_BYTES], copy[SSHD_VALUE_BYTES];
	const char *login;
	unsigned long least = RSA_BITS_MIN;

	if (settings == NULL)
		return true;
	login = settings->login;
	if (next_value(&login, "RequiredRSASize", value, sizeof(value)) &&
	    strtoul(value, NULL, 10) > least)
		least = strtoul(value, NULL, 10);
	if (rsa && bits < least)
		return false;
	login = settings->login;
	if (!next_value(&login, "PubkeyAcceptedAlgorithms", value,
		sizeof(value))) {
		login = settings->login;
		if (!next_value(&login, "PubkeyAcceptedKeyTypes", value,
			sizeof(value)))
			return strcmp(type, "ssh-dss") != 0;
	}
	memcpy(copy, value, sizeof(copy));
	if (!rsa)
		return list_has(value, type);
	/* Clients of today sign by these two alone. */
	return list_has(value, "rsa-sha2-256") ||
	    list_has(copy, "rsa-sha2-512");
}

/* Whether a list of AuthenticationMethods is one step with a key, or more. */
static bool
is_one_key(char *list)
{
	const char *method;
	size_t keys = 0;

	while ((method = strsep(&list, ",")) != NULL)
		keys += strcmp(method, "publickey") == 0;
	return keys == 1;
}

static bool
methods_admit(const char *login)
{
	char value[SSHD_VALUE_BYTES], *rest = value, *list;

	if (!next_value(&login, "AuthenticationMethods", value, sizeof(value)))
		return true;
	while ((list = strsep(&rest, " ")) != NULL)
		if (strcmp(list, "any") == 0 || is_one_key(list))
			return true;
	return false;
}

static bool
root_is_admitted(const char *login)
{
	char value[SSHD_VALUE_BYTES];

	return !next_value(&login, "PermitRootLogin", value, sizeof(value)) ||
	    strcasecmp(value, "yes") == 0 ||
	    strcasecmp(value, "prohibit-password") == 0 ||
	    strcasecmp(value, "without-password") == 0;
}

/* Whether a pattern of DenyUsers may mean a login of the account. */
static bool
may_mean(const char *pattern, const char *name)
{
	char user[SSHD_VALUE_BYTES];

	snprintf(user, sizeof(user), "%s", pattern);
	if (sshd_match_pattern(name, user))
		return true;
	for (char *at = strrchr(user, '@'); at != NULL;
	     at = strrchr(user, '@')) {
		*at = '\0';
		if (sshd_match_pattern(name, user))
			return true;
	}
	return false;
}

/* Whether a pattern of AllowUsers means all logins of the account. */
static bool
must_mean(const char *pattern, const char *name)
{
	char user[SSHD_VALUE_BYTES], *at;

	snprintf(user, sizeof(user), "%s", pattern);
	if ((at = strrchr(user, '@')) != NULL) {
		if (strcmp(at, "@*") != 0)
			return false;
		*at = '\0';
	}
	return sshd_match_pattern(name, user);
}

static bool
users_admit(const char *login, const char *name)
{
	const char *rest = login;
	char value[SSHD_VALUE_BYTES];
	bool listed = false, any = false;

	while (next_value(&rest, "DenyUsers", value, sizeof(value)))
		if (*value == '!' || may_mean(value, name))
			return false;
	for (rest = login;
	     next_value(&rest, "AllowUsers", value, sizeof(value));
	     any = true) {
		if (*value == '!')
			return false;
		listed |= must_mean(value, name);
	}
	return listed || !any;
}

/* Whether DenyUsers or AllowUsers keep out all logins of the account. */
static bool
users_close(const char *login, const char *name)
{
	const char *rest = login;
	char value[SSHD_VALUE_BYTES];
	bool listed = false, any = false;

	while (next_value(&rest, "DenyUsers", value, sizeof(value)))
		if (*value != '!' && must_mean(value, name))
			return true;
	for (rest = login;
	     next_value(&rest, "AllowUsers", value, sizeof(value)); any = true)
		listed |= *value == '!' || may_mean(value, name);
	return any && !listed;
}

/* Whether one of the groups matches the pattern. */
static bool
has_group(const gid_t *gid, size_t n, const char *pattern)
{
	const struct groups none = { 0 };
	const char *name;

	for (size_t i = 0; i < n; i++) {
		name = groups_name(&none, gid[i]);
		if (name != NULL && sshd_match_pattern(name, pattern))
			return true;
	}
	return false;
}

static bool
groups_admit(const char *login, const struct account *account)
{
	const struct groups none = { 0 };
	const char *rest = login;
	char value[SSHD_VALUE_BYTES];
	bool ok = true, listed = false, any = false;
	size_t n = 0;
	gid_t *gid;

	if (!next_value(&rest, "DenyGroups", value, sizeof(value)) &&
	    (rest = login,
		!next_value(&rest, "AllowGroups", value, sizeof(value))))
		return true;
	if ((gid = groups_of(&none, 0, account, &n)) == NULL)
		return false;
	for (rest = login;
	     ok && next_value(&rest, "DenyGroups", value, sizeof(value));)
		ok = *value != '!' && !has_group(gid, n, value);
	for (rest = login;
	     ok && next_value(&rest, "AllowGroups", value, sizeof(value));
	     any = true) {
		ok = *value != '!';
		listed |= has_group(gid, n, value);
	}
	free(gid);
	return ok && (listed || !any);
}

/* Whether DenyGroups or AllowGroups keep out all logins of the account. */
static bool
groups_close(const char *login, const struct account *account)
{
	const struct groups none = { 0 };
	const char *rest = login;
	char value[SSHD_VALUE_BYTES];
	bool closed = false, listed = false, any = false;
	size_t n = 0;
	gid_t *gid = groups_of(&none, 0, account, &n);

	if (gid == NULL)
		return false;
	while (!closed && next_value(&rest, "DenyGroups", value, sizeof(value)))
		closed = *value != '!' && has_group(gid, n, value);
	for (rest = login;
	     next_value(&rest, "AllowGroups", value, sizeof(value)); any = true)
		listed |= *value == '!' || has_group(gid, n, value);
	free(gid);
	return closed || (any && !listed);
}

bool
way_in_is_closed(const struct sshd_settings *settings,
    const struct account *account)
{
	return settings != NULL &&
	    (users_close(settings->login, account->name) ||
		groups_close(settings->login, account));
}

static bool
settings_admit(const struct sshd_settings *s, const struct account *account)
{
	return s->pubkey && methods_admit(s->login) &&
	    (account->uid != 0 || root_is_admitted(s->login)) &&
	    users_admit(s->login, account->name) &&
	    groups_admit(s->login, account);
}

/* --- what the machine says ----------------------------------------------- */

/* Whether a login gets a shell. */
static bool
has_shell(const struct passwd *pw)
{
	const char *shell = *pw->pw_shell != '\0' ? pw->pw_shell : "/bin/sh";
	const char *slash = strrchr(shell, '/');
	const char *name = slash != NULL ? slash + 1 : shell;
	struct stat st;

	return strcmp(name, "nologin") != 0 && strcmp(name, "false") != 0 &&
	    stat(shell, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_mode & 0111) != 0;
}

/*
 * Whether neither the account nor its password has expired, as pam_unix and
 * auth.c:allowed_user of sshd see it. An expired password must be changed
 * before there is a shell, and not everybody knows theirs.
 */
static bool
is_current(const char *name)
{
	const long today = (long)(time(NULL) / DAY);
	const struct spwd *sp = getspnam(name);

	if (sp == NULL)
		return true;
	if (sp->sp_expire >= 0 && today >= sp->sp_expire)
		return false;
	return sp->sp_lstchg != 0 &&
	    (sp->sp_lstchg < 0 || sp->sp_max < 0 ||
		today - sp->sp_lstchg <= sp->sp_max);
}

/* Whether sshd itself, without PAM, takes the account for locked. */
static bool
is_locked(const struct passwd *pw)
{
	const struct spwd *sp = getspnam(pw->pw_name);

	return *(sp != NULL ? sp->sp_pwdp : pw->pw_passwd) == '!';
}

bool
way_in_admits(const struct sshd_settings *settings,
    const struct account *account)
{
	const struct passwd *pw;

	if (settings != NULL && !settings_admit(settings, account))
		return false;
	/* An account that no name service knows gets no shell. */
	if ((pw = getpwnam(account->name)) == NULL || !has_shell(pw) ||
	    (settings != NULL && !settings->use_pam && is_locked(pw)))
		return false;
	return is_current(account->name);
}
