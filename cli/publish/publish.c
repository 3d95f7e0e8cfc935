/* SPDX-License-Identifier: ISC */
/*
 * keyveto publish: puts filters and lists into a folder for a web server, with
 * deltas from the revisions before, and names them in a signed index. A client
 * meets the old index with all that it names, or the new one: what an index
 * names is on disk before it, and stays as long as the next index.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "sets/filter_file.h"
#include "base/io.h"
#include "host/replace.h"
#include "publish/chain.h"
#include "publish/copy.h"
#include "publish/folder.h"
#include "publish/item.h"
#include "publish/pack.h"
#include "publish/sign.h"
#include "publish/tasks.h"
#include "tasks/folder.h"

#define KEEP_DEFAULT 7
#define DAYS_DEFAULT 30
#define DAYS_MAX 3650
#define SECONDS_A_DAY 86400

struct options {
	const char *dir;
	const char *sign;	     /* a key file; NULL: unsigned */
	uint64_t keep, days, serial; /* serial 0: the next one */
	const char *remove[INDEX_FILES];
	size_t n_remove;
	bool force, dry_run, quiet;
};

/* What becomes of a file that is given. */
enum given_change { GIVEN_NEW, GIVEN_NONE, GIVEN_COMPANION, GIVEN_BYTES };

struct given {
	struct item item;
	enum given_change change;
	struct index_file before;    /* the published one; its deltas are not */
	char note[CHAIN_NOTE_BYTES]; /* about the delta, or "" */
};

struct publish {
	struct options o;
	struct folder folder;
	struct replace place; /* of the index; open unless dry_run */
	bool locked;
	char *path; /* of the index */
	bool has_old, was_signed;
	int old_text, old_signature; /* copies of the index as it is; or -1 */
	struct index old, fresh;     /* fresh has room for INDEX_FILES */
	struct given *given;
	size_t n_given;
	struct sign_result signature;
	uint64_t pruned;
};

/* --- the published index ------------------------------------------------ */

/*
 * Has the index behind fd read. What was read is what is verified: both are of
 * one copy. False after a message; why is of an index that is none.
 */
static bool
parse_old(struct publish *p, int fd, size_t size, char why[INDEX_WHY_BYTES])
{
	char sha256[INDEX_SHA256_BYTES];
	size_t len;

	if (!tasks_split(p->path, fd, &len))
		return false;
	if (len > size)
		len = size;
	p->was_signed = len < size;
	p->old_text = copy_part(p->path, fd, 0, len);
	p->old_signature = copy_part(p->path, fd, (off_t)len, size - len);
	if (p->old_text == -1 || p->old_signature == -1 ||
	    !tasks_index(p->path, p->old_text, &p->old, sha256, why))
		return false;
	p->has_old = why[0] == '\0';
	return true;
}

/* Reads the index behind fd. False after a message. */
static bool
read_old(struct publish *p, int fd)
{
	char why[INDEX_WHY_BYTES] = "";
	struct stat st;

	if (fstat(fd, &st) == -1)
		return cli_failed(p->path, "cannot be read");
	if (st.st_size > INDEX_MAX_BYTES)
		snprintf(why, sizeof(why), "is longer than 1 MiB");
	else if (!parse_old(p, fd, (size_t)st.st_size, why))
		return false;
	if (why[0] == '\0' || p->o.serial != 0)
		return true;
	return cli_error(
	    "%s: is no index that can be continued: %s; to start again with "
	    "the files that you give, add --serial with a number above all "
	    "that were published",
	    p->path, why);
}

/*
 * Takes the lock, which other runs wait for, and opens the index. A dry run
 * only reads.
 */
static bool
open_index(struct publish *p)
{
	int fd = -1, dir;
	bool ok;

	if (asprintf(&p->path, "%s/" INDEX_NAME, p->o.dir) == -1) {
		p->path = NULL;
		return cli_failed(p->o.dir, "cannot be read");
	}
	if (p->o.dry_run) {
		errno = ENOENT;
		if (p->folder.dir != -1)
			fd = openat(p->folder.dir, INDEX_NAME,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
				O_CLOEXEC);
		if (fd == -1 && errno != ENOENT)
			return cli_failed(p->path, "cannot be opened");
	} else {
		dir = fcntl(p->folder.dir, F_DUPFD_CLOEXEC, 0);
		if (dir == -1)
			return cli_failed(p->o.dir, "cannot be opened");
		p->locked = true;
		if (!replace_open_at(&p->place, p->path, dir, INDEX_NAME))
			return false;
		fd = p->place.old;
	}
	ok = fd == -1 || read_old(p, fd);
	if (p->o.dry_run && fd != -1)
		close(fd);
	return ok;
}

