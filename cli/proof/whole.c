/* SPDX-License-Identifier: ISC */
#include "proof/whole.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "keys/input.h"
#include "keys/unpack.h"

#define MAX_BYTES (WHOLE_MAX_MIB * 1024u * 1024)
#define FIRST_BYTES (64 * 1024)

#define STRING(x) #x
#define NUMBER(x) STRING(x)

/*
 * input_walk opens a FIFO without waiting: waits until somebody writes to it.
 * Nothing to do for another file, or a FIFO that was opened otherwise.
 */
static bool
wait_for_writer(int fd)
{
	const unsigned int flags = (unsigned int)fcntl(fd, F_GETFL);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct stat st;

	if (fstat(fd, &st) == -1 || !S_ISFIFO(st.st_mode) ||
	    (flags & O_NONBLOCK) == 0)
		return true;
	return poll(&p, 1, INPUT_FIFO_WAIT_MS) == 1 &&
	    fcntl(fd, F_SETFL, flags & ~(unsigned int)O_NONBLOCK) != -1;
}

/* Reads once: of a file as it is, all that there is room for. */
static ssize_t
read_some(struct unpack *u, uint8_t *p, size_t room)
{
	return u->n == 0 ? io_read(u->fd, p, room) : unpack_read(u, p, room);
}

/*
 * Has the rest of a file unpacked, if the n bytes of data are gzip, xz or
 * UTF-16. Sets *textp if they are text, or if there is nothing else at the end.
 */
static bool
enter_form(struct unpack *u, struct kv_span data, bool eof, bool *textp)
{
	enum unpack_form form = unpack_recognise(data);

	*textp = form == UNPACK_NONE || (form == UNPACK_SHORT && eof);
	return *textp || form == UNPACK_SHORT || unpack_add(u, form, data);
}

/* Doubles the room at *datap. False with errno. */
static bool
grow(uint8_t **datap, size_t *capp)
{
	uint8_t *grown = realloc(*datap, 2 * *capp);

	if (grown == NULL)
		return false;
	*datap = grown;
	*capp *= 2;
	return true;
}

/* Reads u->fd to its end. NULL with u->why, or errno. */
static uint8_t *
read_all(struct unpack *u, size_t *lenp)
{
	size_t cap = FIRST_BYTES, len = 0;
	uint8_t *data = malloc(cap);
	bool text = false;
	ssize_t n = 1;

	while (data != NULL && n > 0) {
		const size_t layers = u->n;

		if ((n = read_some(u, data + len, cap - len)) == -1)
			goto fail;
		len += (size_t)n;
		if (!text &&
		    !enter_form(u, (struct kv_span){ data, len }, n == 0,
			&text))
			goto fail;
		if (u->n > layers) {
			len = 0;
			n = 1;
		}
		if (len > MAX_BYTES) {
			errno = EFBIG;
			goto fail;
		}
		if (cap - len < UNPACK_CAP_MIN && !grow(&data, &cap))
			goto fail;
	}
	*lenp = len;
	return data;
fail:
	free(data);
	return NULL;
}

uint8_t *
whole_read(int fd, size_t *lenp, const char **whyp)
{
	struct unpack u = { .fd = fd, .wary = true };
	uint8_t *data = NULL;

	*lenp = 0;
	*whyp = NULL;
	errno = 0;
	if (!wait_for_writer(fd))
		*whyp = "nobody writes to this FIFO";
	else if ((data = read_all(&u, lenp)) != NULL)
		;
	else if (u.why != NULL)
		*whyp = u.why;
	else if (errno == EFBIG)
		*whyp = "longer than " NUMBER(
		    WHOLE_MAX_MIB) " MiB: split it into several files";
	else
		*whyp = strerror(errno);
	unpack_free(&u);
	return data;
}
