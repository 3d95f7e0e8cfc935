/* SPDX-License-Identifier: ISC */
/*
 * filter_and_list/intake: reads inputs whose keys are added to a filter or a
 * list, with a progress line. What cannot be read is printed and counted; the
 * rest is read.
 */
#ifndef CLI_FILTER_AND_LIST_INTAKE_H
#define CLI_FILTER_AND_LIST_INTAKE_H

#include "keys/input.h"
#include "base/progress.h"

struct intake {
	/* input_read, or a function like it. */
	void (*read)(const char *path, const struct input_sink *sink);
	/* Instead of read: reads all inputs at once. */
	void (*read_all)(char *const *inputs, const struct input_sink *sink);
	/* Takes a key. After it returned false, no more keys are given. */
	bool (*key)(const struct input_key *key, void *arg);
	/*
	 * As quick of struct input_sink; NULL: none. It sets *failedp if no
	 * more keys are to be given.
	 */
	size_t (*quick)(struct kv_span text,
	    struct quick_line line[static QUICK_LINES], bool *failedp,
	    void *arg);
	void *arg;
	bool ca; /* takes the key of a certificate's CA, too */
	/* What intake_read found. */
	uint64_t problems;
	bool failed; /* key returned false, or quick set *failedp */
	struct progress progress;
};

/*
 * Reads inputs, up to a NULL; standard input if there is none. False if a
 * function failed.
 */
bool intake_read(struct intake *in, char **inputs);

/*
 * Prints a problem of an input that is no key, and counts it. For a function
 * that takes keys.
 */
void intake_refuse(struct intake *in, const struct input_problem *problem);

#endif
