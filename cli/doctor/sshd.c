/* SPDX-License-Identifier: ISC */
/* sshd's settings: the guard, and the ways in that bypass it. */
#include "doctor/doctor.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"

#define NAMES_SHOWN 5
#define SSHD_REMEDY "see \"Put it on a real server\" in the README"
#define ENABLE_REMEDY \
	"run 'keyveto enable', which changes nothing if " \
	"somebody would be refused"
#define ENABLE_PAM_REMEDY \
	"run 'keyveto enable --pam', which puts the " \
	"module into PAM"

/*
 * Whether every list of AuthenticationMethods asks PAM after the keys, as in
 * "publickey,keyboard-interactive:pam". The auth phase sees only those keys.
 */
static bool
ask_pam_after_keys(const char *methods)
{
	char copy[SSHD_VALUE_BYTES], *rest = copy, *list, *method;
	bool any = false;

	snprintf(copy, sizeof(copy), "%s", methods);
	while ((list = strsep(&rest, " ")) != NULL) {
		bool key_is_last = false;

		if (*list == '\0' || strcmp(list, "any") == 0)
			continue;
		while ((method = strsep(&list, ",")) != NULL)
			if (strcmp(method, "publickey") == 0 ||
			    strcmp(method, "hostbased") == 0)
				key_is_last = true;
			else if (strstr(method, "keyboard-interactive") != NULL)
				key_is_last = false;
		if (key_is_last)
			return false;
		any = true;
	}
	return any;
}

void
doctor_read_sshd(struct doctor *d)
{
	const char *path = d->o->sshd.path, *slash = strrchr(path, '/'), *args;
	const struct sshd_settings *s;
	struct sshd_question q;

	/* sshd's own name is the PAM service, unless PAMServiceName is set. */
	snprintf(d->service, sizeof(d->service), "%s",
	    slash != NULL ? slash + 1 : path);
	if (geteuid() != 0) {
		snprintf(d->sshd_why, sizeof(d->sshd_why),
		    "only root can ask sshd for its settings");
		return;
	}
	if (access(path, X_OK) == -1) {
		snprintf(d->sshd_why, sizeof(d->sshd_why), "%.400s: %s", path,
		    strerror(errno));
		return;
	}
	sshd_ask(&d->o->sshd, "root", &q);
	s = d->settings = sshd_answer(&q, d->sshd_why, sizeof(d->sshd_why));
	if (s == NULL)
		return;
	if (guard_command(s->keys_command, &args))
		d->keys_guard = args;
	if (guard_command(s->principals_command, &args))
		d->principals_guard = args;
	d->pam_methods = ask_pam_after_keys(s->methods);
	/* A later sshd shows its PAM service: its own name does not count. */
	if (*s->service != '\0') {
		snprintf(d->service, sizeof(d->service), "%s", s->service);
		d->service_set = true;
	}
}

void
doctor_sshd(struct doctor *d)
{
	if (d->settings != NULL)
		doctor_add(d, DOCTOR_OK, NULL, "%s accepts its configuration",
		    d->o->sshd.path);
	else if (geteuid() != 0)
		doctor_add(d, DOCTOR_WARNING, "run keyveto status as root",
		    "%s", d->sshd_why);
	else
		doctor_add(d, DOCTOR_BROKEN,
		    "correct what sshd complains of, and run sshd -t; until "
		    "then sshd will not start again",
		    "%s", d->sshd_why);
}

/* An option that the guard needs and does not have; NULL if it has all. */
static const char *
find_missing_option(const char *args)
{
	static const char *const needed[] = {
		"--user",
		"--type",
		"--key",
		"--home",
	};
	const char *chain = strstr(args, " -- ");
	const size_t len = chain != NULL ?
	    (size_t)(chain - args) :
	    strlen(args);

	/* A guard with a "--" command prints no files, and needs no --home. */
	for (size_t i = 0; i < (chain != NULL ? 3U : 4U); i++)
		if (memmem(args, len, needed[i], strlen(needed[i])) == NULL)
			return needed[i];
	return NULL;
}

void
doctor_guard(struct doctor *d)
{
	static const enum way by_key[] = {
		WAY_FILES,
		WAY_COMMAND,
		WAY_CA_LINE,
	};
	const struct ways *w = &d->ways;
	const char *args = d->keys_guard;
	const char *missing = args != NULL ? find_missing_option(args) : NULL;
	char config[PATH_MAX];
	size_t i = 0;

	while (i < sizeof(by_key) / sizeof(*by_key) &&
	    ways_is_guarded(w, by_key[i]))
		i++;
	if (missing != NULL)
		doctor_add(d, DOCTOR_BROKEN, SSHD_REMEDY,
		    "AuthorizedKeysCommand %s lacks %s",
		    d->settings->keys_command, missing);
	else if (i < sizeof(by_key) / sizeof(*by_key))
		doctor_add(d, DOCTOR_BROKEN, ENABLE_REMEDY,
		    "%s: neither the guard nor the module in PAM's session "
		    "phase judges these keys",
		    ways_name(by_key[i]));
	else if (args == NULL)
		doctor_add(d, DOCTOR_OK, NULL,
		    "the PAM module alone judges keys, once sshd has accepted "
		    "them");
	else
		doctor_add(d, DOCTOR_OK, NULL,
		    "AuthorizedKeysCommand is the guard%s%s",
		    guard_chained(args) ? ", before another command" : "",
		    w->open[WAY_FILES] && !w->guard[WAY_FILES] ?
			"; the PAM module judges the keys in "
			"AuthorizedKeysFile" :
			", and AuthorizedKeysFile is none");
	if (args == NULL)
		return;
	(void)guard_config(args, config, sizeof(config));
	doctor_compare_config(d, "the guard", config);
}

