/* SPDX-License-Identifier: ISC */
/* sshd's settings: the guard, and the ways in that bypass it. */
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
#define TUNNEL_REMEDY "take disconnect=never out of the module's line"
#define SSHD_REMEDY "see \"Put it on a real server\" in the README"
#define ENABLE_REMEDY \
	"run 'keyveto sshd enable', which changes nothing if " \
	"somebody would be refused"
#define ENABLE_PAM_REMEDY \
	"run 'keyveto sshd enable --pam', which puts the " \
	"module into PAM"

/* The last method of a list that uses a key, or NULL. */
static const char *
find_last_key(const char *list)
{
	static const char *const methods[] = { "publickey", "hostbased" };
	const char *last = NULL;

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		for (const char *p = list; (p = strstr(p, methods[i])) != NULL;
		     p++)
			if (last == NULL || p > last)
				last = p;
	return last;
}

/*
 * Whether every list of AuthenticationMethods asks PAM after the keys, as in
 * "publickey,keyboard-interactive:pam". The auth phase sees only those keys.
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

/* Sets the service to sshd's own name, which counts without PAMServiceName. */
static void
set_service_by_name(struct doctor *d, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(d->service, sizeof(d->service), "%s",
	    slash != NULL ? slash + 1 : path);
}

void
doctor_learn_sshd(struct doctor *d)
{
	const struct sshd_settings *s;
	struct sshd_question q;
	const char *args;

	set_service_by_name(d, d->o->sshd.path);
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
	s = d->settings = sshd_answer(&q, d->sshd_why, sizeof(d->sshd_why));
	if (s == NULL)
		return;
	d->root = (struct doctor_root){
		.guard = guard_command(s->keys_command, &args),
		.principals = guard_command(s->principals_command, &args),
		.tunnel = *s->tunnel != '\0' &&
		    strcasecmp(s->tunnel, "no") != 0,
		.pam_methods = ask_pam_after_keys(s->methods),
	};
	/* A later sshd prints its own name if PAMServiceName is not set. */
	if (*s->service != '\0' && strcmp(s->service, d->service) != 0) {
		snprintf(d->service, sizeof(d->service), "%s", s->service);
		d->service_set = true;
	}
}

bool
doctor_has_sshd(struct doctor *d, const char *check)
{
	if (d->settings != NULL)
		return true;
	doctor_warning(d, check, NULL,
	    "not looked at, since sshd gave no answer");
	return false;
}

