/* SPDX-License-Identifier: ISC */
#include "update/text.h"

#include <sys/mman.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"

int
update_text_make(const char *shown)
{
	const int fd = memfd_create("text", MFD_CLOEXEC);

	if (fd == -1)
		cli_error("%s: %s", shown, strerror(errno));
	return fd;
}

enum fetch_end
update_text_fetch(struct fetch *f, size_t max, const char *too_long, int *fdp,
    uint64_t *lenp)
{
	struct fetch_memory m;
	enum fetch_end end = fetch_run_to_memory(f, max, too_long, &m);

	*fdp = -1;
	*lenp = m.len;
	if (end == FETCH_DONE &&
	    (*fdp = update_text_make(f->place->shown)) == -1)
		end = FETCH_FAILED;
	if (end == FETCH_DONE && !io_write(*fdp, m.bytes, m.len)) {
		cli_error("%s: %s", f->place->shown, strerror(errno));
		close(*fdp);
		*fdp = -1;
		end = FETCH_FAILED;
	}
	free(m.bytes);
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
		.if_none_match = "",
		.if_modified_since = "",
		.if_range = "",
		.progress = progress,
	};
	uint64_t len;
	int fd;

	(void)update_text_fetch(&f, max, too_long, &fd, &len);
	return fd;
}
