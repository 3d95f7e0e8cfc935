/* SPDX-License-Identifier: ISC */
#include "filter_and_list/delta_run.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "kv_blocklist.h"

bool
delta_open(struct delta_file *f, const char *path)
{
	struct stat st;

	f->shown = path;
	/* O_NONBLOCK: a FIFO or a device is refused without waiting. */
	f->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (f->fd == -1 || fstat(f->fd, &st) == -1) {
		cli_error("%s: %s", path, strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		cli_error("%s: not a regular file", path);
		return false;
	}
	return true;
}

void
delta_close(struct delta_file *f)
{
	if (f->fd != -1)
		close(f->fd);
	f->fd = -1;
}

/* What a delta changes, for messages. */
static void
print_done(const char *path, const char *done, const struct delta_header *h)
{
	if (h->kind == DELTA_FILTER)
		cli_error("%s: %s: revision %" PRIu32 " to %" PRIu32
			  ", %" PRIu64 " %s set",
		    path, done, h->old_header.revision, h->new_header.revision,
		    h->came, cli_plural(h->came, "bit", "bits"));
	else
		cli_error("%s: %s: %" PRIu64 " gone, %" PRIu64
			  " new, now %" PRIu64 " records",
		    path, done, h->gone, h->came,
		    h->new_size / KV_BLOCKLIST_RECORD_BYTES);
}

/* --- diff ----------------------------------------------------------------- */

/* Whether the file at r may be replaced by a delta. False after a message. */
static bool
may_replace(struct replace *r, bool force)
{
	const struct delta_file there = { r->path, r->old };
	char why[DELTA_WHY_BYTES];
	struct delta_header h;
	enum delta_end end;

	if (r->old == -1)
		return true;
	end = delta_find_header(&there, &h, why);
	if (end == DELTA_FAILED)
		return false;
	if (!force && end == DELTA_DONE)
		cli_error("%s: exists; --force replaces it", r->path);
	else if (!force)
		cli_error("%s: is not a delta (%s); --force keeps it beside "
			  "under another name, and makes a delta here",
		    r->path, why);
	r->keep_beside = end != DELTA_DONE;
	return force;
}

/* Whether the file is as it was. False after a message. */
static bool
is_unchanged(const struct delta_file *f, const struct stat *before)
{
	struct stat st;

	if (fstat(f->fd, &st) == -1)
		return cli_failed(f->shown, "cannot be read");
	if (st.st_size == before->st_size &&
	    st.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == before->st_mtim.tv_nsec)
		return true;
	cli_error("%s: was changed while it was read; try again", f->shown);
	return false;
}

static bool
make_delta(const struct delta_file *old, const struct delta_file *fresh,
    struct replace *r)
{
	struct stat old_st, fresh_st;
	struct delta_file out = { r->path, -1 };
	char why[DELTA_WHY_BYTES];
	struct delta_header h;
	enum delta_end end;

	if (fstat(old->fd, &old_st) == -1)
		return cli_failed(old->shown, "cannot be read");
	if (fstat(fresh->fd, &fresh_st) == -1)
		return cli_failed(fresh->shown, "cannot be read");
	if (!replace_begin(r))
		return false;
	out.fd = r->fd;
	end = delta_make(old, fresh, &out, why);
	if (end == DELTA_NO_SUCCESSOR)
		cli_error("%s: not a successor of %s: %s", fresh->shown,
		    old->shown, why);
	/* A delta of two states of a file would apply to neither. */
	if (end != DELTA_DONE || !delta_read_header(&out, &h) ||
	    !is_unchanged(old, &old_st) || !is_unchanged(fresh, &fresh_st) ||
	    !replace_commit(r))
		return false;
	print_done(r->path, "made", &h);
	return true;
}

bool
delta_run_diff(const struct delta_file *old, const struct delta_file *fresh,
    const char *path, bool force)
{
	struct replace r;
	bool ok = replace_open(&r, path) && may_replace(&r, force) &&
	    make_delta(old, fresh, &r);

	replace_close(&r);
	return ok;
}

/* --- patch ---------------------------------------------------------------- */

bool
delta_open_old(struct delta_file *old, const char *path,
    const struct replace *r, bool *in_placep)
{
	struct stat st;

	*in_placep = false;
	if (!delta_open(old, path))
		return false;
	if (r->old == -1)
		return true;
	if (fstat(old->fd, &st) == -1)
		return cli_failed(path, "cannot be read");
	*in_placep = st.st_dev == r->old_st.st_dev &&
	    st.st_ino == r->old_st.st_ino;
	return true;
}

/* Whether this delta is of the kind. False after a message. */
static bool
is_of_kind(const struct delta_file *delta, enum delta_kind kind,
    struct delta_header *h)
{
	if (!delta_read_header(delta, h))
		return false;
	if (h->kind == kind)
		return true;
	cli_error("%s: a delta of %s; type 'keyveto %s patch'", delta->shown,
	    h->kind == DELTA_LIST ? "exact lists" : "filters",
	    h->kind == DELTA_LIST ? "list" : "filter");
	return false;
}

static bool
apply_delta(const struct delta_file *old, const struct delta_file *delta,
    enum delta_kind kind, struct replace *r)
{
	struct delta_file out = { r->path, -1 };
	char why[DELTA_WHY_BYTES];
	struct delta_header h;
	enum delta_end end;

	if (!is_of_kind(delta, kind, &h) || !replace_begin(r))
		return false;
	out.fd = r->fd;
	end = delta_apply(old, delta, &out, why);
	if (end == DELTA_NO_SUCCESSOR)
		cli_error("%s: does not apply to %s: %s", delta->shown,
		    old->shown, why);
	if (end != DELTA_DONE || !replace_commit(r))
		return false;
	print_done(r->path, "patched", &h);
	cli_warn_if_distrusted(r->path);
	return true;
}

bool
delta_run_patch(const struct delta_file *old, const char *path,
    enum delta_kind kind, struct replace *r)
{
	struct delta_file delta;
	bool ok = delta_open(&delta, path) && apply_delta(old, &delta, kind, r);

	delta_close(&delta);
	return ok;
}
