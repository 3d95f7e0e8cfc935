/* SPDX-License-Identifier: ISC */
/*
 * keyveto filter diff and patch, keyveto list patch, and list diff with a
 * DELTA: what changed between two sets becomes a file, and the later set is
 * made of it.
 */
#include <sys/stat.h>

#include <inttypes.h>
#include <unistd.h>

#include "filter_and_list/commands.h"
#include "host/files.h"
#include "kv_blocklist.h"
#include "sets/delta.h"
#include "sets/filter_file.h"
#include "sets/set.h"

/* A regular file that is open for reading. */
struct input {
	struct delta_file file;
	struct stat st;
};

static const struct input none = { .file.fd = -1 };

/* False after a message. */
static bool
open_input(struct input *in, const char *path)
{
	in->file = (struct delta_file){ path, set_open_file(path) };
	if (in->file.fd == -1)
		return false;
	if (fstat(in->file.fd, &in->st) == -1)
		return cli_failed(path, "cannot be read");
	if (!S_ISREG(in->st.st_mode))
		cli_error("%s: not a regular file", path);
	return S_ISREG(in->st.st_mode);
}

static void
close_input(const struct input *in)
{
	if (in->file.fd != -1)
		close(in->file.fd);
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
is_unchanged(const struct input *in)
{
	struct stat st;

	if (fstat(in->file.fd, &st) == -1)
		return cli_failed(in->file.shown, "cannot be read");
	if (st.st_size == in->st.st_size &&
	    st.st_mtim.tv_sec == in->st.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == in->st.st_mtim.tv_nsec)
		return true;
	return cli_error("%s: was changed while it was read; try again",
	    in->file.shown);
}

static bool
make_delta(const struct input *old, const struct input *fresh,
    struct replace *r)
{
	struct delta_file out = { r->path, -1 };
	char why[DELTA_WHY_BYTES];
	struct delta_header h;
	enum delta_end end;

	if (!replace_begin(r))
		return false;
	out.fd = r->fd;
	end = delta_make(&old->file, &fresh->file, &out, why);
	if (end == DELTA_NO_SUCCESSOR)
		cli_error("%s: not a successor of %s: %s", fresh->file.shown,
		    old->file.shown, why);
	/* A delta of two states of a file would apply to neither. */
	if (end != DELTA_DONE || !delta_read_header(&out, &h) ||
	    !is_unchanged(old) || !is_unchanged(fresh) || !replace_commit(r))
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
	return cli_error("%s: is a filter; type 'keyveto filter diff'",
	    f->shown);
}

bool
delta_between(const struct set_command *c, const struct set_options *o,
    char **path)
{
	struct input old = none, fresh = none;
	struct replace r = { .old = -1 };
	bool ok;

	files_promise(path[2]);
	ok = open_input(&old, path[0]) && may_compare(c->kind, &old.file) &&
	    open_input(&fresh, path[1]) &&
	    (c->kind == &set_list || may_compare(c->kind, &fresh.file));
	if (ok) {
		ok = replace_open(&r, path[2]) && may_replace(&r, o->force) &&
		    make_delta(&old, &fresh, &r);
		replace_close(&r);
	}
	close_input(&old);
	close_input(&fresh);
	return ok;
}

/* --- patch ---------------------------------------------------------------- */

/* Whether this delta is of the kind. False after a message. */
static bool
is_of_kind(const struct delta_file *delta, enum delta_kind kind,
    struct delta_header *h)
{
	if (!delta_read_header(delta, h))
		return false;
	if (h->kind == kind)
		return true;
	return cli_error("%s: a delta of %s; type 'keyveto %s patch'",
	    delta->shown, h->kind == DELTA_LIST ? "exact lists" : "filters",
	    h->kind == DELTA_LIST ? "list" : "filter");
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
patch_set(const struct set_command *c, const struct set_options *o, char **path)
{
	const char *to = path[2] != NULL ? path[2] : path[0];
	struct input old = none, delta = none;
	struct replace r;
	bool ok;

	/* Lock first: the old file is often the one that is replaced. */
	ok = set_replace(&r, c->kind, to) && open_input(&old, path[0]) &&
	    ((r.old != -1 && old.st.st_dev == r.old_st.st_dev &&
		 old.st.st_ino == r.old_st.st_ino) ||
		set_may_replace(&r, c->kind, o->force,
		    "exists; --force replaces it")) &&
	    open_input(&delta, path[1]) &&
	    apply_delta(&old.file, &delta.file, c->kind->delta, &r);
	close_input(&old);
	close_input(&delta);
	replace_close(&r);
	return ok;
}

const struct set_command filter_diff = {
	SET_COMMAND(filter, "diff"),
	.cmd.synopsis = "OLD NEW DELTA [--force]",
	.cmd.help = "Write what NEW has more than OLD into a small file",
	.cmd.details =
	    "  --force          replace a DELTA that exists; keep any other "
	    "file beside it\n",
	.operands = { 3, 3 },
	.wanted = "give the old filter, the new one, and the delta to make",
	.run = delta_between,
};

const struct set_command filter_patch = {
	SET_COMMAND(filter, "patch"),
	.cmd.synopsis = "OLD DELTA [NEW] [--force] [--yes]",
	.cmd.help = "Make the later filter of an old one and a delta",
	.cmd.details =
	    "  --force          replace a NEW that exists; keep what is no "
	    "filter beside it\n"
	    "  --yes            although it may lock out root or an "
	    "administrator\n",
	.operands = { 2, 3 },
	.wanted = "give the old filter, the delta, and the new filter if "
		  "it gets another name",
	.run = patch_set,
};

const struct set_command list_patch = {
	SET_COMMAND(list, "patch"),
	.cmd.synopsis = "OLD DELTA [NEW] [--force] [--yes]",
	.cmd.help = "Make the later list of an old one and a delta",
	.cmd.details =
	    "  --force          replace a NEW that exists; keep what is no "
	    "list beside it\n"
	    "  --yes            although it may lock out root or an "
	    "administrator\n",
	.operands = { 2, 3 },
	.wanted = "give the old list, the delta, and the new list if it "
		  "gets another name",
	.run = patch_set,
};
