/* SPDX-License-Identifier: ISC */
#include "kv_verdict.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv_base64.h"
#include "kv_nosecret.h"
#include "kv_spki.h"

const struct kv_list kv_built_in = {
	.path = KV_NOSECRET_LIST,
	.blocklist = { .fd = -1 },
	.sources = -1,
};

const struct kv_list kv_denied = {
	.path = "keyveto.conf",
	.blocklist = { .fd = -1 },
	.sources = -1,
};

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
action_for(const struct kv_config *c, const struct kv_decision *d)
{
	switch (d->verdict) {
	case KV_VERDICT_CLEAN:
	case KV_VERDICT_ALLOWED:
		return KV_ACTION_ALLOW;
	case KV_VERDICT_LISTED:
		return d->list != NULL ? c->on_hit : c->on_probable;
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
	d->action = action_for(&j->config, d);
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
open_list(struct kv_list *l, const char *path, kv_open_fn open, void *arg)
{
	char sources[PATH_MAX], why[KV_TRUSTED_WHY_BYTES];
	enum kv_err r;
	int fd, n;

	l->path = path;
	l->blocklist.fd = l->sources = -1;
	if (open(path, &fd, l->why, arg) != KV_OK)
		return;
	if ((r = kv_blocklist_open_fd(fd, &l->blocklist)) != KV_OK) {
		snprintf(l->why, sizeof(l->why), "%s: %s", path,
		    r == KV_ERR_SYSTEM ? strerror(errno) : kv_strerror(r));
		close(fd);
		l->blocklist.fd = -1;
		return;
	}
	/* A list is as good without the names of its sources. */
	n = snprintf(sources, sizeof(sources), "%s" KV_SOURCES_SUFFIX, path);
	if (n < 0 || (size_t)n >= sizeof(sources) ||
	    open(sources, &l->sources, why, arg) != KV_OK)
		l->sources = -1;
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
    const struct kv_paths *paths, kv_open_fn open, void *arg)
{
	_Static_assert(KV_REASON_BYTES == KV_CONFIG_WHY_BYTES,
	    "kv_config writes into broken");

	struct kv_paths from;

	*j = (struct kv_judge){ 0 };
	open_config(j, config_path, open, arg);
	if (j->broken[0] != '\0')
		return;
	from = paths != NULL ?
	    *paths :
	    (struct kv_paths){
		    .filter = j->config.filter,
		    .n_filters = j->config.n_filters,
		    .blocklist = j->config.blocklist,
		    .n_blocklists = j->config.n_blocklists,
	    };
	if (from.n_filters > KV_CONFIG_MAX_FILTERS ||
	    from.n_blocklists > KV_CONFIG_MAX_BLOCKLISTS) {
		snprintf(j->broken, sizeof(j->broken),
		    "too many filters or lists");
		return;
	}
	j->filter = calloc(from.n_filters + 1, sizeof(*j->filter));
	j->list = calloc(from.n_blocklists + 1, sizeof(*j->list));
	if (j->filter == NULL || j->list == NULL) {
		snprintf(j->broken, sizeof(j->broken), "out of memory");
		return;
	}
	j->n_filters = from.n_filters;
	for (size_t i = 0; i < j->n_filters; i++)
		open_filter(&j->filter[i], from.filter[i], open, arg);
	j->n_lists = from.n_blocklists;
	for (size_t i = 0; i < j->n_lists; i++)
		open_list(&j->list[i], from.blocklist[i], open, arg);
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
	kv_judge_open_with(j, config_path, NULL, open_trusted, &owner);
}

void
kv_judge_close(struct kv_judge *j)
{
	for (size_t i = 0; i < j->n_filters; i++)
		kv_pkbf_close(&j->filter[i].pkbf);
	for (size_t i = 0; i < j->n_lists; i++) {
		kv_blocklist_close(&j->list[i].blocklist);
		if (j->list[i].sources != -1)
			close(j->list[i].sources);
	}
	free(j->filter);
	free(j->list);
	j->filter = NULL;
	j->list = NULL;
	j->n_filters = j->n_lists = 0;
	kv_config_free(&j->config);
}

/* False: d->reason says why path gave no answer. */
static bool
note_failed_lookup(struct kv_decision *d, const char *path, enum kv_err r)
{
	snprintf(d->reason, sizeof(d->reason), "%s: %s", path,
	    r == KV_ERR_SYSTEM ? strerror(errno) : kv_strerror(r));
	return false;
}

/* Looks one SPKI up in filter i. False after an error: d->reason says why. */
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
	r = kv_pkbf_lookup(&f->pkbf, h, &listed);
	if (r != KV_OK)
		return note_failed_lookup(d, f->path, r);
	if (listed) {
		d->hits |= (uint64_t)1 << i;
		if (d->filter == NULL)
			d->filter = f;
	}
	return true;
}

/* Looks one hash up in list i. False after an error: d->reason says why. */
static bool
lookup_in_list(const struct kv_judge *j, size_t i,
    const struct kv_blocklist_hash *h, struct kv_decision *d)
{
	const struct kv_list *l = &j->list[i];
	bool listed;
	uint8_t id;
	enum kv_err r;

	if (l->blocklist.fd == -1) {
		snprintf(d->reason, sizeof(d->reason), "%s", l->why);
		return false;
	}
	r = kv_blocklist_lookup(&l->blocklist, h, &listed, &id);
	if (r != KV_OK)
		return note_failed_lookup(d, l->path, r);
	if (listed) {
		/* The first hash that is listed names the source, as below. */
		if ((d->list_hits >> i & 1) == 0)
			d->source_id[i] = id;
		d->list_hits |= (uint64_t)1 << i;
		if (d->list == NULL) {
			d->list = l;
			kv_sources_name(l->sources, id, d->source);
		}
	}
	return true;
}

/* Looks one SPKI up in every filter. False after an error. */
static bool
lookup_spki(const struct kv_judge *j, const uint8_t *spki, size_t len,
    struct kv_decision *d)
{
	_Static_assert(KV_CONFIG_MAX_FILTERS <= 64, "hits has 64 bits");
	struct kv_pkbf_hash h;
	bool complete = true;

	if (j->n_filters > 0)
		h = kv_pkbf_hash(spki, len);
	for (size_t i = 0; i < j->n_filters; i++) {
		if (!lookup_in_filter(j, i, &h, d))
			complete = false;
	}
	return complete;
}

/* Looks one hash up in every list. False after an error. */
static bool
lookup_hash(const struct kv_judge *j, const struct kv_blocklist_hash *h,
    struct kv_decision *d)
{
	_Static_assert(KV_CONFIG_MAX_BLOCKLISTS <= 64, "list_hits has 64 bits");
	bool complete = true;

	for (size_t i = 0; i < j->n_lists; i++) {
		if (!lookup_in_list(j, i, h, d))
			complete = false;
	}
	return complete;
}

/*
 * Each argument says whether every lookup in filters, and in lists, gave an
 * answer. A hit counts even if another lookup failed. But a hit of filters that
 * OnProbable lets in counts only if every list answered: OnHit may refuse the
 * key.
 */
static enum kv_verdict
verdict_of(const struct kv_judge *j, struct kv_decision *d, bool filters,
    bool lists)
{
	bool probable = d->hits != 0 &&
	    (lists || j->config.on_probable == KV_ACTION_DENY ||
		j->config.on_hit != KV_ACTION_DENY);

	if (d->list != NULL || probable) {
		d->reason[0] = '\0';
		return KV_VERDICT_LISTED;
	}
	if (j->n_filters == 0 && j->n_lists == 0) {
		snprintf(d->reason, sizeof(d->reason), "no filter or list");
		return KV_VERDICT_ERROR;
	}
	return filters && lists ? KV_VERDICT_CLEAN : KV_VERDICT_ERROR;
}

/* Notes a key that needs no secret. Nothing is opened or read for it. */
static void
lookup_built_in(const struct kv_pubkey *key, struct kv_decision *d)
{
	const char *source = kv_nosecret_source(key);

	if (source == NULL)
		return;
	d->list = &kv_built_in;
	snprintf(d->source, sizeof(d->source), "%s", source);
}

/*
 * Looks key up among the keys that need no secret, then every SPKI of it in
 * every filter, and every hash in every list.
 */
static enum kv_verdict
lookup_key(const struct kv_judge *j, const struct kv_pubkey *key,
    struct kv_decision *d)
{
	uint8_t spki[KV_SPKI_MAX_BYTES];
	struct kv_blocklist_hash hash;
	size_t count = kv_spki_count(key), len;
	bool filters = count > 0, lists = true;
	enum kv_err r;

	lookup_built_in(key, d);
	for (size_t i = 0; i < count && j->n_filters > 0; i++) {
		r = kv_spki_encode(key, i, spki, sizeof(spki), &len);
		if (r != KV_OK) {
			snprintf(d->reason, sizeof(d->reason), "SPKI: %s",
			    kv_strerror(r));
			filters = false;
		} else if (!lookup_spki(j, spki, len, d))
			filters = false;
	}
	count = j->n_lists > 0 ? kv_blocklist_hash_count(key) : 0;
	for (size_t i = 0; i < count; i++) {
		kv_blocklist_hash_key(key, i, &hash);
		if (!lookup_hash(j, &hash, d))
			lists = false;
	}
	return verdict_of(j, d, filters, lists);
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
	const struct kv_key_line *allowed = kv_config_find_allowed(&j->config,
	    digest, now);

	if (allowed == NULL)
		return d->verdict;
	snprintf(d->reason, sizeof(d->reason), "%s", allowed->reason);
	return KV_VERDICT_ALLOWED;
}

/*
 * The DenyKey line that names a key with this digest, or one with the same
 * private half; NULL if there is none. key is NULL for an unknown type.
 */
static const struct kv_key_line *
find_denied(const struct kv_judge *j, const struct kv_pubkey *key,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t now)
{
	const struct kv_config *c = &j->config;
	const struct kv_key_line *denied = kv_config_find_denied(c, digest,
	    now);
	uint8_t kin[KV_SHA256_BYTES];
	size_t count;

	if (denied != NULL || key == NULL || c->denied.n == 0)
		return denied;
	count = kv_fingerprint_kin_count(key);
	for (size_t i = 0; i < count && denied == NULL; i++) {
		kv_fingerprint_kin(key, i, kin);
		denied = kv_config_find_denied(c, kin, now);
	}
	return denied;
}

/*
 * Notes a DenyKey line that counts for the key. Nothing is looked up for it, and
 * no AllowKey line helps. False if there is none.
 */
static bool
note_denied(const struct kv_judge *j, const struct kv_pubkey *key,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t now,
    struct kv_decision *d)
{
	const struct kv_key_line *denied = find_denied(j, key, digest, now);

	if (denied == NULL)
		return false;
	d->list = &kv_denied;
	snprintf(d->source, sizeof(d->source), "DenyKey");
	snprintf(d->reason, sizeof(d->reason), "%s", denied->reason);
	return true;
}

/*
 * Applies the AllowKey and DenyKey lines to a verdict. Sets the fingerprint of a
 * key that is not clean. With OnHit warn a DenyKey line is only noted for a key
 * that gets in unnoted: it must not let in what another keyword refuses.
 */
static void
apply_lines(const struct kv_judge *j, const struct kv_pubkey *key,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t now,
    struct kv_decision *d)
{
	bool asks = true;

	if (d->verdict != KV_VERDICT_CLEAN)
		decide(j, d, apply_allowed(j, digest, now, d));
	if (j->config.on_hit != KV_ACTION_DENY)
		asks = d->verdict != KV_VERDICT_LISTED &&
		    d->action != KV_ACTION_DENY;
	if (asks && note_denied(j, key, digest, now, d))
		decide(j, d, KV_VERDICT_LISTED);
	if (d->verdict != KV_VERDICT_CLEAN)
		kv_fingerprint_format(digest, d->fingerprint);
}

static void
set_fingerprint(const struct kv_pubkey *key, struct kv_decision *d)
{
	uint8_t digest[KV_SHA256_BYTES];

	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, d->fingerprint);
}