static bool
choose_serial(struct publish *p)
{
	const uint64_t old = p->has_old ? p->old.serial : 0;

	p->fresh.serial = p->o.serial != 0 ? p->o.serial : old + 1;
	if (p->fresh.serial > old && p->fresh.serial <= INDEX_SERIAL_MAX)
		return true;
	return cli_error("%s: has serial %" PRIu64
			 ", and those who follow never go back; %s",
	    p->path, old,
	    old == INDEX_SERIAL_MAX ?
		"there is none above it: publish in another folder" :
		"give a greater --serial");
}

static bool
choose_dates(struct publish *p)
{
	char text[INDEX_TIME_BYTES];
	uint64_t now;

	if (!filter_now(&now))
		return false;
	p->fresh.date = (int64_t)now;
	p->fresh.expires = (int64_t)(now + p->o.days * (uint64_t)SECONDS_A_DAY);
	if (!index_format_time(p->fresh.expires, text))
		return cli_error(
		    "the clock of this machine is beyond the year 9999; set it");
	if (!p->has_old || p->fresh.date >= p->old.date || p->o.force)
		return true;
	(void)index_format_time(p->old.date, text);
	return cli_error(
	    "%s: is of %s, which is later than now by the clock of this "
	    "machine; set the clock. If it is right, use --force",
	    p->path, text);
}

/* --- what stays of the old index ---------------------------------------- */

static bool
is_removed(const struct options *o, const char *name)
{
	for (size_t i = 0; i < o->n_remove; i++)
		if (strcmp(o->remove[i], name) == 0)
			return true;
	return false;
}

/* Adds a file without deltas to p->fresh. NULL after a message. */
static struct index_file *
add_file(struct publish *p, const struct index_file *from)
{
	struct index_file *f = &p->fresh.file[p->fresh.n];

	if (p->fresh.n == INDEX_FILES) {
		cli_error("%s: an index has at most %d files; take some out "
			  "with --remove NAME, or use another folder",
		    p->path, INDEX_FILES);
		return NULL;
	}
	*f = *from;
	f->n_deltas = 0;
	f->delta = calloc(INDEX_DELTAS, sizeof(*f->delta));
	if (f->delta == NULL) {
		(void)cli_failed(p->path, "cannot be written");
		return NULL;
	}
	p->fresh.n++;
	return f;
}

static bool
check_removed(const struct publish *p)
{
	bool ok = true;

	for (size_t i = 0; i < p->o.n_remove; i++)
		if (index_find(&p->old, p->o.remove[i]) == NULL) {
			cli_error("%s: names no %s to remove", p->path,
			    p->o.remove[i]);
			ok = false;
		}
	return ok;
}

/* Copies what the old index has, but what is to be removed. */
static bool
copy_old(struct publish *p)
{
	struct index_file *f;

	if ((p->fresh.file = calloc(INDEX_FILES, sizeof(*f))) == NULL)
		return cli_failed(p->path, "cannot be written");
	for (size_t i = 0; i < p->old.n; i++) {
		const struct index_file *old = &p->old.file[i];

		if (is_removed(&p->o, old->name))
			continue;
		if ((f = add_file(p, old)) == NULL)
			return false;
		/* INDEX_DELTAS is the most that an index can have. */
		if (old->n_deltas > 0)
			memcpy(f->delta, old->delta,
			    old->n_deltas * sizeof(*f->delta));
		f->n_deltas = old->n_deltas;
	}
	return true;
}

/* --- what is given ------------------------------------------------------ */

static bool
same_companion(const struct index_companion *a, const struct index_companion *b)
{
	return strcmp(a->sha256, b->sha256) == 0;
}

