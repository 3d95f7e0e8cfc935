/* SPDX-License-Identifier: ISC */
#include "update/patch.h"

#include <sys/stat.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "update/update.h"
#include "working/working.h"

#define PACKED ".xz"
/* So many digits of the old file's SHA-256 are in the name of a patch. */
#define ID_DIGITS 16

/* Sets *p to where the patch is. False after a message. */
static bool
find_place(const struct fetch_place *file, const char *sha256,
    struct fetch_place *p)
{
	const char *where = file->where;
	const size_t end = file->is_url ? strcspn(where, "?#") : strlen(where);
	size_t len = end;
	char *text;
	bool ok;

	*p = (struct fetch_place){ .is_url = false };
	if (len > strlen(PACKED) &&
	    strncmp(where + len - strlen(PACKED), PACKED, strlen(PACKED)) == 0)
		len -= strlen(PACKED);
	if (asprintf(&text, "%.*s.from-%.*s.zst%s", (int)len, where, ID_DIGITS,
		sha256, where + end) == -1)
		return cli_error("out of memory");
	ok = fetch_place_parse(text, "", p);
	free(text);
	return ok;
}

/* One that is longer than the file itself is of no use. *lenp is its length. */
static bool
fetch(struct update *u, const struct fetch_place *from, int fd, uint64_t *lenp)
{
	struct fetch f = {
		.place = from,
		.limits = &u->source.limits,
		.into = fd,
		.max = (uint64_t)u->installed.st.st_size,
		.progress = &u->progress,
		.shows = true,
		.quiet = true,
	};
	const bool ok = fetch_run(&f) == FETCH_DONE;

	*lenp = f.len;
	return ok;
}

/*
 * A filter of another size has other bits, and a list of which more than half is
 * new has no patch of half its size: both come whole.
 */
static void
find_bounds(const struct update *u, uint64_t *minp, uint64_t *maxp)
{
	const bool is_list = u->kind == &update_list_kind;
	const uint64_t old = (uint64_t)u->installed.st.st_size;
	const uint64_t allowed = u->source.settings.max_bytes +
	    (is_list ? 0 : KV_PKBF_HEADER_BYTES);

	*minp = is_list ? 1 : old;
	*maxp = is_list ? 2 * old : old;
	if (*maxp > allowed)
		*maxp = allowed;
}

/* Has the worker apply the patch. False if it gives no file. */
static bool
apply(struct update *u, int patch)
{
	uint64_t min, max;
	bool fits = false;
	const struct working_task t = {
		.name = "apply",
		.args = RECORD_FIELDS(R_ANY(min), R_ANY(max)),
		.fd = { u->installed.fd, patch, u->part.fd },
		.n_fds = 3,
		.file_bytes = 2 * (uint64_t)u->installed.st.st_size,
		.answer = RECORD_FIELDS(R_FLAG(fits)),
		.stopped = u->source.limits.stopped,
	};
	char why[WALL_WHY_BYTES];
	struct stat st;

	find_bounds(u, &min, &max);
	if (!working_do(&t, why) && !u->source.limits.stopped())
		cli_error("warning: %s: a patch is not used: %s",
		    u->source.from.shown, why);
	/* Who wrote the patch may have written anything into the file. */
	if (!fits || fstat(u->part.fd, &st) == -1 ||
	    (uint64_t)st.st_size < min || (uint64_t)st.st_size > max)
		return false;
	u->part.len = st.st_size;
	return true;
}

bool
update_patch_receive(struct update *u, const struct fetch_place *place,
    const char *sha256)
{
	const struct replace *installed = &u->installed.place;
	const int fd = update_part_nameless(installed->dir, installed->name);
	struct fetch_place from = { .is_url = false };
	uint64_t len;
	const bool ok = fd != -1 && find_place(place, sha256, &from) &&
	    fetch(u, &from, fd, &len) && apply(u, fd);

	io_close(fd);
	fetch_place_free(&from);
	u->patch_bytes = ok ? len : 0;
	if (!ok)
		(void)update_part_empty(&u->part);
	return ok;
}

const char *
update_patch_cost(const struct update *u,
    char text[static UPDATE_PATCH_COST_BYTES])
{
	text[0] = '\0';
	if (u->patch_bytes > 0)
		snprintf(text, UPDATE_PATCH_COST_BYTES,
		    "; by a patch of %" PRIu64 " bytes", u->patch_bytes);
	return text;
}