/*
 * With a broken configuration no key has a verdict, and OnError decides. But a
 * DenyKey line without a mistake refuses its key, and a key that needs no secret
 * is refused, unless a line without a mistake lets it in: OnHit or AllowKey.
 * They let in no key that OnError refuses.
 */
static void
judge_when_broken(const struct kv_judge *j, const struct kv_pubkey *key,
    int64_t now, struct kv_decision *d)
{
	uint8_t digest[KV_SHA256_BYTES];

	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, d->fingerprint);
	if (j->config.on_hit == KV_ACTION_DENY &&
	    !note_denied(j, key, digest, now, d) &&
	    kv_config_find_allowed(&j->config, digest, now) == NULL)
		lookup_built_in(key, d);
	if (d->list != NULL)
		decide(j, d, KV_VERDICT_LISTED);
	else
		decide_error(j, d, j->broken);
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
		judge_when_broken(j, key, now, d);
		return;
	}
	decide(j, d, lookup_key(j, key, d));
	if (d->verdict == KV_VERDICT_CLEAN && j->config.denied.n == 0)
		return;
	kv_fingerprint_digest(key, digest);
	apply_lines(j, key, digest, now, d);
}

void
kv_judge_spki(const struct kv_judge *j, const uint8_t *spki, size_t len,
    const struct kv_blocklist_hash *hash, struct kv_decision *d)
{
	bool filters, lists = true;

	*d = (struct kv_decision){ 0 };
	if (j->broken[0] != '\0') {
		decide_error(j, d, j->broken);
		return;
	}
	if (hash == NULL && j->n_filters == 0 && j->n_lists > 0) {
		snprintf(d->reason, sizeof(d->reason),
		    "exact lists have no keys of this type");
		decide(j, d, KV_VERDICT_UNSUPPORTED);
		return;
	}
	filters = lookup_spki(j, spki, len, d);
	if (hash != NULL)
		lists = lookup_hash(j, hash, d);
	decide(j, d, verdict_of(j, d, filters, lists));
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
	if (j->broken[0] != '\0') {
		kv_fingerprint_format(digest, d->fingerprint);
		if (j->config.on_hit == KV_ACTION_DENY &&
		    note_denied(j, NULL, digest, now, d))
			decide(j, d, KV_VERDICT_LISTED);
		else
			decide_error(j, d, j->broken);
		return;
	}
	decide(j, d, KV_VERDICT_UNSUPPORTED);
	apply_lines(j, NULL, digest, now, d);
}

