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

#include "host/groups.h"
#include "sshd_config/match.h"

#define DAY (24 * 60 * 60)
/* sshkey.h: SSH_RSA_MINIMUM_MODULUS_SIZE */
#define RSA_BITS_MIN 1024

/* --- what sshd's settings say -------------------------------------------- */

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
	unsigned long least = RSA_BITS_MIN;

	if (settings == NULL)
		return true;
	if (sshd_text_value(settings->login, "RequiredRSASize", value,
		sizeof(value)) &&
	    strtoul(value, NULL, 10) > least)
		least = strtoul(value, NULL, 10);
	if (rsa && bits < least)
		return false;
	if (!sshd_text_value(settings->login, "PubkeyAcceptedAlgorithms", value,
		sizeof(value)) &&
	    !sshd_text_value(settings->login, "PubkeyAcceptedKeyTypes", value,
		sizeof(value)))
		return strcmp(type, "ssh-dss") != 0;
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

	if (!sshd_text_value(login, "AuthenticationMethods", value,
		sizeof(value)))
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

	return !sshd_text_value(login, "PermitRootLogin", value,
		   sizeof(value)) ||
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

/*
 * Whether DenyUsers and AllowUsers let the account in. doubt is the answer where
 * that depends on where it comes from, or is not known here.
 */
static bool
users_admit(const char *login, const char *name, bool doubt)
{
	bool (*const denied)(const char *pattern,
	    const char *name) = doubt ? must_mean : may_mean;
	bool (*const allowed)(const char *pattern,
	    const char *name) = doubt ? may_mean : must_mean;
	const char *rest = login;
	char value[SSHD_VALUE_BYTES];
	bool listed = false, any = false;

	while (sshd_text_next(&rest, "DenyUsers", value, sizeof(value)))
		if (*value == '!' ? !doubt : denied(value, name))
			return false;
	for (rest = login;
	     sshd_text_next(&rest, "AllowUsers", value, sizeof(value));
	     any = true) {
		if (*value == '!' && !doubt)
			return false;
		listed |= *value == '!' || allowed(value, name);
	}
	return listed || !any;
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

/* The same for DenyGroups and AllowGroups. */
static bool
groups_admit(const char *login, const struct account *account, bool doubt)
{
	const struct groups none = { 0 };
	const char *rest = login;
	char value[SSHD_VALUE_BYTES];
	bool ok = true, listed = false, any = false;
	size_t n = 0;
	gid_t *gid;

	if (!sshd_text_value(login, "DenyGroups", value, sizeof(value)) &&
	    !sshd_text_value(login, "AllowGroups", value, sizeof(value)))
		return true;
	if ((gid = groups_of(&none, 0, account, &n)) == NULL)
		return doubt;
	while (ok && sshd_text_next(&rest, "DenyGroups", value, sizeof(value)))
		ok = *value == '!' ? doubt : !has_group(gid, n, value);
	for (rest = login;
	     ok && sshd_text_next(&rest, "AllowGroups", value, sizeof(value));
	     any = true) {
		ok = *value != '!' || doubt;
		listed |= *value == '!' || has_group(gid, n, value);
	}
	free(gid);
	return ok && (listed || !any);
}

bool
way_in_is_closed(const struct sshd_settings *settings,
    const struct account *account)
{
	return settings != NULL &&
	    !(users_admit(settings->login, account->name, true) &&
		groups_admit(settings->login, account, true));
}

static bool
settings_admit(const struct sshd_settings *s, const struct account *account)
{
	return s->pubkey && methods_admit(s->login) &&
	    (account->uid != 0 || root_is_admitted(s->login)) &&
	    users_admit(s->login, account->name, false) &&
	    groups_admit(s->login, account, false);
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
