/* SPDX-License-Identifier: ISC */
#include "audit/since.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "audit/header.h"
#include "base/json_text.h"
#include "base/room.h"

static int
compare_keys(const void *a, const void *b)
{
	const struct since_key *one = a, *other = b;
	int order = memcmp(one->digest, other->digest, sizeof(one->digest));

	if (order == 0)
		order = strcmp(one->account, other->account);
	return order != 0 ? order : one->user_ca - other->user_ca;
}

/* By what the key is known again. account stays the caller's. */
static struct since_key
identify(const uint8_t digest[static KV_SHA256_BYTES], const char *account,
    bool ca)
{
	struct since_key k = {
		.account = (char *)account,
		.user_ca = ca && *account == '\0',
	};

	memcpy(k.digest, digest, sizeof(k.digest));
	return k;
}

static void
free_key(struct since_key *k)
{
	if (k == NULL)
		return;
	free(k->account);
	free(k->name);
	free(k->path);
	free(k->type);
	free(k->comment);
	free(k);
}

static struct since_key *
find_key(const struct since *s, const struct since_key *wanted)
{
	struct since_key **found = tfind(wanted, &s->tree, compare_keys);

	return found != NULL ? *found : NULL;
}

/* Adds a key that is not there. NULL without memory; s->failed is set then. */
static struct since_key *
add_key(struct since *s, const struct since_key *identity)
{
	struct since_key *k = calloc(1, sizeof(*k));

	if (k != NULL && (k->account = strdup(identity->account)) != NULL &&
	    room_for_one(&s->v, s->n, sizeof(struct since_key *))) {
		memcpy(k->digest, identity->digest, sizeof(k->digest));
		k->user_ca = identity->user_ca;
		if (tsearch(k, &s->tree, compare_keys) != NULL)
			return s->v[s->n++] = k;
	}
	free_key(k);
	s->failed = true;
	return NULL;
}

bool
since_add_former(struct since *s, const uint8_t digest[static KV_SHA256_BYTES],
    const char *account, bool ca)
{
	const struct since_key identity = identify(digest, account, ca);
	struct since_key *k;

	if (find_key(s, &identity) != NULL)
		return true;
	if (s->n >= SINCE_KEYS_MAX)
		return false;
	if ((k = add_key(s, &identity)) != NULL)
		k->former = true;
	s->n_former = s->n;
	return true;
}

/* Keeps where the key is, and what is told of it. False without memory. */
static bool
describe(struct since_key *k, const char *account, const struct input_key *key)
{
	const size_t len = key->comment.len < SINCE_COMMENT_BYTES ?
	    key->comment.len :
	    SINCE_COMMENT_BYTES;

	k->line = key->line;
	k->part = key->part;
	k->bits = key->bits;
	k->comment_len = len;
	k->path = strdup(key->path);
	k->type = strdup(key->type);
	k->comment = malloc(len + 1);
	k->name = account != NULL ? strdup(account) : NULL;
	if (k->comment != NULL && len > 0)
		memcpy(k->comment, key->comment.p, len);
	return k->path != NULL && k->type != NULL && k->comment != NULL &&
	    (account == NULL || k->name != NULL);
}

/* Adds a new key. False if there are too many, or without memory. */
static bool
add_new(struct since *s, const struct since_key *identity, const char *account,
    const struct input_key *key)
{
	struct since_key *k;

	if (s->n - s->n_former >= SINCE_KEYS_MAX) {
		s->full = true;
		return false;
	}
	if ((k = add_key(s, identity)) == NULL)
		return false;
	if (!describe(k, account, key))
		s->failed = true;
	return !s->failed;
}

