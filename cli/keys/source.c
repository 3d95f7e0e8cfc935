/* SPDX-License-Identifier: ISC */
#include "keys/source.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "keys/input.h"

void
source_poll(struct source *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	/* A file with a size can always be read. */
	s->ready = (s->regular && s->size > 0) || poll(&p, 1, 0) == 1;
	s->hung_up = (p.revents & POLLHUP) != 0;
}

size_t
source_room(const struct source *s)
{
	return s->unpack.n > 0 ? UNPACK_CAP_MIN : 1;
}

/*
 * Counts the n bytes that were read now. Returns true with s->why if too much
 * was read without an end.
 */
static bool
is_endless(struct source *s, const struct source_yield *yield, size_t n)
{
	s->total += n;
	if (yield->found != s->seen.found) {
		s->seen = *yield;
		s->keyless = 0;
	}
	s->keyless += n;
	if (s->regular && s->total > s->size + SOURCE_GROWTH_MAX_BYTES)
		s->why = "gets longer while it is read; the rest was not read";
	else if (!s->regular && s->keyless > SOURCE_KEYLESS_MAX_BYTES)
		s->why = "no key in 2 GiB of it; the rest was not read";
	else if (!s->regular &&
	    yield->keyless - s->seen.keyless > SOURCE_KEYLESS_MAX_LINES)
		s->why = "no key in 8 million lines of it; the rest was not "
			 "read";
	return s->why != NULL;
}

/* Reads once, as read(2) does. -1 with s->why, or errno. */
static ssize_t
read_once(struct source *s, uint8_t *buf, size_t cap)
{
	ssize_t n;

	if (s->unpack.n == 0)
		return read(s->fd, buf, cap);
	if ((n = unpack_read(&s->unpack, buf, cap)) == -1)
		s->why = s->unpack.why;
	return n;
}

/*
 * Tells if the end of a regular file was read, by the n bytes of the last read:
 * fewer than were asked for, up to its size. It saves the read that gives 0.
 */
static bool
is_last(const struct source *s, size_t n, size_t cap)
{
	return s->regular && s->unpack.n == 0 && n < cap && s->total == s->size;
}

/* Waits until there may be something to read. */
static void
wait_for_more(struct source *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	/* Show what was found before waiting for more. */
	if (s->progress != NULL)
		s->progress(0, s->arg);
	if (!s->fifo)
		return;
	(void)poll(&p, 1, INPUT_FIFO_WAIT_MS);
	s->hung_up = (p.revents & POLLHUP) != 0;
}

bool
source_read(struct source *s, const struct source_yield *yield, uint8_t *buf,
    size_t cap, size_t *np)
{
	ssize_t n;

	*np = 0;
	if (!s->ready)
		wait_for_more(s);
	n = read_once(s, buf, cap);
	/* Somebody has the FIFO open for writing. */
	if (n == -1 && (errno == EINTR || (errno == EAGAIN && s->fifo)) &&
	    s->why == NULL)
		return true;
	if (n == 0 && s->fifo && s->total == 0 && !s->hung_up)
		s->why = "nobody writes to this FIFO";
	else if (n == -1 && errno == EAGAIN && s->why == NULL)
		s->why = "nothing to read now, but it has no end";
	if (n == -1 || s->why != NULL || is_endless(s, yield, (size_t)n))
		return false;
	*np = (size_t)n;
	s->eof = n == 0 || is_last(s, *np, cap);
	if (n > 0 && s->progress != NULL)
		s->progress((uint64_t)n, s->arg);
	return true;
}

bool
source_unpack(struct source *s, enum unpack_form form, struct kv_span start)
{
	s->unpack.fd = s->fd;
	s->unpack.regular = s->regular;
	s->unpack.wary = s->wary;
	s->eof = false;
	if (unpack_add(&s->unpack, form, start))
		return true;
	s->why = s->unpack.why;
	return false;
}

/*
 * Where the data behind the hole at this offset of a file begins, or the file
 * ends; the offset itself if it is in no hole, or the file system does not say.
 */
static off_t
find_data(int fd, off_t at)
{
	off_t data = lseek(fd, at, SEEK_DATA);

	if (data == -1 && errno == ENXIO)
		data = lseek(fd, 0, SEEK_END);
	return data > at ? data : at;
}

bool
source_skip_hole(struct source *s, size_t step)
{
	const off_t by = (off_t)step;
	off_t at, data;
	uint64_t n;

	if (!s->regular || s->unpack.n > 0 || s->eof ||
	    (at = lseek(s->fd, 0, SEEK_CUR)) == -1)
		return true;
	data = find_data(s->fd, at);
	if (data - at <= by)
		return lseek(s->fd, at, SEEK_SET) == at;
	n = (uint64_t)(((data - at) / by - 1) * by);
	s->total += n;
	if (n > 0 && s->progress != NULL)
		s->progress(n, s->arg);
	return lseek(s->fd, at + (off_t)n, SEEK_SET) != -1;
}

void
source_free(struct source *s)
{
	unpack_free(&s->unpack);
}