void
doctor_sshd(struct doctor *d, const char *check)
{
	if (d->settings != NULL)
		doctor_ok(d, check, "%s accepts its configuration",
		    d->o->sshd.path);
	else if (geteuid() != 0)
		doctor_warning(d, check, "run keyveto doctor as root", "%s",
		    d->sshd_why);
	else
		doctor_broken(d, check,
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

/* Warns if the guard reads another keyveto.conf than doctor checks. */
static void
compare_configs(struct doctor *d, const char *check, const char *args)
{
	char path[4096];

	if (!guard_config(args, path, sizeof(path)))
		snprintf(path, sizeof(path), "%s", KV_CONFIG_PATH);
	if (strcmp(path, d->config) != 0)
		doctor_warning(d, check, "name that file with --config",
		    "the guard reads %s, and doctor has checked %s", path,
		    d->config);
}

static void
read_ways(const struct doctor *d, const struct sshd_settings *s, struct ways *w)
{
	const struct ways_context context = { .pam = d->module.judges };

	ways_read(s, &context, w);
}

void
doctor_read_root_ways(const struct doctor *d, struct ways *w)
{
	*w = (struct ways){ 0 };
	if (d->settings != NULL)
		read_ways(d, d->settings, w);
}

/* A way in by key that nothing judges; WAYS if there is none. */
static enum way
find_unjudged_key_way(const struct ways *w)
{
	static const enum way by_key[] = {
		WAY_FILES,
		WAY_COMMAND,
		WAY_CA_LINE,
	};

	for (size_t i = 0; i < sizeof(by_key) / sizeof(*by_key); i++)
		if (!ways_is_guarded(w, by_key[i]))
			return by_key[i];
	return WAYS;
}

/* Reports whether the guard or the module judges keys. */
static void
report_judge(struct doctor *d, const char *check, const struct ways *w)
{
	const char *args;
	bool chained;

	if (!d->root.guard) {
		doctor_ok(d, check,
		    "the PAM module alone judges keys, once "
		    "sshd has accepted them");
		return;
	}
	(void)guard_command(d->settings->keys_command, &args);
	chained = guard_chained(args);
	doctor_ok(d, check, "AuthorizedKeysCommand is the guard%s%s",
	    chained ? ", before another command" : "",
	    w->open[WAY_FILES] && !w->guard[WAY_FILES] ?
		"; the PAM module "
		"judges the keys in AuthorizedKeysFile" :
		", and AuthorizedKeysFile is none");
}

void
doctor_guard(struct doctor *d, const char *check)
{
	const char *args = "", *missing = NULL;
	struct ways w;
	enum way open;

	if (!doctor_has_sshd(d, check))
		return;
	if (d->root.guard) {
		(void)guard_command(d->settings->keys_command, &args);
		missing = find_missing_option(args);
	}
	doctor_read_root_ways(d, &w);
	if (missing != NULL)
		doctor_broken(d, check, SSHD_REMEDY,
		    "AuthorizedKeysCommand %s lacks %s",
		    d->settings->keys_command, missing);
	else if ((open = find_unjudged_key_way(&w)) != WAYS)
		doctor_broken(d, check, ENABLE_REMEDY,
		    "%s: neither the guard "
		    "nor the module in PAM's session phase judges these keys",
		    ways_name(open));
	else
		report_judge(d, check, &w);
	if (d->root.guard)
		compare_configs(d, check, args);
}

struct escapes {
	struct doctor *d;
	const char *check;
	bool differ;	   /* a Match block sets where keys come from */
	char guarded[512]; /* "FILE:LINE" that sets the guard for clients */
	size_t accounts;   /* that a key can enter which nothing judges */
	size_t problems;   /* accounts that sshd could not be asked about */
	char names[512];   /* of the first accounts */
};

/*
 * Whether a way in is unguarded that is guarded for root. The other checks
 * report root's ways in.
 */
static bool
has_other_open_way(const struct doctor *d, const struct ways *w)
{
	struct ways root;

	doctor_read_root_ways(d, &root);
	for (enum way i = 0; i < WAYS; i++)
		if (!ways_is_guarded(w, i) && ways_is_guarded(&root, i))
			return true;
	return false;
}

static void
add_escape(struct escapes *e, const char *name)
{
	const size_t len = strlen(e->names);

	if (e->accounts++ < NAMES_SHOWN)
		snprintf(e->names + len, sizeof(e->names) - len, "%s%.64s",
		    len > 0 ? ", " : "", name);
}

/*
 * Asks sshd whether an account has an unguarded way in. False if sshd gave no
 * answer.
 */
static bool
account_escapes(const struct escapes *e, const char *name, bool *escapesp)
{
	struct sshd_question q;
	struct sshd_settings *s;
	char why[1024];
	struct ways w;

	sshd_ask(&e->d->o->sshd, name, &q);
	if ((s = sshd_answer(&q, why, sizeof(why))) == NULL)
		return false;
	read_ways(e->d, s, &w);
	*escapesp = has_other_open_way(e->d, &w);
	sshd_settings_free(s);
	return true;
}

/* Adds the account of that name, if it exists, unless a has it. */
static void
add_account(struct escapes *e, struct accounts *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].name, name) == 0)
			return;
	if (!accounts_add(a, name) && errno != ENOENT)
		e->problems++;
}

/*
 * Adds the accounts that Match lines name, or that are in a group that they
 * name: some name services do not list all their accounts.
 */
static void
add_named(struct escapes *e, struct accounts *a, const struct sshd_match *m)
{
	const struct group *gr;

	for (size_t i = 0; i < m->user.n; i++)
		add_account(e, a, m->user.v[i]);
	for (size_t i = 0; i < m->group.n; i++) {
		if ((gr = getgrnam(m->group.v[i])) == NULL)
			continue;
		for (char **member = gr->gr_mem; *member != NULL; member++)
			add_account(e, a, *member);
	}
}

/*
 * Finds the accounts with an unguarded way in. Asks sshd once for all accounts
 * that Match lines cannot tell apart.
 */
