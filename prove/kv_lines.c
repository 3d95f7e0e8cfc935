/* SPDX-License-Identifier: ISC */
/*
 * One call, in any state that calls leave: what it shows holds for each call.
 * The file begins with what the buffer has of it.
 *
 * source lib/kv_lines.c
 * proof  next --unwind FILE+4 --unwindset fill_buffer.0:BAD+2,memchr.0:ROOM+1,memmove.0:ROOM+1,read.0:ROOM+1: the next FILE bytes of a file or fewer, a buffer of ROOM, short reads, BAD failed or interrupted
 */
#define FILE 4
#define ROOM 3
#define BAD 1

#include "kv_lines.h"

#include <errno.h>
#include <unistd.h>

#include "libc.h"
#include "prove.h"

static uint8_t file[FILE], buf[ROOM];
static size_t size, offset;
static struct kv_lines l;
static int bad_reads;
static bool failed;

void *
memmove(void *to, const void *from, size_t n)
{
	PROVE(to <= from, "to the left");
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
	return to;
}

ssize_t
read(int fd, void *to, size_t len)
{
	size_t n = any_size_up_to(ROOM);

	PROVE(fd == 7, "the descriptor");
	PROVE(len > 0, "room to read into");
	PROVE(lies_in(to, len, buf, ROOM), "reads into the buffer");
	failed = false;
	if (nondet_bool()) {
		GIVEN(++bad_reads <= BAD);
		errno = nondet_bool() ? EINTR : EIO;
		failed = errno == EIO;
		return -1;
	}
	GIVEN(n <= len && n <= size - offset && (n > 0 || offset == size));
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = file[offset + i];
	offset += n;
	return (ssize_t)n;
}

/* The bytes that were read, but not given out. */
static size_t
have(void)
{
	return l.end - l.start;
}

/* What holds between calls. i is a byte of the buffer. */
static bool
holds(size_t i)
{
	return l.start <= l.end && l.end <= ROOM && have() <= offset &&
	    (!l.eof || offset == size) && (!l.skipping || have() == 0) &&
	    (i >= have() || buf[l.start + i] == file[offset - have() + i]);
}

static size_t
end_of_line(size_t at)
{
	while (at < size && file[at] != '\n')
		at++;
	return at;
}

void
next(void)
{
	struct kv_span line;
	size_t at = 0, end, i = any_size_up_to(ROOM - 1);
	uint64_t number;
	bool more, skipped;
	enum kv_err r;

	kv_lines_init(&l, 7, buf, ROOM);
	PROVE(holds(i) && !l.skipping && have() == 0 && l.number == 0,
	    "holds at first");
	l.start = any_size_up_to(ROOM);
	l.end = any_size_up_to(ROOM);
	GIVEN(l.start <= l.end);
	l.eof = nondet_bool();
	skipped = l.skipping = nondet_bool();
	number = l.number = nondet_u64();
	size = any_size_up_to(FILE);
	GIVEN(have() <= size);
	offset = have();
	for (size_t k = 0; k < FILE; k++)
		file[k] = nondet_byte();
	for (size_t k = 0; k < ROOM; k++)
		buf[k] = nondet_byte();
	for (size_t k = 0; k < ROOM; k++)
		GIVEN(holds(k));

	r = kv_lines_next(&l, &line, &more);
	PROVE(holds(i), "holds after it");
	if (skipped)
		at = end_of_line(at) + 1;
	end = end_of_line(at);
	if (r == KV_OK && more) {
		PROVE(at < size, "no line behind the end");
		PROVE(line.len == end - at, "the whole line");
		PROVE(lies_in(line.p, line.len, buf, ROOM), "in buf");
		PROVE(i >= line.len || line.p[i] == file[at + i],
		    "the bytes of the line");
		PROVE(!l.skipping && offset - have() == end + (end < size),
		    "goes on behind it");
	} else if (r == KV_OK) {
		PROVE(at >= size && l.eof, "the end is the end");
		PROVE(line.len == 0, "no line then");
	} else if (r == KV_ERR_LINE_TOO_LONG) {
		PROVE(end - at >= ROOM, "only a line that does not fit");
		PROVE(l.skipping && offset > at && offset <= end,
		    "goes on inside it");
	} else {
		PROVE(r == KV_ERR_SYSTEM && failed, "only if a read fails");
		PROVE(line.len == 0 && more, "no line, no end");
		PROVE(l.skipping ? skipped && offset <= at :
				   offset - have() == at,
		    "goes on where it was");
	}
	PROVE(l.number - number ==
		(r == KV_ERR_LINE_TOO_LONG || (r == KV_OK && more)),
	    "counts the lines");
}
