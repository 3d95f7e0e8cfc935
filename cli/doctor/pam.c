/* SPDX-License-Identifier: ISC */
/* The module in PAM: the phases, the lines before it, its file. */
#include "doctor/doctor.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/child.h"
#include "ways/pam_decision.h"

#define MODULE WAYS_MODULE
#define FIRST "make 'session requisite " MODULE "' the very first session line"

void
doctor_read_pam(struct doctor *d)
{
	struct doctor_module *m = &d->module;
	const struct pam_line *l;

	m->known = pam_stack_read(d->service, &d->pam, m->why, sizeof(m->why));
	/* If the stack could not be read, it has the lines before the error. */
	m->session = pam_stack_find(&d->pam, "session", MODULE);
	m->auth = pam_stack_find(&d->pam, "auth", MODULE);
	m->account = pam_stack_find(&d->pam, "account", MODULE);
	if (m->known) {
		l = ways_find_module(&d->pam, &m->judges);
		m->stays = l != NULL &&
		    strstr(l->args, "disconnect=never") != NULL;
	}
}

void
doctor_pam(struct doctor *d)
{
	const struct doctor_module *m = &d->module;
	const bool there = m->session != NULL || m->auth != NULL ||
	    m->account != NULL;
	const bool guarded = d->ways.guard[WAY_CA_LINE];

	if (!m->known)
		doctor_add(d, DOCTOR_BLIND,
		    "correct that line: because of it, PAM refuses logins or "
		    "leaves lines out",
		    "%s", m->why);
	else if (there && d->settings != NULL && !d->settings->use_pam)
		doctor_add(d, guarded ? DOCTOR_WARNING : DOCTOR_BROKEN,
		    "set UsePAM yes in sshd_config",
		    "UsePAM is no: the module in PAM service %s has no effect",
		    d->service);
	else if (m->session != NULL)
		doctor_add(d, DOCTOR_OK, NULL,
		    "service %s runs the module in session%s%s", d->service,
		    m->auth != NULL ? ", auth" : "",
		    m->account != NULL ? ", account" : "");
	else if (m->auth != NULL && d->pam_methods)
		doctor_add(d, DOCTOR_OK, NULL,
		    "service %s runs the module in auth, which "
		    "AuthenticationMethods makes sshd ask after the key",
		    d->service);
	else if (there)
		doctor_add(d, guarded ? DOCTOR_WARNING : DOCTOR_BROKEN, FIRST,
		    "service %s runs the module only in %s, which sees no key "
		    "where one method is enough",
		    d->service, m->auth != NULL ? "auth" : "account");
	else
		doctor_add(d, guarded ? DOCTOR_OK : DOCTOR_WARNING, FIRST,
		    "service %s does not run the module", d->service);
}

/* Copies the action of a bracketed control for a return value. */
static void
get_action(const char *control, const char *value, char *action, size_t cap)
{
	const size_t len = strlen(value);

	for (const char *p = control; (p = strstr(p, value)) != NULL; p++) {
		if (p > control && !isalnum((unsigned char)p[-1]) &&
		    p[-1] != '_' && p[len] == '=') {
			p += len + 1;
			snprintf(action, cap, "%.*s", (int)strcspn(p, " \t]"),
			    p);
			return;
		}
	}
	/* pam.conf(5): a value without an action or a default is "bad". */
	if (strcmp(value, "default") == 0)
		snprintf(action, cap, "bad");
	else
		get_action(control, "default", action, cap);
}

/* What the module returns when it refuses a key. */
static const char *const session_refusals[] = { "perm_denied", "session_err" };
static const char *const auth_refusals[] = {
	"perm_denied",
	"authinfo_unavail",
};

