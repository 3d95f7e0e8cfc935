/* SPDX-License-Identifier: ISC */
#include "update/never_listed.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "keys/spki.h"
#include "keys/input.h"
#include "reading/keys.h"
#include "kv_fingerprint.h"
#include "update/update.h"

struct looking {
	const struct kv_pkbf *filter;	 /* NULL: none */
	const struct kv_blocklist *list; /* NULL: none */
	const char *in;			 /* the same, for messages */
	uint64_t keys, problems, listed;
};

static void
tell_problem(const struct input_problem *p, void *arg)
{
	struct looking *l = arg;

	l->problems++;
	cli_error_at(p->path, p->line, p->reason);
}

static bool
has_spki(struct kv_span spki, void *arg)
{
	struct looking *l = arg;
	const struct kv_pkbf_hash hash = kv_pkbf_hash(spki.p, spki.len);
	bool listed = false;
	enum kv_err r = kv_pkbf_lookup(l->filter, &hash, &listed);

	if (r != KV_OK) {
		cli_error("%s: %s", l->in, kv_strerror(r));
		l->problems++;
	}
	/* Ends at the first that is. */
	return !listed;
}

static bool
has_hash(struct looking *l, const struct input_key *key)
{
	struct kv_blocklist_hash hash[INPUT_HASHES_MAX];
	const size_t n = input_hashes(key, hash);
	bool listed = false;
	uint8_t id;

	for (size_t i = 0; i < n && !listed; i++) {
		enum kv_err r = kv_blocklist_lookup(l->list, &hash[i], &listed,
		    &id);

		if (r == KV_OK)
			continue;
		cli_error("%s: %s", l->in, kv_strerror(r));
		l->problems++;
	}
	return listed;
}

static void
tell_listed(const struct input_key *key, const char *in)
{
	char fingerprint[KV_FINGERPRINT_BYTES] = "";
	uint8_t digest[KV_SHA256_BYTES];

	if (key->key.type != KV_KEY_NONE) {
		kv_fingerprint_digest(&key->key, digest);
		kv_fingerprint_format(digest, fingerprint);
	}
	cli_error("%s:%" PRIu64 ": %s%s%s%s is in %s, and NeverListed says "
		  "that it must not be",
	    key->path, key->line, key->type,
	    key->part == KV_PART_CA ? " (the certificate's CA)" : "",
	    fingerprint[0] != '\0' ? " " : "", fingerprint, in);
}

static void
look_up(const struct input_key *key, void *arg)
{
	struct looking *l = arg;
	bool listed = false;

	l->keys++;
	if (l->filter != NULL)
		listed = !spki_each(key, false, has_spki, l);
	else if (l->list != NULL)
		listed = has_hash(l, key);
	if (!listed)
		return;
	l->listed++;
	tell_listed(key, l->in);
}

/* Reads the whole file. False after a message if it is not all keys. */
static bool
read_keys(const char *path, int fd, struct looking *l)
{
	const struct input_sink sink = {
		.key = look_up,
		.problem = tell_problem,
		.arg = l,
		/* A line that is no key is a mistake. */
		.plain = true,
	};

	l->keys = l->problems = l->listed = 0;
	if (lseek(fd, 0, SEEK_SET) == -1)
		return cli_failed(path, "cannot be read");
	reading_keys_fd(fd, path, &sink);
	if (l->problems > 0)
		cli_error("%s: not all of it could be read, so that nothing is "
			  "installed; correct it, since NeverListed names it",
		    path);
	else if (l->keys == 0)
		cli_error("%s: has no key; put keys into it, or take "
			  "NeverListed out of the settings",
		    path);
	return l->problems == 0 && l->keys > 0;
}

bool
update_never_listed_open(const char *path, int *fdp)
{
	struct looking l = { .filter = NULL };

	*fdp = -1;
	if (path == NULL)
		return true;
	*fdp = update_open_trusted(path);
	return *fdp != -1 && read_keys(path, *fdp, &l);
}

/* Looks the keys up in what l has. */
static bool
allows(const struct update *u, struct looking *l)
{
	const char *path = u->source.settings.never_listed;

	if (!read_keys(path, u->source.never_listed, l))
		return false;
	if (l->listed > 0)
		cli_error("%s: is not installed: it lists %" PRIu64
			  " of the keys in %s. Ask its publisher; or have the "
			  "keys replaced and take them out of that file",
		    l->in, l->listed, path);
	return l->listed == 0;
}

bool
update_never_listed_allows(const struct update *u, int fd)
{
	const bool is_list = u->kind == &update_list_kind;
	struct kv_blocklist list = { .fd = -1 };
	struct kv_pkbf filter = { .fd = -1 };
	struct looking l = { .in = u->options->rollback ?
		    u->installed.place.previous_name :
		    u->source.from.shown };
	enum kv_err r;

	if (u->source.never_listed == -1)
		return true;
	l.filter = is_list ? NULL : &filter;
	l.list = is_list ? &list : NULL;
	/* Both have the descriptor on loan. */
	r = is_list ? kv_blocklist_open_fd(fd, &list) :
		      kv_pkbf_open_fd(fd, &filter);
	if (r == KV_OK)
		return allows(u, &l);
	cli_error("%s: %s", l.in, kv_strerror(r));
	return false;
}
