/* SPDX-License-Identifier: ISC */
/* sshd's settings: the guard, and the ways in that bypass it. */
#include "doctor/doctor.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "accounts/ask.h"
#include "sshd_config/guard_command.h"
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
	const char *path = d->o->sshd.path, *slash = strrchr(path, '/');
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
	d->dump = sshd_answer_text(&q, d->sshd_why, sizeof(d->sshd_why));
	if (d->dump == NULL)
		return;
	if ((s = d->settings = sshd_settings_parse(d->dump)) == NULL) {
		d->out_of_memory = true;
		return;
	}
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
		doctor_add(d, DOCTOR_UNSEEN, "run keyveto status as root", "%s",
		    d->sshd_why);
	else
		doctor_add(d, DOCTOR_BLIND,
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

/*
 * Adds a finding if the way is open, and nothing judges its keys: for all
 * accounts, or for some, who are named. False if there is nothing to tell.
 */
static bool
add_open(struct doctor *d, enum way way)
{
	char names[512] = "";
	bool all = true;
	size_t found = 0, len;

	for (size_t i = 0; i < d->n_groups; i++) {
		const struct doctor_group *g = &d->group[i];

		if (ways_is_guarded(&g->ways, way)) {
			all &= g->n == 0;
			continue;
		}
		for (size_t k = 0; k < g->n; k++)
			if (found++ < NAMES_SHOWN) {
				len = strlen(names);
				snprintf(names + len, sizeof(names) - len,
				    "%s%.64s", len > 0 ? ", " : "",
				    g->account[k]);
			}
	}
	if (!doctor_is_open(d, way))
		return false;
	if (all)
		doctor_add(d, DOCTOR_BROKEN,
		    way <= WAY_COMMAND ? ENABLE_REMEDY : ENABLE_PAM_REMEDY,
		    "%s: nothing judges these keys, neither the guard nor the "
		    "module in PAM's session phase",
		    ways_name(way));
	else if (found > 0)
		doctor_add(d, DOCTOR_BROKEN, ENABLE_PAM_REMEDY,
		    "%s: %zu %s can be entered with a key that nothing judges: "
		    "%s%s",
		    ways_name(way), found,
		    cli_plural(found, "account", "accounts"), names,
		    found > NAMES_SHOWN ? ", ..." : "");
	return all || found > 0;
}

/* Adds what judges the keys of a way, whose switch is closed for nobody. */
static void
add_way(struct doctor *d, enum way way, const char *keyword)
{
	bool open = false, guard = true;

	for (size_t i = 0; i < d->n_groups; i++) {
		open |= d->group[i].ways.open[way];
		guard &= d->group[i].ways.guard[way] ||
		    !d->group[i].ways.open[way];
	}
	if (add_open(d, way))
		return;
	if (open)
		doctor_add(d, DOCTOR_OK, NULL, "%s: the %s judges those keys",
		    keyword, guard ? "guard" : "module");
	else
		doctor_add(d, DOCTOR_OK, NULL, "%s is not set", keyword);
}

/*
 * Names a command of which nobody can know before a change whether it refuses
 * keys that the command prints.
 */
static void
add_command(struct doctor *d)
{
	const struct sshd_settings *s = d->settings;
	char text[SSHD_VALUE_BYTES], why[ASK_WHY_BYTES];
	const struct ask_command c = { text, (char *)s->keys_user };

	if (ask_find(s->keys_command, text, sizeof(text)) &&
	    !ask_is_possible(&c, why))
		doctor_add(d, DOCTOR_OK, NULL,
		    "AuthorizedKeysCommand %s: the keys it prints are not "
		    "judged before a change: %s",
		    text, why);
}

void
doctor_guard(struct doctor *d)
{
	const struct doctor_guard *g = doctor_find_guard(d, true);
	const struct ways *w = &d->ways;
	const char *missing;

	for (size_t i = 0; i < d->n_guards; i++) {
		if (!d->guard[i].keys ||
		    (missing = find_missing_option(d->guard[i].args)) == NULL)
			continue;
		doctor_add(d, DOCTOR_BLIND, SSHD_REMEDY,
		    "AuthorizedKeysCommand %s lacks %s", d->guard[i].command,
		    missing);
		doctor_add_refuses(d);
	}
	add_command(d);
	/* A certificate is judged where both of these are. */
	(void)add_open(d, WAY_FILES);
	(void)add_open(d, WAY_COMMAND);
	if (doctor_status(d, d->check) != DOCTOR_OK)
		return;
	if (g == NULL)
		doctor_add(d, DOCTOR_OK, NULL,
		    "the PAM module alone judges keys, once sshd has accepted "
		    "them");
	else
		doctor_add(d, DOCTOR_OK, NULL,
		    "AuthorizedKeysCommand is the guard%s%s",
		    guard_chained(g->args) ? ", before another command" : "",
		    w->open[WAY_FILES] && !w->guard[WAY_FILES] ?
			"; the PAM module judges the keys in "
			"AuthorizedKeysFile" :
			", and AuthorizedKeysFile is none");
}

/* Whether a client that no Match block matches has a way in that root has not. */
static bool
others_are_open(struct doctor *d)
{
	const struct ways_context context = { .pam = d->module.judges };
	struct sshd_settings *s;
	struct sshd_question q;
	bool open = false;
	char why[1024];
	struct ways w;

	sshd_ask(&d->o->sshd, NULL, &q);
	if ((s = sshd_answer(&q, why, sizeof(why))) == NULL) {
		doctor_add(d, DOCTOR_UNSEEN, NULL, "%s", why);
		return false;
	}
	ways_read(s, &context, &w);
	for (enum way i = 0; i < WAYS; i++)
		open |= !ways_is_guarded(&w, i) && !doctor_is_open(d, i);
	sshd_settings_free(s);
	return open;
}

/* Whether a Match line may be about an account that no name service lists. */
static bool
is_for_unlisted(const struct sshd_line *match)
{
	return strpbrk(match->value, "*?") != NULL ||
	    strcasestr(match->value, "group") != NULL;
}

/*
 * Reports what Match blocks open for clients, and for accounts that no name
 * service lists: sshd cannot be asked about all of them. A block that sets the
 * guard for some clients leaves the others without it.
 */
static void
check_blocks(struct doctor *d)
{
	const struct sshd_tree *t = &d->overview.tree;
	const bool user_ca = ways_any_user_ca(t);
	const struct sshd_line *guarded = NULL;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		const enum way way = ways_of_keyword(l->keyword);
		const bool origin = sshd_tree_is_by_origin(t, l);

		if (way == WAYS || l->match == 0)
			continue;
		if (!ways_line_opens(l->keyword, l->value, user_ca)) {
			if (origin && guarded == NULL)
				guarded = l;
		} else if (!d->pam_everywhere && origin)
			doctor_add(d, DOCTOR_BROKEN, ENABLE_PAM_REMEDY,
			    "%s:%zu: %s %s bypasses the guard for some clients "
			    "(Match %s)",
			    t->file[l->file].path, l->number, l->keyword,
			    l->value, t->line[l->match - 1].value);
		else if (!d->pam_everywhere && !doctor_is_open(d, way) &&
		    is_for_unlisted(&t->line[l->match - 1]))
			doctor_add(d, DOCTOR_UNSEEN, ENABLE_PAM_REMEDY,
			    "%s:%zu: %s %s bypasses the guard for accounts "
			    "that no name service lists (Match %s)",
			    t->file[l->file].path, l->number, l->keyword,
			    l->value, t->line[l->match - 1].value);
	}
	if (guarded != NULL && others_are_open(d))
		doctor_add(d, DOCTOR_BROKEN, ENABLE_PAM_REMEDY,
		    "%s:%zu: the guard is set for some clients only",
		    t->file[guarded->file].path, guarded->number);
}

