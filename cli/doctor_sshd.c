/* SPDX-License-Identifier: ISC */
/* What sshd says of its configuration: the guard, and the ways around it. */
#include "doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "guard_command.h"
#include "sshd_overview.h"
#include "sshd_words.h"

#define NAMES_SHOWN 5
#define SSHD_REMEDY "see \"Put it on a real server\" in the README"

/*
 * Whether every list of methods asks PAM after the key, which is when the auth
 * phase sees it: "publickey,keyboard-interactive:pam".
 */
static bool
ask_pam_after_key(const char *methods)
{
	char copy[DOCTOR_VALUE_BYTES], *rest = copy, *list;
	bool all = true, any = false;

	snprintf(copy, sizeof(copy), "%s", methods);
	while ((list = strsep(&rest, " ")) != NULL) {
		const char *key = strstr(list, "publickey");
		const char *pam = strstr(list, "keyboard-interactive");

		if (*list == '\0' || strcmp(list, "any") == 0)
			continue;
		any = true;
		all &= key == NULL || (pam != NULL && pam > key);
	}
	return any && all;
}

void
doctor_read_ways(const char *text, struct doctor_ways *w)
{
	char value[DOCTOR_VALUE_BYTES];
	const char *args;

	*w = (struct doctor_ways){ 0 };
	(void)sshd_text_value(text, "authorizedkeyscommand", w->command,
	    sizeof(w->command));
	(void)sshd_text_value(text, "authorizedkeyscommanduser",
	    w->command_user, sizeof(w->command_user));
	if (!sshd_words_none(w->command)) {
		w->guard = guard_command(w->command, &args);
		w->chained = w->guard && guard_chained(args);
		w->other_command = !w->guard;
	}
	(void)sshd_text_value(text, "authorizedkeysfile", value,
	    sizeof(value));
	w->files = !sshd_words_none(value);
	(void)sshd_text_value(text, "trustedusercakeys", w->user_ca_file,
	    sizeof(w->user_ca_file));
	w->user_ca = !sshd_words_none(w->user_ca_file);
	(void)sshd_text_value(text, "authorizedprincipalscommand",
	    w->principals_command, sizeof(w->principals_command));
	(void)sshd_text_value(text, "authorizedprincipalscommanduser",
	    w->principals_user, sizeof(w->principals_user));
	w->principals = guard_command(w->principals_command, &args);
	(void)sshd_text_value(text, "authorizedprincipalsfile", value,
	    sizeof(value));
	w->principals_file = !sshd_words_none(value);
	w->hostbased = sshd_text_is(text, "hostbasedauthentication", "yes");
	(void)sshd_text_value(text, "permittunnel", value, sizeof(value));
	w->tunnel = *value != '\0' && strcasecmp(value, "no") != 0;
	(void)sshd_text_value(text, "authenticationmethods", value,
	    sizeof(value));
	w->pam_methods = ask_pam_after_key(value);
}

void
doctor_learn_sshd(struct doctor *d)
{
	struct sshd_question q;

	snprintf(d->service, sizeof(d->service), "sshd");
	if (geteuid() != 0) {
		snprintf(d->sshd_why, sizeof(d->sshd_why),
		    "only root can ask sshd for its settings");
		return;
	}
	if (access(d->o->sshd.path, X_OK) == -1) {
		snprintf(d->sshd_why, sizeof(d->sshd_why), "%.400s: %s",
		    d->o->sshd.path, strerror(errno));
		return;
	}
	sshd_ask(&d->o->sshd, "root", &q);
	d->sshd_text = sshd_answer_text(&q, d->sshd_why, sizeof(d->sshd_why));
	if (d->sshd_text == NULL)
		return;
	doctor_read_ways(d->sshd_text, &d->root);
	d->use_pam = sshd_text_is(d->sshd_text, "usepam", "yes");
	if (!sshd_text_value(d->sshd_text, "pamservicename", d->service,
	    sizeof(d->service)))
		snprintf(d->service, sizeof(d->service), "sshd");
}

bool
doctor_has_sshd(struct doctor *d, const char *check)
{
	if (d->sshd_text != NULL)
		return true;
	doctor_warning(d, check, NULL,
	    "not looked at, since sshd gave no answer");
	return false;
}

void
doctor_sshd(struct doctor *d, const char *check)
{
	if (d->sshd_text != NULL)
		doctor_ok(d, check, "%s takes its configuration",
		    d->o->sshd.path);
	else if (geteuid() != 0)
		doctor_warning(d, check, "run keyveto doctor as root", "%s",
		    d->sshd_why);
	else
		doctor_broken(d, check, "mend what sshd complains of; until "
		    "then it will not start again", "%s", d->sshd_why);
}

/* Whether the guard is told all that it needs. */
static bool
has_arguments(const char *args, bool chained, const char **lackp)
{
	static const char *const needed[] = {
		"--user", "--type", "--key", "--home"
	};

	/* A chained guard prints no files of the account's. */
	for (size_t i = 0; i < (chained ? 3U : 4U); i++) {
		if (strstr(args, needed[i]) == NULL) {
			*lackp = needed[i];
			return false;
		}
	}
	return true;
}

