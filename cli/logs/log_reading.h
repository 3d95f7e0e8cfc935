/* SPDX-License-Identifier: ISC */
/*
 * logs/log_reading: has keyveto-reader read a log: this process does not. Each
 * log gets a reader of its own, which can lie about no other.
 */
#ifndef CLI_LOGS_LOG_READING_H
#define CLI_LOGS_LOG_READING_H

#include "reading/log_records.h"
#include "reading/talk.h"

struct log_reading {
	/*
	 * Takes a record of the log, besides its end. False: no reader says
	 * such a thing.
	 */
	bool (*record)(uint8_t tag, struct kv_bytes payload, void *arg);
	void *arg;
	int64_t deadline; /* of io_deadline, for the whole; 0: none */
	/* What the reader said. */
	int64_t since; /* of the first line; 0: no line has a time */
	struct reading_log_end end;
	/* Of log_reading.c. */
	struct talk talk;
	bool started, done;
};

/*
 * Has the log behind fd read, from where it stands. fd stays open. The caller
 * has set the first three, and zeroes else. False with why; records may have
 * come before that.
 */
bool log_reading_read(struct log_reading *l, enum reading_log what, int fd,
    char why[static LOG_WHY_BYTES]);

/* Ends the reader, if there is one. False with why. Always call it. */
bool log_reading_end(struct log_reading *l, char why[static LOG_WHY_BYTES]);

#endif
