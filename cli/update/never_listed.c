/* SPDX-License-Identifier: ISC */
#include "update/never_listed.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "keys/input.h"
#include "reading/judging.h"
#include "reading/keys.h"
#include "update/update.h"

struct looking {
	const struct judging *judging; /* by the new file alone; NULL: none */
	const char *in;		       /* that file's name */
	int fd;
	uint64_t keys, problems, listed;
};

static void
tell_problem(const struct input_problem *p, void *arg)
{
	struct looking *l = arg;

	l->problems++;
	cli_error_at(p->path, p->line, p->reason);
}

static void
tell_listed(const struct input_key *key, const char *in)
{
	char fingerprint[KV_FINGERPRINT_BYTES];

	finding_format_fingerprint(&key->key, fingerprint);
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
	struct kv_decision d = { .verdict = KV_VERDICT_CLEAN };

	l->keys++;
	if (l->judging != NULL)
		judging_key(&l->judging->judge, key, 0, &d);
	if (d.verdict == KV_VERDICT_ERROR) {
		cli_error("%s", d.reason);
		l->problems++;
	}
	/* A key that needs no secret may be listed without being in it. */
	if (d.hits == 0 && d.list_hits == 0)
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
	struct looking l = { .judging = NULL };

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

/* Is a kv_open_fn: of the new file, and of nothing else. */
static enum kv_err
open_new(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	const struct looking *l = arg;

	if (strcmp(path, l->in) == 0)
		return judging_reopen(l->fd, path, fdp, why);
	*fdp = -1;
	*why = '\0';
	return KV_ERR_SYSTEM;
}

bool
update_never_listed_allows(const struct update *u, int fd)
{
	const bool is_list = u->kind == &update_list_kind;
	struct judging judging;
	struct looking l = {
		.judging = &judging,
		.in = u->options->rollback ? u->installed.place.previous_name :
					     u->source.from.shown,
		.fd = fd,
	};
	const struct kv_paths paths = {
		.filter = &l.in,
		.n_filters = !is_list,
		.blocklist = &l.in,
		.n_blocklists = is_list,
	};
	char why[WALL_WHY_BYTES];
	bool ok;

	if (u->source.never_listed == -1)
		return true;
	judging_open(&judging, NULL, &paths, open_new, &l);
	ok = allows(u, &l);
	return (judging_close(&judging, why) ||
		   cli_error("%s: %s", l.in, why)) &&
	    ok;
}
