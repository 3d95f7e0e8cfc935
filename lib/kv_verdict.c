/* SPDX-License-Identifier: ISC */
#include "kv_verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv_base64.h"
#include "kv_spki.h"

const char *
kv_verdict_name(enum kv_verdict verdict)
{
	switch (verdict) {
	case KV_VERDICT_LISTED:
		return "listed";
	case KV_VERDICT_ALLOWED:
		return "allowed";
	case KV_VERDICT_UNSUPPORTED:
		return "unsupported";
	case KV_VERDICT_CLEAN:
		return "clean";
	case KV_VERDICT_ERROR:
		break;
	}
	return "error";
}

const char *
kv_action_name(enum kv_action action)
{
	switch (action) {
	case KV_ACTION_WARN:
		return "warn";
	case KV_ACTION_ALLOW:
		return "allow";
	case KV_ACTION_DENY:
		break;
	}
	return "deny";
}

const char *
kv_part_name(enum kv_part part)
{
	return part == KV_PART_CA ? "ca" : "key";
}

/*
 * The only place where a verdict becomes an action; kv_judge_offered overrules
 * it for a key that is too long.
 */
static enum kv_action
action_for(const struct kv_config *c, enum kv_verdict verdict)
{
	switch (verdict) {
	case KV_VERDICT_CLEAN:
	case KV_VERDICT_ALLOWED:
		return KV_ACTION_ALLOW;
	case KV_VERDICT_LISTED:
		return c->on_hit;
	case KV_VERDICT_UNSUPPORTED:
		return c->on_unsupported;
	case KV_VERDICT_ERROR:
		return c->on_error;
	}
	return KV_ACTION_DENY;
}

static void
decide(const struct kv_judge *j, struct kv_decision *d, enum kv_verdict verdict)
{
	d->verdict = verdict;
	d->action = action_for(&j->config, verdict);
}

static void
decide_error(const struct kv_judge *j, struct kv_decision *d,
    const char *reason)
{
	snprintf(d->reason, sizeof(d->reason), "%s", reason);
	decide(j, d, KV_VERDICT_ERROR);
}

static void
open_filter(struct kv_filter *f, const char *path, kv_open_fn open, void *arg)
{
	enum kv_err r;
	int fd;

	f->path = path;
	f->pkbf.fd = -1;
	if (open(path, &fd, f->why, arg) != KV_OK)
		return;
	if ((r = kv_pkbf_open_fd(fd, &f->pkbf)) == KV_OK)
		return;
	snprintf(f->why, sizeof(f->why), "%s: %s", path,
	    r == KV_ERR_SYSTEM ? strerror(errno) : kv_strerror(r));
	close(fd);
	f->pkbf.fd = -1;
}

static void
open_config(struct kv_judge *j, const char *path, kv_open_fn open, void *arg)
{
	char why[KV_TRUSTED_WHY_BYTES];
	int fd;

	kv_config_defaults(&j->config);
	if (path == NULL)
		return;
	if (open(path, &fd, why, arg) != KV_OK) {
		snprintf(j->broken, sizeof(j->broken), "%s", why);
		return;
	}
	if (kv_config_read(fd, path, &j->config, j->broken) != KV_OK &&
	    j->broken[0] == '\0')
		snprintf(j->broken, sizeof(j->broken), "%s: cannot be read",
		    path);
	close(fd);
}

void
kv_judge_open_with(struct kv_judge *j, const char *config_path,
    const char *const *filters, size_t n, kv_open_fn open, void *arg)
{
	_Static_assert(KV_REASON_BYTES == KV_CONFIG_WHY_BYTES,
	    "kv_config writes into broken");

	*j = (struct kv_judge){ 0 };
	open_config(j, config_path, open, arg);
	if (j->broken[0] != '\0')
		return;
	if (filters == NULL) {
		filters = j->config.filter;
		n = j->config.n_filters;
	}
	if (n > KV_CONFIG_MAX_FILTERS ||
	    (j->filter = calloc(n, sizeof(*j->filter))) == NULL) {
		snprintf(j->broken, sizeof(j->broken), "%s",
		    n > KV_CONFIG_MAX_FILTERS ? "too many filters" :
						"out of memory");
		return;
	}
	j->n_filters = n;
	for (size_t i = 0; i < n; i++)
		open_filter(&j->filter[i], filters[i], open, arg);
}

static enum kv_err
open_trusted(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	return kv_trusted_open(path, *(const uid_t *)arg, fdp, why);
}