/*
 * Whether those who follow believe its date and revision (update/seen). What
 * they do not believe, no later file of a true date or revision can follow.
 */
static bool
check_believable(const struct publish *p, const struct index_file *before,
    const struct item *it)
{
	const struct index_file *f = &it->file;
	char text[INDEX_TIME_BYTES];

	if (p->o.force)
		return true;
	if (f->dated && f->date > p->fresh.date + SECONDS_A_DAY) {
		(void)index_format_time(f->date, text);
		return cli_error(
		    "%s: is of %s, which is in the future; those who follow "
		    "would refuse it. If it is right, use --force",
		    it->given, text);
	}
	if (f->type == INDEX_PKBF && before != NULL &&
	    f->revision > (uint64_t)before->revision + INDEX_REVISION_JUMP_MAX)
		return cli_error("%s: is revision %" PRIu32
				 ", more than %d above the "
				 "published revision %" PRIu32
				 "; those who follow would "
				 "refuse it. If it is right, use --force",
		    it->shown, f->revision, INDEX_REVISION_JUMP_MAX,
		    before->revision);
	return true;
}

/* Whether the file may take the place of the published one. */
static bool
may_replace(const struct publish *p, const struct index_file *before,
    const struct item *it)
{
	const struct index_file *f = &it->file;
	char old_time[INDEX_TIME_BYTES], new_time[INDEX_TIME_BYTES];

	if (before->type != f->type)
		return cli_error(
		    "%s: is a%s, and the published %s is a%s; give it another "
		    "name, or add --remove %s to start again",
		    it->shown,
		    f->type == INDEX_PKBF ? " filter" : "n exact list", f->name,
		    before->type == INDEX_PKBF ? " filter" : "n exact list",
		    f->name);
	if (p->o.force)
		return true;
	if (f->type == INDEX_PKBF && f->revision <= before->revision)
		return cli_error(
		    "%s: is revision %" PRIu32 ", and differs from the "
		    "published revision %" PRIu32 "; those who follow would "
		    "refuse it. Give it a later revision (keyveto filter add "
		    "does), or use --force",
		    it->shown, f->revision, before->revision);
	if (f->type == INDEX_BLOCKLIST && f->dated && before->dated &&
	    f->date < before->date) {
		(void)index_format_time(f->date, new_time);
		(void)index_format_time(before->date, old_time);
		return cli_error(
		    "%s: is of %s, older than the published one of %s; those "
		    "who follow would refuse it. If it is right, use --force",
		    it->given, new_time, old_time);
	}
	return true;
}

/* Whether what is published under that name can be fetched. */
static bool
is_whole(const struct folder *folder, const struct index_file *f)
{
	const struct folder_name packed = folder_packed(f->sha256);
	struct folder_name name;

	if (!folder_has(folder, &packed, f->packed_size))
		return false;
	if (f->manifest.sha256[0] != '\0') {
		name = folder_companion(f->manifest.sha256);
		if (!folder_has(folder, &name, f->manifest.size))
			return false;
	}
	if (f->sources.sha256[0] == '\0')
		return true;
	name = folder_companion(f->sources.sha256);
	return folder_has(folder, &name, f->sources.size);
}

/* Reads the file, and finds out what changes. False after a message. */
static bool
read_given(struct publish *p, struct given *g, const char *path)
{
	struct index_file *f;
	const struct item *it = &g->item;

	if (!item_read(&g->item, path, &p->folder))
		return false;
	for (const struct given *other = p->given; other < g; other++)
		if (strcmp(other->item.file.name, it->file.name) == 0)
			return cli_error(
			    "%s: %s is given already under this name, %s; give "
			    "it once, or rename one of them",
			    path, other->item.shown, it->file.name);
	f = index_find(&p->fresh, it->file.name);
	if (f == NULL)
		return check_believable(p, NULL, it);
	g->before = *f;
	if (strcmp(f->sha256, it->file.sha256) != 0)
		g->change = GIVEN_BYTES;
	else if (!same_companion(&f->manifest, &it->file.manifest) ||
	    !same_companion(&f->sources, &it->file.sources))
		g->change = GIVEN_COMPANION;
	else
		g->change = GIVEN_NONE;
	return g->change == GIVEN_NONE ||
	    (may_replace(p, f, it) && check_believable(p, f, it));
}

