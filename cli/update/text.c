/* SPDX-License-Identifier: ISC */
#include "update/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "host/memory.h"

int
update_text_make(const char *shown)
{
	const int fd = memory_file("text");

	if (fd == -1)
		cli_error("%s: %s", shown, strerror(errno));
	return fd;
}

struct text {
	const struct fetch *f;
	const char *too_long;
	uint64_t len, max;
};

static bool
add(size_t len, void *arg)
{
	struct text *t = arg;
	const int error = errno;

	t->len += len;
	if (len > 0 && t->len <= t->max)
		return true;
	progress_clear(t->f->progress);
	return cli_error("%s: %s", t->f->place->shown,
	    len > 0 ? t->too_long : strerror(error));
}

enum fetch_end
update_text_fetch(struct fetch *f, size_t max, const char *too_long, int *fdp,
    uint64_t *lenp)
{
	struct text t = { .f = f, .too_long = too_long, .max = max };
	enum fetch_end end = FETCH_FAILED;

	if ((*fdp = update_text_make(f->place->shown)) != -1) {
		f->into = *fdp;
		f->arrived = add;
		f->arg = &t;
		end = fetch_run(f);
		f->arg = NULL;
	}
	if (*fdp != -1 && end != FETCH_DONE) {
		close(*fdp);
		*fdp = -1;
	}
	*lenp = t.len;
	return end;
}

int
update_text_get(const struct fetch_place *place,
    const struct https_limits *limits, struct progress *progress, size_t max,
    const char *too_long)
{
	struct fetch f = {
		.place = place,
		.limits = limits,
		.progress = progress,
	};
	uint64_t len;
	int fd;

	(void)update_text_fetch(&f, max, too_long, &fd, &len);
	return fd;
}
