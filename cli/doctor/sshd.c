/* SPDX-License-Identifier: ISC */
/* What sshd says of its configuration: the guard, and the ways around it. */
#include "doctor/doctor.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"

#define NAMES_SHOWN 5
#define TUNNEL_REMEDY "set PermitTunnel no where nobody needs it"
#define SSHD_REMEDY "see \"Put it on a real server\" in the README"

/* The last step of a list of methods that is done with a key, or NULL. */
static const char *
find_last_key(const char *list)
{
	static const char *const methods[] = { "publickey", "hostbased" };
	const char *last = NULL;

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		for (const char *p = list;
		    (p = strstr(p, methods[i])) != NULL; p++)
			if (last == NULL || p > last)
				last = p;
	return last;
}

/*
 * Whether every list of methods asks PAM after the keys, which is when the auth
 * phase sees them: "publickey,keyboard-interactive:pam".
 */
static bool
ask_pam_after_keys(const char *methods)
{
	char copy[DOCTOR_VALUE_BYTES], *rest = copy, *list;
	bool all = true, any = false;

	snprintf(copy, sizeof(copy), "%s", methods);
	while ((list = strsep(&rest, " ")) != NULL) {
		const char *key = find_last_key(list);

		if (*list == '\0' || strcmp(list, "any") == 0)
			continue;
		any = true;
		all &= key == NULL ||
		    strstr(key, "keyboard-interactive") != NULL;
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
	w->pam_methods = ask_pam_after_keys(value);
}

/* Without PAMServiceName it is the name that sshd was started by. */
static void
take_service_of(struct doctor *d, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(d->service, sizeof(d->service), "%s",
	    slash != NULL ? slash + 1 : path);
}

void
doctor_learn_sshd(struct doctor *d)
{
	char service[sizeof(d->service)];
	struct sshd_question q;

	take_service_of(d, d->o->sshd.path);
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
	/* A later sshd shows its own name, too, where nothing is set. */
	if (sshd_text_value(d->sshd_text, "pamservicename", service,
	    sizeof(service)) && strcmp(service, d->service) != 0) {
		snprintf(d->service, sizeof(d->service), "%s", service);
		d->service_set = true;
	}
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

/* What the guard is not told of all that it needs; NULL if nothing. */
static const char *
find_lack(const char *args)
{
	static const char *const needed[] = {
		"--user", "--type", "--key", "--home"
	};
	const char *chain = strstr(args, " -- ");
	const size_t len = chain != NULL ? (size_t)(chain - args) :
	    strlen(args);

	/* A chained guard prints no files of the account's. */
	for (size_t i = 0; i < (chain != NULL ? 3U : 4U); i++)
		if (memmem(args, len, needed[i], strlen(needed[i])) == NULL)
			return needed[i];
	return NULL;
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
	if ((lack = find_lack(args)) != NULL)
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
	char guarded[512];	/* "FILE:LINE" of a guard for some clients */
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

static void
add_missing(struct escapes *e, struct accounts *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].name, name) == 0)
			return;
	if (!accounts_add(a, name) && errno != ENOENT)
		e->problems++;
}

/*
 * The accounts that Match lines name by themselves or by a group: not every
 * name service tells of all that it has.
 */
static void
add_named(struct escapes *e, struct accounts *a, const struct sshd_match *m)
{
	const struct group *gr;

	for (size_t i = 0; i < m->user.n; i++)
		add_missing(e, a, m->user.v[i]);
	for (size_t i = 0; i < m->group.n; i++) {
		if ((gr = getgrnam(m->group.v[i])) == NULL)
			continue;
		for (char **member = gr->gr_mem; *member != NULL; member++)
			add_missing(e, a, *member);
	}
}