void
doctor_match(struct doctor *d)
{
	check_blocks(d);
	if (d->unasked > 0)
		doctor_add(d, DOCTOR_UNSEEN, "see sshd -T -C user=NAME",
		    "sshd could not be asked about %zu %s: %s", d->unasked,
		    cli_plural(d->unasked, "account", "accounts"), d->sshd_why);
	if (d->overview.unread[0] != '\0')
		doctor_add(d, DOCTOR_UNSEEN, "name its file with --sshd-config",
		    "Match blocks cannot be seen: %s", d->overview.unread);
	if (doctor_status(d, d->check) == DOCTOR_OK)
		doctor_add(d, DOCTOR_OK, NULL,
		    "no Match block opens a way in that nothing judges");
}

void
doctor_user_ca(struct doctor *d)
{
	for (size_t i = 0; d->ways.open[WAY_USER_CA] && i < d->n_guards; i++) {
		const struct doctor_guard *g = &d->guard[i];
		/* Without a command it would print keys, not principals. */
		const char *missing = guard_chained(g->args) ?
		    find_missing_option(g->args) :
		    "--";

		if (!g->keys && missing != NULL)
			doctor_add(d, DOCTOR_BROKEN, SSHD_REMEDY,
			    "AuthorizedPrincipalsCommand %s lacks %s: sshd "
			    "takes no such certificate",
			    g->command, missing);
	}
	if (doctor_status(d, d->check) == DOCTOR_OK)
		add_way(d, WAY_USER_CA, "TrustedUserCAKeys");
	doctor_ca_keys(d);
}

void
doctor_hostbased(struct doctor *d)
{
	add_way(d, WAY_HOSTBASED, "HostbasedAuthentication");
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
	const struct sshd_tree *t = &d->overview.tree;
	const struct ways *w = &d->ways;

	/* sshd is not asked about clients that a Match block is for. */
	for (size_t i = 0; i < t->n_lines; i++)
		tunnel |= strcasecmp(t->line[i].keyword, "PermitTunnel") == 0 &&
		    !sshd_words_is(t->line[i].value, "no") &&
		    sshd_tree_is_by_origin(t, &t->line[i]);
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