static int
verdict_weight(enum kv_verdict verdict)
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

/*
 * How much a decision weighs against the key. With "OnHit warn" a listed part
 * outweighs an error, as a listed key does, but for one that only a DenyKey line
 * lists: no such line lets anybody in. Otherwise refusals come first: a
 * probable hit that OnProbable lets in must not hide that another part is
 * refused.
 */
static int
weight(const struct kv_judge *j, const struct kv_decision *d)
{
	bool listed = d->verdict == KV_VERDICT_LISTED;
	bool warned = listed && j->config.on_hit != KV_ACTION_DENY &&
	    d->list != &kv_denied;
	int w = 4 * verdict_weight(d->verdict);

	if (d->action == KV_ACTION_DENY || warned)
		w += 32;
	if (listed)
		w += 2 * (d->action == KV_ACTION_DENY) + (d->list != NULL);
	return w;
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
	if (weight(j, &other) > weight(j, d))
		*d = other;
}

void
kv_judge_offered(const struct kv_judge *j, struct kv_span type,
    struct kv_span text, uint8_t *blob, size_t cap, int64_t now,
    struct kv_sshkey *key, struct kv_decision *d)
{
	const struct kv_keyname *kn = kv_keyname_find(type);
	struct kv_span decoded = { .p = blob };
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