/*
 * Whether sshd, asked about an account, has a way in unguarded that is guarded
 * for root. The other checks report root's ways in. user is NULL for a client
 * that no Match block matches. False if sshd gave no answer.
 */
static bool
ask_for_open_way(const struct doctor *d, const char *user, bool *openp,
    char *why, size_t cap)
{
	const struct ways_context context = { .pam = d->module.judges };
	struct sshd_question q;
	struct sshd_settings *s;
	struct ways w;

	sshd_ask(&d->o->sshd, user, &q);
	if ((s = sshd_answer(&q, why, cap)) == NULL)
		return false;
	ways_read(s, &context, &w);
	for (enum way i = 0; i < WAYS; i++)
		*openp |= !ways_is_guarded(&w, i) &&
		    ways_is_guarded(&d->ways, i);
	sshd_settings_free(s);
	return true;
}

/* Adds the account of that name, if it exists, unless a has it. */
static void
add_account(struct accounts *a, const char *name, size_t *problems)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].name, name) == 0)
			return;
	if (!accounts_add(a, name) && errno != ENOENT)
		++*problems;
}

/*
 * Finds the accounts with an unguarded way in. Asks sshd once for all accounts
 * that Match lines cannot tell apart.
 */
static void
check_accounts(struct doctor *d, const struct sshd_match *m)
{
	struct accounts a = { 0 };
	size_t *like = NULL, found = 0, problems = 0;
	bool *open = NULL;
	char names[512] = "", why[1024];
	const struct group *gr;

	if (accounts_add_all(&a) && a.n > 0) {
		/* Some name services do not list all their accounts. */
		for (size_t i = 0; i < m->user.n; i++)
			add_account(&a, m->user.v[i], &problems);
		for (size_t i = 0; i < m->group.n; i++)
			if ((gr = getgrnam(m->group.v[i])) != NULL)
				for (char **p = gr->gr_mem; *p != NULL; p++)
					add_account(&a, *p, &problems);
		like = sshd_match_alike(&a, m);
		open = calloc(a.n, sizeof(*open));
	}
	if (like == NULL || open == NULL)
		problems++;
	for (size_t i = 0; like != NULL && open != NULL && i < a.n; i++) {
		const size_t len = strlen(names);

		if (like[i] != i)
			open[i] = open[like[i]];
		else if (!ask_for_open_way(d, a.v[i].name, &open[i], why,
			     sizeof(why)))
			problems++;
		if (open[i] && found++ < NAMES_SHOWN)
			snprintf(names + len, sizeof(names) - len, "%s%.64s",
			    len > 0 ? ", " : "", a.v[i].name);
	}
	free(like);
	free(open);
	accounts_free(&a);
	if (found > 0)
		doctor_add(d, DOCTOR_BROKEN, ENABLE_PAM_REMEDY,
		    "%zu %s can be entered with a key that nothing judges: "
		    "%s%s",
		    found, cli_plural(found, "account", "accounts"), names,
		    found > NAMES_SHOWN ? ", ..." : "");
	if (problems > 0)
		doctor_add(d, DOCTOR_WARNING, "see sshd -T -C user=NAME",
		    "sshd could not be asked about %zu %s", problems,
		    cli_plural(problems, "account", "accounts"));
}

/*
 * Reports what Match blocks for clients open: sshd cannot be asked about every
 * client. A block that sets the guard for some clients leaves the others
 * without it.
 */
static void
check_clients(struct doctor *d, const struct sshd_tree *t)
{
	const bool user_ca = ways_any_user_ca(t);
	const struct sshd_line *guarded = NULL;
	char why[1024];
	bool open = false;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];

		if (ways_of_keyword(l->keyword) == WAYS ||
		    !sshd_tree_is_by_origin(t, l))
			continue;
		if (!ways_line_opens(l->keyword, l->value, user_ca)) {
			if (guarded == NULL)
				guarded = l;
		} else if (!(d->settings->use_pam && d->module.judges))
			doctor_add(d, DOCTOR_BROKEN, ENABLE_PAM_REMEDY,
			    "%s:%zu: %s %s bypasses the guard for some clients",
			    t->file[l->file].path, l->number, l->keyword,
			    l->value);
	}
	if (guarded == NULL)
		return;
	if (!ask_for_open_way(d, NULL, &open, why, sizeof(why)))
		doctor_add(d, DOCTOR_WARNING, NULL, "%s", why);
	else if (open)
		doctor_add(d, DOCTOR_BROKEN, ENABLE_PAM_REMEDY,
		    "%s:%zu: the guard is set for some clients only",
		    t->file[guarded->file].path, guarded->number);
}

