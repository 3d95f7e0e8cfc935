/* SPDX-License-Identifier: ISC */
/* The module in PAM: the phases, the lines before it, its file. */
#include "doctor/doctor.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/child.h"
#include "ways/pam_decision.h"

#define MODULE WAYS_MODULE
#define FIRST "make 'session requisite " MODULE "' the very first session line"

static const struct pam_line *
find_module(const struct doctor *d, const char *type, size_t *ip)
{
	*ip = 0;
	return pam_stack_find(&d->pam, type, MODULE, ip);
}

static bool
is_in_pam(const struct doctor *d)
{
	return d->module.session || d->module.auth || d->module.account;
}

void
doctor_pam(struct doctor *d, const char *check)
{
	const struct doctor_module *m = &d->module;
	struct ways w;
	bool guarded;

	doctor_read_root_ways(d, &w);
	guarded = w.guard[WAY_CA_LINE];

	if (!m->known)
		doctor_broken(d, check,
		    "correct that line: because of it, PAM refuses logins or "
		    "leaves lines out",
		    "%s", m->why);
	else if (is_in_pam(d) && d->settings != NULL && !d->settings->use_pam)
		doctor_say(d, check, guarded ? DOCTOR_WARNING : DOCTOR_BROKEN,
		    "set UsePAM yes in sshd_config",
		    "UsePAM is no: the "
		    "module in PAM service %s has no effect",
		    d->service);
	else if (m->session)
		doctor_ok(d, check, "service %s runs the module in session%s%s",
		    d->service, m->auth ? ", auth" : "",
		    m->account ? ", account" : "");
	else if (m->auth && d->root.pam_methods)
		doctor_ok(d, check,
		    "service %s runs the module in auth, which "
		    "AuthenticationMethods makes sshd ask after the key",
		    d->service);
	else if (is_in_pam(d))
		doctor_say(d, check, guarded ? DOCTOR_WARNING : DOCTOR_BROKEN,
		    FIRST,
		    "service %s runs the module only in %s, which sees "
		    "no key where one method is enough",
		    d->service, m->auth ? "auth" : "account");
	else
		doctor_say(d, check, guarded ? DOCTOR_OK : DOCTOR_WARNING,
		    FIRST, "service %s does not run the module", d->service);
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
check_control(struct doctor *d, const char *check, const char *type,
    const char *const *refusals)
{
	const struct pam_line *l;
	enum doctor_status status;
	size_t i;

	if ((l = find_module(d, type, &i)) == NULL)
		return;
	status = control_status(l->control, refusals);
	doctor_say(d, check, status, "write requisite there",
	    "%s:%u: %s %s: %s", l->file, l->line, l->type, l->control,
	    status == DOCTOR_OK ?
		"a refusal ends the stack" :
		status == DOCTOR_WARNING ?
		"after a refusal the other lines run all the same" :
		"a refusal has no effect");
	if (l->optional)
		doctor_warning(d, check, "take the '-' away",
		    "%s:%u: with -%s PAM does not log that a module is "
		    "missing",
		    l->file, l->line, l->type);
}

/* Warns if PAM may open a session only because the module succeeds. */
static void
warn_if_module_decides(struct doctor *d, const char *check)
{
	const struct pam_line *l;
	enum pam_decision decision;
	size_t i;

	if (!d->module.known || (l = find_module(d, "session", &i)) == NULL ||
	    (decision = pam_decision_judge(&d->pam, MODULE)) ==
		PAM_DECISION_SURE)
		return;
	doctor_warning(d, check,
	    "see who gets in only by this line, then use the guard alone "
	    "(keyveto sshd disable, keyveto sshd enable --guard)",
	    "%s:%u: this line decides the stack: %s", l->file, l->line,
	    decision == PAM_DECISION_OTHER ?
		"without it PAM would use "
		"/etc/pam.d/other" :
		"no other session line is sure to decide it, so that PAM may "
		"let in somebody whom it would refuse without this line");
}

void
doctor_pam_control(struct doctor *d, const char *check)
{
	check_control(d, check, "session", session_refusals);
	warn_if_module_decides(d, check);
	check_control(d, check, "auth", auth_refusals);
	if (!d->module.session && !d->module.auth)
		doctor_ok(d, check, "there is no line to look at");
}

static const char *
base_name(const char *module)
{
	const char *slash = strrchr(module, '/');

	return slash != NULL ? slash + 1 : module;
}

/* Whether the module sets nothing in the PAM environment. */
static bool
leaves_environment(const char *module)
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
		if (strcmp(base_name(module), names[i]) == 0)
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

	if (strcmp(base_name(l->module), "pam_env.so") != 0)
		return false;
	/* pam_env.so takes any number except 0 for yes, also in brackets. */
	for (const char *p = l->args; (p = strstr(p, option)) != NULL;) {
		p += sizeof(option) - 1;
		if (strtol(p, NULL, 10) != 0)
			return true;
	}
	return false;
}