/* What is not given again must still be there. */
static bool
check_kept(const struct publish *p)
{
	bool ok = true, given;

	for (size_t i = 0; i < p->fresh.n; i++) {
		const struct index_file *f = &p->fresh.file[i];

		given = false;
		for (size_t k = 0; k < p->n_given; k++)
			given |= strcmp(p->given[k].item.file.name, f->name) ==
			    0;
		if (given || is_whole(&p->folder, f))
			continue;
		cli_error("%s: %s is published there, and its files are "
			  "missing or have another size; give the file again, "
			  "or take it out with --remove %s",
		    p->o.dir, f->name, f->name);
		ok = false;
	}
	return ok;
}

/* --- writing ------------------------------------------------------------ */

/*
 * Whether the packed file has all of the item. False with a reason in why; with
 * "" after a message.
 */
static bool
holds_item(const struct publish *p, const struct item *it, int packed,
    char why[static PACK_WHY_BYTES])
{
	const int out = folder_scratch(&p->folder);
	char sha256[INDEX_SHA256_BYTES];
	bool ok = out != -1 &&
	    pack_unpack(it->shown, packed, out, it->file.size, sha256, why);

	if (ok && strcmp(sha256, it->file.sha256) != 0) {
		snprintf(why, PACK_WHY_BYTES, "another SHA-256");
		ok = false;
	}
	io_close(out);
	return ok;
}

/* Whether the packed file is there already, and good. Sets *sizep to its size. */
static bool
has_packed(const struct publish *p, const struct item *it, uint64_t *sizep)
{
	const struct folder_name name = folder_packed(it->file.sha256);
	int fd = folder_find(&p->folder, &name, sizep);
	char why[PACK_WHY_BYTES] = "";
	bool ok;

	if (fd == -1)
		return false;
	ok = holds_item(p, it, fd, why);
	close(fd);
	return ok;
}

/* Packs the file, unpacks that again, and puts it in place. */
static bool
put_packed(const struct publish *p, const struct item *it, uint64_t *sizep)
{
	const struct folder_name name = folder_packed(it->file.sha256);
	char why[PACK_WHY_BYTES] = "";
	struct folder_new n;
	struct stat st;
	bool ok;

	if (has_packed(p, it, sizep))
		return true;
	ok = folder_new(&p->folder, FOLDER_FILES, &n) &&
	    publish_task_pack(it->shown, it->fd, it->file.type, name.path,
		n.fd);
	if (ok && !holds_item(p, it, n.fd, why)) {
		if (why[0] != '\0')
			cli_error("%s: what was packed is not what was read "
				  "(%s); was the file changed meanwhile? Run "
				  "this again",
			    it->shown, why);
		ok = false;
	}
	if (ok && fstat(n.fd, &st) == -1)
		ok = cli_failed(name.path, "cannot be written");
	if (ok)
		*sizep = (uint64_t)st.st_size;
	ok = ok && folder_put(&n, &name);
	folder_drop(&n);
	return ok;
}

static bool
put_companion(const struct publish *p, const struct item *it,
    const struct index_companion *c)
{
	const struct folder_name name = folder_companion(c->sha256);
	struct folder_new n;
	bool ok;

	if (c->sha256[0] == '\0')
		return true;
	ok = folder_new(&p->folder, FOLDER_FILES, &n);
	if (ok && !io_copy(it->companion, 0, (size_t)c->size, n.fd))
		ok = cli_failed(name.path, "cannot be written");
	ok = ok && folder_put(&n, &name);
	folder_drop(&n);
	return ok;
}

/* Puts a file in place, with all that belongs to it. */
static bool
put_given(struct publish *p, struct given *g)
{
	const struct item *it = &g->item;
	struct index_file *f = index_find(&p->fresh, it->file.name);
	struct index_delta *deltas;
	size_t n_deltas;

	if (f == NULL && (f = add_file(p, &it->file)) == NULL)
		return false;
	/* Also what has not changed: it may be missing or damaged there. */
	deltas = f->delta;
	n_deltas = f->n_deltas;
	*f = it->file;
	f->delta = deltas;
	f->n_deltas = n_deltas;
	return put_packed(p, it, &f->packed_size) &&
	    put_companion(p, it, &f->manifest) &&
	    put_companion(p, it, &f->sources) &&
	    (g->change != GIVEN_BYTES || p->o.keep == 0 ||
		chain_add(&p->folder, it, &g->before, f, g->note));
}