/* The file that the guard reads and the one that is looked at here. */
static void
compare_configs(struct doctor *d, const char *check, const char *args)
{
	char path[4096];

	if (!guard_config(args, path, sizeof(path)))
		snprintf(path, sizeof(path), "%s", KV_CONFIG_PATH);
	if (strcmp(path, d->config) != 0)
		doctor_warning(d, check, "name that file with --config",
		    "the guard reads %s, and this looked at %s", path,
		    d->config);
}

static void
look_at_guard(struct doctor *d, const char *check)
{
	const struct doctor_ways *w = &d->root;
	const char *args, *lack;

	(void)guard_command(w->command, &args);
	if (!has_arguments(args, w->chained, &lack))
		doctor_broken(d, check, SSHD_REMEDY,
		    "AuthorizedKeysCommand %s lacks %s", w->command, lack);
	else if (w->files)
		doctor_broken(d, check, "set AuthorizedKeysFile none in "
		    "sshd_config, and the patterns in keyveto.conf",
		    "AuthorizedKeysFile is not none: sshd takes the keys of "
		    "those files without asking the guard");
	else
		doctor_ok(d, check, "AuthorizedKeysCommand is the guard%s, "
		    "and AuthorizedKeysFile is none",
		    w->chained ? ", before another command" : "");
	compare_configs(d, check, args);
}

void
doctor_guard(struct doctor *d, const char *check)
{
	const bool module = d->use_pam && d->module.judges;

	if (!doctor_has_sshd(d, check))
		return;
	if (d->root.guard)
		look_at_guard(d, check);
	else if (module)
		doctor_warning(d, check, "put the guard in too: a listed key "
		    "is then refused before the login completes",
		    "the guard is not AuthorizedKeysCommand: the PAM module "
		    "stands alone");
	else
		doctor_broken(d, check, SSHD_REMEDY,
		    "neither the guard as AuthorizedKeysCommand nor the module "
		    "in PAM's session phase is in effect: no key is judged");
}

/* Whether no certificate of a trusted CA is judged. */
static bool
leaves_user_ca(const struct doctor *d, const struct doctor_ways *w)
{
	return w->user_ca && !(d->use_pam && d->module.judges) &&
	    (!w->principals || w->principals_file);
}

static bool
leaves_hostbased(const struct doctor *d, const struct doctor_ways *w)
{
	return w->hostbased && !(d->use_pam && d->module.judges);
}

static bool
leaves_guard(const struct doctor_ways *w)
{
	return !w->guard || w->files;
}

/* Accounts and clients for which settings differ, and leave a key unjudged. */
struct escapes {
	struct doctor *d;
	const char *check;
	bool differ;
	size_t accounts, problems;
	char names[512];
};

/* What holds for root, too, is told by other checks. */
static bool
escapes(const struct doctor *d, const struct doctor_ways *w)
{
	const struct doctor_ways *root = &d->root;

	return (leaves_guard(w) && !leaves_guard(root)) ||
	    (leaves_user_ca(d, w) && !leaves_user_ca(d, root)) ||
	    (leaves_hostbased(d, w) && !leaves_hostbased(d, root));
}

static void
add_escape(struct escapes *e, const char *name)
{
	const size_t len = strlen(e->names);

	if (e->accounts++ < NAMES_SHOWN)
		snprintf(e->names + len, sizeof(e->names) - len, "%s%.64s",
		    len > 0 ? ", " : "", name);
}

/* False if sshd gave no answer. */
static bool
ask_about(const struct escapes *e, const char *name, bool *escapesp)
{
	struct doctor_ways w;
	struct sshd_question q;
	char why[1024], *text;

	sshd_ask(&e->d->o->sshd, name, &q);
	if ((text = sshd_answer_text(&q, why, sizeof(why))) == NULL)
		return false;
	doctor_read_ways(text, &w);
	*escapesp = escapes(e->d, &w);
	free(text);
	return true;
}

/* One question for all accounts that Match lines cannot tell apart. */
static void
ask_about_accounts(struct escapes *e, const struct sshd_overview *o)
{
	struct accounts a = { 0 };
	size_t *like = NULL;
	bool *escaping = NULL;

	if (accounts_add_all(&a) && a.n > 0) {
		like = calloc(a.n, sizeof(*like));
		escaping = calloc(a.n, sizeof(*escaping));
	}
	if (like == NULL || escaping == NULL)
		e->problems++;
	else if (o->match.unknown || !sshd_match_alike(&a, &o->match, like))
		for (size_t i = 0; i < a.n; i++)
			like[i] = i;
	for (size_t i = 0; like != NULL && escaping != NULL && i < a.n; i++) {
		if (like[i] != i)
			escaping[i] = escaping[like[i]];
		else if (!ask_about(e, a.v[i].name, &escaping[i]))
			e->problems++;
		if (escaping[i])
			add_escape(e, a.v[i].name);
	}
	free(like);
	free(escaping);
	accounts_free(&a);
}

