/* SPDX-License-Identifier: ISC */
#include "logs/login_logs.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log_lines/journal_line.h"
#include "log_lines/outcome.h"
#include "base/io.h"
#include "base/room.h"
#include "logs/journalctl.h"

#define JOURNAL "journal"
#define JOURNAL_ON_DISK "/var/log/journal"
#define JOURNAL_IN_MEMORY "/run/log/journal"
#define LOG_DIR "/var/log"
#define JOURNAL_MAGIC "LPKSHHRH" /* sd-journal: journal-def.h */

/*
 * Whether a login that sshd accepted came in: PAM's session is opened after the
 * message "Accepted". When PAM refuses it, the same process says so later.
 */
/* So many logins wait at a time for what becomes of them. */
#define OUTCOMES_MAX 256
/* A message that comes later is about another login with the process's id. */
#define OUTCOMES_SECONDS 600

/* The logins of one log. All zeroes but l and log: none. */
struct outcomes {
	struct logins *l;
	const char *log; /* its name; the caller's, as long as l */
	struct outcome {
		uint64_t process; /* 0: no login */
		int64_t seconds;
		struct accepted a;
		bool refused;
	} v[OUTCOMES_MAX];
	size_t n, next;
};

/* A log that is read. */
struct reading {
	struct logins *l;
	bool sent;	/* as in struct connected_line */
	bool only_open; /* nothing is counted */
	const char *name;
	uint64_t undated; /* logins without a year that count */
	struct outcomes *outcomes;
	struct log_reading log;
};

static void
count_outcome(struct outcomes *o, struct outcome *one)
{
	if (one->process == 0)
		return;
	if (one->refused)
		logins_count_refused(o->l, &one->a);
	else
		logins_count(o->l, &one->a, one->seconds, o->log);
	one->process = 0;
	o->n--;
}

static bool
is_about(const struct outcome *one, uint64_t process, int64_t seconds)
{
	return one->process == process && seconds >= one->seconds &&
	    seconds - one->seconds <= OUTCOMES_SECONDS;
}

/* Takes another message of the process. "Accepted" decides about "Partial". */
static void
outcomes_note(struct outcomes *o, uint64_t process, int64_t seconds,
    enum outcome_says says)
{
	if (process == 0 || o->n == 0 || says == OUTCOME_NOTHING)
		return;
	for (size_t i = 0; i < OUTCOMES_MAX; i++) {
		struct outcome *one = &o->v[i];

		if (one->process != process)
			continue;
		/* A connection has one "Accepted": this is another one. */
		if (!is_about(one, process, seconds) ||
		    (says == OUTCOME_IN && !one->a.partial))
			count_outcome(o, one);
		else if (says == OUTCOME_REFUSED || one->a.partial)
			one->refused = says != OUTCOME_IN;
	}
}

/*
 * Adds a login that the process of sshd accepted. Without a process (0) counts
 * it at once; if too many wait, counts the oldest.
 */
static void
outcomes_add(struct outcomes *o, uint64_t process, int64_t seconds,
    const struct accepted *a)
{
	struct outcome *one = &o->v[o->next];

	if (process == 0 || !logins_has(o->l, a)) {
		logins_count(o->l, a, seconds, o->log);
		return;
	}
	count_outcome(o, one);
	*one = (struct outcome){
		.process = process,
		.seconds = seconds,
		.a = *a,
	};
	o->n++;
	o->next = (o->next + 1) % OUTCOMES_MAX;
}

static void
outcomes_end(struct outcomes *o)
{
	/* From the oldest on. */
	for (size_t i = 0; i < OUTCOMES_MAX; i++)
		count_outcome(o, &o->v[(o->next + i) % OUTCOMES_MAX]);
}