void
kv_judge_open(struct kv_judge *j, const char *config_path, uid_t owner)
{
	kv_judge_open_with(j, config_path, NULL, 0, open_trusted, &owner);
}

void
kv_judge_close(struct kv_judge *j)
{
	for (size_t i = 0; i < j->n_filters; i++)
		kv_pkbf_close(&j->filter[i].pkbf);
	free(j->filter);
	j->filter = NULL;
	j->n_filters = 0;
	kv_config_free(&j->config);
}

/*
 * Looks one SPKI up in filter i. After an error: false, and d->reason is set.
 */
static bool
lookup_in_filter(const struct kv_judge *j, size_t i,
    const struct kv_pkbf_hash *h, struct kv_decision *d)
{
	const struct kv_filter *f = &j->filter[i];
	bool listed;
	enum kv_err r;

	if (f->pkbf.fd == -1) {
		snprintf(d->reason, sizeof(d->reason), "%s", f->why);
		return false;
	}
	if ((r = kv_pkbf_lookup(&f->pkbf, h, &listed)) != KV_OK) {
		snprintf(d->reason, sizeof(d->reason), "%s: %s", f->path,
		    r == KV_ERR_SYSTEM ? strerror(errno) : kv_strerror(r));
		return false;
	}
	if (listed) {
		d->hits |= (uint64_t)1 << i;
		if (d->filter == NULL)
			d->filter = f;
	}
	return true;
}

/* Looks one SPKI up in every filter. False after an error. */
static bool
lookup_spki(const struct kv_judge *j, const uint8_t *spki, size_t len,
    struct kv_decision *d)
{
	_Static_assert(KV_CONFIG_MAX_FILTERS <= 64, "hits has 64 bits");
	struct kv_pkbf_hash h = kv_pkbf_hash(spki, len);
	bool complete = j->n_filters > 0;

	if (!complete)
		snprintf(d->reason, sizeof(d->reason), "no filter");
	for (size_t i = 0; i < j->n_filters; i++) {
		if (!lookup_in_filter(j, i, &h, d))
			complete = false;
	}
	return complete;
}

/* A hit counts even if another filter could not be read. */
static enum kv_verdict
verdict_of(struct kv_decision *d, bool complete)
{
	if (d->hits != 0) {
		d->reason[0] = '\0';
		return KV_VERDICT_LISTED;
	}
	return complete ? KV_VERDICT_CLEAN : KV_VERDICT_ERROR;
}

/* Looks every SPKI of key up in every filter. */
static enum kv_verdict
lookup_key(const struct kv_judge *j, const struct kv_pubkey *key,
    struct kv_decision *d)
{
	uint8_t spki[KV_SPKI_MAX_BYTES];
	size_t count = kv_spki_count(key), len;
	bool complete = count > 0;
	enum kv_err r;

	for (size_t i = 0; i < count; i++) {
		r = kv_spki_encode(key, i, spki, sizeof(spki), &len);
		if (r != KV_OK) {
			snprintf(d->reason, sizeof(d->reason), "SPKI: %s",
			    kv_strerror(r));
			complete = false;
		} else if (!lookup_spki(j, spki, len, d))
			complete = false;
	}
	return verdict_of(d, complete);
}

/*
 * AllowKey turns a hit, an error and an unsupported type into "allowed": it is
 * an administrator's way out when a filter is wrong or broken.
 */
static enum kv_verdict
apply_allowed(const struct kv_judge *j,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t now,
    struct kv_decision *d)
{
	const struct kv_allowed_key *allowed =
	    kv_config_find_allowed(&j->config, digest, now);

	if (allowed == NULL)
		return d->verdict;
	snprintf(d->reason, sizeof(d->reason), "%s", allowed->reason);
	return KV_VERDICT_ALLOWED;
}

static void
set_fingerprint(const struct kv_pubkey *key, struct kv_decision *d)
{
	uint8_t digest[KV_SHA256_BYTES];

	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, d->fingerprint);
}

void
kv_judge_pubkey(const struct kv_judge *j, const struct kv_pubkey *key,
    int64_t now, struct kv_decision *d)
{
	uint8_t digest[KV_SHA256_BYTES];

	*d = (struct kv_decision){ 0 };
	snprintf(d->key_type, sizeof(d->key_type), "%s",
	    kv_keytype_name(key->type));
	if (j->broken[0] != '\0') {
		set_fingerprint(key, d);
		decide_error(j, d, j->broken);
		return;
	}
	decide(j, d, lookup_key(j, key, d));
	if (d->verdict == KV_VERDICT_CLEAN)
		return;
	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, d->fingerprint);
	decide(j, d, apply_allowed(j, digest, now, d));
}

