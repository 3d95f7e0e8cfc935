/* SPDX-License-Identifier: ISC */
/*
 * keys/source: the first stage behind keys/input: bytes from a descriptor,
 * unpacked. It waits for them, and gives up what has no end.
 */
#ifndef CLI_KEYS_SOURCE_H
#define CLI_KEYS_SOURCE_H

#include "keys/unpack.h"

/* A stream may be endless. It is, if so much of it holds no key. */
#define SOURCE_KEYLESS_MAX_BYTES (2048ull * 1024 * 1024)
#define SOURCE_KEYLESS_MAX_LINES 8000000
/* How much longer than at first a file may get while it is read. */
#define SOURCE_GROWTH_MAX_BYTES (1024u * 1024 * 1024)

/* What the later stages made of the bytes so far. */
struct source_yield {
	uint64_t found;	  /* keys and problems */
	uint64_t keyless; /* lines without a key; blank lines do not count */
};

/* The caller sets the first members, and the rest to zero. */
struct source {
	int fd;
	bool regular;
	bool fifo;     /* opened without waiting for a writer */
	bool wary;     /* as in struct unpack */
	uint64_t size; /* of a regular file, at first */
	/* As in struct input_sink; may be NULL. */
	void (*progress)(uint64_t bytes, void *arg);
	void *arg;

	struct unpack unpack;
	uint64_t total;		  /* bytes read */
	uint64_t keyless;	  /* bytes since seen */
	struct source_yield seen; /* at the last key or problem */
	const char *why;	  /* of the last error; NULL: errno */
	bool ready, hung_up;	  /* by source_poll */
	bool eof;
};

/* Sets s->ready: source_read would not wait. */
void source_poll(struct source *s);

/* How much room source_read needs. */
size_t source_room(const struct source *s);

/*
 * Reads at most cap bytes, once, after a call of source_poll. *np is how many:
 * 0 also if it has to be called again. Sets s->eof at the end. False with
 * s->why, or errno.
 */
bool source_read(struct source *s, const struct source_yield *yield,
    uint8_t *buf, size_t cap, size_t *np);

/*
 * Reads what was read so far in another form, as unpack_add. False with s->why.
 */
bool source_unpack(struct source *s, enum unpack_form form,
    struct kv_span start);

/*
 * Passes over the hole of a file in which the source is, but for at least its
 * last step bytes, by a multiple of step. False with errno.
 */
bool source_skip_hole(struct source *s, size_t step);

/* Does not close the descriptor. */
void source_free(struct source *s);

#endif
