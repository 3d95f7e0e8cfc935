/* SPDX-License-Identifier: ISC */
/*
 * update/deliver: the bytes of a file of a published folder, by deltas or packed
 * and whole. Whatever a server sends, what is received has the size and the
 * SHA-256 of the signed index, or it is nothing.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "tasks/folder.h"
#include "tasks/list.h"
#include "update/chain.h"
#include "update/follow.h"
#include "update/resume.h"
#include "update/text.h"
#include "update/update.h"

/* The part of a packed file is called .NAME.xz.keyveto-part. */
#define PACKED_SUFFIX ".xz"

static bool
was_interrupted(struct update *u)
{
	if (!u->source.limits.stopped())
		return false;
	progress_clear(&u->progress);
	cli_error("%s: interrupted", u->source.from.shown);
	return true;
}

static bool
report_no_room(struct update *u, const char *shown, uint64_t bytes)
{
	const int saved = errno;

	progress_clear(&u->progress);
	return cli_error(
	    "%s: cannot be written beside %s: %s; it needs %" PRIu64 " bytes",
	    shown, u->installed.path, strerror(saved), bytes);
}

/* Whether fd is the index's file: its size and its SHA-256. */
static bool
is_wanted(const struct update *u, int fd)
{
	const struct index_file *file = u->follow.file;
	char sha256[UPDATE_DIGEST_CHARS];
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size == file->size &&
	    working_hash(fd, u->installed.path, sha256) &&
	    strcmp(sha256, file->sha256) == 0;
}

/* --- deltas ------------------------------------------------------------- */

/* A file that is bounded, and fetched without a message. */
struct bounded {
	struct update *u;
	uint64_t len, max;
};

static bool
count_bounded(size_t len, void *arg)
{
	struct bounded *b = arg;

	b->u->follow.received += len;
	progress_add(&b->u->progress, len);
	b->len += len;
	return len > 0 && b->len <= b->max;
}

/*
 * Makes a file without a name beside the target, so that it ends with this
 * process. -1 if it cannot be made.
 */
static int
make_nameless(const struct update *u)
{
	return update_part_nameless(u->installed.place.dir,
	    u->installed.place.name);
}

/* Fetches a delta into fd. False, without a message, if it is not to be had. */
static bool
fetch_delta(struct update *u, const struct index_delta *d, int fd)
{
	struct bounded b = { .u = u, .max = d->size };
	struct fetch_place from;
	struct fetch f = {
		.place = &from,
		.limits = &u->source.limits,
		.into = fd,
		.arrived = count_bounded,
		.arg = &b,
		.progress = &u->progress,
		.quiet = true,
	};
	char path[INDEX_PATH_BYTES];
	bool ok;

	index_delta_path(d->from, d->to, path);
	ok = fetch_place_beside(&u->source.from, path, &from) &&
	    fetch_run(&f) == FETCH_DONE && b.len == d->size;
	fetch_place_free(&from);
	return ok;
}

/* Makes out of old with one delta. False if it does not fit. */
static bool
apply_step(struct update *u, const struct index_delta *d, int old, int out)
{
	const struct index_file *file = u->follow.file;
	const bool last = strcmp(d->to, file->sha256) == 0;
	const struct folder_patch p = {
		.shown = u->source.from.shown,
		.path = u->installed.path,
		.delta = d,
		.type = file->type,
		.min = last ? file->size : 0,
		.max = last ? file->size : update_follow_max_bytes(u),
		.old = old,
		.patch = make_nameless(u),
		.out = out,
		.stopped = u->source.limits.stopped,
	};
	bool ok = p.patch != -1 && out != -1 && fetch_delta(u, d, p.patch);

	progress_clear(&u->progress);
	ok = ok && tasks_patch(&p);
	io_close(p.patch);
	return ok;
}

/*
 * Receives the file by the deltas of c. False, without a message, if one of them
 * is missing, damaged or of another file.
 */
static bool
receive_deltas(struct update *u, const struct update_chain *c)
{
	int old = u->installed.fd, out = -1;
	bool ok = true;

	progress_start(&u->progress, "fetching", c->bytes);
	for (size_t i = 0; i < c->n && ok; i++) {
		const bool last = i + 1 == c->n;

		out = last ? u->part.fd : make_nameless(u);
		ok = !u->source.limits.stopped() &&
		    apply_step(u, c->step[i], old, out);
		if (old != u->installed.fd)
			close(old);
		old = out;
	}
	if (old != u->installed.fd && old != u->part.fd && old != -1)
		close(old);
	progress_clear(&u->progress);
	if (ok && is_wanted(u, u->part.fd)) {
		u->part.len = (off_t)u->follow.file->size;
		return true;
	}
	return false;
}

/* --- the whole file ----------------------------------------------------- */

struct packed {
	struct update *u;
	struct fetch_place from;
	struct update_part part;
	char source[UPDATE_DIGEST_CHARS]; /* in the notes */
	bool keep;
};