/* DOCTOR_OK if the control ends the stack after any refusal. */
static enum doctor_status
control_status(const char *control, const char *const *refusals)
{
	enum doctor_status worst = DOCTOR_OK;
	char action[32];

	if (strcmp(control, "requisite") == 0)
		return DOCTOR_OK;
	if (strcmp(control, "required") == 0)
		return DOCTOR_WARNING;
	if (*control != '[')
		return DOCTOR_BROKEN;
	for (size_t i = 0; i < 2; i++) {
		get_action(control, refusals[i], action, sizeof(action));
		if (strcmp(action, "die") == 0)
			continue;
		if (strcmp(action, "bad") != 0)
			return DOCTOR_BROKEN;
		worst = DOCTOR_WARNING;
	}
	return worst;
}

static void
check_control(struct doctor *d, const struct pam_line *l,
    const char *const *refusals)
{
	const enum doctor_status status = control_status(l->control, refusals);

	doctor_add(d, status, "write requisite there", "%s:%u: %s %s: %s",
	    l->file, l->line, l->type, l->control,
	    status == DOCTOR_OK ?
		"a refusal ends the stack" :
		status == DOCTOR_WARNING ?
		"after a refusal the other lines run all the same" :
		"a refusal has no effect");
	if (l->optional)
		doctor_add(d, DOCTOR_WARNING, "take the '-' away",
		    "%s:%u: with -%s PAM does not log that a module is missing",
		    l->file, l->line, l->type);
}

void
doctor_pam_control(struct doctor *d)
{
	const struct pam_line *l = d->module.session;
	enum pam_decision decision;

	if (l != NULL) {
		check_control(d, l, session_refusals);
		decision = pam_decision_judge(&d->pam, MODULE);
		if (d->module.known && decision != PAM_DECISION_SURE)
			doctor_add(d, DOCTOR_WARNING,
			    "see who gets in only by this line, then use the "
			    "guard alone (keyveto disable, keyveto "
			    "enable --guard)",
			    "%s:%u: this line decides the stack: %s", l->file,
			    l->line,
			    decision == PAM_DECISION_OTHER ?
				"without it PAM would use /etc/pam.d/other" :
				"no other session line is sure to decide it, "
				"so that PAM may let in somebody whom it would "
				"refuse without this line");
	}
	if (d->module.auth != NULL)
		check_control(d, d->module.auth, auth_refusals);
	else if (l == NULL)
		doctor_add_unused(d, "there is no line to look at");
}

/* Whether the module sets nothing in the PAM environment. */
static bool
leaves_environment(const struct pam_line *l)
{
	static const char *const names[] = {
		"pam_keyinit.so",
		"pam_limits.so",
		"pam_loginuid.so",
		"pam_nologin.so",
		"pam_permit.so",
		"pam_selinux.so",
		"pam_unix.so",
		"pam_deny.so",
		"pam_warn.so",
		MODULE,
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(pam_line_module(l), names[i]) == 0)
			return true;
	return false;
}

/*
 * Whether PAM may skip the line that is distance lines further on, if a line
 * with this control succeeds.
 */
static bool
may_skip(const char *control, size_t distance)
{
	if (strcmp(control, "sufficient") == 0)
		return true;
	if (*control != '[')
		return false;
	for (const char *p = control; (p = strchr(p, '=')) != NULL;) {
		p++;
		if (strncmp(p, "done", 4) == 0 ||
		    (isdigit((unsigned char)*p) &&
			strtoul(p, NULL, 10) >= distance))
			return true;
	}
	return false;
}

/* Whether pam_env.so reads ~/.pam_environment, which can hide the key. */
static bool
reads_users_file(const struct pam_line *l)
{
	static const char option[] = "user_readenv=";

	if (strcmp(pam_line_module(l), "pam_env.so") != 0)
		return false;
	/* pam_env.so takes any number except 0 for yes, also in brackets. */
	for (const char *p = l->args; (p = strstr(p, option)) != NULL;) {
		p += sizeof(option) - 1;
		if (strtol(p, NULL, 10) != 0)
			return true;
	}
	return false;
}

