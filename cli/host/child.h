/* SPDX-License-Identifier: ISC */
/*
 * host/child: runs work that may hang, or that parses untrusted data, in a
 * child process. Its results come back over a pipe, as records (base/record.h).
 */
#ifndef CLI_HOST_CHILD_H
#define CLI_HOST_CHILD_H

#include <sys/types.h>

#include "base/record.h"

struct child {
	pid_t pid; /* -1: none */
	int fd;	   /* the pipe with its records */
};

/*
 * Starts a process that calls work(out, arg) and ends. Its standard input,
 * output and error are /dev/null: its messages are records, which the parent
 * prints. Apart from its pipe it has none of its parent's descriptors. False with
 * errno if there can be no process.
 */
bool child_start(struct child *c, void (*work)(struct record_out *, void *),
    void *arg);

/*
 * The same with a SOCK_SEQPACKET socket in place of the pipe: work sends
 * packets of its own, which may hand over descriptors (wall/packet.h).
 */
bool child_start_socket(struct child *c,
    void (*work)(struct record_out *, void *), void *arg);

/*
 * In a child: has the kernel kill it when its parent ends. Repeat it after a
 * change of uid or gid, which clears that.
 */
void child_die_with_parent(void);

/* Waits for the end, closes c->fd, returns the status of waitpid(2). */
int child_wait(struct child *c);
/*
 * Waits for the end of a child, and copies its one record, a string, to text,
 * cut off. The record's tag; 0 without a record, or if the child failed.
 */
uint8_t child_read_text(struct child *c, char *text, size_t cap);
/*
 * Calls f(arg, why, cap) in a child that runs as uid and gid. Returns what f
 * returned, with why as f set it. False with a reason in why if there is no such
 * child.
 */
bool child_ask_as(uid_t uid, gid_t gid,
    bool (*f)(void *arg, char *why, size_t cap), void *arg, char *why,
    size_t cap);
/*
 * Kills a process that this one started. Waits 0.2 s at most for its end: one
 * that hangs in the kernel, as on a dead file server, is left behind.
 */
void child_kill_process(pid_t pid);
/* The same of a child. Closes c->fd. */
void child_kill(struct child *c);

#endif