static void
add_login(struct reading *r, const struct reading_login *l)
{
	if (l->undated) {
		r->undated += logins_has(r->l, &l->a) || l->a.md5;
		return;
	}
	logins_note_open(r->l, l, r->name, r->sent);
	if (r->only_open)
		return;
	r->l->md5 += l->a.md5;
	outcomes_add(r->outcomes, l->process, l->seconds, &l->a);
}

/* Is log_reading's record. */
static bool
receive_record(uint8_t tag, struct kv_bytes b, void *arg)
{
	struct reading *r = arg;
	struct reading_login l;

	if (tag == READING_LOGIN_OUTCOME) {
		if (!reading_receive_outcome(b, &l))
			return false;
		outcomes_note(r->outcomes, l.process, l.seconds, l.says);
		return true;
	}
	if (tag != READING_LOGIN || !reading_receive_login(b, &l))
		return false;
	add_login(r, &l);
	return true;
}

/*
 * Has the file read, and once more if logins count whose lines have no year: the
 * reader then knows it. False with why.
 */
static bool
read_text_log(struct reading *r, int fd, char why[static LOG_WHY_BYTES])
{
	if (!log_reading_read(&r->log, READING_LOG_LOGINS, fd, why))
		return false;
	if (r->undated == 0)
		return true;
	if (lseek(fd, 0, SEEK_SET) == -1) {
		snprintf(why, LOG_WHY_BYTES,
		    "its lines have no year, and a pipe has no date: name the "
		    "file itself");
		return false;
	}
	outcomes_end(r->outcomes);
	return log_reading_read(&r->log, READING_LOG_AGAIN, fd, why);
}

/*
 * where is an argument of journalctl that names path, or NULL for this machine's
 * journal. journald's index finds sshd's entries.
 */
static bool
read_journal(struct reading *r, const char *where, const char *path,
    bool newest_first, char why[static LOG_WHY_BYTES])
{
	const char *argv[] = { JOURNALCTL, "--quiet", "--no-pager",
		"--output=json", JOURNAL_FIELDS_OPTION, "_UID=0",
		"SYSLOG_IDENTIFIER=sshd", "SYSLOG_IDENTIFIER=sshd-session",
		NULL, NULL, NULL };
	size_t n = 0;
	const struct journalctl j = {
		.argv = argv,
		.path = path,
		.prints = r->log.deadline == 0,
	};

	while (argv[n] != NULL)
		n++;
	if (where != NULL)
		argv[n++] = where;
	if (newest_first)
		argv[n++] = "--reverse";
	return journalctl_read(&r->log, READING_LOG_LOGINS, &j, why);
}

/* Journal files, or a directory of them: option is journalctl's. */
static bool
read_journal_at(struct reading *r, const char *option, const char *path,
    char why[static LOG_WHY_BYTES])
{
	char where[PATH_MAX + 16];

	snprintf(where, sizeof(where), "%s=%s", option, path);
	return read_journal(r, where, path, false, why);
}

static bool
is_journal_file(int fd)
{
	char magic[sizeof(JOURNAL_MAGIC) - 1];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	    memcmp(magic, JOURNAL_MAGIC, sizeof(magic)) == 0;
}

/* Remembers the file. False if it was read before. */
static bool
is_new_file(struct login_logs *logs, const struct stat *st)
{
	for (size_t i = 0; i < logs->n_files; i++)
		if (logs->file[i].dev == st->st_dev &&
		    logs->file[i].ino == st->st_ino)
			return false;
	if (room_for_one(&logs->file, logs->n_files, sizeof(*logs->file)))
		logs->file[logs->n_files++] = (struct login_file){
			.dev = st->st_dev,
			.ino = st->st_ino,
		};
	return true;
}

