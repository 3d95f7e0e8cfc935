/* SPDX-License-Identifier: ISC */
#include "sshd/protection.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sshd/usable.h"
#include "sshd_config/guard_command.h"
#include "ways/pam_decision.h"

/*
 * Finds or adds a protector. *newp: it was added. NULL without memory; then
 * m->unknown is set.
 */
static struct sshd_protector *
find_or_add(struct sshd_protection *m, enum sshd_protector_kind kind,
    const char *name, const char *user, bool *newp)
{
	struct sshd_protector *v;

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
sshd_protection_add_guard(struct sshd_protection *m, const char *command,
    const char *user)
{
	char path[PATH_MAX], config[PATH_MAX];
	const char *args;
	bool new;

	if (!guard_command(command, &args))
		return;
	snprintf(path, sizeof(path), "%.*s", (int)(args - command), command);
	(void)find_or_add(m, SSHD_PROTECTOR_GUARD, path, "", &new);
	if (!guard_config(args, config, sizeof(config)))
		snprintf(config, sizeof(config), "%s", KV_CONFIG_PATH);
	(void)find_or_add(m, SSHD_PROTECTOR_CONFIG, config,
	    strcmp(user, "root") == 0 ? "" : user, &new);
}

/* Whether the module judges every key in a service. False after a message. */
static bool
module_judges_in(struct sshd_protection *m, const char *service)
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
		in_place = sshd_usable_module(m->o, l->module);
		if (pam_decision_judge(&stack, WAYS_MODULE) !=
		    PAM_DECISION_SURE)
			cli_error("note: %s%s:%u: this line decides the stack: "
				  "no other session line is sure to decide it",
			    m->o->root, l->file, l->line);
		pam_stack_config(l, config, sizeof(config));
		(void)find_or_add(m, SSHD_PROTECTOR_CONFIG, config, "", &new);
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
sshd_protection_add_service(struct sshd_protection *m, const char *service)
{
	struct sshd_protector *s;
	size_t i;
	bool new, judges;

	if ((s = find_or_add(m, SSHD_PROTECTOR_SERVICE, service, "", &new)) ==
	    NULL)
		return false;
	if (!new)
		return s->judges;
	/* module_judges_in adds a keyveto.conf, which may move the array. */
	i = (size_t)(s - m->v);
	judges = module_judges_in(m, service);
	m->v[i].judges = judges;
	return judges;
}

/*
 * Whether a keyveto.conf refuses listed keys. False after a message. True, and
 * m->unknown, if it cannot be read.
 */
static bool
config_refuses(struct sshd_protection *m, const struct sshd_protector *c,
    const struct accounts *accounts)
{
	struct kv_judge judge;
	bool refuses;

	if (!sshd_usable_filters(m->o, c->name, c->user, accounts) ||
	    !sshd_usable_open(m->o, c->name, &judge)) {
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
sshd_protection_refuses(struct sshd_protection *m,
    const struct accounts *accounts)
{
	bool refuse = true;

	for (size_t i = 0; i < m->n; i++) {
		const struct sshd_protector *one = &m->v[i];

		if (one->kind == SSHD_PROTECTOR_GUARD)
			m->unknown |= !sshd_usable_guard(m->o, one->name);
		else if (one->kind == SSHD_PROTECTOR_CONFIG)
			refuse &= config_refuses(m, one, accounts);
	}
	return refuse;
}

void
sshd_protection_free(struct sshd_protection *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].name);
		free(m->v[i].user);
	}
	free(m->v);
	m->v = NULL;
	m->n = 0;
}
