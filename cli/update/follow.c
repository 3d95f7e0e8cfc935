/* SPDX-License-Identifier: ISC */
#include "update/follow.h"

#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "tasks/folder.h"
#include "update/text.h"
#include "update/update.h"

#define SECONDS_A_DAY 86400
/* Of names in a message. */
#define NAMES_BYTES 512

/* --- fetching ----------------------------------------------------------- */

/* File of the settings; "" without it. */
static const char *
file_set(const struct update *u)
{
	const char *name = u->source.settings.file;

	return name != NULL ? name : "";
}

/* Fetches the index into *fdp; -1: it was not fetched. */
static enum fetch_end
fetch_index(struct update *u, bool conditional, int *fdp)
{
	struct update_follow *w = &u->follow;
	const struct update_notes *s = &u->notes;
	/* The ETag is of another folder, other signers, or another File. */
	const bool asks = conditional && !u->options->force &&
	    s->rolled_back == 0 && s->index_expires > 0 &&
	    strcmp(s->source, u->source.name) == 0 &&
	    strcmp(s->signers, u->source.signers_name) == 0 &&
	    strcmp(s->file, file_set(u)) == 0;
	struct fetch f = {
		.place = &u->source.from,
		.limits = &u->source.limits,
		.if_none_match = asks ? s->etag : "",
		.if_modified_since = asks && s->etag[0] == '\0' ?
		    s->last_modified :
		    "",
		.progress = &u->progress,
		.if_missing = "; correct Index",
	};
	uint64_t len;
	const enum fetch_end end = update_text_fetch(&f, INDEX_MAX_BYTES,
	    "longer than 1 MiB: not the index of a published folder; correct "
	    "Index",
	    fdp, &len);

	memcpy(w->etag, f.etag, sizeof(w->etag));
	memcpy(w->last_modified, f.last_modified, sizeof(w->last_modified));
	w->received += len;
	return end;
}

/* --- its text and its signature ----------------------------------------- */

/* Copies a part of the index into a file of its own. -1 after a message. */
static int
copy_part(const struct update *u, int fd, size_t at, size_t len)
{
	const char *shown = u->source.from.shown;
	const int part = update_text_make(shown);

	if (part == -1 || io_copy(fd, (off_t)at, len, part))
		return part;
	cli_error("%s: %s", shown, strerror(errno));
	close(part);
	return -1;
}

/*
 * Makes files of the text of the index fd, and of its signature. False after a
 * message.
 */
static bool
split_index(const struct update *u, int fd, int *textp, int *signaturep)
{
	const char *shown = u->source.from.shown;
	struct stat st;
	size_t len;

	*textp = *signaturep = -1;
	if (fstat(fd, &st) == -1)
		return cli_error("%s: %s", shown, strerror(errno));
	if (!tasks_split(shown, fd, &len))
		return false;
	if (len >= (size_t)st.st_size)
		return cli_error(
		    "%s: has no signature at its end: cut short, or not the "
		    "index of a published folder; correct Index",
		    shown);
	*textp = copy_part(u, fd, 0, len);
	if (*textp != -1)
		*signaturep = copy_part(u, fd, len, (size_t)st.st_size - len);
	return *signaturep != -1;
}

/* --- what may be believed ----------------------------------------------- */

/* Whether the notes know an index of this publisher or from this place. */
static bool
knows_index(const struct update *u)
{
	const struct update_notes *s = &u->notes;

	return s->index_serial > 0 &&
	    (strcmp(s->index_signers, u->source.signers_name) == 0 ||
		strcmp(s->index_source, u->source.name) == 0);
}

/*
 * Whether no later index was seen before, and no other one with this serial.
 * False after a message.
 */
static bool
check_serial(const struct update *u, const char *sha256)
{
	const struct update_notes *s = &u->notes;
	const uint64_t serial = u->follow.index.serial;
	const uint64_t seen = (uint64_t)s->index_serial;
	const char *shown = u->source.from.shown;

	if (u->options->force || !knows_index(u) || serial > seen)
		return true;
	if (serial < seen)
		cli_error("%s: has serial %" PRIu64 ", but serial %" PRIu64
			  " was seen before; somebody may want old keys to be "
			  "accepted again. If it is right, use --force",
		    shown, serial, seen);
	else if (strcmp(s->index_sha256, sha256) != 0)
		cli_error("%s: has serial %" PRIu64
			  ", as the index that was seen before, but differs "
			  "from it; ask its publisher. If it is right, use "
			  "--force",
		    shown, serial);
	else
		return true;
	return false;
}