static bool
begin_packed(const struct fetch *f, off_t at, void *arg)
{
	struct packed *k = arg;
	struct update *u = k->u;
	const uint64_t size = u->follow.file->packed_size;

	k->keep = false;
	if (!update_part_cut(&k->part, at) ||
	    !update_resume_note(u, f, at, k->source))
		return false;
	if (!update_part_reserve(&k->part, (off_t)size))
		return report_no_room(u, k->from.shown, size);
	k->keep = update_resume_is_possible(u);
	progress_start(&u->progress, "fetching", size);
	progress_add(&u->progress, (uint64_t)at);
	return true;
}

static bool
count_packed(size_t len, void *arg)
{
	struct packed *k = arg;
	struct update *u = k->u;
	const uint64_t size = u->follow.file->packed_size;

	u->follow.received += len;
	k->part.len += (off_t)len;
	if (len > 0 && (uint64_t)k->part.len <= size) {
		progress_add(&u->progress, len);
		return true;
	}
	/* The same bytes would be refused again. */
	k->keep = false;
	if (len == 0)
		return report_no_room(u, k->from.shown, size);
	progress_clear(&u->progress);
	return cli_error("%s: is longer than the %" PRIu64
			 " bytes that the index says: "
			 "damaged, or changed on its way; try again later",
	    k->from.shown, size);
}

/* Fetches the packed file. False after a message. */
static bool
fetch_packed(struct packed *k)
{
	struct update *u = k->u;
	const uint64_t size = u->follow.file->packed_size;
	struct fetch f = {
		.place = &k->from,
		.limits = &u->source.limits,
		.begin = begin_packed,
		.into = k->part.fd,
		.arrived = count_packed,
		.arg = k,
		.progress = &u->progress,
		.if_missing = UPDATE_FOLLOW_IF_MISSING,
	};

	/* What an earlier run received stays if the server is not there. */
	k->keep = !u->options->dry_run &&
	    update_resume_known(u, &k->part, k->source) > 0;
	if (update_resume_run(u, &f, &k->part, k->source) != FETCH_DONE)
		return false;
	if ((uint64_t)k->part.len == size)
		return true;
	k->keep = false;
	progress_clear(&u->progress);
	return cli_error("%s: ends after %jd of the %" PRIu64
			 " bytes that the index says: "
			 "cut short; try again later",
	    k->from.shown, (intmax_t)k->part.len, size);
}

/* Prints why it was not unpacked. */
static bool
report_packed(struct packed *k, const struct unpacked *x)
{
	const uint64_t size = k->u->follow.file->size;

	switch (x->end) {
	case UNPACK_TOO_LARGE:
		return cli_error(
		    "%s: has more than the %" PRIu64 " bytes that the index "
		    "says, when unpacked: damaged, or changed on its way; try "
		    "again later",
		    k->from.shown, size);
	case UNPACK_NOT_WRITTEN:
		errno = x->error;
		return report_no_room(k->u, k->from.shown, size);
	default:
		return cli_error("%s: %s", k->from.shown,
		    x->end == UNPACK_NOT_READ ? strerror(x->error) : x->why);
	}
}

/* Unpacks the file into u->part. False after a message. */
static bool
unpack(struct packed *k)
{
	struct update *u = k->u;
	struct unpacked x;

	if (!tasks_unpack(k->from.shown, k->part.fd, u->part.fd,
		u->follow.file->size, false, u->source.limits.stopped,
		&u->part.len, &x))
		return false;
	if (x.end != UNPACK_DONE)
		return report_packed(k, &x);
	/* Who unpacked it does not say what it is. */
	if (is_wanted(u, u->part.fd))
		return true;
	if (!was_interrupted(u))
		cli_error("%s: its SHA-256 is not the one in the index: "
			  "damaged or changed on its way; try again later",
		    k->from.shown);
	return false;
}

/* The name whose part is the packed file. */
static void
name_packed(const struct update *u, char name[static NAME_MAX + 1])
{
	snprintf(name, NAME_MAX + 1, "%.220s" PACKED_SUFFIX,
	    u->installed.place.name);
}

void
update_deliver_clean(const struct update *u)
{
	struct update_part part = { .fd = -1 };
	char name[NAME_MAX + 1];

	name_packed(u, name);
	update_part_name(&part, u->installed.place.dir, name);
	update_part_unname(&part);
}

/*
 * The notes may have the ETag of a URL whose file u->part was a part of: it gets
 * other bytes now. False after a message.
 */
static bool
forget_other_part(struct update *u, const struct packed *k)
{
	const struct replace *place = &u->installed.place;
	struct update_notes *s = &u->notes;

	if (s->part_etag[0] == '\0' || strcmp(s->part_source, k->source) == 0)
		return true;
	update_notes_forget_part(s);
	return u->options->dry_run ||
	    update_notes_save(place->dir, place->name, s) ||
	    cli_failed(u->installed.path,
		"cannot write .keyveto-update beside it");
}

