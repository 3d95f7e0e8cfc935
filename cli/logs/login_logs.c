/* SPDX-License-Identifier: ISC */
#include "logs/login_logs.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log_lines/journal_line.h"
#include "logs/outcomes.h"
#include "log_lines/syslog_line.h"
#include "base/io.h"
#include "logs/journalctl.h"
#include "host/program.h"

#define JOURNAL "journal"
#define JOURNAL_ON_DISK "/var/log/journal"
#define JOURNAL_IN_MEMORY "/run/log/journal"
#define LOG_DIR "/var/log"
#define JOURNAL_MAGIC "LPKSHHRH" /* sd-journal: journal-def.h */

/* A log that is read. */
struct reading {
	struct logins *l;
	const char *name;
	bool again; /* for the years of lines that have none */
	int64_t modified;
	struct syslog_years years;
	struct syslog_line first; /* the first line without a year */
	uint64_t undated;	  /* logins without a year that count */
	uint64_t from_stderr;	  /* entries of sshd -e that do not count */
	uint64_t from_unknown;	  /* entries of some program of root's */
	struct outcomes *outcomes;
};

static void
note_time(struct reading *r, int64_t seconds)
{
	if (r->l->since == 0 || seconds < r->l->since)
		r->l->since = seconds;
}

/* Whether it is worth the time to parse the entry. */
static bool
may_be_login(const char *entry)
{
	return strstr(entry, "Partial ") != NULL || outcome_may_be(entry);
}

/* Reads a message of sshd's: a login, or what became of one. */
static void
read_message(struct reading *r, const char *message, uint64_t process,
    int64_t seconds)
{
	struct accepted a;

	outcomes_note(r->outcomes, process, seconds, outcome_parse(message));
	if (!accepted_parse(message, &a))
		return;
	r->l->md5 += a.md5;
	outcomes_add(r->outcomes, process, seconds, &a);
}

static void
read_entry(struct reading *r, const char *line, size_t len)
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
		r->from_stderr++;
	else if (origin == JOURNAL_UNKNOWN && accepted_parse(message, &a))
		r->from_unknown++;
}

/* The first time, logins without a year are only counted. */
static void
read_text(struct reading *r, const struct syslog_line *l)
{
	struct accepted a;
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
	else if (accepted_parse(l->message, &a) &&
	    (logins_has(r->l, &a) || a.md5))
		r->undated++;
}

static void
on_line(char *line, size_t len, void *arg)
{
	struct reading *r = arg;
	struct syslog_line l;

	if (*line == '{') {
		if (!r->again)
			read_entry(r, line, len);
	} else if (syslog_line_parse(line, &l))
		read_text(r, &l);
}

/*
 * Reads the file a second time, now that the years of its lines are known. False
 * with why.
 */
static bool
read_again(struct reading *r, const struct log_lines *lines, int fd,
    char why[static LOG_WHY_BYTES])
{
	int64_t seconds;

	if (r->first.month == 0)
		return true;
	syslog_years_end(&r->years, r->modified);
	syslog_years_begin(&r->years);
	if (syslog_years_find(&r->years, &r->first, r->modified, &seconds))
		note_time(r, seconds);
	if (r->undated == 0)
		return true;
	if (lseek(fd, 0, SEEK_SET) == -1) {
		snprintf(why, LOG_WHY_BYTES,
		    "its lines have no year, and a pipe has no date: name the "
		    "file itself");
		return false;
	}
	syslog_years_begin(&r->years);
	outcomes_end(r->outcomes);
	r->again = true;
	return log_lines_read(lines, fd, why);
}

static bool
read_text_log(struct reading *r, int fd, char why[static LOG_WHY_BYTES])
{
	const struct log_lines lines = { .line = on_line, .arg = r };
	struct stat st;

	if (fstat(fd, &st) == 0)
		r->modified = st.st_mtim.tv_sec;
	return log_lines_read(&lines, fd, why) &&
	    read_again(r, &lines, fd, why);
}

/*
 * where is an argument of journalctl that names files, or NULL for this
 * machine's journal. journald's index finds sshd's entries.
 */
static bool
read_journal(struct reading *r, const char *where, bool newest_first,
    int64_t deadline, char why[static LOG_WHY_BYTES])
{
	const struct log_lines lines = {
		.line = on_line,
		.arg = r,
		.deadline = deadline,
	};
	const char *argv[] = { JOURNALCTL, "--quiet", "--no-pager",
		"--output=json", JOURNAL_FIELDS_OPTION, "_UID=0",
		"SYSLOG_IDENTIFIER=sshd", "SYSLOG_IDENTIFIER=sshd-session",
		where, NULL, NULL };
	const size_t n = sizeof(argv) / sizeof(argv[0]);

	if (newest_first)
		argv[where != NULL ? n - 2 : n - 3] = "--reverse";
	return journalctl_read(&lines, argv,
	    deadline != 0 ? PROGRAM_NULL : STDERR_FILENO, false, why);
}

