/* SPDX-License-Identifier: ISC */
#include "sessions/judged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "accounts/machine.h"

struct finding_keys {
	struct sessions *s;
	const struct judging *judging;
	int64_t now;
};

static void
set_verdict(struct session_key *k, const struct kv_judge *judge,
    const struct kv_decision *d)
{
	const char *list = d->list != NULL ? d->list->path : "";

	for (size_t i = 0; *list == '\0' && i < judge->n_filters; i++)
		if ((d->hits >> i & 1) != 0)
			list = judge->filter[i].path;
	k->found = true;
	k->verdict = d->verdict;
	snprintf(k->list, sizeof(k->list), "%s", list);
	snprintf(k->source, sizeof(k->source), "%s", d->source);
}

/* Is on_key of struct report: judges a key that a session came in by. */
static void
on_key(const struct input_key *key, void *arg)
{
	struct finding_keys *f = arg;
	uint8_t digest[KV_SHA256_BYTES];
	struct kv_decision d = { .source = "" };
	bool judged = false;

	if (key->key.type == KV_KEY_NONE)
		return;
	kv_fingerprint_digest(&key->key, digest);
	for (size_t i = 0; i < f->s->n; i++) {
		for (size_t j = 0; j < f->s->v[i].n_keys; j++) {
			struct session_key *k = &f->s->v[i].key[j];

			if (k->found ||
			    memcmp(k->digest, digest, sizeof(digest)) != 0)
				continue;
			if (!judged)
				judging_key(&f->judging->judge, key, f->now,
				    &d);
			judged = true;
			set_verdict(k, &f->judging->judge, &d);
			snprintf(k->type, sizeof(k->type), "%s", key->type);
		}
	}
}

/* What keyveto.conf says of fingerprints needs no key. */
static void
judge_by_fingerprint(struct finding_keys *f, struct session_key *k)
{
	const struct kv_judge *judge = &f->judging->judge;
	struct kv_decision d = { .verdict = KV_VERDICT_LISTED };

	if (k->found)
		return;
	if (kv_config_find_denied(&judge->config, k->digest, f->now) != NULL) {
		d.list = &kv_denied;
		snprintf(d.source, sizeof(d.source), "DenyKey");
	} else if (kv_config_find_allowed(&judge->config, k->digest, f->now) !=
	    NULL)
		d.verdict = KV_VERDICT_ALLOWED;
	else
		return;
	set_verdict(k, judge, &d);
}

/* Adds the account of each session with a key once. */
static void
add_names(const struct sessions *s, const char **name, size_t *np)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct session *one = &s->v[i];
		bool there = !one->accepted || one->n_keys == 0;

		for (size_t j = 0; j < *np; j++)
			there |= strcmp(name[j], one->a.user) == 0;
		if (!there)
			name[(*np)++] = one->a.user;
	}
}

bool
judged_find(struct sessions *s, const struct judging *judging)
{
	struct finding_keys f = {
		.s = s,
		.judging = judging,
		.now = time(NULL),
	};
	const char **name = calloc(s->n + 1, sizeof(*name));
	uint64_t problems = 0;
	size_t n = 0;
	bool ok;

	if (name == NULL)
		return cli_error("%s", strerror(errno));
	add_names(s, name, &n);
	ok = n == 0 ||
	    machine_each_key(&judging->judge, name, n, on_key, &f, &problems);
	for (size_t i = 0; ok && i < s->n; i++)
		for (size_t j = 0; j < s->v[i].n_keys; j++)
			judge_by_fingerprint(&f, &s->v[i].key[j]);
	free(name);
	return ok;
}