void
doctor_match(struct doctor *d)
{
	const struct sshd *sshd = &d->o->sshd;
	struct sshd_overview o;

	if (d->keys_guard == NULL) {
		doctor_add_unused(d, "the guard is not in use");
		return;
	}
	sshd_overview(sshd, &o);
	check_clients(d, &o.tree);
	if (o.match.unknown || o.match.user.n + o.match.group.n > 0)
		check_accounts(d, &o.match);
	sshd_overview_free(&o);
	/* sshd_overview cannot know the file of another sshd. */
	if (sshd->config == NULL && strcmp(sshd->path, SSHD_PATH) != 0)
		doctor_add(d, DOCTOR_WARNING,
		    "name its file with --sshd-config",
		    "Match blocks cannot be seen: which file %s reads is not "
		    "known",
		    sshd->path);
	if (doctor_status(d, d->check) == DOCTOR_OK)
		doctor_add(d, DOCTOR_OK, NULL,
		    "no Match block opens a way in that nothing judges");
}

void
doctor_user_ca(struct doctor *d)
{
	const struct sshd_settings *s = d->settings;
	const char *args = d->principals_guard, *missing = NULL;

	/* Without a command, the guard would print keys, not principals. */
	if (args != NULL)
		missing = strstr(args, " -- ") == NULL ?
		    "--" :
		    find_missing_option(args);
	if (!d->ways.open[WAY_USER_CA])
		doctor_add(d, DOCTOR_OK, NULL, "TrustedUserCAKeys is not set");
	else if (missing != NULL)
		doctor_add(d, DOCTOR_BROKEN, SSHD_REMEDY,
		    "AuthorizedPrincipalsCommand %s lacks %s: sshd takes no "
		    "such certificate",
		    s->principals_command, missing);
	else if (!ways_is_guarded(&d->ways, WAY_USER_CA))
		doctor_add(d, DOCTOR_BROKEN, ENABLE_PAM_REMEDY,
		    "TrustedUserCAKeys %s: nothing judges those certificates",
		    s->user_ca);
	else
		doctor_add(d, DOCTOR_OK, NULL,
		    "TrustedUserCAKeys %s: %s judges those certificates",
		    s->user_ca,
		    d->ways.guard[WAY_USER_CA] ? "the guard" : "the module");
	doctor_ca_keys(d);
}

void
doctor_hostbased(struct doctor *d)
{
	if (!d->ways.open[WAY_HOSTBASED])
		doctor_add(d, DOCTOR_OK, NULL,
		    "HostbasedAuthentication is off");
	else if (!ways_is_guarded(&d->ways, WAY_HOSTBASED))
		doctor_add(d, DOCTOR_BROKEN, ENABLE_PAM_REMEDY,
		    "HostbasedAuthentication is on: nothing judges those keys");
	else
		doctor_add(d, DOCTOR_OK, NULL,
		    "HostbasedAuthentication is on: the module judges those "
		    "keys");
}

/*
 * sshd opens a tunnel for root even if PAM has refused the session, unless the
 * module ends the connection, or something refuses the key before the session.
 */
void
doctor_tunnel(struct doctor *d)
{
	const char *value = d->settings->tunnel;
	bool tunnel = *value != '\0' && strcasecmp(value, "no") != 0;
	const struct ways *w = &d->ways;
	struct sshd_overview o;

	/* sshd is not asked about clients that a Match block is for. */
	sshd_overview(&d->o->sshd, &o);
	for (size_t i = 0; i < o.tree.n_lines; i++) {
		const struct sshd_line *l = &o.tree.line[i];

		tunnel |= strcasecmp(l->keyword, "PermitTunnel") == 0 &&
		    !sshd_words_is(l->value, "no") &&
		    sshd_tree_is_by_origin(&o.tree, l);
	}
	sshd_overview_free(&o);
	if (!tunnel)
		doctor_add(d, DOCTOR_OK, NULL, "PermitTunnel is off");
	else if (!d->module.stays)
		doctor_add(d, DOCTOR_OK, NULL,
		    "PermitTunnel is on; no connection of root's outlives a "
		    "refusal by the module");
	else
		doctor_add(d,
		    (w->guard[WAY_FILES] && w->guard[WAY_CA_LINE]) ||
			    (d->module.auth != NULL && d->pam_methods) ?
			DOCTOR_WARNING :
			DOCTOR_BROKEN,
		    "take disconnect=never out of the module's line",
		    "PermitTunnel is on, and the module's line says "
		    "disconnect=never: with a listed key root may get a tunnel "
		    "although PAM refuses the session");
}