/* Whether a value in a Match block leads past what holds without it. */
static bool
leads_past(const struct doctor *d, const struct sshd_match_line *line)
{
	const bool module = d->use_pam && d->module.judges;
	const char *args;

	if (strcasecmp(line->keyword, "AuthorizedKeysFile") == 0)
		return !sshd_words_is(line->value, "none");
	if (strcasecmp(line->keyword, "AuthorizedKeysCommand") == 0)
		return !guard_command(line->value, &args);
	if (strcasecmp(line->keyword, "TrustedUserCAKeys") == 0)
		return !module && !sshd_words_is(line->value, "none");
	if (strcasecmp(line->keyword, "HostbasedAuthentication") == 0)
		return !module && !sshd_words_is(line->value, "no");
	if (strcasecmp(line->keyword, "AuthorizedPrincipalsCommand") == 0)
		return !module && d->root.principals &&
		    !guard_command(line->value, &args);
	if (strcasecmp(line->keyword, "AuthorizedPrincipalsFile") == 0)
		return !module && d->root.principals &&
		    !sshd_words_is(line->value, "none");
	return false;
}

/* The module sees what gets past the guard, if late. */
static enum doctor_status
weigh_escape(const struct doctor *d)
{
	return d->use_pam && d->module.judges ? DOCTOR_WARNING :
	    DOCTOR_BROKEN;
}

static void
on_match_line(const struct sshd_match_line *line, void *arg)
{
	struct escapes *e = arg;

	if (!leads_past(e->d, line))
		return;
	e->differ = true;
	/* Of the others, sshd is asked what they make of each account. */
	if (line->by_origin)
		doctor_say(e->d, e->check, weigh_escape(e->d),
		    "take the line out of the Match block",
		    "%s:%u: %s %s leads past the guard for some clients",
		    line->file, line->line, line->keyword, line->value);
}

void
doctor_match(struct doctor *d, const char *check)
{
	struct escapes e = { .d = d, .check = check };
	struct sshd_overview o;

	if (!doctor_has_sshd(d, check))
		return;
	if (!d->root.guard) {
		doctor_ok(d, check, "there is no guard to get past");
		return;
	}
	sshd_overview_told(&d->o->sshd, &o, on_match_line, &e);
	if (e.differ || o.match.unknown)
		ask_about_accounts(&e, &o);
	if (e.accounts > 0)
		doctor_say(d, check, weigh_escape(d), "see sshd -T -C "
		    "user=NAME, and take out what the Match block sets",
		    "%zu accounts get past the guard: %s%s", e.accounts,
		    e.names, e.accounts > NAMES_SHOWN ? ", ..." : "");
	if (e.problems > 0)
		doctor_warning(d, check, "see sshd -T -C user=NAME",
		    "sshd could not be asked about %zu accounts", e.problems);
	sshd_overview_free(&o);
	if (doctor_status(d, check) == DOCTOR_OK)
		doctor_ok(d, check, "no Match block leads past the guard");
}

void
doctor_user_ca(struct doctor *d, const char *check)
{
	const struct doctor_ways *w = &d->root;

	if (!doctor_has_sshd(d, check))
		return;
	if (!w->user_ca)
		doctor_ok(d, check, "TrustedUserCAKeys is not set");
	else if (leaves_user_ca(d, w))
		doctor_broken(d, check, "put the module into PAM, or the "
		    "guard before AuthorizedPrincipalsCommand",
		    "TrustedUserCAKeys %s: nothing judges those certificates",
		    w->user_ca_file);
	else
		doctor_ok(d, check, "TrustedUserCAKeys %s: %s judges those "
		    "certificates", w->user_ca_file, d->use_pam &&
		    d->module.judges ? "the module" : "the guard");
}

void
doctor_hostbased(struct doctor *d, const char *check)
{
	if (!doctor_has_sshd(d, check))
		return;
	if (!d->root.hostbased)
		doctor_ok(d, check, "HostbasedAuthentication is off");
	else if (leaves_hostbased(d, &d->root))
		doctor_broken(d, check, "put the module into PAM, or set "
		    "HostbasedAuthentication no", "HostbasedAuthentication is "
		    "on: nothing judges those keys");
	else
		doctor_ok(d, check, "HostbasedAuthentication is on: the "
		    "module judges those keys");
}

void
doctor_tunnel(struct doctor *d, const char *check)
{
	const struct doctor_ways *w = &d->root;
	const bool early = (w->guard && !w->files) ||
	    (d->module.auth && w->pam_methods);

	if (!doctor_has_sshd(d, check))
		return;
	if (!w->tunnel)
		doctor_ok(d, check, "PermitTunnel is off");
	else if (early)
		doctor_warning(d, check, "set PermitTunnel no where nobody "
		    "needs it", "PermitTunnel is on: root may get a tunnel "
		    "with a listed key that only the PAM session refuses");
	else
		doctor_broken(d, check, "set PermitTunnel no, or put the "
		    "guard in", "PermitTunnel is on: with a listed key root "
		    "gets a tunnel although PAM refuses the session");
}
