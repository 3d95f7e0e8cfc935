/* SPDX-License-Identifier: ISC */
#include "logs/log_reading.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Is talk's answer. */
static bool
receive_answer(struct talk *t, uint8_t tag, struct kv_bytes b)
{
	struct log_reading *l = t->arg;

	if (tag == READING_KEYS_END) {
		t->ended = true;
		return l->done && b.left == 0;
	}
	if (l->done)
		return false;
	if (tag == READING_READ)
		return b.left == 0;
	if (tag == READING_LOG_SINCE)
		return reading_receive_log_since(b, &l->since);
	if (tag != READING_LOG_END)
		return l->record(tag, b, l->arg);
	l->done = true;
	return reading_receive_log_end(b, &l->end);
}

static void
explain(const char *reason, char why[static LOG_WHY_BYTES])
{
	snprintf(why, LOG_WHY_BYTES, "cannot be read: %.200s", reason);
}

bool
log_reading_read(struct log_reading *l, enum reading_log what, int fd,
    char why[static LOG_WHY_BYTES])
{
	struct stat st;
	int log;

	if (fstat(fd, &st) == -1 ||
	    (log = fcntl(fd, F_DUPFD_CLOEXEC, 3)) == -1) {
		explain(strerror(errno), why);
		return false;
	}
	if (!l->started) {
		l->talk = (struct talk){ .answer = receive_answer, .arg = l };
		talk_start(&l->talk);
		talk_send_setup(&l->talk, READING_KEYS | READING_LOGS);
		l->started = true;
	}
	l->done = false;
	talk_send_log(&l->talk, what, log, S_ISREG(st.st_mode),
	    st.st_mtim.tv_sec);
	if (!talk_wait_until(&l->talk, &l->done, l->deadline)) {
		explain(l->talk.why, why);
		return false;
	}
	snprintf(why, LOG_WHY_BYTES, "%s", l->end.why);
	return *why == '\0';
}

bool
log_reading_end(struct log_reading *l, char why[static LOG_WHY_BYTES])
{
	const bool failed = l->started && l->talk.why[0] != '\0';

	if (!l->started || talk_end(&l->talk) || failed)
		return true;
	explain(l->talk.why, why);
	return false;
}