/* Opens what there is of the packed file. False after a message. */
static bool
open_packed(struct update *u, struct packed *k)
{
	const struct replace *place = &u->installed.place;
	char path[INDEX_PATH_BYTES], name[NAME_MAX + 1];

	*k = (struct packed){ .u = u, .part = { .fd = -1 } };
	index_packed_path(u->follow.file->sha256, path);
	name_packed(u, name);
	if (!fetch_place_beside(&u->source.from, path, &k->from) ||
	    !update_part_open(&k->part, place->dir, name, u->installed.path))
		return false;
	update_notes_source(k->from.where, k->source);
	k->keep = !u->options->dry_run && k->part.len > 0;
	/* The same file was packed better since. */
	if (!u->options->dry_run)
		return (uint64_t)k->part.len <= u->follow.file->packed_size ||
		    update_part_cut(&k->part, 0);
	/* A dry run leaves what an earlier run received as it is. */
	if (k->part.len == 0) {
		update_part_unname(&k->part);
		return true;
	}
	close(k->part.fd);
	k->part.named = false;
	k->part.len = 0;
	k->part.fd = make_nameless(u);
	return k->part.fd != -1 ||
	    cli_failed(u->installed.path, "cannot make a file beside it");
}

/* Fetches all of the file, and unpacks it. False after a message. */
static bool
receive_packed(struct packed *k)
{
	struct update *u = k->u;
	const uint64_t size = u->follow.file->size;
	bool ok;

	if (!update_part_cut(&u->part, 0))
		return false;
	if (!update_part_reserve(&u->part, (off_t)size))
		return report_no_room(u, k->from.shown, size);
	if (!fetch_packed(k))
		return false;
	progress_clear(&u->progress);
	ok = unpack(k);
	/* Good or bad, it is of no more use. */
	k->keep &= !ok && u->source.limits.stopped();
	return ok;
}

/* --- both --------------------------------------------------------------- */

/* Whether MaxSize allows the file. False after a message. */
static bool
check_size(const struct update *u)
{
	const struct index_file *file = u->follow.file;
	const uint64_t max = update_follow_max_bytes(u);

	if (file->size <= max && file->packed_size <= max)
		return true;
	return cli_error("%s: %s has %" PRIu64 " bytes, packed %" PRIu64
			 ", which is more "
			 "than MaxSize allows (%" PRIu64
			 "); if that is right, raise MaxSize",
	    u->source.from.shown, file->name, file->size, file->packed_size,
	    u->source.settings.max_bytes);
}

bool
update_deliver(struct update *u)
{
	const struct index_file *file = u->follow.file;
	struct update_chain chain;
	struct packed k = { .part = { .fd = -1 } };
	uint64_t received;
	bool ok;

	u->keep_part = u->part.len > 0;
	if (!check_size(u))
		return false;
	/* HoldIfRefused kept it away, or it was refused, and is here still. */
	if (u->part.len > 0 && is_wanted(u, u->part.fd))
		return true;
	u->keep_part = false;
	if (u->options->dry_run)
		update_part_unname(&u->part);
	if ((ok = open_packed(u, &k))) {
		received = (uint64_t)update_resume_known(u, &k.part, k.source);
		ok = forget_other_part(u, &k) && update_part_cut(&u->part, 0) &&
		    ((update_chain_find(file, u->follow.installed, &chain) &&
			 chain.bytes < file->packed_size &&
			 received < file->packed_size - chain.bytes &&
			 receive_deltas(u, &chain)) ||
			(!was_interrupted(u) && receive_packed(&k)));
	}
	progress_clear(&u->progress);
	update_part_close(&k.part, k.keep && !ok);
	fetch_place_free(&k.from);
	/* If it is refused now, it need not be fetched again. */
	u->keep_part = ok && !u->options->dry_run;
	return ok;
}

int
update_deliver_companion(struct update *u, const struct index_companion *c,
    size_t max)
{
	char path[INDEX_PATH_BYTES], sha256[UPDATE_DIGEST_CHARS];
	struct fetch_place from;
	struct fetch f = {
		.place = &from,
		.limits = &u->source.limits,
		.progress = &u->progress,
		.if_missing = UPDATE_FOLLOW_IF_MISSING,
	};
	uint64_t len = 0;
	bool ok = false;
	int fd = -1;

	index_companion_path(c->sha256, path);
	if (fetch_place_beside(&u->source.from, path, &from) &&
	    update_text_fetch(&f, max,
		"longer than it may be; ask its publisher", &fd,
		&len) == FETCH_DONE &&
	    working_hash(fd, from.shown, sha256)) {
		ok = strcmp(sha256, c->sha256) == 0;
		if (!ok)
			cli_error("%s: its SHA-256 is not the one in the "
				  "index: damaged or changed on its way; try "
				  "again later",
			    from.shown);
	}
	u->follow.received += len;
	fetch_place_free(&from);
	if (!ok && fd != -1) {
		close(fd);
		fd = -1;
	}
	return fd;
}
