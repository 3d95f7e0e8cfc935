/* SPDX-License-Identifier: ISC */
/* keyveto.conf: whether it is read, and what it makes of a listed key. */
#include "doctor/doctor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounts/machine.h"
#include "host/system_file.h"
#include "tasks/filter.h"

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

void
doctor_config(struct doctor *d)
{
	if (d->judging.judge.broken[0] != '\0')
		doctor_add(d, DOCTOR_BROKEN,
		    "correct it with keyveto config edit; "
		    "until then no key gets a verdict, and OnError decides",
		    "%s", d->judging.judge.broken);
	else
		doctor_add(d, DOCTOR_OK, NULL,
		    "%s can be read, and is root's alone", d->config);
}

void
doctor_not_looked_at(struct doctor *d)
{
	doctor_add(d, DOCTOR_WARNING, NULL,
	    "not looked at, since %s cannot be read", d->config);
}

void
doctor_compare_config(struct doctor *d, const char *who, const char *path)
{
	d->is_read |= system_file_is_same(path, d->config);
	if (strcmp(path, d->config) != 0)
		doctor_add(d, DOCTOR_WARNING, "name that file with --config",
		    "%s reads %s, and doctor has checked %s", who, path,
		    d->config);
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
