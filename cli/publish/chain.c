/* SPDX-License-Identifier: ISC */
#include "publish/chain.h"

#include <sys/stat.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "publish/pack.h"
#include "publish/tasks.h"
#include "working/hash.h"

__attribute__((format(printf, 2, 3))) static void
set_note(char note[static CHAIN_NOTE_BYTES], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(note, CHAIN_NOTE_BYTES, fmt, ap);
	va_end(ap);
}

/*
 * Unpacks the file that was published before. Its packed form is all that is
 * needed, so the administrator need not keep it. -1 without a message if it is
 * not what its index says; then note says why. *failedp after a message.
 */
static int
unpack_before(const struct folder *folder, const struct index_file *before,
    char note[static CHAIN_NOTE_BYTES], bool *failedp)
{
	const struct folder_name name = folder_packed(before->sha256);
	char why[PACK_WHY_BYTES] = "is missing", sha256[INDEX_SHA256_BYTES];
	uint64_t size;
	int packed = folder_find(folder, &name, &size), fd = -1;
	bool ok = false;

	*failedp = false;
	if (packed != -1) {
		fd = folder_scratch(folder);
		*failedp = fd == -1;
		ok = fd != -1 &&
		    pack_unpack(name.path, packed, fd, before->size, sha256,
			why);
		close(packed);
	}
	if (ok && strcmp(sha256, before->sha256) != 0) {
		snprintf(why, sizeof(why), "is damaged");
		ok = false;
	}
	if (ok)
		return fd;
	io_close(fd);
	set_note(note, "no delta: %s %s", name.path,
	    why[0] != '\0' ? why : "cannot be read");
	return -1;
}

/* Whether the delta gave the bytes that are published. False after a message. */
static bool
gave_file(const struct publish_delta *d, const char *sha256)
{
	char gave[INDEX_SHA256_BYTES];

	/* Who applied it does not say what came of it. */
	if (!working_hash(d->again, d->delta_shown, gave))
		return false;
	if (strcmp(gave, sha256) == 0)
		return true;
	return cli_error(
	    "%s: the delta does not give the file again (another SHA-256); was "
	    "the file changed meanwhile? Run this again",
	    d->delta_shown);
}

/* Puts a delta that is made in its place, if it is worth it. */
static bool
keep_delta(const struct publish_delta *made, struct folder_new *new,
    struct index_delta *d, struct index_file *f,
    char note[static CHAIN_NOTE_BYTES])
{
	const struct folder_name name = folder_delta(d);
	struct stat st;

	if (fstat(new->fd, &st) == -1)
		return cli_failed(name.path, "cannot be written");
	d->size = (uint64_t)st.st_size;
	if (d->size >= f->packed_size) {
		set_note(note, "no delta: it would not be smaller");
		return true;
	}
	if (!gave_file(made, d->to) || !folder_put(new, &name))
		return false;
	if (f->n_deltas == INDEX_DELTAS)
		memmove(f->delta, f->delta + 1,
		    --f->n_deltas * sizeof(*f->delta));
	f->delta[f->n_deltas++] = *d;
	set_note(note, "a delta of %" PRIu64 " %s", d->size,
	    cli_plural(d->size, "byte", "bytes"));
	return true;
}

/* Drops a delta of the same two files: the list went back and forth. */
static void
forget(struct index_file *f, const struct index_delta *d)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_deltas; i++)
		if (strcmp(f->delta[i].from, d->from) != 0 ||
		    strcmp(f->delta[i].to, d->to) != 0)
			f->delta[n++] = f->delta[i];
	f->n_deltas = n;
}

/*
 * Makes the delta d of made->old and made->new, and keeps it. False after a
 * message.
 */
static bool
make_delta(const struct folder *folder, struct publish_delta *made,
    struct index_delta *d, struct index_file *f,
    char note[static CHAIN_NOTE_BYTES])
{
	const struct folder_name name = folder_delta(d);
	char why[DELTA_WHY_BYTES] = "";
	struct folder_new new;
	bool ok;

	made->delta_shown = name.path;
	made->again = -1;
	ok = folder_new(folder, FOLDER_DELTAS, &new) &&
	    (made->again = folder_scratch(folder)) != -1;
	made->delta = new.fd;
	if (ok)
		switch (publish_task_delta(made, why)) {
		case DELTA_DONE:
			ok = keep_delta(made, &new, d, f, note);
			break;
		case DELTA_NO_SUCCESSOR:
			set_note(note, "no delta, all fetch the full file: %s",
			    why);
			break;
		default:
			ok = false;
		}
	io_close(made->again);
	folder_drop(&new);
	made->delta_shown = "";
	return ok;
}

bool
chain_add(const struct folder *folder, const struct item *it,
    const struct index_file *before, struct index_file *f,
    char note[static CHAIN_NOTE_BYTES])
{
	bool failed;
	struct publish_delta made = {
		.shown = it->shown,
		.old = unpack_before(folder, before, note, &failed),
		.new = it->fd,
	};
	struct index_delta d = { .size = 0 };
	bool ok;

	if (made.old == -1)
		return !failed;
	memcpy(d.from, before->sha256, sizeof(d.from));
	memcpy(d.to, f->sha256, sizeof(d.to));
	forget(f, &d);
	ok = make_delta(folder, &made, &d, f, note);
	close(made.old);
	return ok;
}

/* The delta that leads to the file; NULL: none that is in the folder. */
static struct index_delta *
find_to(const struct folder *folder, struct index_file *f, const char *to)
{
	struct folder_name name;

	for (size_t i = f->n_deltas; i-- > 0;) {
		name = folder_delta(&f->delta[i]);
		if (strcmp(f->delta[i].to, to) == 0 &&
		    folder_has(folder, &name, f->delta[i].size))
			return &f->delta[i];
	}
	return NULL;
}

void
chain_trim(const struct folder *folder, struct index_file *f, uint64_t keep)
{
	struct index_delta kept[INDEX_DELTAS], *d;
	const char *to = f->sha256;
	uint64_t sum = 0;
	size_t n = 0;

	/* From the newest back, each once. */
	while (n < keep && n < INDEX_DELTAS &&
	    (d = find_to(folder, f, to)) != NULL &&
	    d->size < f->packed_size - sum) {
		sum += d->size;
		kept[INDEX_DELTAS - ++n] = *d;
		to = kept[INDEX_DELTAS - n].from;
		d->to[0] = '\0';
	}
	if (n > 0)
		memcpy(f->delta, kept + INDEX_DELTAS - n, n * sizeof(kept[0]));
	f->n_deltas = n;
}