/* Whether an index of this time is not expired. False after a message. */
static bool
check_expiry(const struct update *u, int64_t expires)
{
	char date[INDEX_TIME_BYTES];

	if ((int64_t)time(NULL) <= expires)
		return true;
	if (!index_format_time(expires, date))
		snprintf(date, sizeof(date), "?");
	return cli_error(
	    "%s: expired at %s, and there is no newer one: somebody may be "
	    "holding newer ones back; ask its publisher, and compare the clock "
	    "of this machine",
	    u->source.from.shown, date);
}

/*
 * Remembers an index, so that no older one is believed later. False after a
 * message.
 */
static bool
note_index(struct update *u, const char *sha256)
{
	const struct index *x = &u->follow.index;
	struct update_notes *s = &u->notes;

	if (strcmp(s->index_sha256, sha256) != 0)
		/* They are of an older index. */
		s->etag[0] = s->last_modified[0] = '\0';
	else if (strcmp(s->index_signers, u->source.signers_name) == 0 &&
	    strcmp(s->index_source, u->source.name) == 0 &&
	    s->index_expires == x->expires)
		return true;
	s->index_serial = (int64_t)x->serial;
	s->index_expires = x->expires;
	memcpy(s->index_sha256, sha256, sizeof(s->index_sha256));
	memcpy(s->index_signers, u->source.signers_name,
	    sizeof(s->index_signers));
	memcpy(s->index_source, u->source.name, sizeof(s->index_source));
	return update_save_notes(u);
}

/* Verifies and parses the index fd. False after a message. */
static bool
parse_index(struct update *u, int fd, char sha256[static UPDATE_DIGEST_CHARS])
{
	const char *shown = u->source.from.shown;
	char why[INDEX_WHY_BYTES] = "";
	int text, signature;
	/* Nothing is parsed before its signature is known to be good. */
	const bool ok = split_index(u, fd, &text, &signature) &&
	    update_signature_verify(&u->source, text, INDEX_NAMESPACE, "index",
		shown, signature) &&
	    tasks_index(shown, text, &u->follow.index, sha256, why);

	if (ok && why[0] != '\0')
		cli_error("%s: %s; ask its publisher", shown, why);
	io_close(text);
	io_close(signature);
	return ok && why[0] == '\0';
}

/* Parses the index fd, and judges it. False after a message. */
static bool
read_index(struct update *u, int fd)
{
	const struct index *x = &u->follow.index;
	const char *shown = u->source.from.shown;
	char sha256[UPDATE_DIGEST_CHARS];

	if (!parse_index(u, fd, sha256))
		return false;
	if (!check_serial(u, sha256))
		return false;
	if (x->date > (int64_t)time(NULL) + SECONDS_A_DAY)
		return cli_error(
		    "%s: its date is in the future; compare the clock of this "
		    "machine with its publisher's",
		    shown);
	/* Also an expired one shows that older ones are replayed. */
	return note_index(u, sha256) && check_expiry(u, x->expires);
}

/* --- the file ----------------------------------------------------------- */

/* The names of the files of a type, for a message. Returns how many. */
static size_t
list_names(const struct index *x, enum index_type type,
    char names[static NAMES_BYTES], const struct index_file **lastp)
{
	size_t n = 0, len = 0;

	names[0] = '\0';
	for (size_t i = 0; i < x->n; i++) {
		if (x->file[i].type != type)
			continue;
		*lastp = &x->file[i];
		if (len < NAMES_BYTES)
			len += (size_t)snprintf(names + len, NAMES_BYTES - len,
			    "%s%s", n > 0 ? ", " : "", x->file[i].name);
		n++;
	}
	return n;
}

/*
 * The file that File names, or that has the name of the target, or else the
 * only one. NULL after a message.
 */