static bool
put_all(struct publish *p)
{
	for (size_t i = 0; i < p->n_given; i++)
		if (!put_given(p, &p->given[i]))
			return false;
	for (size_t i = 0; i < p->fresh.n; i++)
		chain_trim(&p->folder, &p->fresh.file[i], p->o.keep);
	return folder_flush(&p->folder);
}

/*
 * Whether the index before is ours. Else whoever may write in the folder could
 * have files signed that we never saw, or use up all serials.
 */
static bool
check_old_signature(const struct publish *p)
{
	if (p->o.sign == NULL || !p->has_old || p->o.force ||
	    sign_was_by(p->signature.key, p->path, p->old_text,
		p->old_signature))
		return true;
	return cli_error(
	    "%s: has no good signature by %s, %s; what it names may be "
	    "anybody's, and is not signed. If nobody else has written it "
	    "(another key? no signature until now?), use --force",
	    p->path, p->o.sign, p->signature.key);
}

/*
 * Web servers make an ETag, and rsync compares files, by size and second. An
 * index of the same size within the second of the old one would not be fetched.
 */
static bool
set_later_second(const struct replace *r)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	struct stat st;

	if (fstat(r->fd, &st) == -1)
		return cli_failed(r->path, "cannot be written");
	if (r->old == -1 || st.st_mtim.tv_sec > r->old_st.st_mtim.tv_sec)
		return true;
	times[1].tv_sec = r->old_st.st_mtim.tv_sec + 1;
	return futimens(r->fd, times) == 0 ||
	    cli_failed(r->path, "cannot be written");
}

/* Writes the index, signed if there is a key. */
static bool
put_index(struct publish *p)
{
	struct replace *r = &p->place;
	size_t len;
	char *text = index_format(&p->fresh, &len), *both;
	bool ok;

	if (text == NULL)
		return cli_failed(p->path, "cannot be written");
	ok = (p->o.sign == NULL ||
		 sign_index(p->o.sign, text, len, &p->signature)) &&
	    check_old_signature(p);
	if (ok && len + p->signature.len > INDEX_MAX_BYTES) {
		cli_error("%s: would be longer than 1 MiB; use a smaller "
			  "--keep, or more than one folder",
		    p->path);
		ok = false;
	}
	both = realloc(text, len + p->signature.len);
	if (both == NULL) {
		free(text);
		return cli_failed(p->path, "cannot be written");
	}
	memcpy(both + len, p->signature.text, p->signature.len);
	r->change = CHANGE_JUDGED;
	ok = ok && replace_begin(r);
	if (ok && r->old == -1 && fchmod(r->fd, 0644) == -1)
		ok = cli_failed(p->path, "cannot be written");
	ok = ok && replace_write_text(r, both, len + p->signature.len) &&
	    set_later_second(r) && replace_commit(r);
	free(both);
	return ok;
}

/* --- pruning ------------------------------------------------------------ */

static bool
is_companion_path(const struct index_companion *c, const char *path)
{
	struct folder_name name = folder_companion(c->sha256);

	return c->sha256[0] != '\0' && strcmp(name.path, path) == 0;
}

static bool
names_path(const struct index *x, const char *path)
{
	struct folder_name name;

	for (size_t i = 0; i < x->n; i++) {
		const struct index_file *f = &x->file[i];

		name = folder_packed(f->sha256);
		if (strcmp(name.path, path) == 0 ||
		    is_companion_path(&f->manifest, path) ||
		    is_companion_path(&f->sources, path))
			return true;
		for (size_t k = 0; k < f->n_deltas; k++) {
			name = folder_delta(&f->delta[k]);
			if (strcmp(name.path, path) == 0)
				return true;
		}
	}
	return false;
}

/* A client that has just read the old index still needs what that names. */
static bool
is_needed(const char *path, void *arg)
{
	const struct publish *p = arg;

	return names_path(&p->fresh, path) || names_path(&p->old, path);
}

