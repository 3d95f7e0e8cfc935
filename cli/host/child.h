/* SPDX-License-Identifier: ISC */
/*
 * host/child: work that may hang, or meets data of strangers, in a process of
 * its own. What it finds comes back over a pipe as records: u32 length, then a
 * byte that says what it is, then numbers and strings as SSH writes them.
 */
#ifndef CLI_HOST_CHILD_H
#define CLI_HOST_CHILD_H

#include <sys/types.h>

#include "kv_bytes.h"

/* The longest record: a key, its line's comment, the path of its file. */
#define RECORD_MAX_BYTES (512 * 1024)

/* The child's side; a write that fails ends the child. */
struct record_out {
	int fd;
	size_t start, len; /* of the record being made; of all */
	uint8_t buf[RECORD_MAX_BYTES];
};

void record_begin(struct record_out *o, uint8_t tag);
void record_add_number(struct record_out *o, uint64_t n);
void record_add_bytes(struct record_out *o, const void *p, size_t len);
void record_add_text(struct record_out *o, const char *text);
void record_end(struct record_out *o);
/* Records wait until there are many: sends them now. */
void record_flush(struct record_out *o);

/* The parent's side. Freed by record_in_free; zeroes are an empty one. */
struct record_in {
	uint8_t *buf;
	size_t start, end, cap;
};

/*
 * Reads once. 0 at the end, -1 with errno: EMSGSIZE when there are more than
 * RECORD_MAX_BYTES of records waiting to be taken.
 */
ssize_t record_fill(struct record_in *in, int fd);
/*
 * Takes the next whole record; the payload is good until the next fill. False
 * if there is none; *badp tells that none can come any more.
 */
bool record_next(struct record_in *in, uint8_t *tagp, struct kv_bytes *payload,
    bool *badp);
void record_in_free(struct record_in *in);

/* What record_add_number wrote. */
KV_MUST_CHECK enum kv_err record_get_number(struct kv_bytes *b, uint64_t *np);

struct child {
	pid_t pid; /* -1: none */
	int fd;	   /* what it writes its records to */
};

/*
 * Starts a process that does work(out, arg) and ends. It has standard input
 * and output closed to it, and no other descriptor of its parent but standard
 * error and what child_keep was given. False with errno if there can be no
 * process.
 */
bool child_start(struct child *c, void (*work)(struct record_out *, void *),
    void *arg);

/*
 * Children get this descriptor, too, under the same number. Takes it over, and
 * returns the number that it has from now on; -1 with errno. One in a process.
 */
int child_keep(int fd);

/*
 * In a child: it is killed when its parent ends. To be repeated after a change
 * of identity, which takes that back.
 */
void child_die_with_parent(void);

/* Waits for the end, and returns the status of waitpid(2). */
int child_wait(struct child *c);
/*
 * Ends a child. One that does not die at once, because the kernel waits for a
 * dead file server, is left behind.
 */
void child_kill(struct child *c);

#endif
