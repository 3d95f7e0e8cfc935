/* SPDX-License-Identifier: ISC */
#include "logs/logins.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json_text.h"
#include "base/room.h"

static int
compare_digests(const void *a, const void *b)
{
	const struct logins_key *one = a, *other = b;

	return memcmp(one->digest, other->digest, sizeof(one->digest));
}

static struct logins_key *
find_key(const struct logins *l, const uint8_t digest[static KV_SHA256_BYTES])
{
	struct logins_key wanted, **found;

	memcpy(wanted.digest, digest, sizeof(wanted.digest));
	found = tfind(&wanted, &l->by_digest, compare_digests);
	return found != NULL ? *found : NULL;
}

/* NULL without memory; l->failed is set then. */
static struct logins_key *
add_key(struct logins *l, const uint8_t digest[static KV_SHA256_BYTES])
{
	struct logins_key *key = find_key(l, digest);

	if (key != NULL)
		return key;
	if (!room_for_one(&l->v, l->n, sizeof(struct logins_key *)) ||
	    (key = calloc(1, sizeof(*key))) == NULL) {
		l->failed = true;
		return NULL;
	}
	memcpy(key->digest, digest, sizeof(key->digest));
	if (tsearch(key, &l->by_digest, compare_digests) == NULL) {
		free(key);
		l->failed = true;
		return NULL;
	}
	l->v[l->n++] = key;
	return key;
}

static int
compare_names(const void *a, const void *b)
{
	const struct logins_account *one = a, *other = b;

	return strcmp(one->name, other->name);
}

static struct logins_account *
find_account(const struct logins_key *key, const char *name)
{
	const struct logins_account wanted = { .name = (char *)name };
	struct logins_account **found = tfind(&wanted, &key->by_name,
	    compare_names);

	return found != NULL ? *found : NULL;
}

/* Names an account, and puts it into the tree. False without memory. */
static bool
name_account(struct logins_key *key, struct logins_account *a, const char *name)
{
	*a = (struct logins_account){ .name = strdup(name) };
	if (a->name != NULL && tsearch(a, &key->by_name, compare_names) != NULL)
		return true;
	free(a->name);
	a->name = NULL;
	return false;
}

/* NULL without memory; l->failed is set then. */
static struct logins_account *
add_account(struct logins *l, struct logins_key *key, const char *name)
{
	struct logins_account *a = calloc(1, sizeof(*a));

	if (a == NULL ||
	    !room_for_one(&key->v, key->n, sizeof(struct logins_account *)) ||
	    !name_account(key, a, name)) {
		free(a);
		l->failed = true;
		return NULL;
	}
	key->v[key->n++] = a;
	return a;
}

/* sshd's name of a type, without its curve: sshkey.c:sshkey_type. */
static const char *
short_type(enum kv_keytype type)
{
	switch (type) {
	case KV_KEY_NONE:
		break;
	case KV_KEY_RSA:
		return "RSA";
	case KV_KEY_DSA:
		return "DSA";
	case KV_KEY_ECDSA_P256:
	case KV_KEY_ECDSA_P384:
	case KV_KEY_ECDSA_P521:
		return "ECDSA";
	case KV_KEY_ED25519:
		return "ED25519";
	case KV_KEY_ED448:
		return "ED448";
	case KV_KEY_SK_ED25519:
		return "ED25519-SK";
	case KV_KEY_SK_ECDSA_P256:
		return "ECDSA-SK";
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		return "MLDSA44-ED25519";
	}
	return "";
}

/* A file that was read has the key. */
static void
take_over(struct logins_key *key, enum kv_verdict verdict, bool wanted)
{
	key->wanted = wanted;
	key->denied = false;
	key->verdict = verdict;
}