static void
check_earlier_line(struct doctor *d, const char *check,
    const struct pam_line *l, size_t distance)
{
	const bool session = strcmp(l->type, "session") == 0;

	if (may_skip(l->control, distance))
		doctor_broken(d, check, FIRST,
		    "%s:%u: %s %s %s comes before "
		    "the module, and may keep PAM from running it",
		    l->file, l->line, l->type, l->control, l->module);
	else if (session && reads_users_file(l))
		doctor_broken(d, check, FIRST,
		    "%s:%u: pam_env.so "
		    "user_readenv=1 comes before the module: "
		    "~/.pam_environment can replace the key that it sees",
		    l->file, l->line);
	else if (session && !leaves_environment(l->module))
		doctor_warning(d, check, FIRST,
		    "%s:%u: %s comes before the "
		    "module, and may change what it sees of the key",
		    l->file, l->line, l->module);
}

static size_t
count_lines(const struct doctor *d, const char *type, size_t end)
{
	size_t n = 0;

	for (size_t i = 0; i < end; i++)
		n += strcmp(d->pam.line[i].type, type) == 0;
	return n;
}

static void
check_order(struct doctor *d, const char *check, const char *type)
{
	size_t end, distance;

	if (find_module(d, type, &end) == NULL)
		return;
	distance = count_lines(d, type, end);
	for (size_t i = 0; i < end; i++)
		if (strcmp(d->pam.line[i].type, type) == 0)
			check_earlier_line(d, check, &d->pam.line[i],
			    distance--);
}

void
doctor_learn_pam(struct doctor *d)
{
	struct doctor_module *m = &d->module;
	const struct pam_line *l;
	size_t i;

	m->known = pam_stack_read("", d->service, &d->pam, m->why,
	    sizeof(m->why));
	if (!m->known)
		return;
	m->session = find_module(d, "session", &i) != NULL;
	m->auth = find_module(d, "auth", &i) != NULL;
	m->account = find_module(d, "account", &i) != NULL;
	l = ways_find_module(&d->pam, &m->judges);
	m->stays = l != NULL && strstr(l->args, "disconnect=never") != NULL;
}

void
doctor_pam_order(struct doctor *d, const char *check)
{
	check_order(d, check, "session");
	check_order(d, check, "auth");
	if (doctor_status(d, check) != DOCTOR_OK)
		return;
	if (d->module.session || d->module.auth)
		doctor_ok(d, check,
		    "no line before the module's gets in its "
		    "way");
	else
		doctor_ok(d, check, "there is no line to look at");
}

/* Warns if the module reads another keyveto.conf than doctor checks. */
static void
compare_configs(struct doctor *d, const char *check, const struct pam_line *l)
{
	char path[PATH_MAX];

	pam_stack_config(l, path, sizeof(path));
	if (strcmp(path, d->config) != 0)
		doctor_warning(d, check, "name that file with --config",
		    "%s:%u: the module reads %s, and doctor has checked %s",
		    l->file, l->line, path, d->config);
}

enum { LOADED = 1, NOT_LOADED };

/* In a child: loads the module, and sends the result. */
static void
load_module(struct record_out *out, void *arg)
{
	void *module = dlopen(arg, RTLD_NOW | RTLD_LOCAL);
	const bool ok = module != NULL &&
	    dlsym(module, "pam_sm_open_session") != NULL;

	record_begin(out, ok ? LOADED : NOT_LOADED);
	record_add_text(out, ok ? "" : dlerror());
	record_end(out);
}

/* Whether a child can load the module as libpam does. If not, sets why. */
static bool
can_be_loaded(char *path, char *why, size_t cap)
{
	struct record_in in = { 0 };
	struct kv_bytes payload;
	struct kv_span said;
	struct child c;
	uint8_t tag = 0;
	bool bad;

	if (!child_start(&c, load_module, path)) {
		snprintf(why, cap, "%s", strerror(errno));
		return false;
	}
	while (record_fill(&in, c.fd) > 0)
		;
	snprintf(why, cap, "%.400s: cannot be loaded", path);
	if (record_next(&in, &tag, &payload, &bad) && tag == NOT_LOADED &&
	    kv_bytes_get_string(&payload, &said) == KV_OK)
		snprintf(why, cap, "%.*s", (int)said.len, (const char *)said.p);
	record_in_free(&in);
	return child_wait(&c) == 0 && tag == LOADED;
}

static void
check_module(struct doctor *d, const char *check, const struct pam_line *l)
{
	char path[PATH_MAX], why[KV_TRUSTED_WHY_BYTES];

	snprintf(path, sizeof(path), "%s%s",
	    *l->module == '/' ? "" : WAYS_MODULE_DIR "/", l->module);
	if (kv_trusted_check(path, 0, why) != KV_OK)
		doctor_broken(d, check,
		    "install it again, owned by root: "
		    "where it is missing, every login is refused",
		    "%s", why);
	else if (!can_be_loaded(path, why, sizeof(why)))
		doctor_broken(d, check,
		    "install it again, with the libraries "
		    "that it needs: until then every login is refused",
		    "%s", why);
	else
		doctor_ok(d, check, "%s is there, and root's alone", path);
}

void
doctor_pam_module(struct doctor *d, const char *check)
{
	static const char *const types[] = { "session", "auth", "account" };
	const struct pam_line *l, *seen = NULL;
	size_t i;

	for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
		if ((l = find_module(d, types[t], &i)) == NULL)
			continue;
		if (seen == NULL || strcmp(l->module, seen->module) != 0)
			check_module(d, check, l);
		compare_configs(d, check, l);
		seen = l;
	}
	if (seen == NULL)
		doctor_ok(d, check, "the module is not in use");
}