bool
since_add(struct since *s, const char *account, const struct input_key *key,
    const struct kv_decision *d)
{
	json_t *text = json_text(account != NULL ? account : "");
	const char *name = json_string_value(text);
	uint8_t digest[KV_SHA256_BYTES];
	struct since_key identity, *k = NULL;

	s->failed |= text == NULL;
	/* SSH knows no fingerprint of a key without a type. */
	s->unknown += key->key.type == KV_KEY_NONE &&
	    d->verdict != KV_VERDICT_UNSUPPORTED;
	if (!s->failed && key->key.type != KV_KEY_NONE) {
		kv_fingerprint_digest(&key->key, digest);
		identity = identify(digest, name, key->part == KV_PART_CA);
		k = find_key(s, &identity);
		if (k == NULL && add_new(s, &identity, account, key))
			k = s->v[s->n - 1];
	}
	json_decref(text);
	if (k == NULL || k->former)
		return false;
	k->verdict = d->verdict;
	return true;
}

static bool
print_json(const struct since_key *k, const struct logins_account *in,
    bool asked)
{
	const bool has = in != NULL && in->logins > 0;
	char fingerprint[KV_FINGERPRINT_BYTES], last[LOGINS_TIME_BYTES] = "";
	json_t *o;

	kv_fingerprint_format(k->digest, fingerprint);
	if (has)
		logins_format_time(in->last, last);
	o = json_pack("{sb so so sI ss so sI ss ss so so so so so}", "new", 1,
	    "account", json_text(k->name), "file", json_text(k->path), "line",
	    (json_int_t)k->line, "verdict", kv_verdict_name(k->verdict), "type",
	    json_text(k->type), "bits", (json_int_t)k->bits, "fingerprint",
	    fingerprint, "part", kv_part_name(k->part), "comment",
	    json_bytes(k->comment, k->comment_len), "logins",
	    !asked ? json_null() :
		     json_integer(has ? (json_int_t)in->logins : 0),
	    "last_seconds", has ? json_integer(in->last) : json_null(), "last",
	    has ? json_string(last) : json_null(), "from",
	    has ? json_text(in->from) : json_null());
	return audit_print_object(o);
}

static void
print_text(const struct since_key *k, const struct logins_account *in,
    bool asked)
{
	const bool ca = k->part == KV_PART_CA;
	char fingerprint[KV_FINGERPRINT_BYTES];

	kv_fingerprint_format(k->digest, fingerprint);
	cli_printf(stdout, "new: %s: %s",
	    k->name != NULL ? k->name :
		ca	    ? "(user CA keys)" :
			      "(host keys)",
	    k->path);
	if (k->line > 0)
		printf(":%" PRIu64, k->line);
	cli_printf(stdout, ": %s: %s %u %s%s", kv_verdict_name(k->verdict),
	    k->type, k->bits, fingerprint, ca ? " (CA)" : "");
	if (asked) {
		fputs(": ", stdout);
		logins_print_last(in);
	}
	if (k->comment_len > 0)
		fputs(asked ? ": " : " ", stdout);
	cli_print_safe(stdout, k->comment, k->comment_len);
	putchar('\n');
}

bool
since_print(const struct since *s, const struct logins *logins,
    uint64_t unsupported, bool json)
{
	const uint64_t unknown = s->unknown + unsupported;
	const bool asked = logins != NULL;
	char since[LOGINS_TIME_BYTES];
	bool ok = true;

	logins_format_time(s->time, since);
	if (!json)
		putchar('\n');
	if (!json && s->n == s->n_former)
		printf("no new key %ssince %s\n",
		    unknown > 0 ? "of a known type " : "", since);
	for (size_t i = s->n_former; ok && i < s->n; i++) {
		const struct since_key *k = s->v[i];
		const struct logins_account *in = asked ?
		    logins_find(logins, k->digest, k->name) :
		    NULL;

		if (json)
			ok = print_json(k, in, asked);
		else
			print_text(k, in, asked);
	}
	/* Nothing tells whether they were there before. */
	if (!json && unknown > 0)
		printf("not compared: %" PRIu64 " %s\n", unknown,
		    cli_plural(unknown, "key of an unknown type",
			"keys of unknown types"));
	return ok;
}

static void
free_nothing(void *key)
{
	(void)key;
}

void
since_free(struct since *s)
{
	tdestroy(s->tree, free_nothing);
	for (size_t i = 0; i < s->n; i++)
		free_key(s->v[i]);
	free(s->v);
	*s = (struct since){ .n = 0 };
}
