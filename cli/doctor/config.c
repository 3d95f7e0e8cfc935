/* SPDX-License-Identifier: ISC */
/* keyveto.conf: whether it is read, and what it makes of a listed key. */
#include "doctor/doctor.h"

#include <inttypes.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounts/machine.h"
#include "config/findings.h"
#include "host/system_file.h"
#include "tasks/filter.h"

#define MISTAKE_REMEDY \
	"correct it with keyveto config edit; until then no key gets a " \
	"verdict, and OnError decides"

bool
doctor_read_filters(struct doctor *d)
{
	const struct cli_judge_options *o = &d->o->judge;
	struct kv_paths paths;

	d->config = o->config != NULL ? o->config : KV_CONFIG_PATH;
	judging_open(&d->judging, d->config, cli_judge_paths(o, &paths),
	    cli_open_as_login, NULL);
	if (!judging_start(&d->judging, d->unread))
		cli_error("%s", d->unread);
	/* calloc(0) may return NULL. */
	d->facts = calloc(d->judging.judge.n_filters + 1, sizeof(*d->facts));
	d->has_facts = calloc(d->judging.judge.n_filters + 1,
	    sizeof(*d->has_facts));
	if (d->facts == NULL || d->has_facts == NULL)
		return false;
	for (size_t i = 0; i < d->judging.judge.n_filters; i++) {
		const struct kv_filter *f = &d->judging.judge.filter[i];

		d->has_facts[i] = d->unread[0] == '\0' && f->pkbf.fd != -1 &&
		    tasks_filter_facts(f->path, &f->pkbf, &d->facts[i]);
	}
	return true;
}

/* Adds what is found in a keyveto.conf. arg: the doctor. */
static void
add_found(void *arg, enum config_finding kind, const char *text)
{
	static const enum doctor_status status[] = {
		[CONFIG_MISTAKE] = DOCTOR_BLIND,
		[CONFIG_UNREADABLE] = DOCTOR_BLIND,
		[CONFIG_UNSEEN] = DOCTOR_UNSEEN,
		[CONFIG_IDLE] = DOCTOR_WARNING,
		[CONFIG_POLICY] = DOCTOR_WARNING,
	};

	doctor_add(arg, status[kind],
	    kind == CONFIG_MISTAKE  ? MISTAKE_REMEDY :
		kind == CONFIG_IDLE ? "take it out: keyveto config edit" :
				      NULL,
	    "%s", text);
}

/* The same, but for what other checks find of the file that is checked. */
static void
add_found_in_text(void *arg, enum config_finding kind, const char *text)
{
	if (kind == CONFIG_MISTAKE || kind == CONFIG_IDLE)
		add_found(arg, kind, text);
}

/* Tells s->found of a file. False if it cannot be read at all. */
static bool
look_at(struct doctor *d, struct config_subject *s, struct config_findings *f)
{
	char *text = system_file_read(s->name, &s->len);

	*f = (struct config_findings){ 0 };
	if ((s->text = text) == NULL)
		return false;
	s->arg = d;
	d->out_of_memory |= !config_findings_make(f, s);
	config_findings_free(f);
	free(text);
	return true;
}

static void
look_at_other(struct doctor *d, const struct doctor_conf *c)
{
	struct config_subject s = {
		.name = c->path,
		.path = c->path,
		.readers = &c->readers,
		.found = add_found,
	};
	struct config_findings f;

	if (!look_at(d, &s, &f))
		doctor_add(d, DOCTOR_BLIND, "write it, or name another file",
		    "%s: %s", c->path, strerror(errno));
	else if (config_findings_no_verdict(&f))
		doctor_add(d, DOCTOR_BLIND, NULL,
		    "%s: no key gets a verdict, and OnError %s decides",
		    c->path, kv_action_name(f.on_error));
	else
		doctor_add(d, DOCTOR_OK, NULL,
		    "%s is read by logins, too, and each key gets a verdict",
		    c->path);
	if (f.on_error == KV_ACTION_DENY)
		doctor_add_refuses(d);
}

/* Whether there is no keyveto.conf yet, before somebody typed keyveto setup. */
static bool
is_not_needed(const struct doctor *d)
{
	return d->settings != NULL && !d->is_read &&
	    access(d->config, F_OK) == -1 && errno == ENOENT;
}