/* --- output ------------------------------------------------------------- */

static void
print_start(const struct publish *p, const char *name)
{
	cli_printf(stdout, "%s: %s: ", p->o.dir, name);
}

static void
print_given(const struct publish *p, const struct given *g)
{
	static const char *const verb[][2] = {
		[GIVEN_NEW] = { "published", "would be published" },
		[GIVEN_NONE] = { "unchanged", "unchanged" },
		[GIVEN_COMPANION] = { "updated", "would be updated" },
		[GIVEN_BYTES] = { "updated", "would be updated" },
	};
	const struct index_file *now = &g->item.file;
	const struct index_file *f = index_find(&p->fresh, now->name);

	print_start(p, now->name);
	fputs(verb[g->change][p->o.dry_run], stdout);
	if (now->type == INDEX_PKBF && g->change == GIVEN_BYTES)
		printf(", revision %" PRIu32 " -> %" PRIu32, g->before.revision,
		    now->revision);
	else if (now->type == INDEX_PKBF)
		printf(", revision %" PRIu32, now->revision);
	printf(", %" PRIu64 " %s", now->size,
	    cli_plural(now->size, "byte", "bytes"));
	if (f != NULL && !p->o.dry_run)
		printf(", %" PRIu64 " packed", f->packed_size);
	if (g->note[0] != '\0')
		printf("; %s", g->note);
	if (now->manifest.sha256[0] != '\0')
		printf("; its publisher's SHA-256 %s holds", now->sha256);
	putchar('\n');
}

static void
print_outcome(const struct publish *p)
{
	char text[INDEX_TIME_BYTES];
	bool changed = p->o.n_remove > 0 || !p->has_old;

	for (size_t i = 0; i < p->o.n_remove; i++) {
		print_start(p, p->o.remove[i]);
		puts(p->o.dry_run ? "would be removed" : "removed");
	}
	for (size_t i = 0; i < p->n_given; i++) {
		changed |= p->given[i].change != GIVEN_NONE;
		print_given(p, &p->given[i]);
	}
	print_start(p, INDEX_NAME);
	(void)index_format_time(p->fresh.expires, text);
	printf("%s%s, serial %" PRIu64 ", expires %s",
	    p->o.dry_run ? "would be " : "",
	    changed ? "written" : "renewed, no file has changed",
	    p->fresh.serial, text);
	if (p->signature.len > 0)
		cli_printf(stdout, ", signed with %s", p->signature.key);
	if (p->pruned > 0)
		printf("; %" PRIu64 " old %s removed", p->pruned,
		    cli_plural(p->pruned, "file", "files"));
	putchar('\n');
}

/* --- the command -------------------------------------------------------- */

/* Whether an unsigned index may be written. */
static bool
check_signing(const struct publish *p)
{
	if (p->o.sign != NULL)
		return true;
	if (p->was_signed && !p->o.force)
		return cli_error(
		    "%s: is signed, and those who follow refuse an index "
		    "without a signature; give --sign KEY, or --force",
		    p->path);
	cli_error("warning: %s: %s no signature, and those who follow refuse "
		  "such an index; give --sign KEY",
	    p->path, p->o.dry_run ? "would have" : "gets");
	return true;
}

/* All that can be refused before anything is written. */
static bool
prepare(struct publish *p, char **paths)
{
	if (!open_index(p) || !choose_serial(p) || !choose_dates(p) ||
	    !check_signing(p) || !check_removed(p) || !copy_old(p))
		return false;
	if (p->n_given == 0 && p->fresh.n == 0)
		return cli_error(
		    "%s: nothing to publish; give a filter or an exact list",
		    p->o.dir);
	if (!p->o.dry_run && !folder_make_parts(&p->folder))
		return false;
	for (size_t i = 0; i < p->n_given; i++)
		if (!read_given(p, &p->given[i], paths[i]))
			return false;
	return check_kept(p);
}

