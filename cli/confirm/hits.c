/* SPDX-License-Identifier: ISC */
#include "confirm/hits.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json_text.h"
#include "base/room.h"
#include "command.h"
#include "confirm/keep.h"
#include "kv_spki.h"
#include "reading/judging.h"

/* More places of one key are not kept. */
#define PLACES_MAX 1000
#define DATE_BYTES 16
#define SECONDS_A_DAY 86400
/* An AllowKey line to copy holds for so long. */
#define ALLOW_DAYS 90

static int
compare_ids(const void *a, const void *b)
{
	const struct hit *one = a, *other = b;

	return strcmp(one->id, other->id);
}

static void
free_hit(void *arg)
{
	struct hit *hit = arg;

	if (hit == NULL)
		return;
	for (size_t i = 0; i < hit->n_places; i++) {
		free(hit->place[i].path);
		free(hit->place[i].comment);
	}
	free(hit->place);
	free(hit->spki);
	free(hit->type);
	free(hit->why);
	free(hit);
}

/* Sets the SPKI and the id. False if out of memory. */
static bool
set_spki(struct hit *hit, const struct input_key *key)
{
	uint8_t buf[KV_SPKI_MAX_BYTES], digest[KV_SHA256_BYTES];
	struct kv_span spki = key->spki;
	bool one = true;

	if (key->key.type != KV_KEY_NONE) {
		spki.p = buf;
		if (kv_spki_encode(&key->key, 0, buf, sizeof(buf), &spki.len) !=
		    KV_OK)
			spki.len = 0;
		one = kv_spki_count(&key->key) == 1;
	}
	kv_fingerprint_digest_blob(spki.p, spki.len, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hit->id + 2 * i, 3, "%02x", digest[i]);
	hit->spki_len = one ? spki.len : 0;
	hit->spki = malloc(spki.len + 1);
	if (hit->spki == NULL)
		return false;
	memcpy(hit->spki, spki.p, spki.len);
	return true;
}

/* NULL if out of memory. */
static struct hit *
make_hit(const struct input_key *key, const struct kv_decision *d)
{
	struct kv_blocklist_hash hash[INPUT_HASHES_MAX];
	struct hit *hit = calloc(1, sizeof(*hit));

	if (hit == NULL || !set_spki(hit, key) ||
	    (hit->type = strdup(key->type)) == NULL) {
		free_hit(hit);
		return NULL;
	}
	hit->bits = key->bits;
	hit->allowed = d->verdict == KV_VERDICT_ALLOWED;
	finding_format_fingerprint(&key->key, hit->fingerprint);
	hit->has_hash = input_hashes(key, hash) == 1;
	if (hit->has_hash)
		hit->hash = hash[0];
	return hit;
}

/* Adds the place, once, unless there are many. False if out of memory. */
static bool
add_place(struct hit *hit, const struct input_key *key)
{
	struct hit_place *p;

	for (size_t i = 0; i < hit->n_places; i++) {
		if (hit->place[i].line == key->line &&
		    strcmp(hit->place[i].path, key->path) == 0)
			return true;
	}
	if (hit->n_places == PLACES_MAX)
		return true;
	if (!room_for_one(&hit->place, hit->n_places, sizeof(*p)))
		return false;
	p = &hit->place[hit->n_places];
	p->line = key->line;
	p->path = strdup(key->path);
	p->comment = key->comment.len > 0 ?
	    strndup((const char *)key->comment.p, key->comment.len) :
	    strdup("");
	if (p->path != NULL && p->comment != NULL) {
		hit->n_places++;
		return true;
	}
	free(p->path);
	free(p->comment);
	return false;
}

/* Returns the hit with this id: made itself if there was none, or NULL. */
static struct hit *
find_or_insert(struct hits *h, struct hit *made)
{
	struct hit **found;

	if (!room_for_one(&h->v, h->n, sizeof(struct hit *)) ||
	    (found = tsearch(made, &h->by_id, compare_ids)) == NULL)
		return NULL;
	if (*found == made)
		h->v[h->n++] = made;
	return *found;
}

