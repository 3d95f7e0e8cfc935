/* SPDX-License-Identifier: ISC */
#include "update/received.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "tasks/filter.h"

static bool
report_no_room(struct update_received *p)
{
	int saved = errno;

	progress_clear(p->progress);
	return cli_error(
	    "%s: cannot be written beside the filter: %s; it needs %jd bytes",
	    p->shown, strerror(saved), (intmax_t)p->expected);
}

/* Judges the header once it is complete. False after a message. */
static bool
judge_header(struct update_received *p)
{
	const struct kv_pkbf_header *h;
	struct filter_head head;

	if (p->expected != 0 || p->part->len < KV_PKBF_HEADER_BYTES)
		return true;
	progress_clear(p->progress);
	if (!tasks_filter_head(p->shown, p->part->fd, &head))
		return false;
	if (head.whole == KV_ERR_SYSTEM)
		return cli_error("%s: %s", p->shown, strerror(head.error));
	if (head.header_err != KV_OK)
		return cli_error("%s: %s: not a filter; %s", p->shown,
		    kv_strerror(head.header_err), p->if_other);
	h = &head.header;
	p->expected = kv_pkbf_file_bytes(h->length);
	if ((uint64_t)(p->expected - KV_PKBF_HEADER_BYTES) > p->max_bytes)
		return cli_error(
		    "%s: would have %jd bytes, which is more than MaxSize "
		    "allows (%" PRIu64 "); if that is right, raise MaxSize",
		    p->shown, (intmax_t)p->expected, p->max_bytes);
	if (!p->judge(h, p->arg))
		return false;
	progress_clear(p->progress);
	progress_start(p->progress, "fetching", (uint64_t)p->expected);
	progress_add(p->progress, (uint64_t)p->part->len);
	return update_part_reserve(p->part, p->expected) || report_no_room(p);
}

bool
update_received_begin(struct update_received *p, off_t at)
{
	p->expected = 0;
	if (!update_part_cut(p->part, at))
		return false;
	progress_start(p->progress, "fetching", 0);
	return judge_header(p);
}

bool
update_received_count(struct update_received *p, size_t len)
{
	if (len == 0)
		return report_no_room(p);
	p->part->len += (off_t)len;
	if (p->expected != 0)
		progress_add(p->progress, len);
	else if (!judge_header(p))
		return false;
	if (p->expected == 0 || p->part->len <= p->expected)
		return true;
	progress_clear(p->progress);
	return cli_error(
	    "%s: is longer than the %jd bytes that its header says: damaged, "
	    "or not a filter",
	    p->shown, (intmax_t)p->expected);
}

bool
update_received_end(struct update_received *p)
{
	progress_clear(p->progress);
	if (p->expected != 0 && p->part->len == p->expected)
		return true;
	if (p->expected == 0)
		cli_error("%s: has %jd bytes, fewer than the header of a "
			  "filter; %s",
		    p->shown, (intmax_t)p->part->len, p->if_other);
	else
		cli_error("%s: ends after %jd of the %jd bytes that its header "
			  "says: cut short; try again later",
		    p->shown, (intmax_t)p->part->len, (intmax_t)p->expected);
	return false;
}