static bool
publish(struct publish *p, char **paths)
{
	bool ok;

	if (p->o.dry_run && access(p->o.dir, F_OK) == -1 && errno == ENOENT)
		/* It would be made. */
		p->folder = (struct folder){ .path = p->o.dir,
			.dir = -1,
			.part = { -1, -1 } };
	else if (!folder_open(&p->folder, p->o.dir, !p->o.dry_run))
		return false;
	if (!prepare(p, paths))
		return false;
	ok = p->o.dry_run || (put_all(p) && put_index(p));
	/* Without the old index, nobody knows what it named. */
	if (ok && !p->o.dry_run && (p->has_old || p->place.old == -1))
		ok = folder_prune(&p->folder, is_needed, p, &p->pruned);
	if (ok && !p->o.quiet)
		print_outcome(p);
	return ok && cli_stdout_ok();
}

static void
close_publish(struct publish *p)
{
	for (size_t i = 0; i < p->n_given; i++)
		item_free(&p->given[i].item);
	free(p->given);
	if (p->locked)
		replace_close(&p->place);
	io_close(p->old_text);
	io_close(p->old_signature);
	index_free(&p->old);
	index_free(&p->fresh);
	folder_close(&p->folder);
	free(p->path);
}

/* These two print the usage behind a message. */
static bool
read_number(const struct cli_option *o)
{
	return cli_read_option_number(o) || cli_usage_error(&cli_publish) == 0;
}

static bool
read_removed(const struct cli_option *option)
{
	struct options *o = option->arg;

	if (o->n_remove < INDEX_FILES) {
		o->remove[o->n_remove++] = optarg;
		return true;
	}
	cli_error("more than %d files to remove", INDEX_FILES);
	return cli_usage_error(&cli_publish) == 0;
}

static int
run_publish(const struct cli_command *cmd, int argc, char **argv)
{
	static struct publish p = {
		.o = { .keep = KEEP_DEFAULT, .days = DAYS_DEFAULT }
	};
	struct options *o = &p.o;
	const struct cli_option options[] = {
		{ .name = "sign", .text = &o->sign },
		{ .name = "keep",
		    .number = &o->keep,
		    .max = INDEX_DELTAS,
		    .read = read_number },
		{ .name = "expires",
		    .number = &o->days,
		    .min = 1,
		    .max = DAYS_MAX,
		    .read = read_number },
		{ .name = "serial",
		    .number = &o->serial,
		    .min = 1,
		    .max = INDEX_SERIAL_MAX,
		    .read = read_number },
		{ .name = "remove", .read = read_removed, .arg = o },
		{ .name = "force", .flag = &o->force },
		{ .name = "dry-run", .flag = &o->dry_run },
		{ .name = "quiet", .flag = &o->quiet },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, NULL);
	bool ok;

	if (status != -1)
		return status;
	if (optind == argc)
		return cli_wrong_usage(cmd,
		    "give a folder, and the files to publish there");
	o->dir = argv[optind];
	p.folder = (struct folder){ .dir = -1, .part = { -1, -1 } };
	p.old_text = p.old_signature = -1;
	p.n_given = (size_t)(argc - optind - 1);
	p.given = calloc(p.n_given + 1, sizeof(*p.given));
	if (p.given == NULL) {
		cli_failed(o->dir, "cannot be written");
		return CLI_UNCHECKED;
	}
	for (size_t i = 0; i < p.n_given; i++)
		p.given[i].item.fd = p.given[i].item.companion = -1;
	ok = publish(&p, argv + optind + 1);
	close_publish(&p);
	return ok ? 0 : CLI_UNCHECKED;
}

const struct cli_command cli_publish = {
	.name = "publish",
	.synopsis = "[--sign KEY] [--keep N] [--expires DAYS] "
		    "[--remove NAME]... "
		    "[--serial N] [--force] [--dry-run] [--quiet] DIR "
		    "[FILE...]",
	.help = CLI_PUBLISH_HELP,
	.details =
	    "  --sign KEY       sign with ssh-keygen; KEY is private, or in "
	    "the agent\n"
	    "  --keep N         deltas from the last N revisions (default 7)\n"
	    "  --expires DAYS   how long the index counts (default 30)\n"
	    "  --remove NAME    take a file out; may repeat\n"
	    "  --serial N       the number of the index, if it is not the next "
	    "one\n"
	    "  --force          publish what those who follow may refuse\n"
	    "  --dry-run        say what would be done\n"
	    "  --quiet          only warnings and errors\n",
	.run = run_publish,
};