void
hits_judge(struct hits *h, const struct kv_judge *judge, int64_t now,
    const struct input_key *key)
{
	struct hit *made, *hit = NULL;
	struct kv_decision d;

	judging_key(judge, key, now, &d);
	if (d.verdict == KV_VERDICT_ERROR) {
		cli_error_at(key->path, key->line, d.reason);
		h->problems++;
		if (d.hits == 0 && d.list == NULL)
			return;
	}
	if (d.list != NULL) {
		h->exact++;
		return;
	}
	if (d.hits == 0) {
		h->clean++;
		return;
	}
	if ((made = make_hit(key, &d)) != NULL)
		hit = find_or_insert(h, made);
	if (hit != made)
		free_hit(made);
	if (hit == NULL || !add_place(hit, key)) {
		if (!h->failed)
			cli_error("%s", strerror(ENOMEM));
		h->failed = true;
	}
}

void
hits_free(struct hits *h)
{
	tdestroy(h->by_id, free_hit);
	free(h->v);
	*h = (struct hits){ .n = 0 };
}

/* --- printing ----------------------------------------------------------- */

static void
format_date(int64_t now, int days, char date[static DATE_BYTES])
{
	const time_t when = (time_t)(now + (int64_t)days * SECONDS_A_DAY);
	struct tm tm;

	if (gmtime_r(&when, &tm) == NULL ||
	    strftime(date, DATE_BYTES, "%Y-%m-%d", &tm) == 0)
		snprintf(date, DATE_BYTES, "1970-01-01");
}

/*
 * Returns the AllowKey line to copy into keyveto.conf, to be freed. NULL for a
 * key that needs none.
 */
static char *
make_allow_line(const struct hit_output *o, const struct hit *hit)
{
	/* Words that keyveto.conf would read as something else. */
	const bool plain = strpbrk(o->asked, "\"\\# ") == NULL;
	char today[DATE_BYTES], until[DATE_BYTES], *line;

	if (hit->verdict != API_NOT_CONFIRMED || hit->allowed ||
	    hit->fingerprint[0] == '\0')
		return NULL;
	format_date(o->now, 0, today);
	format_date(o->now, ALLOW_DAYS, until);
	if (asprintf(&line, "AllowKey %s until=%s not confirmed%s%s on %s",
		hit->fingerprint, until, plain ? " by " : "",
		plain ? o->asked : "", today) == -1)
		return NULL;
	return line;
}

static void
print_text(const struct hit *hit, const struct hit_place *place,
    const char *proof)
{
	cli_printf(stdout, "%s", place->path);
	if (place->line > 0)
		printf(":%" PRIu64, place->line);
	cli_printf(stdout, ": %s: %s %u %s", api_verdict_name(hit->verdict),
	    hit->type, hit->bits,
	    hit->fingerprint[0] != '\0' ? hit->fingerprint : "-");
	if (place->comment[0] != '\0')
		cli_printf(stdout, " %s", place->comment);
	if (proof != NULL)
		cli_printf(stdout, " (proof: %s)", proof);
	if (hit->why != NULL)
		cli_printf(stdout, " (%s)", hit->why);
	if (hit->allowed)
		fputs(" (AllowKey in keyveto.conf lets it in)", stdout);
	putchar('\n');
}

static bool
print_json(const struct hit *hit, const struct hit_place *place,
    const char *proof, const char *allow)
{
	return json_print(json_pack("{so sI ss so sI so ss so so so sb so}",
	    "file", json_text(place->path), "line", (json_int_t)place->line,
	    "verdict", api_verdict_name(hit->verdict), "type",
	    json_text(hit->type), "bits", (json_int_t)hit->bits, "fingerprint",
	    hit->fingerprint[0] != '\0' ? json_string(hit->fingerprint) :
					  json_null(),
	    "spki_sha256", hit->id, "comment", json_text(place->comment),
	    "proof", json_text(proof), "allow_line", json_text(allow),
	    "allowed", hit->allowed, "reason", json_text(hit->why)));
}

bool
hits_print(const struct hit_output *o, const struct hit *hit)
{
	char *proof = hit->has_proof ? keep_proof_path(o->keep, hit) : NULL;
	char *allow = make_allow_line(o, hit);
	bool ok = true;

	for (size_t i = 0; ok && !o->quiet && i < hit->n_places; i++) {
		if (o->json)
			ok = print_json(hit, &hit->place[i], proof, allow);
		else
			print_text(hit, &hit->place[i], proof);
	}
	if (allow != NULL && !o->json && !o->quiet)
		cli_printf(stdout, "%s\n", allow);
	free(allow);
	free(proof);
	return ok && cli_stdout_ok();
}
