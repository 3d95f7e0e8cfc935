/* SPDX-License-Identifier: ISC */
/*
 * reading/talk: the front's side of wire/reading.h: starts keyveto-reader,
 * hands files over, and passes on its answers, which may be anything.
 */
#ifndef CLI_READING_TALK_H
#define CLI_READING_TALK_H

#include "base/record.h"
#include "keys/input.h"
#include "wall/wall.h"
#include "wire/reading.h"

struct talk {
	/*
	 * Takes an answer besides READING_HELLO and READING_WAITING, and sets
	 * ended at the last one. False: the reader never says such a thing.
	 */
	bool (*answer)(struct talk *t, uint8_t tag, struct kv_bytes payload);
	/* Gets the walls that stand. NULL: a warning names the others. */
	unsigned int *wallsp;
	bool quiet; /* no such warning */
	/*
	 * Of io_deadline, whatever it says, unless it waits for a stream. 0:
	 * none.
	 */
	int64_t deadline;
	/* Is called when all answers so far were passed on. NULL: nobody is. */
	void (*took_answers)(struct talk *t);
	void *arg;
	bool ended;
	/* Why the reader is of no more use; "" while it is. */
	char why[WALL_WHY_BYTES];
	/* Of talk.c. */
	struct wall_process wall;
	struct record_out packet; /* to be sent, with these descriptors */
	int fd[READING_PACKET_FDS];
	size_t n_fds, fds_max;
	struct record_in in;
	int silent_ms;	 /* since the reader said or took something */
	bool has_stream; /* the reader may have to wait for one */
	bool waits;	 /* it said that it does */
	bool started, greeted;
};

/*
 * Starts the reader. The caller has set answer and what follows it, and zeroes
 * else. If that fails, why says so, and the other functions do nothing. Always
 * call talk_end.
 */
void talk_start(struct talk *t);

/* Sends READING_SETUP with these flags, for a reader without a judge. */
void talk_send_setup(struct talk *t, unsigned int flags);

/*
 * Starts an order: a record of at most so many bytes in t->packet, with a
 * descriptor unless fd is -1, which is closed when it is sent. Finish it with
 * record_end.
 */
void talk_begin(struct talk *t, enum reading_order tag, size_t bytes, int fd);

/* Sends the orders so far, and closes their descriptors. */
void talk_flush(struct talk *t);

/*
 * Hands over a log, and closes it. modified is when it was, in seconds. Only
 * after talk_send_setup with READING_LOGS.
 */
void talk_send_log(struct talk *t, enum reading_log what, int fd, bool regular,
    int64_t modified);

/*
 * Hands over the file behind fd, which stays the caller's. As file of struct
 * input_walk; talk is a struct talk.
 */
void talk_send_named(int fd, const char *path, bool walked, void *talk);

/* Hands over the files of a path, as input_walk finds them. */
void talk_send_path(struct talk *t, const char *path);

/*
 * Sends what is left, waits for answers, and passes on those that come
 * together. False at the deadline (of io_deadline), or if why says something.
 */
bool talk_wait(struct talk *t, int64_t deadline);

/*
 * Sends what is left, and passes on answers until one of them has set *done.
 * deadline is one of io_deadline; 0: none. False if why says something.
 */
bool talk_wait_until(struct talk *t, const bool *done, int64_t deadline);

/*
 * Sends what is left and READING_END, passes on the answers to the last one,
 * and ends the reader. False if why says something now.
 */
bool talk_end(struct talk *t);

/*
 * Starts the reader, which reads nothing, and sets *wallsp to the walls (enum
 * wall) that stand around it on this system. False with a sentence.
 */
bool reading_find_walls(unsigned int *wallsp, char why[static WALL_WHY_BYTES]);

#endif