static void
find_escaping_accounts(struct escapes *e, const struct sshd_overview *o)
{
	struct accounts a = { 0 };
	size_t *like = NULL;
	bool *escaping = NULL;

	if (accounts_add_all(&a) && a.n > 0) {
		add_named(e, &a, &o->match);
		like = sshd_match_alike(&a, &o->match);
		escaping = calloc(a.n, sizeof(*escaping));
	}
	if (like == NULL || escaping == NULL)
		e->problems++;
	for (size_t i = 0; like != NULL && escaping != NULL && i < a.n; i++) {
		if (like[i] != i)
			escaping[i] = escaping[like[i]];
		else if (!account_escapes(e, a.v[i].name, &escaping[i]))
			e->problems++;
		if (escaping[i])
			add_escape(e, a.v[i].name);
	}
	free(like);
	free(escaping);
	accounts_free(&a);
}

/* Whether a keyword in a Match block can open an unguarded way in. */
static bool
is_relevant(const char *keyword)
{
	static const char *const keywords[] = {
		"AuthorizedKeysFile",
		"AuthorizedKeysCommand",
		"TrustedUserCAKeys",
		"HostbasedAuthentication",
		"AuthorizedPrincipalsCommand",
		"AuthorizedPrincipalsFile",
	};

	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (strcasecmp(keyword, keywords[i]) == 0)
			return true;
	return false;
}

/* Reports lines of Match blocks for clients that bypass the guard. */
static void
check_match_lines(struct escapes *e, const struct sshd_tree *t)
{
	const bool user_ca = ways_any_user_ca(t);

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		const char *file = t->file[l->file].path;

		if (l->match == 0 || !is_relevant(l->keyword))
			continue;
		e->differ = true;
		/*
		 * find_escaping_accounts asks sshd about blocks for accounts.
		 */
		if (!sshd_tree_is_by_origin(t, l))
			continue;
		/*
		 * A block that sets the guard for some clients leaves the
		 * others without it.
		 */
		if (!ways_line_opens(l->keyword, l->value, user_ca)) {
			if (*e->guarded == '\0')
				snprintf(e->guarded, sizeof(e->guarded),
				    "%.400s:%zu", file, l->number);
		} else if (!(e->d->settings->use_pam && e->d->module.judges))
			doctor_broken(e->d, e->check, ENABLE_PAM_REMEDY,
			    "%s:%zu: %s %s bypasses the guard for some clients",
			    file, l->number, l->keyword, l->value);
	}
}

/* Reports clients that no Match block matches, if they have no guard. */
static void
check_other_clients(struct escapes *e)
{
	struct sshd_question q;
	struct sshd_settings *s;
	char why[1024];
	struct ways w;

	sshd_ask(&e->d->o->sshd, NULL, &q);
	if ((s = sshd_answer(&q, why, sizeof(why))) == NULL) {
		doctor_warning(e->d, e->check, NULL, "%s", why);
		return;
	}
	read_ways(e->d, s, &w);
	if (has_other_open_way(e->d, &w))
		doctor_broken(e->d, e->check, ENABLE_PAM_REMEDY,
		    "%s: the guard is set for some clients only", e->guarded);
	sshd_settings_free(s);
}

/* Whether sshd_overview knows which file sshd reads. */
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
		doctor_ok(d, check, "the guard is not in use");
		return;
	}
	sshd_overview(&d->o->sshd, &o);
	check_match_lines(&e, &o.tree);
	if (e.differ || o.match.unknown)
		find_escaping_accounts(&e, &o);
	if (e.accounts > 0)
		doctor_broken(d, check, ENABLE_PAM_REMEDY,
		    "%zu account%s can "
		    "be entered with a key that nothing judges: %s%s",
		    e.accounts, e.accounts == 1 ? "" : "s", e.names,
		    e.accounts > NAMES_SHOWN ? ", ..." : "");
	if (*e.guarded != '\0')
		check_other_clients(&e);
	if (!knows_file(&d->o->sshd))
		doctor_warning(d, check, "name its file with --sshd-config",
		    "Match blocks cannot be seen: which file %s reads is not "
		    "known",
		    d->o->sshd.path);
	if (e.problems > 0)
		doctor_warning(d, check, "see sshd -T -C user=NAME",
		    "sshd could not be asked about %zu account%s", e.problems,
		    e.problems == 1 ? "" : "s");
	sshd_overview_free(&o);
	if (doctor_status(d, check) == DOCTOR_OK)
		doctor_ok(d, check,
		    "no Match block opens a way in that nothing judges");
}