/* Journal files, or a directory of them: option is journalctl's. */
static bool
read_journal_at(struct reading *r, const char *option, const char *path,
    char why[static LOG_WHY_BYTES])
{
	char *where = NULL;
	bool ok = false;

	if (asprintf(&where, "%s=%s", option, path) == -1)
		snprintf(why, LOG_WHY_BYTES, "%s", strerror(errno));
	else {
		ok = read_journal(r, where, false, 0, why);
		free(where);
	}
	return ok;
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
	struct login_file *v;

	for (size_t i = 0; i < logs->n_files; i++)
		if (logs->file[i].dev == st->st_dev &&
		    logs->file[i].ino == st->st_ino)
			return false;
	v = reallocarray(logs->file, logs->n_files + 1, sizeof(*v));
	if (v == NULL)
		return true;
	logs->file = v;
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

	if (strcmp(r->name, JOURNAL) == 0)
		return read_journal(r, NULL, false, 0, why);
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

/* False without memory. */
static bool
add_name(struct login_logs *logs, const char *name)
{
	char **v = reallocarray(logs->name, logs->n + 1, sizeof(*v));

	if (v == NULL)
		return false;
	logs->name = v;
	if ((logs->name[logs->n] = strdup(name)) == NULL)
		return false;
	logs->n++;
	return true;
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
			ok = add_name(logs, path);
		free(found[i]);
	}
	free(found);
	return ok;
}

/* The logs of this machine. False without memory. */
static bool
add_default(struct login_logs *logs)
{
	const bool journal = access(JOURNALCTL, X_OK) == 0;

	if (journal && access(JOURNAL_ON_DISK, F_OK) == 0)
		return add_name(logs, JOURNAL);
	return add_text_logs(logs) &&
	    (logs->n > 0 || !journal || access(JOURNAL_IN_MEMORY, F_OK) == -1 ||
		add_name(logs, JOURNAL));
}

static void
report_log(struct report *r, const char *name, const char *why)
{
	report_problem(r,
	    &(struct input_problem){
		.path = name,
		.reason = why,
	    });
}

static void
read_log(struct login_logs *logs, struct logins *l, struct report *r,
    const char *name)
{
	static struct outcomes outcomes;
	struct reading reading = {
		.l = l,
		.name = name,
		.outcomes = &outcomes,
	};
	char why[LOG_WHY_BYTES];

	outcomes = (struct outcomes){ .l = l, .log = name };
	if (!read_named(logs, &reading, why))
		report_log(r, name, why);
	outcomes_end(&outcomes);
	if (reading.from_unknown > 0 && !r->quiet)
		cli_error("note: %s: %" PRIu64 " login%s by root, of which the "
			  "journal does not tell the program; not counted",
		    name, reading.from_unknown,
		    cli_plural(reading.from_unknown, "", "s"));
	if (reading.from_stderr > 0 && !r->quiet)
		cli_error("note: %s: %" PRIu64 " login%s from the standard "
			  "error of sshd -e, where the ID of a certificate can "
			  "hold such a line; not counted",
		    name, reading.from_stderr,
		    cli_plural(reading.from_stderr, "", "s"));
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
	    l->logins, since, logs->name[0], logs->n > 1 ? " and others" : "");
	if (l->refused > 0)
		cli_error("logins: PAM refused %" PRIu64 " more, after sshd "
			  "had accepted the key",
		    l->refused);
}

bool
login_logs_read(struct login_logs *logs, struct logins *l, struct report *r,
    const char *const *name, size_t n)
{
	bool ok = n > 0 || add_default(logs);

	for (size_t i = 0; ok && i < n; i++)
		ok = add_name(logs, name[i]);
	if (!ok) {
		cli_error("%s", strerror(errno));
		return false;
	}
	if (logs->n == 0)
		report_log(r, "--logins",
		    "there is no journal, no /var/log/auth.log and no "
		    "/var/log/secure: name the file of the log");
	for (size_t i = 0; i < logs->n; i++)
		read_log(logs, l, r, logs->name[i]);
	if (l->failed) {
		cli_error("%s", strerror(ENOMEM));
		return false;
	}
	if (logs->n > 0 && !r->quiet)
		print_summary(l, logs);
	return true;
}

bool
login_logs_read_newest(struct logins *l, unsigned int seconds)
{
	static struct outcomes outcomes;
	struct reading reading = {
		.l = l,
		.name = JOURNAL,
		.outcomes = &outcomes,
	};
	char why[LOG_WHY_BYTES];
	bool ok;

	outcomes = (struct outcomes){ .l = l, .log = JOURNAL };
	ok = access(JOURNALCTL, X_OK) == 0 &&
	    (access(JOURNAL_ON_DISK, F_OK) == 0 ||
		access(JOURNAL_IN_MEMORY, F_OK) == 0) &&
	    read_journal(&reading, NULL, true, io_deadline(seconds), why);
	outcomes_end(&outcomes);
	return ok && !l->failed;
}

void
login_logs_free(struct login_logs *logs)
{
	for (size_t i = 0; i < logs->n; i++)
		free(logs->name[i]);
	free(logs->name);
	free(logs->file);
	*logs = (struct login_logs){ .n = 0 };
}