void
kv_judge_spki(const struct kv_judge *j, const uint8_t *spki, size_t len,
    struct kv_decision *d)
{
	*d = (struct kv_decision){ 0 };
	if (j->broken[0] != '\0')
		decide_error(j, d, j->broken);
	else
		decide(j, d, verdict_of(d, lookup_spki(j, spki, len, d)));
}

static void
copy_type(struct kv_decision *d, struct kv_span type)
{
	size_t len = type.len < sizeof(d->key_type) - 1 ?
	    type.len :
	    sizeof(d->key_type) - 1;

	if (len > 0)
		memcpy(d->key_type, type.p, len);
	d->key_type[len] = '\0';
}

/* Judges a key of an unknown type. Only its blob identifies it. */
static void
judge_unknown(const struct kv_judge *j, struct kv_span type,
    struct kv_span blob, int64_t now, struct kv_decision *d)
{
	uint8_t digest[KV_SHA256_BYTES];

	*d = (struct kv_decision){ 0 };
	copy_type(d, type);
	kv_fingerprint_digest_blob(blob.p, blob.len, digest);
	kv_fingerprint_format(digest, d->fingerprint);
	if (j->broken[0] != '\0') {
		decide_error(j, d, j->broken);
		return;
	}
	decide(j, d, KV_VERDICT_UNSUPPORTED);
	decide(j, d, apply_allowed(j, digest, now, d));
}

/* How much a verdict weighs against the key. */
static int
weight(enum kv_verdict verdict)
{
	switch (verdict) {
	case KV_VERDICT_LISTED:
		return 4;
	case KV_VERDICT_ERROR:
		return 3;
	case KV_VERDICT_UNSUPPORTED:
		return 2;
	case KV_VERDICT_ALLOWED:
		return 1;
	case KV_VERDICT_CLEAN:
		return 0;
	}
	return 3;
}

/* Judges one key inside the offered one and keeps the worse decision in *d. */
static void
judge_part(const struct kv_judge *j, const struct kv_pubkey *key,
    enum kv_part part, int64_t now, struct kv_decision *d)
{
	struct kv_decision other;

	if (key->type == KV_KEY_NONE)
		return;
	kv_judge_pubkey(j, key, now, &other);
	other.part = part;
	if (weight(other.verdict) > weight(d->verdict))
		*d = other;
}

void
kv_judge_offered(const struct kv_judge *j, struct kv_span type,
    struct kv_span text, uint8_t *blob, size_t cap, int64_t now,
    struct kv_sshkey *key, struct kv_decision *d)
{
	const struct kv_keyname *kn = kv_keyname_find(type);
	struct kv_span decoded = { blob, 0 };
	struct kv_decision whole = { 0 };
	enum kv_err r;

	*key = (struct kv_sshkey){ 0 };
	/* The verdict on the blob as a whole: an error until it parses. */
	copy_type(&whole, type);
	r = kv_base64_decode((const char *)text.p, text.len, blob, cap,
	    &decoded.len);
	if (r == KV_OK && decoded.len == 0)
		r = KV_ERR_TRUNCATED;
	if (r != KV_OK) {
		*d = whole;
		decide_error(j, d,
		    j->broken[0] != '\0' ? j->broken : kv_strerror(r));
		/* OnError must not let a key in because it is too long. */
		if (r == KV_ERR_NO_SPACE)
			d->action = KV_ACTION_DENY;
		return;
	}
	/* After an error key still holds the keys that were whole. */
	r = kv_sshkey_parse(decoded.p, decoded.len, key);
	if (r == KV_OK && kn != NULL &&
	    (key->key.type != kn->type || key->is_cert != kn->is_cert))
		r = KV_ERR_TYPE_MISMATCH;
	if (kn == NULL) {
		/*
		 * sshd knows this type, keyveto does not: parsing says nothing.
		 */
		judge_unknown(j, type, decoded, now, &whole);
	} else if (r != KV_OK) {
		decide_error(j, &whole,
		    j->broken[0] != '\0' ? j->broken : kv_strerror(r));
	} else {
		decide(j, &whole, KV_VERDICT_CLEAN);
	}
	*d = whole;
	judge_part(j, &key->key, KV_PART_KEY, now, d);
	judge_part(j, &key->ca, KV_PART_CA, now, d);
	/* A debug log tells clean keys apart. */
	if (d->verdict == KV_VERDICT_CLEAN)
		set_fingerprint(&key->key, d);
}
