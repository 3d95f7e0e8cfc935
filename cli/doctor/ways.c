/* SPDX-License-Identifier: ISC */
/* The ways in of all accounts, as sshd tells them, and what judges their keys. */
#include "doctor/doctor.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/room.h"
#include "host/system_file.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/words.h"

/* Notes a keyveto.conf that logins go by; user reads it (NULL: root). */
static void
note_config(struct doctor *d, const char *path, const char *user)
{
	struct doctor_conf *c = NULL;

	if (strcmp(path, d->config) == 0 ||
	    system_file_is_same(path, d->config)) {
		d->is_read = true;
		return;
	}
	for (size_t i = 0; i < d->n_confs && c == NULL; i++)
		if (strcmp(d->conf[i].path, path) == 0)
			c = &d->conf[i];
	if (c == NULL) {
		char *copy = strdup(path);

		if (copy == NULL ||
		    !room_for_one(&d->conf, d->n_confs, sizeof(*d->conf))) {
			free(copy);
			d->out_of_memory = true;
			return;
		}
		c = &d->conf[d->n_confs++];
		*c = (struct doctor_conf){ .path = copy };
	}
	if (user != NULL && !sshd_words_none(user))
		config_readers_add(&c->readers, user);
}

/* Notes a command that sshd runs as user, if it is the guard. */
static void
note_guard(struct doctor *d, const char *command, const char *user, bool keys)
{
	struct doctor_guard g = { .keys = keys };
	char path[PATH_MAX];

	if (!guard_command(command, &g.args))
		return;
	for (size_t i = 0; i < d->n_guards; i++)
		if (d->guard[i].keys == keys &&
		    strcmp(d->guard[i].command, command) == 0 &&
		    strcmp(d->guard[i].user, user) == 0)
			return;
	(void)guard_config(g.args, path, sizeof(path));
	note_config(d, path, user);
	g.command = strdup(command);
	g.user = strdup(user);
	if (g.command == NULL || g.user == NULL ||
	    !room_for_one(&d->guard, d->n_guards, sizeof(g))) {
		free(g.command);
		free(g.user);
		d->out_of_memory = true;
		return;
	}
	g.args = g.command + (g.args - command);
	d->guard[d->n_guards++] = g;
}

const struct doctor_guard *
doctor_find_guard(const struct doctor *d, bool keys)
{
	for (size_t i = 0; i < d->n_guards; i++)
		if (d->guard[i].keys == keys)
			return &d->guard[i];
	return NULL;
}

void
doctor_guard_program(const struct doctor_guard *g, char path[static PATH_MAX])
{
	snprintf(path, PATH_MAX, "%.*s", (int)(g->args - g->command),
	    g->command);
}

bool
doctor_is_open(const struct doctor *d, enum way way)
{
	for (size_t i = 0; i < d->n_groups; i++)
		if (!ways_is_guarded(&d->group[i].ways, way))
			return true;
	return false;
}

/* Whether the module judges every key in a PAM service. Root's is known. */
static bool
service_judges(struct doctor *d, const char *service)
{
	char why[1024], path[PATH_MAX];
	const struct pam_line *l;
	struct pam_stack stack;
	bool judges = false;

	if (*service == '\0' || strcmp(service, d->service) == 0)
		return d->module.judges;
	if (pam_stack_read(service, &stack, why, sizeof(why)) &&
	    (l = ways_find_module(&stack, &judges)) != NULL) {
		pam_stack_config(l, path, sizeof(path));
		note_config(d, path, NULL);
	}
	pam_stack_free(&stack);
	return judges;
}

/*
 * Reads from the Match blocks what sshd would tell only if it were asked about
 * other clients: whether they may use keys, and PAM services.
 */
static void
read_blocks(struct doctor *d, bool *keys_elsewhere)
{
	const struct sshd_tree *t = &d->overview.tree;

	d->pam_everywhere = d->settings->use_pam && d->module.judges;
	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		char *value, *rest, *name;

		if (strcasecmp(l->keyword, "PubkeyAuthentication") == 0 &&
		    sshd_tree_is_by_origin(t, l))
			*keys_elsewhere |= !sshd_words_is(l->value, "no");
		if (l->match == 0 ||
		    strcasecmp(l->keyword, "PAMServiceName") != 0)
			continue;
		rest = value = strdup(l->value);
		name = value != NULL ? sshd_words_next(&rest) : NULL;
		d->pam_everywhere &= name != NULL && service_judges(d, name);
		free(value);
	}
}

/* Counts what cannot be read of the accounts, with errno. */
static void
miss(struct doctor *d, const char *what)
{
	d->unasked++;
	snprintf(d->sshd_why, sizeof(d->sshd_why), "%s: %s", what,
	    strerror(errno));
}