void
doctor_config(struct doctor *d)
{
	const char *broken = d->judging.judge.broken;
	struct config_subject s = {
		.name = d->config,
		.text_alone = true,
		.found = add_found_in_text,
	};
	struct config_findings f;

	(void)look_at(d, &s, &f);
	if (is_not_needed(d))
		doctor_add(d, DOCTOR_WARNING, "type keyveto setup",
		    "there is no %s, and no login goes by it", d->config);
	else if (f.mistakes == 0 && *broken != '\0')
		doctor_add(d,
		    d->is_read || access(d->config, F_OK) == 0 ? DOCTOR_BLIND :
								 DOCTOR_BROKEN,
		    MISTAKE_REMEDY, "%s", broken);
	else if (d->n == 0)
		doctor_add(d, DOCTOR_OK, NULL,
		    "%s can be read, and is root's alone", d->config);
	for (size_t i = 0; i < d->n_confs; i++)
		look_at_other(d, &d->conf[i]);
}

void
doctor_not_looked_at(struct doctor *d)
{
	if (is_not_needed(d))
		doctor_add_unused(d, "there is no keyveto.conf");
	else
		doctor_add(d, DOCTOR_WARNING, NULL,
		    "not looked at, since %s cannot be read", d->config);
}

void
doctor_policy(struct doctor *d)
{
	const struct kv_config *c = &d->judging.judge.config;

	/* If keyveto.conf cannot be read, OnHit is unknown; OnError is not. */
	if (d->judging.judge.broken[0] != '\0')
		doctor_not_looked_at(d);
	else if (c->on_hit == KV_ACTION_DENY)
		doctor_add(d, DOCTOR_OK, NULL,
		    "OnHit deny: a listed key is refused");
	else
		doctor_add(d, DOCTOR_WARNING,
		    "once the log holds no surprises, "
		    "set OnHit deny in keyveto.conf (keyveto config edit)",
		    "OnHit %s: a listed key is let in, and logged",
		    kv_action_name(c->on_hit));
	if (d->judging.judge.broken[0] == '\0' && c->on_hit == KV_ACTION_DENY &&
	    c->on_probable != KV_ACTION_DENY && d->judging.judge.n_filters > 0)
		doctor_add(d, DOCTOR_WARNING,
		    "keyveto check names the lists of a key; set OnProbable "
		    "deny in keyveto.conf (keyveto config edit) if no clean "
		    "key is in use that filters list",
		    "OnProbable warn: a key that only filters list is let in, "
		    "and logged");
	if (c->on_error == KV_ACTION_DENY)
		doctor_add(d, DOCTOR_OK, NULL,
		    "OnError deny: no key is let in while a "
		    "filter or keyveto.conf cannot be read");
	else
		doctor_add(d, DOCTOR_WARNING,
		    "set OnError deny in keyveto.conf, "
		    "or watch the log for verdict=error",
		    "OnError %s: listed keys are let in while a filter or "
		    "keyveto.conf cannot be read",
		    kv_action_name(c->on_error));
}

/* Warns of a key of an account that is let in although a list has it. */
static void
add_allowed(const struct input_key *key, void *arg)
{
	struct doctor *d = arg;
	const struct kv_judge *judge = &d->judging.judge;
	uint8_t digest[KV_SHA256_BYTES];
	struct kv_decision said;

	if (key->account == NULL)
		return;
	kv_fingerprint_digest(&key->key, digest);
	if (kv_config_find_allowed(&judge->config, digest, d->now) == NULL)
		return;
	judging_key(judge, key, d->now, &said);
	if (said.verdict == KV_VERDICT_ALLOWED &&
	    (said.list != NULL || said.filter != NULL))
		doctor_add(d, DOCTOR_WARNING,
		    "have that key replaced, and take the line out with "
		    "keyveto allow --remove",
		    "%s:%" PRIu64 ": %s's key %s is listed, and an AllowKey "
		    "line lets it in",
		    key->path, key->line, key->account, said.fingerprint);
}

void
doctor_exceptions(struct doctor *d)
{
	const struct kv_config *c = &d->judging.judge.config;
	const char *lines = cli_plural(c->allowed.n, "line", "lines");
	size_t past = 0, endless = 0;
	uint64_t problems = 0;

	for (size_t i = 0; i < c->allowed.n; i++) {
		past += c->allowed.v[i].day < d->now / DOCTOR_DAY_SECONDS;
		endless += c->allowed.v[i].day == KV_CONFIG_NO_END;
	}
	if (past > 0)
		doctor_add(d, DOCTOR_WARNING,
		    "keyveto allow --remove takes such a "
		    "line out, keyveto allow gives it a new date",
		    "%zu of %zu AllowKey %s %s", past, c->allowed.n, lines,
		    cli_plural(past, "is past its date and no longer counts",
			"are past their date and no longer count"));
	else
		doctor_add(d, DOCTOR_OK, NULL,
		    "%zu AllowKey %s, %zu without an end date", c->allowed.n,
		    lines, endless);
	if (past < c->allowed.n && geteuid() == 0)
		(void)machine_each_key(&d->judging.judge, NULL, 0, add_allowed,
		    d, &problems);
}
