/* SPDX-License-Identifier: ISC */
/*
 * working: has keyveto-worker, behind the wall, run a command or do a task
 * (wire/working.h).
 */
#ifndef CLI_WORKING_WORKING_H
#define CLI_WORKING_WORKING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/record.h"
#include "wall/wall.h"
#include "wire/working.h"

/*
 * Runs the command of these words, and does for it what it may not. Returns its
 * exit status.
 */
int working_run(int argc, char **argv);

/*
 * How long a task may take that its caller gives no deadline, whatever it says
 * meanwhile. The largest filter takes hours to read from a slow disk.
 */
#define WORKING_SECONDS_MAX (24 * 60 * 60)

/*
 * One task, which a worker of its own does with the descriptors that it gets.
 * All zeroes but for name and what the task takes.
 */
struct working_task {
	const char *name;		 /* of worker/tasks.c */
	const struct record_field *args; /* what it takes; NULL: nothing */
	/* The caller's. What is open for writing, the worker writes. */
	int fd[WORKING_TASK_FDS];
	size_t n_fds;
	/* How long a file may get by that. A pipe may get any number of bytes. */
	uint64_t file_bytes;
	/* Gets the result. NULL: result does. */
	const struct record_field *answer;
	/*
	 * Receives the result, or each part of one that has parts. False: it is
	 * none that the task has. It ends the task.
	 */
	bool (*result)(struct kv_bytes b, void *arg);
	void *arg;
	bool has_parts;
	const bool *done; /* set with the last part; NULL: it may have none */
	bool (*stopped)(void); /* NULL: nothing stops it */
	int64_t deadline;      /* of io_deadline; 0: a day */
};

/*
 * Does the task. The worker has ended then: nobody writes the
 * files any more. False, also without a whole result, with a sentence about the
 * worker, which may be in somebody else's hands; what the task finds out of the
 * files is a result.
 */
bool working_do(const struct working_task *t, char why[static WALL_WHY_BYTES]);

/* The same. False after a message about shown, which the task reads. */
bool working_do_or_say(const struct working_task *t, const char *shown);
/*
 * The same in two steps, for a task that does something while its results are
 * not waited for: it must not print or say more than a pipe holds. Always call
 * working_end, which ends the worker without waiting if stop says so. NULL with
 * a sentence.
 */
struct working *working_begin(const struct working_task *t,
    char why[static WALL_WHY_BYTES]);
bool working_end(struct working *w, bool stop, char why[static WALL_WHY_BYTES]);

#define WORKING_HASH_CHARS (2 * 32 + 1)

/*
 * Has keyveto-worker make the SHA-256 of a file, and sets sha256 to its digits.
 * The file's offset stays. "" and false after a message, which calls it shown.
 */
bool working_hash(int fd, const char *shown,
    char sha256[static WORKING_HASH_CHARS]);

#endif