/* Adds the account of that name, if it exists, unless d has it. */
static void
add_account(struct doctor *d, const char *name)
{
	for (size_t i = 0; i < d->accounts.n; i++)
		if (strcmp(d->accounts.v[i].name, name) == 0)
			return;
	if (!accounts_add(&d->accounts, name) && errno != ENOENT)
		miss(d, name);
}

static void
find_accounts(struct doctor *d)
{
	const struct sshd_match *m = &d->overview.match;
	const struct group *gr;

	if (!accounts_add_all(&d->accounts) || d->accounts.n == 0)
		miss(d, "the list of accounts");
	/* Some name services do not list all their accounts. */
	for (size_t i = 0; i < m->user.n; i++)
		add_account(d, m->user.v[i]);
	for (size_t i = 0; i < m->group.n; i++)
		if ((gr = getgrnam(m->group.v[i])) != NULL)
			for (char **p = gr->gr_mem; *p != NULL; p++)
				add_account(d, *p);
}

/*
 * Finds or adds the group with these settings, and notes their guards. Returns
 * its number from 1; 0 without memory.
 */
static size_t
find_group(struct doctor *d, const struct sshd_settings *s, bool keys_elsewhere)
{
	const struct ways_context context = {
		.pam = s->use_pam && service_judges(d, s->service),
		.keys_elsewhere = keys_elsewhere,
	};
	struct ways w;

	ways_read(s, &context, &w);
	note_guard(d, s->keys_command, s->keys_user, true);
	note_guard(d, s->principals_command, s->principals_user, false);
	for (size_t i = 0; i < d->n_groups; i++)
		if (memcmp(&d->group[i].ways, &w, sizeof(w)) == 0)
			return i + 1;
	if (!room_for_one(&d->group, d->n_groups, sizeof(*d->group))) {
		d->out_of_memory = true;
		return 0;
	}
	d->group[d->n_groups++] = (struct doctor_group){ .ways = w };
	return d->n_groups;
}

/*
 * Puts each account into its group. Asks sshd once for all accounts that no
 * Match line tells apart, and has asked about root.
 */
static void
group_accounts(struct doctor *d, bool keys_elsewhere)
{
	const struct accounts *a = &d->accounts;
	size_t *like = sshd_match_alike(a, &d->overview.match), root = 0;
	size_t *of = calloc(a->n + 1, sizeof(*of)); /* a group's number + 1 */
	struct doctor_group *g;

	d->out_of_memory |= like == NULL || of == NULL;
	while (root < a->n && strcmp(a->v[root].name, "root") != 0)
		root++;
	for (size_t i = 0; !d->out_of_memory && i < a->n; i++) {
		struct sshd_question q;
		struct sshd_settings *s;

		if (like[i] != i)
			of[i] = of[like[i]];
		else if (root < a->n && i == like[root])
			of[i] = 1; /* root's group is the first */
		else {
			sshd_ask(&d->o->sshd, a->v[i].name, &q);
			if ((s = sshd_answer(&q, d->sshd_why,
				 sizeof(d->sshd_why))) != NULL)
				of[i] = find_group(d, s, keys_elsewhere);
			sshd_settings_free(s);
		}
		if (of[i] == 0) {
			d->unasked++;
			continue;
		}
		g = &d->group[of[i] - 1];
		if (room_for_one(&g->account, g->n, sizeof(char *)))
			g->account[g->n++] = a->v[i].name;
		else
			d->out_of_memory = true;
	}
	free(of);
	free(like);
}

void
doctor_read_ways(struct doctor *d)
{
	const struct pam_line *const lines[3] = { d->module.session,
		d->module.auth, d->module.account };
	struct sshd sshd = d->o->sshd;
	bool keys_elsewhere = false;
	char path[PATH_MAX];

	/* Another sshd than the usual one tells which file it reads. */
	if (sshd.config == NULL && strcmp(sshd.path, SSHD_PATH) != 0 &&
	    *sshd_subject(&d->o->sshd)->file != '\0')
		sshd.config = sshd_subject(&d->o->sshd)->file;
	sshd_overview(&sshd, &d->overview);
	for (size_t i = 0; i < 3; i++)
		if (lines[i] != NULL) {
			pam_stack_config(lines[i], path, sizeof(path));
			note_config(d, path, NULL);
		}
	read_blocks(d, &keys_elsewhere);
	if (find_group(d, d->settings, keys_elsewhere) != 0)
		d->ways = d->group[0].ways;
	find_accounts(d);
	group_accounts(d, keys_elsewhere);
}
