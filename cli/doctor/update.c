/* SPDX-License-Identifier: ISC */
/* What keyveto update noted: whether it keeps a newer file away. */
#include "doctor/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/replace.h"
#include "publish/index.h"

#define FAILED_SECONDS ((int64_t)2 * 86400)

/* False if keyveto update noted nothing of the file at path. */
static bool
load_notes(const char *path, struct update_notes *notes)
{
	const char *slash = strrchr(path, '/');
	struct replace place;
	char *dir;
	bool found;

	/* replace_find prints a message if the directory is missing. */
	if (slash == NULL ||
	    asprintf(&dir, "%.*s", (int)(slash + 1 - path), path) == -1)
		return false;
	found = access(dir, F_OK) == 0 && replace_find(&place, path);
	free(dir);
	if (!found)
		return false;
	found = update_notes_load(place.dir, place.name, NULL, notes);
	replace_close(&place);
	return found;
}

/* The path of filter or list i of keyveto.conf; NULL if there are not so many. */
static const char *
path_of(const struct kv_config *c, size_t i)
{
	if (i < c->n_filters)
		return c->filter[i];
	i -= c->n_filters;
	return i < c->n_blocklists ? c->blocklist[i] : NULL;
}

bool
doctor_next_notes(const struct doctor *d, size_t *next, const char **pathp,
    struct update_notes *notes)
{
	const struct kv_config *c = &d->judge.config;

	while ((*pathp = path_of(c, *next)) != NULL) {
		bool seen = false;

		for (size_t i = 0; i < *next && !seen; i++)
			seen = strcmp(path_of(c, i), *pathp) == 0;
		(*next)++;
		if (!seen && load_notes(*pathp, notes))
			return true;
	}
	return false;
}

static void
find_held(struct doctor *d, const char *path)
{
	doctor_add(d, DOCTOR_WARNING,
	    "keyveto update --dry-run says which keys; have them "
	    "replaced and run keyveto update, or let the newer one in "
	    "with --yes",
	    "%s: a newer one is kept away, since it would refuse keys "
	    "that are in use (HoldIfRefused)",
	    path);
}

static void
find_rolled_back(struct doctor *d, const char *path,
    const struct update_notes *notes)
{
	char revision[64] = "";

	if (notes->unwanted >= 0)
		snprintf(revision, sizeof(revision), " from revision %" PRId64,
		    notes->unwanted);
	doctor_add(d, DOCTOR_WARNING,
	    "ask its publisher for another one; keyveto update installs that "
	    "by itself, and the one that was rolled back with --force",
	    "%s: was rolled back%s, and no update has found another one since",
	    path, revision);
}

static bool
has_expired(const struct update_notes *notes)
{
	return notes->index_expires != 0 &&
	    (int64_t)time(NULL) > notes->index_expires;
}

static void
find_expired(struct doctor *d, const char *path,
    const struct update_notes *notes)
{
	char date[INDEX_TIME_BYTES];

	if (!index_format_time(notes->index_expires, date))
		snprintf(date, sizeof(date), "?");
	doctor_add(d, DOCTOR_WARNING,
	    "run keyveto update, and look at its timer; if it finds no newer "
	    "index, ask the publisher",
	    "%s: the index of its publisher expired at %s: somebody may be "
	    "holding newer files back",
	    path, date);
}

/* Whether no update has succeeded for days. One night may be the network's. */
static bool
has_failed(const struct update_notes *notes)
{
	return notes->failed_since != 0 && notes->held == 0 &&
	    notes->rolled_back == 0 && !has_expired(notes) &&
	    (int64_t)time(NULL) > notes->failed_since + FAILED_SECONDS;
}

static void
find_failed(struct doctor *d, const char *path,
    const struct update_notes *notes)
{
	char date[INDEX_TIME_BYTES];

	if (!index_format_time(notes->failed_since, date))
		snprintf(date, sizeof(date), "?");
	doctor_add(d, DOCTOR_WARNING,
	    "run keyveto update --dry-run, which says why, and what to do",
	    "%s: no update of it has succeeded since one failed at %s", path,
	    date);
}

void
doctor_update(struct doctor *d)
{
	struct update_notes notes;
	const char *path;
	bool any = false;

	for (size_t i = 0; doctor_next_notes(d, &i, &path, &notes);) {
		if (notes.held != 0)
			find_held(d, path);
		if (notes.rolled_back != 0)
			find_rolled_back(d, path, &notes);
		if (has_expired(&notes))
			find_expired(d, path, &notes);
		if (has_failed(&notes))
			find_failed(d, path, &notes);
		any |= notes.held != 0 || notes.rolled_back != 0 ||
		    has_expired(&notes) || has_failed(&notes);
	}
	if (!any)
		doctor_add(d, DOCTOR_OK, NULL,
		    "no newer filter or list is kept away by HoldIfRefused or "
		    "a rollback, and no index has expired");
}