static const struct index_file *
find_file(const struct update *u)
{
	const struct index *x = &u->follow.index;
	const bool is_list = u->kind == &update_list_kind;
	const enum index_type type = is_list ? INDEX_BLOCKLIST : INDEX_PKBF;
	const char *shown = u->source.from.shown,
		   *name = u->source.settings.file;
	const struct index_file *file = NULL, *only = NULL;
	char names[NAMES_BYTES];
	const char *path = u->installed.path, *slash = strrchr(path, '/');
	size_t n = list_names(x, type, names, &only);

	file = index_find(x,
	    name != NULL      ? name :
		slash != NULL ? slash + 1 :
				path);
	if (file != NULL && file->type == type)
		return file;
	if (name == NULL && n == 1)
		return only;
	if (name != NULL && file != NULL)
		cli_error("%s: %s is %s there; correct File or Format", shown,
		    name, is_list ? "a filter" : "an exact list");
	else if (name != NULL)
		cli_error("%s: has no file %s; correct File, or ask its "
			  "publisher",
		    shown, name);
	else if (n == 0)
		cli_error("%s: has no %s; correct Index or Format", shown,
		    is_list ? "exact list" : "filter");
	else
		cli_error("%s: has several: %s; set File to one of them", shown,
		    names);
	return NULL;
}

/* Sets w->installed. False after a message. */
static bool
find_installed(struct update *u, const char *sha256)
{
	const struct update_installed *t = &u->installed;
	struct update_follow *w = &u->follow;

	w->installed[0] = '\0';
	if (!t->is_good)
		return true;
	if (sha256 == NULL && u->notes.sha256[0] != '\0')
		sha256 = u->notes.sha256;
	if (sha256 != NULL)
		snprintf(w->installed, sizeof(w->installed), "%s", sha256);
	else
		return working_hash(t->fd, t->path, w->installed);
	return true;
}

enum update_follow_end
update_follow_find(struct update *u, const char *sha256, bool conditional)
{
	struct update_follow *w = &u->follow;
	enum update_follow_end end = UPDATE_FOLLOW_FAILED;
	const char *wanted;
	int fd;

	switch (fetch_index(u, conditional, &fd)) {
	case FETCH_DONE:
		if (read_index(u, fd) && (w->file = find_file(u)) != NULL &&
		    find_installed(u, sha256))
			end = UPDATE_FOLLOW_NEWER;
		break;
	case FETCH_NOT_MODIFIED:
		if (check_expiry(u, u->notes.index_expires))
			end = UPDATE_FOLLOW_SAME;
		break;
	default:
		break;
	}
	io_close(fd);
	if (end != UPDATE_FOLLOW_NEWER)
		return end;
	wanted = w->file->sha256;
	if (strcmp(w->installed, wanted) == 0) {
		/* A rollback that was killed may have noted it as unwanted. */
		memcpy(u->fresh_sha256, wanted, sizeof(u->fresh_sha256));
		return UPDATE_FOLLOW_CURRENT;
	}
	if (!u->options->force && update_unwanted_is(&u->notes, wanted))
		return UPDATE_FOLLOW_UNWANTED;
	return UPDATE_FOLLOW_NEWER;
}

void
update_follow_note(struct update *u, const struct stat *st)
{
	const struct update_follow *w = &u->follow;
	struct update_notes *s = &u->notes;

	memcpy(s->source, u->source.name, sizeof(s->source));
	memcpy(s->etag, w->etag, sizeof(s->etag));
	memcpy(s->last_modified, w->last_modified, sizeof(s->last_modified));
	memcpy(s->signers, u->source.signers_name, sizeof(s->signers));
	memcpy(s->sha256, w->file->sha256, sizeof(s->sha256));
	snprintf(s->file, sizeof(s->file), "%s", file_set(u));
	update_notes_fit(s, st);
	update_notes_forget_part(s);
	update_keep_notes(u);
}

uint64_t
update_follow_max_bytes(const struct update *u)
{
	const uint64_t header = u->kind == &update_list_kind ?
	    0 :
	    KV_PKBF_HEADER_BYTES;

	return u->source.settings.max_bytes + header;
}

const char *
update_follow_cost(const struct update *u,
    char text[static UPDATE_FOLLOW_COST_BYTES])
{
	const struct update_follow *w = &u->follow;

	text[0] = '\0';
	if (w->file != NULL && w->received < w->file->size)
		snprintf(text, UPDATE_FOLLOW_COST_BYTES,
		    "; fetched %" PRIu64 " bytes instead of %" PRIu64,
		    w->received, w->file->size);
	else if (w->file != NULL)
		snprintf(text, UPDATE_FOLLOW_COST_BYTES,
		    "; fetched %" PRIu64 " bytes", w->received);
	return text;
}

void
update_follow_free(struct update_follow *w)
{
	index_free(&w->index);
	w->file = NULL;
}