void
logins_on_key(const struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	struct logins *l = r->judged_arg;
	const char *account = r->account;
	const bool wanted = l->all || d->verdict == KV_VERDICT_LISTED;
	uint8_t digest[KV_SHA256_BYTES];
	struct logins_account *a;
	struct logins_key *k;

	/* Most keys are clean: their digests are needed for l->n only. */
	if (key->key.type == KV_KEY_NONE || (!wanted && l->n == 0))
		return;
	kv_fingerprint_digest(&key->key, digest);
	if ((k = find_key(l, digest)) != NULL)
		take_over(k, d->verdict, wanted);
	if (!wanted || (k = add_key(l, digest)) == NULL)
		return;
	take_over(k, d->verdict, true);
	snprintf(k->type, sizeof(k->type), "%s", short_type(key->key.type));
	k->ca |= key->part == KV_PART_CA;
	k->everyones |= account == NULL;
	if (account == NULL || find_account(k, account) != NULL)
		return;
	if ((a = add_account(l, k, account)) != NULL) {
		a->in_file = true;
		k->in_file = k->n;
	}
}

void
logins_add_denied(struct logins *l, const struct kv_config *config, int64_t now)
{
	struct logins_key *key;

	for (size_t i = 0; i < config->denied.n; i++) {
		if (config->denied.v[i].day > now / 86400)
			continue;
		if ((key = add_key(l, config->denied.v[i].digest)) == NULL)
			return;
		key->denied = key->wanted = true;
		key->verdict = KV_VERDICT_LISTED;
	}
}

static struct logins_key *
find_wanted(const struct logins *l, bool has,
    const uint8_t digest[static KV_SHA256_BYTES])
{
	struct logins_key *key = has ? find_key(l, digest) : NULL;

	return key != NULL && key->wanted ? key : NULL;
}

bool
logins_has(const struct logins *l, const struct accepted *a)
{
	return find_wanted(l, a->has_key, a->key) != NULL ||
	    find_wanted(l, a->has_ca, a->ca) != NULL;
}

/* Which of a key's accounts may make room: each in turn; or NULL. */
static struct logins_account *
find_other(struct logins_key *key)
{
	const size_t others = key->n - key->in_file;
	struct logins_account *a;

	for (size_t i = 0; i < others; i++) {
		a = key->v[key->in_file + key->next++ % others];
		if (!a->connected)
			return a;
	}
	return NULL;
}

/*
 * The place of an account whose files do not have the key. If there are too
 * many, another one of the key's makes room.
 */
static struct logins_account *
take_other(struct logins *l, struct logins_key *key, const char *name)
{
	struct logins_account *a = NULL;

	if (l->others >= LOGINS_OTHERS_MAX)
		a = find_other(key);
	if (a == NULL) {
		l->others++;
		return add_account(l, key, name);
	}
	l->dropped += a->logins + a->refused;
	if (a->name != NULL)
		(void)tdelete(a, &key->by_name, compare_names);
	free(a->name);
	if (name_account(key, a, name))
		return a;
	l->failed = true;
	return NULL;
}

/*
 * The account that a login names, of its key or of its CA. NULL without memory,
 * or if that is not looked for.
 */
static struct logins_account *
account_of(struct logins *l, const struct accepted *in, bool ca)
{
	struct logins_key *key = ca ? find_wanted(l, in->has_ca, in->ca) :
				      find_wanted(l, in->has_key, in->key);
	struct logins_account *a = key != NULL ?
	    find_account(key, in->user) :
	    NULL;

	return key == NULL || a != NULL ? a : take_other(l, key, in->user);
}

void
logins_count(struct logins *l, const struct accepted *in, int64_t seconds,
    const char *log)
{
	struct logins_account *a;

	l->logins += logins_has(l, in);
	for (int ca = 0; ca < 2; ca++) {
		if ((a = account_of(l, in, ca)) == NULL)
			continue;
		a->logins++;
		if (a->logins > 1 && seconds < a->last)
			continue;
		a->last = seconds;
		a->log = log;
		a->hostbased = in->hostbased;
		memcpy(a->from, in->from, sizeof(a->from));
	}
}

void
logins_count_refused(struct logins *l, const struct accepted *in)
{
	struct logins_account *a;

	l->refused += logins_has(l, in);
	for (int ca = 0; ca < 2; ca++)
		if ((a = account_of(l, in, ca)) != NULL)
			a->refused++;
}

