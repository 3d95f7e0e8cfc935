/* SPDX-License-Identifier: ISC */
/*
 * host/child: runs work that may hang, or that parses untrusted data, in a
 * child process. Its results come back over a pipe as records: u32 length, one
 * byte of tag, then numbers (u64) and strings as SSH encodes them.
 */
#ifndef CLI_HOST_CHILD_H
#define CLI_HOST_CHILD_H

#include <sys/types.h>

#include "kv_bytes.h"

/*
 * The longest record. The longest is a key with its line's comment and the path
 * of its file.
 */
#define RECORD_MAX_BYTES (512 * 1024)

/* The child's side. If a write fails, the child ends with _exit(1). */
struct record_out {
	int fd;
	size_t start, len; /* of the unfinished record; of all */
	uint8_t buf[RECORD_MAX_BYTES];
};

void record_begin(struct record_out *o, uint8_t tag);
void record_add_number(struct record_out *o, uint64_t n);
void record_add_bytes(struct record_out *o, const void *p, size_t len);
void record_add_text(struct record_out *o, const char *text);
void record_end(struct record_out *o);
/* Writes the finished records. record_end only buffers them. */
void record_flush(struct record_out *o);

/* The parent's side. All zeroes: empty. Freed by record_in_free. */
struct record_in {
	uint8_t *buf;
	size_t start, end, cap;
};

/*
 * Reads once from fd, and returns how many bytes. 0 at the end, -1 with errno:
 * EMSGSIZE if RECORD_MAX_BYTES are waiting for record_next.
 */
ssize_t record_fill(struct record_in *in, int fd);
/*
 * Takes the next whole record. The payload is valid until the next record_fill.
 * False if there is none yet; *badp is set if the length is invalid, so no
 * record can follow.
 */
bool record_next(struct record_in *in, uint8_t *tagp, struct kv_bytes *payload,
    bool *badp);
void record_in_free(struct record_in *in);

/* Reads a number that record_add_number wrote. */
KV_MUST_CHECK enum kv_err record_get_number(struct kv_bytes *b, uint64_t *np);

struct child {
	pid_t pid; /* -1: none */
	int fd;	   /* the pipe with its records */
};

/*
 * Starts a process that calls work(out, arg) and ends. Its standard input,
 * output and error are /dev/null: its messages are records, which the parent
 * prints. Apart from its pipe and the descriptor of child_keep, it has none of
 * its parent's descriptors. False with errno if there can be no process.
 */
bool child_start(struct child *c, void (*work)(struct record_out *, void *),
    void *arg);

/*
 * Makes fd available to all later children. fd is closed; returns the number
 * that it has from now on, here and in children; -1 with errno. One descriptor
 * a process.
 */
int child_keep(int fd);

/*
 * In a child: has the kernel kill it when its parent ends. Repeat it after a
 * change of uid or gid, which clears that.
 */
void child_die_with_parent(void);

/* Waits for the end, closes c->fd, returns the status of waitpid(2). */
int child_wait(struct child *c);
/*
 * Waits for the end of a child whose one record is a string, and copies the
 * string to text, cut off at cap - 1 bytes. Returns the record's tag. Without a
 * record, text stays as it is. 0 without a record, or if the child failed.
 */
uint8_t child_take_text(struct child *c, char *text, size_t cap);
/*
 * Kills a process that this one started. Waits 0.2 s at most for its end: one
 * that hangs in the kernel, as on a dead file server, is left behind.
 */
void child_kill_process(pid_t pid);
/* The same of a child. Closes c->fd. */
void child_kill(struct child *c);

#endif
