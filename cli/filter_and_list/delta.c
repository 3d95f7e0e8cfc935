/* SPDX-License-Identifier: ISC */
/*
 * keyveto filter diff and patch, keyveto list patch, and list diff with a
 * DELTA: what changed between two sets becomes a file, and the later set is
 * made of it.
 */
#include <sys/stat.h>

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "filter_and_list/commands.h"
#include "host/files.h"
#include "kv_blocklist.h"
#include "sets/delta.h"
#include "sets/filter_file.h"
#include "sets/set.h"

/* Opens a regular file for reading. False after a message. */
static bool
open_file(struct delta_file *f, const char *path)
{
	struct stat st;

	f->shown = path;
	f->fd = set_open(path);
	if (f->fd == -1)
		return false;
	if (fstat(f->fd, &st) == -1)
		return cli_failed(path, "cannot be read");
	if (S_ISREG(st.st_mode))
		return true;
	cli_error("%s: not a regular file", path);
	return false;
}

static void
close_file(const struct delta_file *f)
{
	if (f->fd != -1)
		close(f->fd);
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

/* Whether deltas of this kind are of such files. False after a message. */
static bool
may_compare(const struct set_kind *kind, const struct delta_file *f)
{
	struct kv_pkbf pkbf;

	/* The file stays ours, not pkbf's. */
	if (kind->delta == DELTA_FILTER)
		return filter_adopt(f->shown, f->fd, &pkbf);
	if (kv_pkbf_open_fd(f->fd, &pkbf) != KV_OK)
		return true;
	cli_error("%s: is a filter; type 'keyveto filter diff'", f->shown);
	return false;
}

bool
delta_between(const struct set_kind *kind, char **path, bool force)
{
	struct delta_file old = { path[0], -1 }, fresh = { path[1], -1 };
	struct replace r = { .old = -1 };
	bool ok;

	files_promise(path[2]);
	ok = open_file(&old, path[0]) && may_compare(kind, &old) &&
	    open_file(&fresh, path[1]) &&
	    (kind->delta == DELTA_LIST || may_compare(kind, &fresh));

	if (ok) {
		ok = replace_open(&r, path[2]) && may_replace(&r, force) &&
		    make_delta(&old, &fresh, &r);
		replace_close(&r);
	}
	close_file(&old);
	close_file(&fresh);
	return ok;
}

static int
run_filter_diff(const struct cli_command *cmd, int argc, char **argv)
{
	int force = false;
	const struct option options[] = {
		{ "force", no_argument, &force, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 3, 3,
	    "give the old filter, the new one, and the delta to make");

	if (status != -1)
		return status;
	return delta_between(&set_filter, argv + optind, force) ?
	    0 :
	    CLI_UNCHECKED;
}

/* --- patch ---------------------------------------------------------------- */

/*
 * Opens the file to patch. Sets *in_placep to whether it is the one that r
 * replaces. False after a message.
 */
static bool
open_old(struct delta_file *old, const char *path, const struct replace *r,
    bool *in_placep)
{
	struct stat st;

	if (!open_file(old, path))
		return false;
	if (fstat(old->fd, &st) == -1)
		return cli_failed(path, "cannot be read");
	*in_placep = r->old != -1 && st.st_dev == r->old_st.st_dev &&
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

static bool
patch_set(const struct set_kind *kind, char **path, bool force, int yes)
{
	const char *to = path[2] != NULL ? path[2] : path[0];
	struct delta_file old = { path[0], -1 }, delta = { path[1], -1 };
	bool in_place = false, ok;
	struct replace r;

	/* Lock first: the old file is often the one that is replaced. */
	ok = set_replace(&r, kind, to, yes) &&
	    open_old(&old, path[0], &r, &in_place) &&
	    (in_place ||
		set_may_replace(&r, kind, force,
		    "exists; --force replaces it")) &&
	    open_file(&delta, path[1]) &&
	    apply_delta(&old, &delta, kind->delta, &r);
	close_file(&old);
	close_file(&delta);
	replace_close(&r);
	return ok;
}

static int
run_patch(const struct cli_command *cmd, int argc, char **argv)
{
	const bool is_filter = is_of_filter(cmd);
	int force = false, yes = false;
	const struct option options[] = {
		{ "force", no_argument, &force, true },
		{ "yes", no_argument, &yes, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 2, 3,
	    is_filter ? "give the old filter, the delta, and the new filter if "
			"it gets another name" :
			"give the old list, the delta, and the new list if it "
			"gets another name");

	if (status != -1)
		return status;
	return patch_set(is_filter ? &set_filter : &set_list, argv + optind,
		   force, yes) ?
	    0 :
	    CLI_UNCHECKED;
}

const struct cli_command filter_diff = {
	.name = "filter diff",
	.synopsis = "OLD NEW DELTA [--force]",
	.help = "Write what NEW has more than OLD into a small file",
	.details =
	    "  --force          replace a DELTA that exists; keep any other "
	    "file beside it\n",
	.run = run_filter_diff,
};

const struct cli_command filter_patch = {
	.name = "filter patch",
	.synopsis = "OLD DELTA [NEW] [--force] [--yes]",
	.help = "Make the later filter of an old one and a delta",
	.details =
	    "  --force          replace a NEW that exists; keep what is no "
	    "filter beside it\n"
	    "  --yes            although it may lock out root or an "
	    "administrator\n",
	.run = run_patch,
};

const struct cli_command list_patch = {
	.name = "list patch",
	.synopsis = "OLD DELTA [NEW] [--force] [--yes]",
	.help = "Make the later list of an old one and a delta",
	.details =
	    "  --force          replace a NEW that exists; keep what is no "
	    "list beside it\n"
	    "  --yes            although it may lock out root or an "
	    "administrator\n",
	.run = run_patch,
};