/* The same for the guard as AuthorizedPrincipalsCommand, which needs "--". */
static const char *
find_missing_principals_option(const struct sshd_settings *w)
{
	const char *args;

	if (!guard_command(w->principals_command, &args))
		return NULL;
	/* Without a command, the guard would print keys, not principals. */
	return strstr(args, " -- ") == NULL ? "--" : find_missing_option(args);
}

void
doctor_user_ca(struct doctor *d, const char *check)
{
	const struct sshd_settings *w = d->settings;
	const char *missing;
	struct ways ways;

	if (!doctor_has_sshd(d, check))
		return;
	doctor_read_root_ways(d, &ways);
	if (ways.open[WAY_USER_CA] &&
	    (missing = find_missing_principals_option(w)) != NULL)
		doctor_broken(d, check, SSHD_REMEDY,
		    "AuthorizedPrincipalsCommand %s lacks %s: sshd takes no "
		    "such certificate",
		    w->principals_command, missing);
	else if (!ways.open[WAY_USER_CA])
		doctor_ok(d, check, "TrustedUserCAKeys is not set");
	else if (!ways_is_guarded(&ways, WAY_USER_CA))
		doctor_broken(d, check, ENABLE_PAM_REMEDY,
		    "TrustedUserCAKeys %s: nothing judges those certificates",
		    w->user_ca);
	else
		doctor_ok(d, check,
		    "TrustedUserCAKeys %s: %s judges those "
		    "certificates",
		    w->user_ca,
		    ways.guard[WAY_USER_CA] ? "the guard" : "the module");
}

void
doctor_hostbased(struct doctor *d, const char *check)
{
	struct ways ways;

	if (!doctor_has_sshd(d, check))
		return;
	doctor_read_root_ways(d, &ways);
	if (!ways.open[WAY_HOSTBASED])
		doctor_ok(d, check, "HostbasedAuthentication is off");
	else if (!ways_is_guarded(&ways, WAY_HOSTBASED))
		doctor_broken(d, check, ENABLE_PAM_REMEDY,
		    "HostbasedAuthentication is "
		    "on: nothing judges those keys");
	else
		doctor_ok(d, check,
		    "HostbasedAuthentication is on: the "
		    "module judges those keys");
}

/* Whether a Match block for clients, about which sshd is not asked, has it. */
static bool
any_origin_has_tunnel(const struct sshd_tree *t)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (strcasecmp(t->line[i].keyword, "PermitTunnel") == 0 &&
		    !sshd_words_is(t->line[i].value, "no") &&
		    sshd_tree_is_by_origin(t, &t->line[i]))
			return true;
	return false;
}

/*
 * sshd opens a tunnel for root even if PAM has refused the session, unless the
 * module ends the connection, or something refuses the key before the session.
 */
void
doctor_tunnel(struct doctor *d, const char *check)
{
	struct sshd_overview o;
	struct ways w;
	bool tunnel, early;

	if (!doctor_has_sshd(d, check))
		return;
	doctor_read_root_ways(d, &w);
	early = (w.guard[WAY_FILES] && w.guard[WAY_CA_LINE]) ||
	    (d->module.auth && d->root.pam_methods);
	sshd_overview(&d->o->sshd, &o);
	tunnel = d->root.tunnel || any_origin_has_tunnel(&o.tree);
	sshd_overview_free(&o);
	if (!tunnel)
		doctor_ok(d, check, "PermitTunnel is off");
	else if (!d->module.stays)
		doctor_ok(d, check,
		    "PermitTunnel is on; no connection of "
		    "root's outlives a refusal by the module");
	else
		doctor_say(d, check, early ? DOCTOR_WARNING : DOCTOR_BROKEN,
		    TUNNEL_REMEDY,
		    "PermitTunnel is on, and the module's line "
		    "says disconnect=never: with a listed key root may get a "
		    "tunnel although PAM refuses the session");
}
