/* SPDX-License-Identifier: ISC */
#include "update/received.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "filter/filter.h"
#include "host/io.h"

static bool
report_failure(const struct update_received *p, const char *what)
{
	cli_error("%s: %s %s beside it: %s", p->path, what, p->name,
	    strerror(errno));
	return false;
}

bool
update_received_open(struct update_received *p, int dir, const char *name,
    const char *path)
{
	struct stat st, named;

	p->dir = dir;
	p->path = path;
	p->len = p->expected = 0;
	p->named = false;
	snprintf(p->name, sizeof(p->name), ".%.230s.keyveto-part", name);
	for (;;) {
		p->fd = openat(dir, p->name,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			O_CLOEXEC,
		    0600);
		if (p->fd == -1 && errno != ELOOP)
			return report_failure(p, "cannot make");
		/* Nobody else may write the file after it was verified. */
		if (p->fd == -1 || fstat(p->fd, &st) == -1 ||
		    !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		    st.st_nlink != 1 || (st.st_mode & 077) != 0) {
			if (unlinkat(dir, p->name, 0) == -1 &&
			    errno != ENOENT) {
				report_failure(p, "cannot remove");
				break;
			}
		} else if (flock(p->fd, LOCK_EX | LOCK_NB) == -1) {
			if (errno == EWOULDBLOCK)
				cli_error("%s: another keyveto update of it is "
					  "running; wait for its end",
				    path);
			else
				report_failure(p, "cannot lock");
			break;
		} else if (fstat(p->fd, &st) == 0 &&
		    fstatat(dir, p->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_dev == named.st_dev && st.st_ino == named.st_ino) {
			p->len = st.st_size;
			p->named = true;
			return true;
		}
		/*
		 * Try again: it was removed, or the last holder of the lock
		 * renamed it to the filter.
		 */
		if (p->fd != -1)
			close(p->fd);
	}
	if (p->fd != -1)
		close(p->fd);
	p->fd = -1;
	return false;
}

void
update_received_unname(struct update_received *p)
{
	if (p->named)
		(void)unlinkat(p->dir, p->name, 0);
	p->named = false;
}

static bool
report_no_room(struct update_received *p)
{
	int saved = errno;

	progress_clear(&p->progress);
	cli_error("%s: cannot be written beside the filter: %s; it needs "
		  "%jd bytes",
	    p->shown, strerror(saved), (intmax_t)p->expected);
	return false;
}

/* Judges the header once it is complete. False after a message. */
static bool
judge_header(struct update_received *p)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES];
	struct kv_pkbf_header h;
	enum kv_err r;

	if (p->expected != 0 || p->len < KV_PKBF_HEADER_BYTES)
		return true;
	if (!cli_read_at(p->shown, p->fd, raw, sizeof(raw), 0))
		return false;
	progress_clear(&p->progress);
	if ((r = kv_pkbf_header_decode(raw, &h)) != KV_OK) {
		cli_error("%s: %s: not a filter; correct URL", p->shown,
		    kv_strerror(r));
		return false;
	}
	p->expected = kv_pkbf_file_bytes(h.length);
	if ((uint64_t)(p->expected - KV_PKBF_HEADER_BYTES) > p->max_bytes) {
		cli_error("%s: would have %jd bytes, which is more than "
			  "MaxSize allows (%" PRIu64
			  "); if that is right, raise "
			  "MaxSize",
		    p->shown, (intmax_t)p->expected, p->max_bytes);
		return false;
	}
	if (!p->judge(&h, p->arg))
		return false;
	progress_clear(&p->progress);
	progress_start(&p->progress, "fetching", (uint64_t)p->expected);
	progress_add(&p->progress, (uint64_t)p->len);
	/* Fail now if the disk is full. Some file systems cannot tell. */
	if (fallocate(p->fd, FALLOC_FL_KEEP_SIZE, 0, p->expected) == -1 &&
	    errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
		return report_no_room(p);
	return true;
}

bool
update_received_begin(struct update_received *p, off_t at)
{
	p->expected = 0;
	if (ftruncate(p->fd, at) == -1)
		return report_failure(p, "cannot write");
	p->len = at;
	progress_start(&p->progress, "fetching", 0);
	return judge_header(p);
}

static bool
append_bytes(struct update_received *p, const uint8_t *data, size_t len)
{
	if (!io_write_at(p->fd, data, len, p->len))
		return report_no_room(p);
	p->len += (off_t)len;
	return true;
}

bool
update_received_add(struct update_received *p, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	size_t head = 0;

	/* Bytes behind the header are written only after it was judged. */
	if (p->len < KV_PKBF_HEADER_BYTES) {
		head = KV_PKBF_HEADER_BYTES - (size_t)p->len;
		head = head < len ? head : len;
	}
	if (!append_bytes(p, bytes, head) || !judge_header(p))
		return false;
	if (len - head > (uint64_t)(p->expected - p->len) && p->expected != 0) {
		progress_clear(&p->progress);
		cli_error("%s: is longer than the %jd bytes that its header "
			  "says: damaged, or not a filter",
		    p->shown, (intmax_t)p->expected);
		return false;
	}
	progress_add(&p->progress, len);
	return append_bytes(p, bytes + head, len - head);
}

bool
update_received_end(struct update_received *p)
{
	progress_clear(&p->progress);
	if (p->expected != 0 && p->len == p->expected)
		return true;
	if (p->expected == 0)
		cli_error("%s: has %jd bytes, fewer than the header of a "
			  "filter; correct URL",
		    p->shown, (intmax_t)p->len);
	else
		cli_error("%s: ends after %jd of the %jd bytes that its header "
			  "says: cut short; try again later",
		    p->shown, (intmax_t)p->len, (intmax_t)p->expected);
	return false;
}

void
update_received_close(struct update_received *p, bool keep)
{
	if (p->fd == -1)
		return;
	progress_clear(&p->progress);
	if (!keep)
		update_received_unname(p);
	else if (ftruncate(p->fd, p->len) == -1)
		/* Only the preallocated space would be freed. */
		errno = 0;
	close(p->fd);
	p->fd = -1;
}