/* One question for all accounts that Match lines cannot tell apart. */
static void
ask_about_accounts(struct escapes *e, const struct sshd_overview *o)
{
	struct accounts a = { 0 };
	size_t *like = NULL;
	bool *escaping = NULL;

	if (accounts_add_all(&a) && a.n > 0) {
		add_named(e, &a, &o->match);
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

/* Whether a keyword in a Match block can make a difference here. */
static bool
counts(const char *keyword)
{
	static const char *const keywords[] = {
		"AuthorizedKeysFile", "AuthorizedKeysCommand",
		"TrustedUserCAKeys", "HostbasedAuthentication",
		"AuthorizedPrincipalsCommand", "AuthorizedPrincipalsFile",
	};

	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (strcasecmp(keyword, keywords[i]) == 0)
			return true;
	return false;
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

	/* A block that leads to the guard leads past it where it is not. */
	if (!counts(line->keyword))
		return;
	e->differ = true;
	/* Of the others, sshd is asked what they make of each account. */
	if (!line->by_origin)
		return;
	if (!leads_past(e->d, line)) {
		if (*e->guarded == '\0')
			snprintf(e->guarded, sizeof(e->guarded), "%.400s:%u",
			    line->file, line->line);
	} else
		doctor_say(e->d, e->check, weigh_escape(e->d),
		    "take the line out of the Match block",
		    "%s:%u: %s %s leads past the guard for some clients",
		    line->file, line->line, line->keyword, line->value);
}

/* Whether there is no guard where no Match block is about the client. */
static void
ask_about_others(struct escapes *e)
{
	static const char *const argument[] = { "-T" };
	char why[1024];
	char *text = sshd_run(&e->d->o->sshd, argument, 1, why, sizeof(why));
	struct doctor_ways w;

	if (text == NULL) {
		doctor_warning(e->d, e->check, NULL, "%s", why);
		return;
	}
	doctor_read_ways(text, &w);
	if (escapes(e->d, &w))
		doctor_say(e->d, e->check, weigh_escape(e->d),
		    "set it before the first Match line",
		    "%s: the guard is set for some clients only", e->guarded);
	free(text);
}

/* The file that sshd reads is where the blocks are looked for. */
static bool
knows_file(const struct sshd *sshd)
{
	return sshd->config != NULL || strcmp(sshd->path, SSHD_PATH) == 0;
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
	if (*e.guarded != '\0')
		ask_about_others(&e);
	if (!knows_file(&d->o->sshd))
		doctor_warning(d, check, "name its file with --sshd-config",
		    "Match blocks cannot be seen: which file %s reads is not "
		    "known", d->o->sshd.path);
	if (e.problems > 0)
		doctor_warning(d, check, "see sshd -T -C user=NAME",
		    "sshd could not be asked about %zu accounts", e.problems);
	sshd_overview_free(&o);
	if (doctor_status(d, check) == DOCTOR_OK)
		doctor_ok(d, check, "no Match block leads past the guard");
}

/* What the guard before the principals is not told; NULL if nothing. */
static const char *
find_principals_lack(const struct doctor_ways *w)
{
	const char *args;

	if (!guard_command(w->principals_command, &args))
		return NULL;
	/* By itself it would print keys, which are no principals. */
	return strstr(args, " -- ") == NULL ? "--" : find_lack(args);
}

void
doctor_user_ca(struct doctor *d, const char *check)
{
	const struct doctor_ways *w = &d->root;
	const char *lack;

	if (!doctor_has_sshd(d, check))
		return;
	if (w->user_ca && (lack = find_principals_lack(w)) != NULL)
		doctor_broken(d, check, SSHD_REMEDY,
		    "AuthorizedPrincipalsCommand %s lacks %s: sshd takes no "
		    "such certificate", w->principals_command, lack);
	else if (!w->user_ca)
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

/* What sshd says of root holds from this machine only. */
static void
on_tunnel_line(const struct sshd_match_line *line, void *arg)
{
	const struct escapes *e = arg;

	if (line->by_origin && strcasecmp(line->keyword, "PermitTunnel") == 0 &&
	    !sshd_words_is(line->value, "no"))
		doctor_warning(e->d, e->check, TUNNEL_REMEDY, "%s:%u: "
		    "PermitTunnel %s for some clients: root may get a tunnel "
		    "with a listed key that only the PAM session refuses",
		    line->file, line->line, line->value);
}

void
doctor_tunnel(struct doctor *d, const char *check)
{
	const struct doctor_ways *w = &d->root;
	const bool early = (w->guard && !w->files) ||
	    (d->module.auth && w->pam_methods);
	struct escapes e = { .d = d, .check = check };
	struct sshd_overview o;

	if (!doctor_has_sshd(d, check))
		return;
	sshd_overview_told(&d->o->sshd, &o, on_tunnel_line, &e);
	sshd_overview_free(&o);
	if (w->tunnel && early)
		doctor_warning(d, check, TUNNEL_REMEDY, "PermitTunnel is on: "
		    "root may get a tunnel with a listed key that only the "
		    "PAM session refuses");
	else if (w->tunnel)
		doctor_broken(d, check, "set PermitTunnel no, or put the "
		    "guard in", "PermitTunnel is on: with a listed key root "
		    "gets a tunnel although PAM refuses the session");
	else if (doctor_status(d, check) == DOCTOR_OK)
		doctor_ok(d, check, "PermitTunnel is off");
}