void
logins_note_open(struct logins *l, const struct reading_login *login,
    const char *log, bool sent)
{
	const struct connected_line line = {
		.process = login->process,
		.seconds = login->seconds,
		.a = login->a,
		.wanted = logins_has(l, &login->a),
		.sent = sent,
		.log = log,
	};
	struct logins_account *a;
	bool added;

	if (!l->looks_for_open)
		return;
	l->failed |= !connected_add(&l->open, &line, &added);
	if (!added)
		return;
	for (int ca = 0; ca < 2; ca++)
		if ((a = account_of(l, &line.a, ca)) != NULL)
			a->connected = true;
}

void
logins_format_time(int64_t seconds, char text[static LOGINS_TIME_BYTES])
{
	const time_t when = (time_t)seconds;
	struct tm t;

	text[0] = '\0';
	if (gmtime_r(&when, &t) != NULL)
		(void)strftime(text, LOGINS_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ",
		    &t);
}

/* A line of the output. */
struct row {
	const struct logins *l;
	const struct logins_key *key;
	const struct logins_account *account;
};

/* Whether the connection is open, and of this account by this key. */
static bool
is_connected(const struct row *row, const struct connected_line *line)
{
	const struct accepted *a = &line->a;
	const uint8_t *digest = row->key->digest;

	return row->account->connected &&
	    strcmp(row->account->name, a->user) == 0 &&
	    ((a->has_key && memcmp(a->key, digest, sizeof(a->key)) == 0) ||
		(a->has_ca && memcmp(a->ca, digest, sizeof(a->ca)) == 0)) &&
	    connected_counts(&row->l->open, line);
}

/* JSON's null if that is not known. */
static json_t *
connected_to_json(const struct row *row)
{
	const struct connected *open = &row->l->open;
	json_t *list = row->l->looks_for_open ? json_array() : json_null();

	for (size_t i = 0; i < open->n; i++) {
		const struct connected_line *line = &open->v[i];
		const char *doubt = connected_find_doubt(open, line);
		char since[LOGINS_TIME_BYTES];

		if (!is_connected(row, line))
			continue;
		logins_format_time(line->seconds, since);
		json_array_append_new(list,
		    json_pack("{sI ss so sI so sb so}", "pid",
			(json_int_t)line->process, "since", since, "from",
			json_text(line->a.from), "start",
			(json_int_t)line->start, "log", json_text(line->log),
			"sent", line->sent, "doubt",
			doubt != NULL ? json_string(doubt) : json_null()));
	}
	return list;
}

static void
print_connected(const struct row *row)
{
	const struct connected *open = &row->l->open;

	for (size_t i = 0; i < open->n; i++) {
		const struct connected_line *line = &open->v[i];
		const char *doubt = connected_find_doubt(open, line);
		char since[LOGINS_TIME_BYTES];

		if (!is_connected(row, line))
			continue;
		logins_format_time(line->seconds, since);
		printf("; still connected: pid %" PRIu64 " since %s from %s",
		    line->process, since, line->a.from);
		if (!line->sent)
			cli_printf(stdout,
			    " (by %s, which others may write%s%s)", line->log,
			    doubt != NULL ? ": " : "",
			    doubt != NULL ? doubt : "");
	}
}

/* The last login first; then those that never came in, by name. */
static int
compare_rows(const void *a, const void *b)
{
	const struct row *one = a, *other = b;
	const struct logins_account *x = one->account, *y = other->account;
	int order;

	if ((x->logins > 0) != (y->logins > 0))
		return x->logins > 0 ? -1 : 1;
	if (x->last != y->last)
		return x->last > y->last ? -1 : 1;
	order = strcmp(x->name != NULL ? x->name : "",
	    y->name != NULL ? y->name : "");
	return order != 0 ? order : compare_digests(one->key, other->key);
}

static bool
is_in_file(const struct row *row)
{
	return row->account->in_file || row->key->everyones;
}

