/* SPDX-License-Identifier: ISC */
#include "sshd/means.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sshd_config/guard_command.h"
#include "ways/pam_decision.h"

/* The one of that name, which may be new: *newp. NULL without memory. */
static struct sshd_mean *
find(struct sshd_means *m, enum sshd_mean_kind kind, const char *name,
    const char *user, bool *newp)
{
	struct sshd_mean *v;

	*newp = false;
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].kind == kind && strcmp(m->v[i].name, name) == 0 &&
		    strcmp(m->v[i].user, user) == 0)
			return &m->v[i];
	v = realloc(m->v, (m->n + 1) * sizeof(*v));
	if (v != NULL)
		m->v = v;
	if (v == NULL || (v[m->n].name = strdup(name)) == NULL) {
		m->unknown = true;
		return NULL;
	}
	if ((v[m->n].user = strdup(user)) == NULL) {
		free(v[m->n].name);
		m->unknown = true;
		return NULL;
	}
	v[m->n].kind = kind;
	v[m->n].judges = false;
	*newp = true;
	return &v[m->n++];
}

void
sshd_means_guard(struct sshd_means *m, const char *command, const char *user)
{
	char path[PATH_MAX], config[PATH_MAX];
	const char *args;
	bool new;

	if (!guard_command(command, &args))
		return;
	snprintf(path, sizeof(path), "%.*s", (int)(args - command), command);
	(void)find(m, SSHD_MEAN_GUARD, path, "", &new);
	if (!guard_config(args, config, sizeof(config)))
		snprintf(config, sizeof(config), "%s", KV_CONFIG_PATH);
	(void)find(m, SSHD_MEAN_CONFIG, config,
	    strcmp(user, "root") == 0 ? "" : user, &new);
}

static bool
look_at_service(struct sshd_means *m, const char *service)
{
	const struct pam_line *l;
	struct pam_stack stack;
	char why[SSHD_WHY_BYTES], config[PATH_MAX];
	bool in_place = false, new;

	if (!pam_stack_read(m->o->root, service, &stack, why, sizeof(why))) {
		cli_error("%s", why);
		m->unknown = true;
		pam_stack_free(&stack);
		return false;
	}
	l = ways_find_module(&stack, &in_place);
	if (in_place) {
		in_place = sshd_require_module(m->o, l->module);
		if (pam_decision_judge(&stack, WAYS_MODULE) !=
		    PAM_DECISION_SURE)
			cli_error("note: %s%s:%u: this line decides the stack: "
				  "no other session line is sure to",
			    m->o->root, l->file, l->line);
		pam_stack_config(l, config, sizeof(config));
		(void)find(m, SSHD_MEAN_CONFIG, config, "", &new);
	} else if (l != NULL && strcmp(l->control, "requisite") != 0)
		cli_error("note: %s%s:%u: pam_keyveto.so is not requisite",
		    m->o->root, l->file, l->line);
	else if (l != NULL)
		cli_error(
		    "note: %s%s:%u: pam_keyveto.so is not the first "
		    "session line; what comes before it may hide the key from "
		    "it",
		    m->o->root, l->file, l->line);
	pam_stack_free(&stack);
	return in_place;
}

bool
sshd_means_service(struct sshd_means *m, const char *service)
{
	struct sshd_mean *s;
	size_t i;
	bool new, judges;

	if ((s = find(m, SSHD_MEAN_SERVICE, service, "", &new)) == NULL)
		return false;
	if (!new)
		return s->judges;
	/* The list may move while the module's keyveto.conf is added. */
	i = (size_t)(s - m->v);
	judges = look_at_service(m, service);
	m->v[i].judges = judges;
	return judges;
}

/* Guarded only in name, if keyveto.conf lets listed keys in. */
static bool
config_refuses(struct sshd_means *m, const struct sshd_mean *c,
    const struct accounts *accounts)
{
	struct kv_judge judge;
	bool refuses;

	if (!sshd_require_filters(m->o, c->name, c->user, accounts) ||
	    !sshd_judge_open(m->o, c->name, &judge)) {
		m->unknown = true;
		return true;
	}
	refuses = judge.config.on_hit == KV_ACTION_DENY;
	if (!refuses)
		cli_error("%s%s: OnHit warn: listed keys are let in, and "
			  "logged",
		    m->o->root, c->name);
	kv_judge_close(&judge);
	return refuses;
}

bool
sshd_means_refuse(struct sshd_means *m, const struct accounts *accounts)
{
	bool refuse = true;

	for (size_t i = 0; i < m->n; i++) {
		const struct sshd_mean *one = &m->v[i];

		if (one->kind == SSHD_MEAN_GUARD)
			m->unknown |= !sshd_require_guard(m->o, one->name);
		else if (one->kind == SSHD_MEAN_CONFIG)
			refuse &= config_refuses(m, one, accounts);
	}
	return refuse;
}

void
sshd_means_free(struct sshd_means *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].name);
		free(m->v[i].user);
	}
	free(m->v);
	m->v = NULL;
	m->n = 0;
}
