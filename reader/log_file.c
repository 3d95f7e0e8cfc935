/* SPDX-License-Identifier: ISC */
#include "log_file.h"

#include <poll.h>
#include <string.h>

#include "log_lines/journal_line.h"
#include "log_lines/syslog_line.h"
#include "reading/log_records.h"
#include "wire/reading.h"

/* A log that is read. */
struct log_file {
	struct record_out *out;
	bool began; /* there is one */
	bool again; /* for the years of lines that have none */
	int64_t modified;
	struct syslog_years years;
	struct syslog_line first; /* the first line without a year */
	int64_t since;		  /* of the first line; 0: none has a time */
	int64_t since_sent;
	struct reading_log_end end;
};

static void
note_time(struct log_file *r, int64_t seconds)
{
	if (r->since == 0 || seconds < r->since)
		r->since = seconds;
}

/* Whether it is worth the time to parse the entry. */
static bool
may_be_login(const char *entry)
{
	return strstr(entry, "Partial ") != NULL || outcome_may_be(entry);
}

/* Whether the message tells of a login, also of one without a key. */
static bool
parse_login(const char *message, struct accepted *a)
{
	return accepted_parse(message, a) || accepted_parse_keyless(message, a);
}

/* Tells what a message of sshd's says: a login, or what became of one. */
static void
read_message(struct log_file *r, const char *message, uint64_t process,
    int64_t seconds)
{
	struct reading_login l = {
		.process = process,
		.seconds = seconds,
		.says = outcome_parse(message),
	};

	if (process != 0 && l.says != OUTCOME_NOTHING)
		record_send(r->out, READING_LOGIN_OUTCOME,
		    READING_OUTCOME_FIELDS(&l));
	if (parse_login(message, &l.a))
		record_send(r->out, READING_LOGIN, READING_LOGIN_FIELDS(&l));
}

static void
read_entry(struct log_file *r, const char *line, size_t len)
{
	char message[JOURNAL_MESSAGE_BYTES];
	enum journal_origin origin;
	struct accepted a;
	int64_t seconds;
	uint64_t process;

	if (journal_line_time(line, &seconds))
		note_time(r, seconds);
	if (!may_be_login(line))
		return;
	origin = journal_line_parse(line, len, message, &seconds, &process);
	if (origin == JOURNAL_SSHD)
		read_message(r, message, process, seconds);
	else if (origin == JOURNAL_STDERR && accepted_parse(message, &a))
		r->end.from_stderr++;
	else if (origin == JOURNAL_UNKNOWN && accepted_parse(message, &a))
		r->end.from_unknown++;
}

/* The first time, logins without a year are told as such. */
static void
read_text(struct log_file *r, const struct syslog_line *l)
{
	struct reading_login undated = { .undated = true };
	int64_t seconds;
	bool known;

	if (r->again)
		known = syslog_years_find(&r->years, l, r->modified, &seconds);
	else {
		syslog_years_add(&r->years, l);
		known = l->has_year && syslog_line_seconds(l, 0, &seconds);
		if (known)
			note_time(r, seconds);
		else if (r->first.month == 0)
			r->first = *l;
	}
	if ((r->again && (l->has_year || !known)) || !syslog_line_is_sshds(l))
		return;
	if (known)
		read_message(r, l->message, l->process, seconds);
	else if (parse_login(l->message, &undated.a))
		record_send(r->out, READING_LOGIN,
		    READING_LOGIN_FIELDS(&undated));
}

static void
on_login_line(char *line, size_t len, void *arg)
{
	struct log_file *r = arg;
	struct syslog_line l;

	if (*line == '{') {
		if (!r->again)
			read_entry(r, line, len);
	} else if (syslog_line_parse(line, &l))
		read_text(r, &l);
}

static void
on_key_line(char *line, size_t len, void *arg)
{
	const struct log_file *r = arg;
	struct log_decision d;

	(void)len;
	if (log_decision_parse(line, &d))
		record_send(r->out, READING_LOG_KEY,
		    READING_LOG_KEY_FIELDS(&d));
}

static void
send_since(struct log_file *r)
{
	if (r->since == r->since_sent)
		return;
	record_send(r->out, READING_LOG_SINCE, READING_SINCE_FIELDS(r->since));
	r->since_sent = r->since;
}

/* Sends what was found so far: to read more may take long. */
static void
on_more(int fd, void *arg)
{
	struct log_file *r = arg;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	send_since(r);
	record_send_last(r->out,
	    poll(&p, 1, 0) == 0 ? READING_WAITING : READING_READ);
}

/* Finds the years of the lines, now that all were read. */
static void
find_years(struct log_file *r)
{
	int64_t seconds;

	if (r->first.month == 0)
		return;
	syslog_years_end(&r->years, r->modified);
	syslog_years_begin(&r->years);
	if (syslog_years_find(&r->years, &r->first, r->modified, &seconds))
		note_time(r, seconds);
	syslog_years_begin(&r->years);
}

bool
log_file_read(struct record_out *out, struct kv_bytes b, int fd)
{
	static struct log_file r;
	const struct log_lines logins = {
		.line = on_login_line,
		.more = on_more,
		.arg = &r,
	};
	struct log_lines lines = logins;
	uint64_t what;
	int64_t modified;

	if (!record_get_all(&b, R_ANY(what), R_ANY(modified)))
		return false;
	if (what == READING_LOG_AGAIN) {
		if (!r.began || r.again)
			return false;
		r.again = true;
	} else {
		r = (struct log_file){
			.out = out,
			.began = what == READING_LOG_LOGINS,
			.modified = modified,
		};
	}
	if (what == READING_LOG_KEYS)
		lines.line = on_key_line;
	if (log_lines_read(&lines, fd, r.end.why) && !r.again)
		find_years(&r);
	send_since(&r);
	record_send(out, READING_LOG_END, READING_LOG_END_FIELDS(&r.end));
	record_flush(out);
	return true;
}
