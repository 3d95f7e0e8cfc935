/* SPDX-License-Identifier: ISC */
/*
 * source lib/kv_pread.c
 * proof  mapped [quick] --unwind ROOM+2: up to ROOM bytes of a file that is mapped
 * proof  all_of_it [quick] --unwind ROOM+BAD+2: up to ROOM bytes at any offset, BAD reads that are interrupted
 */
#define ROOM 4
#define BAD 2

#include "kv_pread.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "prove.h"

static uint8_t file[ROOM], *to;
static off_t start;
static size_t room, size;
static int bad;

/* The file has size bytes from start on. A read may be short or interrupted. */
ssize_t
pread(int fd, void *buf, size_t len, off_t offset)
{
	size_t at = (size_t)(offset - start), n = any_size_up_to(len);

	PROVE(fd == 7, "the descriptor");
	PROVE(len > 0 && at + len == room, "goes on where it was");
	PROVE(lies_in(buf, len, to, room), "into buf");
	if (nondet_bool()) {
		errno = nondet_int();
		GIVEN(errno != EINTR || ++bad <= BAD);
		return -1;
	}
	GIVEN(at <= size && n <= size - at && (n > 0 || at == size));
	for (size_t i = 0; i < ROOM; i++)
		if (i < n)
			((uint8_t *)buf)[i] = file[at + i];
	return (ssize_t)n;
}

void
all_of_it(void)
{
	size_t at = any_size_up_to(ROOM);
	enum kv_err r;

	for (size_t i = 0; i < ROOM; i++)
		file[i] = nondet_byte();
	size = any_size_up_to(ROOM);
	start = nondet_i64();
	GIVEN(start >= 0 && start < INT64_MAX - ROOM);
	room = any_size_up_to(ROOM);
	to = any_bytes(ROOM);
	r = kv_pread(7, to, room, start, KV_ERR_LIST_SIZE);
	PROVE(r != KV_OK || room <= size, "only what is there");
	PROVE(r != KV_OK || at >= room || to[at] == file[at], "every byte");
	PROVE(r != KV_ERR_LIST_SIZE || size < room, "at_end only at the end");
	PROVE(r == KV_OK || r == KV_ERR_LIST_SIZE || r == KV_ERR_SYSTEM,
	    "no other error");
}

void
mapped(void)
{
	const uint8_t *map = any_bytes(ROOM);
	size_t from = any_size_up_to(ROOM), at = any_size_up_to(ROOM - 1);

	room = any_size_up_to(ROOM);
	GIVEN(from + room <= ROOM);
	to = any_bytes(ROOM);
	PROVE(kv_read_at(7, map, to, room, (off_t)from, KV_ERR_LIST_SIZE) ==
		KV_OK,
	    "nothing fails");
	PROVE(at >= room || to[at] == map[from + at], "every byte");
}