/* Checks the lines of the same type that PAM runs before the module's. */
static void
check_order(struct doctor *d, const struct pam_line *module)
{
	const bool session = strcmp(module->type, "session") == 0;
	size_t distance = 0;

	for (const struct pam_line *l = d->pam.line; l < module; l++)
		distance += strcmp(l->type, module->type) == 0;
	for (const struct pam_line *l = d->pam.line; l < module; l++) {
		if (strcmp(l->type, module->type) != 0)
			continue;
		if (may_skip(l->control, distance--))
			doctor_add(d, DOCTOR_BROKEN, FIRST,
			    "%s:%u: %s %s %s comes before the module, and may "
			    "keep PAM from running it",
			    l->file, l->line, l->type, l->control, l->module);
		else if (session && reads_users_file(l))
			doctor_add(d, DOCTOR_BROKEN, FIRST,
			    "%s:%u: pam_env.so user_readenv=1 comes before the "
			    "module: ~/.pam_environment can replace the key "
			    "that it sees",
			    l->file, l->line);
		else if (session && !leaves_environment(l))
			doctor_add(d, DOCTOR_WARNING, FIRST,
			    "%s:%u: %s comes before the module, and may change "
			    "what it sees of the key",
			    l->file, l->line, l->module);
	}
}

void
doctor_pam_order(struct doctor *d)
{
	const struct doctor_module *m = &d->module;

	if (m->session != NULL)
		check_order(d, m->session);
	if (m->auth != NULL)
		check_order(d, m->auth);
	if (m->session == NULL && m->auth == NULL)
		doctor_add_unused(d, "there is no line to look at");
	else if (doctor_status(d, d->check) == DOCTOR_OK)
		doctor_add(d, DOCTOR_OK, NULL,
		    "no line before the module's gets in its way");
}

/* Loads the module as libpam does. child_ask_as calls this in a child. */
static bool
can_be_loaded(void *arg, char *why, size_t cap)
{
	void *module = dlopen(arg, RTLD_NOW | RTLD_LOCAL);

	if (module != NULL && dlsym(module, "pam_sm_open_session") != NULL)
		return true;
	snprintf(why, cap, "%s", dlerror());
	return false;
}

void
doctor_pam_module(struct doctor *d)
{
	const struct doctor_module *m = &d->module;
	const struct pam_line *const lines[3] = {
		m->session,
		m->auth,
		m->account,
	};
	const struct pam_line *l, *seen = NULL;
	const bool asked = d->settings != NULL && d->settings->use_pam;
	char path[PATH_MAX], why[KV_TRUSTED_WHY_BYTES];
	enum kv_err err;

	for (size_t i = 0; i < 3; i++) {
		if ((l = lines[i]) == NULL)
			continue;
		if (seen == NULL || strcmp(l->module, seen->module) != 0) {
			snprintf(path, sizeof(path), "%s%s",
			    *l->module == '/' ? "" : WAYS_MODULE_DIR "/",
			    l->module);
			err = kv_trusted_check(path, 0, why);
			if (err != KV_OK)
				doctor_add(d,
				    asked && err != KV_ERR_INSECURE ?
					DOCTOR_BLIND :
					DOCTOR_BROKEN,
				    "put keyveto's module there, owned by "
				    "root: where it is missing, every login "
				    "is refused",
				    "%s", why);
			else if (!child_ask_as(geteuid(), getegid(),
				     can_be_loaded, path, why, sizeof(why)))
				doctor_add(d,
				    asked ? DOCTOR_BLIND : DOCTOR_BROKEN,
				    "install the libraries that it needs, or "
				    "keyveto's module for this system: until "
				    "then every login is refused",
				    "%s: cannot be loaded: %s", path, why);
			else
				doctor_add(d, DOCTOR_OK, NULL,
				    "%s is there, and root's alone", path);
			/* PAM does not ask whose it is. */
			if (asked && err != KV_ERR_INSECURE &&
			    strcmp(l->control, "optional") != 0)
				doctor_add_refuses(d);
		}
		seen = l;
	}
	if (seen == NULL)
		doctor_add_unused(d, "the module is not in use");
}