static bool
read_named(struct login_logs *logs, struct reading *r,
    char why[static LOG_WHY_BYTES])
{
	const bool standard = strcmp(r->name, "-") == 0;
	struct stat st;
	bool ok = true;
	int fd;

	if (strcmp(r->name, JOURNAL) == 0) {
		r->sent = true;
		return read_journal(r, NULL, NULL, false, why);
	}
	fd = standard ? STDIN_FILENO :
			open(r->name, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1) {
		snprintf(why, LOG_WHY_BYTES, "cannot be read: %s",
		    strerror(errno));
		ok = false;
	} else if (S_ISDIR(st.st_mode))
		ok = read_journal_at(r, "--directory", r->name, why);
	else if (S_ISREG(st.st_mode) && !is_new_file(logs, &st))
		; /* named twice */
	else if (S_ISREG(st.st_mode) && is_journal_file(fd))
		ok = read_journal_at(r, "--file", r->name, why);
	else
		ok = read_text_log(r, fd, why);
	if (fd != -1 && !standard)
		close(fd);
	return ok;
}

/*
 * Whether name is a log, or what logrotate made of it: "auth.log.2.gz",
 * "auth.log-20261101", "auth.log-20261101-1793491200.xz".
 */
static bool
is_rotated(const char *name, const char *log)
{
	const size_t n = strlen(log);

	if (strncmp(name, log, n) != 0)
		return false;
	name += n;
	while ((*name == '.' || *name == '-') &&
	    strspn(name + 1, "0123456789") > 0)
		name += 1 + strspn(name + 1, "0123456789");
	return *name == '\0' || strcmp(name, ".gz") == 0 ||
	    strcmp(name, ".xz") == 0 || strcmp(name, ".zst") == 0 ||
	    strcmp(name, ".bz2") == 0;
}

static int
keep_logs(const struct dirent *d)
{
	return is_rotated(d->d_name, "auth.log") ||
	    is_rotated(d->d_name, "secure");
}

/* False without memory. */
static bool
add_text_logs(struct login_logs *logs)
{
	struct dirent **found = NULL;
	const int n = scandir(LOG_DIR, &found, keep_logs, versionsort);
	char path[sizeof(LOG_DIR) + 1 + sizeof(found[0]->d_name)];
	struct stat st;
	bool ok = true;

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), LOG_DIR "/%s", found[i]->d_name);
		if (ok && stat(path, &st) == 0 && S_ISREG(st.st_mode))
			ok = texts_add(&logs->names, path);
		free(found[i]);
	}
	free(found);
	return ok;
}

/*
 * The logs of this machine. Sets *besidep if there is a journal beside them that
 * begins with the machine's start. False without memory.
 */
static bool
add_default(struct login_logs *logs, bool *besidep)
{
	const bool journal = access(JOURNALCTL, X_OK) == 0;
	const bool has_memory = journal && access(JOURNAL_IN_MEMORY, F_OK) == 0;

	if (journal && access(JOURNAL_ON_DISK, F_OK) == 0)
		return texts_add(&logs->names, JOURNAL);
	if (!add_text_logs(logs))
		return false;
	*besidep = has_memory && logs->names.n > 0;
	return logs->names.n > 0 || !has_memory ||
	    texts_add(&logs->names, JOURNAL);
}

static void
begin_log(struct reading *r, struct logins *l, const char *name)
{
	static struct outcomes outcomes;

	outcomes = (struct outcomes){ .l = l, .log = name };
	*r = (struct reading){
		.l = l,
		.name = name,
		.outcomes = &outcomes,
		.log = { .record = receive_record, .arg = r },
	};
}

/* Counts what was read. False with why if the reader failed in the end. */
static bool
end_log(struct reading *r, char why[static LOG_WHY_BYTES])
{
	const bool ok = log_reading_end(&r->log, why);
	const int64_t since = r->log.since;

	outcomes_end(r->outcomes);
	if (since > 0 && !r->only_open &&
	    (r->l->since == 0 || since < r->l->since))
		r->l->since = since;
	return ok;
}