static void
print_json(const struct row *row)
{
	const struct logins_account *a = row->account;
	const bool in = a->logins > 0;
	char fingerprint[KV_FINGERPRINT_BYTES], last[LOGINS_TIME_BYTES];
	json_t *o;

	kv_fingerprint_format(row->key->digest, fingerprint);
	logins_format_time(a->last, last);
	o = json_pack("{sb so ss so ss so so so sI so so sb sb sI so}", "login",
	    1, "account", a->name != NULL ? json_text(a->name) : json_null(),
	    "fingerprint", fingerprint, "type",
	    *row->key->type != '\0' ? json_text(row->key->type) : json_null(),
	    "verdict", kv_verdict_name(row->key->verdict), "last_seconds",
	    in ? json_integer(a->last) : json_null(), "last",
	    in ? json_string(last) : json_null(), "from",
	    in ? json_text(a->from) : json_null(), "logins",
	    (json_int_t)a->logins, "log", in ? json_text(a->log) : json_null(),
	    "method",
	    !in ? json_null() :
		  json_string(a->hostbased ? "hostbased" : "publickey"),
	    "in_file", is_in_file(row), "ca", row->key->ca, "refused",
	    (json_int_t)a->refused, "connected", connected_to_json(row));
	if (json_dumpf(o, stdout, JSON_COMPACT | JSON_ENSURE_ASCII) == 0)
		putchar('\n');
	json_decref(o);
}

static void
print_last(const struct logins_account *a)
{
	char last[LOGINS_TIME_BYTES];

	if (a == NULL || a->logins == 0) {
		fputs("no login", stdout);
		return;
	}
	logins_format_time(a->last, last);
	printf("%" PRIu64 " login%s, the last %s from %s", a->logins,
	    cli_plural(a->logins, "", "s"), last, a->from);
}

static void
print_text(const struct row *row)
{
	const struct logins_account *a = row->account;
	const struct logins_key *key = row->key;
	char fingerprint[KV_FINGERPRINT_BYTES];

	kv_fingerprint_format(key->digest, fingerprint);
	cli_printf(stdout, "%s: %s: %s%s%s%s: ",
	    a->name != NULL ? a->name :
		key->ca	    ? "(user CA keys)" :
			      "(host keys)",
	    kv_verdict_name(key->verdict), key->type,
	    *key->type != '\0' ? " " : "", fingerprint, key->ca ? " (CA)" : "");
	if (key->denied)
		fputs("in no file: ", stdout);
	else if (!is_in_file(row))
		fputs("in no file of this account: ", stdout);
	print_last(a);
	if (a->refused > 0)
		printf("; PAM refused %" PRIu64 " more", a->refused);
	print_connected(row);
	putchar('\n');
}

/* Adds the rows of a key, and returns how many. */
static size_t
add_rows(const struct logins *l, const struct logins_key *key, struct row *row)
{
	static const struct logins_account nobody;
	size_t n = 0;

	if (!key->wanted || (!l->all && key->verdict != KV_VERDICT_LISTED))
		return 0;
	for (size_t i = 0; i < key->n; i++)
		if (key->v[i]->logins > 0 || key->v[i]->refused > 0 ||
		    key->v[i]->in_file || key->v[i]->connected)
			row[n++] = (struct row){ l, key, key->v[i] };
	/* A CA of all accounts that signed nobody's certificate. */
	if (n == 0 && key->ca && key->everyones)
		row[n++] = (struct row){ l, key, &nobody };
	return n;
}

bool
logins_print(const struct logins *l, bool json)
{
	struct row *row;
	size_t n = 0, max = 0;

	for (size_t i = 0; i < l->n; i++)
		max += l->v[i]->n + 1;
	if ((row = calloc(max + 1, sizeof(*row))) == NULL)
		return false;
	for (size_t i = 0; i < l->n; i++)
		n += add_rows(l, l->v[i], row + n);
	qsort(row, n, sizeof(*row), compare_rows);
	if (n > 0 && !json)
		putchar('\n');
	for (size_t i = 0; i < n; i++) {
		if (json)
			print_json(&row[i]);
		else
			print_text(&row[i]);
	}
	free(row);
	return true;
}

static void
free_nothing(void *key)
{
	(void)key;
}

void
logins_free(struct logins *l)
{
	tdestroy(l->by_digest, free_nothing);
	for (size_t i = 0; i < l->n; i++) {
		tdestroy(l->v[i]->by_name, free_nothing);
		for (size_t j = 0; j < l->v[i]->n; j++) {
			free(l->v[i]->v[j]->name);
			free(l->v[i]->v[j]);
		}
		free(l->v[i]->v);
		free(l->v[i]);
	}
	free(l->v);
	free(l->open.v);
	*l = (struct logins){ .n = 0 };
}
