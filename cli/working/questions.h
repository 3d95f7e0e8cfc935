/* SPDX-License-Identifier: ISC */
/*
 * working/questions: answers what a worker asks of the front about files. Words
 * of the command line are what it may read; what it may replace, it has to say,
 * or begin, before it reads any.
 */
#ifndef CLI_WORKING_QUESTIONS_H
#define CLI_WORKING_QUESTIONS_H

#include "base/record.h"
#include "host/replace.h"

#define QUESTIONS_PROMISES_MAX 8
#define QUESTIONS_SCRATCH_MAX 64

/* All zeroes but for socket and what follows it at first. */
struct questions {
	int socket; /* of the worker */
	int argc;
	char **argv;
	/* Waits for the next question, which stays valid until the next call. */
	bool (*next)(void *arg, uint8_t *tagp, struct kv_bytes *b);
	void *arg;
	bool has_stream; /* it may have to wait for one */
	bool has_read;	 /* no promise counts any more */
	char *promise[QUESTIONS_PROMISES_MAX];
	size_t n_promises;
	const char *replaced; /* of them, the last one that was replaced */
	size_t n_scratch;
	bool is_replacing;
	struct replace replace;
	struct record_out answer;
	int send_error; /* the errno of why the worker did not get it, or 0 */
};

/*
 * Answers a question. False if it is none that a worker asks, or if it asks for
 * what it may not have.
 */
bool questions_answer(struct questions *q, uint8_t tag, struct kv_bytes b);

/* Gives up a replacement that was not committed, and frees all. */
void questions_end(struct questions *q);

#endif