static void
read_log(struct login_logs *logs, struct logins *l, struct report *r,
    const char *name, bool only_open)
{
	static struct reading reading;
	const struct reading_log_end *end = &reading.log.end;
	char why[LOG_WHY_BYTES];

	begin_log(&reading, l, name);
	reading.only_open = only_open;
	if (!read_named(logs, &reading, why))
		report_problem_at(r, name, 0, why);
	if (!end_log(&reading, why))
		report_problem_at(r, name, 0, why);
	if (r->quiet || only_open)
		return;
	if (end->from_unknown > 0)
		cli_error("note: %s: %" PRIu64 " login%s by root, of which the "
			  "journal does not tell the program; not counted",
		    name, end->from_unknown,
		    cli_plural(end->from_unknown, "", "s"));
	if (end->from_stderr > 0)
		cli_error("note: %s: %" PRIu64 " login%s from the standard "
			  "error of sshd -e, where the ID of a certificate can "
			  "hold such a line; not counted",
		    name, end->from_stderr,
		    cli_plural(end->from_stderr, "", "s"));
}

/* What the reader has to know to believe the lines. */
static void
print_summary(const struct logins *l, const struct login_logs *logs)
{
	char since[LOGINS_TIME_BYTES];

	if (l->md5 > 0)
		cli_error("note: %" PRIu64 " login%s with an MD5 fingerprint "
			  "(FingerprintHash of sshd_config); not counted",
		    l->md5, cli_plural(l->md5, "", "s"));
	if (l->dropped > 0)
		cli_error("note: %" PRIu64 " login%s of accounts beyond the "
			  "first %d whose files do not have the key; not told",
		    l->dropped, cli_plural(l->dropped, "", "s"),
		    LOGINS_OTHERS_MAX);
	if (l->since == 0) {
		cli_error("logins: no line of a log that was read tells when "
			  "it was written%s",
		    geteuid() == 0 ? "" : "; only root can read sshd's");
		return;
	}
	logins_format_time(l->since, since);
	cli_error("logins: %" PRIu64 " with these keys since %s, in %s%s",
	    l->logins, since, logs->names.v[0],
	    logs->names.n > 1 ? " and others" : "");
	if (l->refused > 0)
		cli_error("logins: PAM refused %" PRIu64 " more, after sshd "
			  "had accepted the key",
		    l->refused);
}

bool
login_logs_read(struct login_logs *logs, struct logins *l, struct report *r,
    const char *const *name, size_t n)
{
	bool beside = false, ok = n > 0 || add_default(logs, &beside);

	for (size_t i = 0; ok && i < n; i++)
		ok = texts_add(&logs->names, name[i]);
	if (!ok)
		return cli_error("%s", strerror(errno));
	if (logs->names.n == 0)
		report_problem_at(r, "--logins", 0,
		    "there is no journal, no /var/log/auth.log and no "
		    "/var/log/secure: name the file of the log");
	for (size_t i = 0; i < logs->names.n; i++)
		read_log(logs, l, r, logs->names.v[i], false);
	if (beside && l->looks_for_open)
		read_log(logs, l, r, JOURNAL, true);
	if (l->failed)
		return cli_error("%s", strerror(ENOMEM));
	if (logs->names.n > 0 && !r->quiet)
		print_summary(l, logs);
	return true;
}

bool
login_logs_read_newest(struct logins *l, unsigned int seconds)
{
	static struct reading reading;
	char why[LOG_WHY_BYTES];
	bool ok;

	begin_log(&reading, l, JOURNAL);
	reading.log.deadline = io_deadline(seconds);
	ok = access(JOURNALCTL, X_OK) == 0 &&
	    (access(JOURNAL_ON_DISK, F_OK) == 0 ||
		access(JOURNAL_IN_MEMORY, F_OK) == 0) &&
	    read_journal(&reading, NULL, NULL, true, why);
	return end_log(&reading, why) && ok && !l->failed;
}

void
login_logs_free(struct login_logs *logs)
{
	texts_free(&logs->names);
	free(logs->file);
	*logs = (struct login_logs){ .n_files = 0 };
}
