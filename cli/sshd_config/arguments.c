/* SPDX-License-Identifier: ISC */
#include "sshd_config/arguments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/unvis.h"
#include "host/sshd_process.h"
#include "sshd_config/sshd_config.h"
#include "sshd_config/words.h"

#define ARGUMENTS_BYTES (64 * 1024)
#define BLANKS " \t\r\n"
#define SYSTEMCTL "/usr/bin/systemctl"

struct option {
	const char *file;      /* of an -f; NULL for an -o */
	char *keyword, *value; /* of an -o; freed with the options */
};

/* The options in a command line that tell what sshd reads. */
struct options {
	char *memory; /* the files point into it */
	struct option *v;
	size_t n;
	const char *file; /* of the last -f that is no part of an -o value */
	bool asks;	  /* sshd answers a question and ends */
	bool doubtful;	  /* the next option may be a part of an -o value */
};

static void
free_options(struct options *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].keyword);
		free(o->v[i].value);
	}
	free(o->memory);
	free(o->v);
	*o = (struct options){ .n = 0 };
}

/*
 * Adds an -o, as sshd reads the line with which text begins. No keyword begins
 * with "-": sshd has got an empty line then, and text begins with the next
 * option. False without memory.
 */
static bool
add_option(struct options *o, const char *text)
{
	char *line = strdup(text), *rest;
	struct option *v = &o->v[o->n];
	const char *keyword, *value;

	if (line == NULL)
		return false;
	keyword = sshd_words_keyword(line, &rest);
	if (keyword != NULL && *keyword != '-') {
		o->n++;
		v->keyword = strdup(keyword);
		value = sshd_words_next(&rest);
		v->value = strdup(value != NULL ? value : "");
		/* The quotes around it are lost: the next words may be its. */
		o->doubtful |= (sshd_keyword(keyword) & SSHD_KEYWORD_WORDS) ||
		    (value != NULL && *value == '-');
		keyword = v->value != NULL ? v->keyword : NULL;
	} else
		keyword = "";
	free(line);
	return keyword != NULL;
}

/* Adds the options in text, of which o->memory is a copy to cut. */
static bool
add_options(struct options *o, const char *text)
{
	/* Of all versions up to OpenSSH 10.6 (sshd.c, getopt). */
	static const char with_argument[] = "CEbcfghkopu";
	char *rest, *word = strtok_r(o->memory, BLANKS, &rest);

	for (; word != NULL; word = strtok_r(NULL, BLANKS, &rest)) {
		char *p = word, option;

		if (word[0] != '-' || word[1] == '-')
			continue;
		while (*++p != '\0' && strchr(with_argument, *p) == NULL)
			o->asks |= !o->doubtful && strchr("tTGV", *p) != NULL;
		if ((option = *p++) == '\0')
			continue;
		if (*p == '\0' && rest == NULL)
			break;
		if (*p == '\0' && option == 'o')
			p = rest + strspn(rest, BLANKS);
		else if (*p == '\0' &&
		    (p = strtok_r(NULL, BLANKS, &rest)) == NULL)
			break;
		if (option == 'f') {
			o->v[o->n++].file = p;
			if (!o->doubtful)
				o->file = p;
		} else if (option == 'o' &&
		    !add_option(o, text + (p - o->memory)))
			return false;
	}
	return true;
}

/*
 * Reads text, which has the arguments of a process, or what a shell or systemd
 * makes arguments of. Always call free_options. False, with no options, on
 * ENOMEM.
 */
static bool
read_options(const char *text, bool of_process, struct options *o)
{
	char *plain = strdup(text);
	bool ok = false;

	/* The shell's quotes and backslashes are no part of the words. */
	for (char *p = plain; !of_process && p != NULL && *p != '\0'; p++)
		if (strchr("\"'\\", *p) != NULL)
			*p = ' ';
	*o = (struct options){ .v = calloc(strlen(text) + 1, sizeof(*o->v)) };
	if (plain != NULL && o->v != NULL &&
	    (o->memory = strdup(plain)) != NULL)
		ok = add_options(o, plain);
	if (!ok)
		free_options(o);
	free(plain);
	return ok;
}

/*
 * What follows "sshd: ", or another name of sshd's, in a title that sshd has
 * set. NULL if text is still the arguments that the process was started with.
 */
static const char *
find_titled(const char *title)
{
	const size_t len = strcspn(title, " ");

	return len > 0 && title[len] == ' ' && title[len - 1] == ':' ?
	    title + len + 1 :
	    NULL;
}

static void
report_unseen(const struct sshd_arguments *found, const char *place,
    const char *why)
{
	if (found->unseen != NULL)
		found->unseen(found->arg, place, why);
}

/*
 * Calls the functions with the arguments in text. program: text is the title of
 * a process that runs that file. NULL: text is from a file or a unit.
 */
static void
report_arguments(const struct sshd_arguments *found, const char *place,
    const char *text, const char *program, bool other_config)
{
	const bool is_process = program != NULL;
	struct sshd_start start = {
		.place = place,
		.other_config = other_config,
		.listens = is_process,
		.program = program,
	};
	struct options o;

	if (!read_options(text, is_process, &o))
		report_unseen(found, place, strerror(ENOMEM));
	start.file = o.file;
	if (found->line != NULL)
		found->line(found->arg, &start, text);
	if (is_process && found->name != NULL) {
		const char *title = find_titled(text);
		const char *word = title != NULL ? title : text;
		const char *end = word + strcspn(word, " ");
		const char *slash = memrchr(word, '/', (size_t)(end - word));
		char *name;

		if (slash != NULL)
			word = slash + 1;
		if ((name = strndup(word, (size_t)(end - word))) != NULL)
			found->name(found->arg, &start, name);
		free(name);
	}
	for (size_t i = 0; i < o.n; i++) {
		if (o.v[i].file != NULL && found->file != NULL)
			found->file(found->arg, &start, o.v[i].file);
		else if (o.v[i].file == NULL && found->option != NULL)
			found->option(found->arg, &start, o.v[i].keyword,
			    o.v[i].value);
	}
	free_options(&o);
}

/* Calls found->unseen with errno, unless the file or process does not exist. */
static void
call_unseen(const struct sshd_arguments *found, const char *path)
{
	char why[256];

	if (errno == ENOENT || errno == ESRCH)
		return;
	snprintf(why, sizeof(why),
	    "%s: what sshd is started with cannot be seen there",
	    strerror(errno));
	report_unseen(found, path, why);
}

/* Reads a small file of /proc or /etc, as text. False with errno. */
static bool
read_text(const char *path, char text[static ARGUMENTS_BYTES], size_t *lenp)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd != -1 ? io_read(fd, text, ARGUMENTS_BYTES - 1) : -1;
	int saved = n == ARGUMENTS_BYTES - 1 ? EFBIG : errno;

	io_close(fd);
	*lenp = n > 0 ? (size_t)n : 0;
	text[*lenp] = '\0';
	errno = saved;
	return n >= 0 && n < ARGUMENTS_BYTES - 1;
}

/*
 * Sets program to the file that a process runs, or ran: an upgrade may have
 * replaced it since. If the kernel does not show it, it is the first word of
 * the title, or that of the arguments. False with errno.
 */
static bool
read_program(const char *pid, const char *title, char program[static PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	char link[64];
	ssize_t n;
	size_t end;

	snprintf(link, sizeof(link), "/proc/%.20s/exe", pid);
	if ((n = readlink(link, program, PATH_MAX - 1)) <= 0) {
		end = strcspn(title, " ");
		if (errno != EACCES || *title != '/' || end >= PATH_MAX)
			return false;
		memcpy(program, title, end);
		program[end] = '\0';
		return true;
	}
	program[n] = '\0';
	end = (size_t)n - strlen(deleted);
	if ((size_t)n > strlen(deleted) && strcmp(program + end, deleted) == 0)
		program[end] = '\0';
	return true;
}

/* Reports a process's arguments. False if it is no sshd that listens. */
static bool
report_process(const struct sshd_arguments *found, const char *pid,
    char text[static ARGUMENTS_BYTES])
{
	static const char elsewhere[] =
	    "it has another root directory or other mounts, and reads another "
	    "/etc/ssh/sshd_config there: not looked at";
	static const char other[] =
	    "it has mounts of its own, and reads another /etc/ssh/sshd_config "
	    "there: only its arguments are looked at";
	const enum sshd_process what = sshd_process_kind(pid);
	const char *titled;
	char path[64], place[64], program[PATH_MAX], *why;
	struct options o;
	size_t len;
	bool ends, cut, reads_other;

	snprintf(path, sizeof(path), "/proc/%.20s", pid);
	if (what == SSHD_PROCESS_UNSEEN)
		call_unseen(found, path);
	if (what != SSHD_PROCESS_SSHD && what != SSHD_PROCESS_ELSEWHERE)
		return false;
	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	if (!read_text(path, text, &len)) {
		call_unseen(found, path);
		return false;
	}
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	/* A listener's title has its arguments, a login's has the account. */
	titled = find_titled(text);
	cut = titled != NULL && strstr(text, "[listener]") == NULL;
	if (cut && *titled != '/')
		return false;
	/* An sshd that answers a question sets no title. */
	ends = titled == NULL && read_options(text, true, &o) && o.asks;
	if (titled == NULL)
		free_options(&o);
	if (ends)
		return false;
	snprintf(place, sizeof(place), "sshd, process %.20s", pid);
	if (what == SSHD_PROCESS_ELSEWHERE) {
		if (found->elsewhere != NULL)
			found->elsewhere(found->arg, place, elsewhere);
		else
			report_unseen(found, place, elsewhere);
		return false;
	}
	if (!read_program(pid, titled != NULL ? titled : text, program)) {
		call_unseen(found, path);
		return false;
	}
	/* The process had too little room for the end of the title. */
	if (cut) {
		if (asprintf(&why, "its arguments are cut off: %s", text) == -1)
			why = NULL;
		report_unseen(found, place,
		    why != NULL ? why : "its arguments are cut off");
		free(why);
	}
	/* sshd writes its title by strnvis(3). */
	if (titled != NULL)
		unvis(text);
	if ((reads_other = sshd_process_reads_other(pid)))
		report_unseen(found, place, other);
	report_arguments(found, place, text, program, reads_other);
	return true;
}

/* Reports all sshd that listen. Returns their number. */
static size_t
report_processes(const struct sshd_arguments *found,
    char text[static ARGUMENTS_BYTES])
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	size_t n = 0;

	if (dir == NULL || access("/proc/self", F_OK) == -1) {
		if (errno == ENOENT)
			errno = ENOTDIR;
		call_unseen(found, "/proc");
		if (dir != NULL)
			closedir(dir);
		return 0;
	}
	/* hidepid: a /proc that hides processes of root hides the first one. */
	if (access("/proc/1", F_OK) == -1) {
		errno = EACCES;
		call_unseen(found, "/proc");
	}
	while (errno = 0, (e = readdir(dir)) != NULL)
		if (e->d_name[strspn(e->d_name, "0123456789")] == '\0')
			n += report_process(found, e->d_name, text);
	if (errno != 0)
		call_unseen(found, "/proc");
	closedir(dir);
	return n;
}

static void
cut_comment(char *value)
{
	char quote = '\0';

	for (char *p = value; *p != '\0'; p++) {
		if (quote != '\0')
			quote = *p == quote ? '\0' : quote;
		else if (*p == '"' || *p == '\'')
			quote = *p;
		else if (*p == '#' && p > value && strchr(" \t", p[-1]) != NULL)
			*p = '\0';
		if (*p == '\0')
			return;
	}
}

/* Reports what a file of shell assignments gives to sshd in a variable. */
static void
report_defaults(const struct sshd_arguments *found, const char *path,
    const char *variable, char text[static ARGUMENTS_BYTES])
{
	const size_t name = strlen(variable);
	char *rest = text, *line;
	size_t len;

	if (!read_text(path, text, &len)) {
		call_unseen(found, path);
		return;
	}
	/* A backslash at the end of a line joins the next line to it. */
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0' ||
		    (text[i] == '\n' && i > 0 && text[i - 1] == '\\'))
			text[i] = ' ';
	while ((line = strsep(&rest, "\n")) != NULL) {
		line += strspn(line, " \t");
		if (strncmp(line, "export", 6) == 0 &&
		    strchr(" \t", line[6]) != NULL)
			line += 6 + strspn(line + 6, " \t");
		if (strncmp(line, variable, name) != 0)
			continue;
		line += name + (line[name] == '+');
		if (*line++ != '=')
			continue;
		cut_comment(line);
		if (strpbrk(line, "$`") != NULL)
			report_unseen(found, path,
			    "it takes options from "
			    "elsewhere ($), which cannot be seen there");
		report_arguments(found, path, line, NULL, false);
	}
}

/* What systemctl prints, which the caller frees; NULL if it fails. */
static char *
run_systemctl(const char *what, const char *how, const char *unit)
{
	const char *const argument[] = { what, how, unit };
	struct sshd systemctl = { .path = SYSTEMCTL };
	char why[1024];

	return sshd_run(&systemctl, argument, 3, why, sizeof(why));
}

/*
 * Reports what systemd starts the next sshd with. With a socket, no process
 * listens that could be asked.
 */
static void
report_units(const struct sshd_arguments *found)
{
	static const struct {
		const char *place, *unit;
		const char *socket; /* starts the unit; NULL: nothing has to */
		bool alias;	    /* it may be the unit before, renamed */
	} units[] = {
		{ "ssh.service", "ssh.service", NULL, false },
		{ "sshd.service", "sshd.service", NULL, true },
		{ "ssh@.service", "ssh@keyveto.service", "ssh.socket", false },
		{ "sshd@.service", "sshd@keyveto.service", "sshd.socket",
		    true },
	};
	char *last = NULL;

	if (access("/run/systemd/system", F_OK) == -1)
		return;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		char *text = NULL, *active = NULL;
		const bool asked = units[i].socket == NULL ||
		    (active = run_systemctl("is-active", "--quiet",
			 units[i].socket)) != NULL;

		if (asked)
			text = run_systemctl("show", "--property=ExecStart",
			    units[i].unit);
		if (asked && text == NULL)
			report_unseen(found, units[i].place,
			    "systemctl show does not tell how systemd starts "
			    "it");
		else if (asked &&
		    !(units[i].alias && last != NULL &&
			strcmp(text, last) == 0))
			report_arguments(found, units[i].place, text, NULL,
			    false);
		free(active);
		free(last);
		last = text;
	}
	free(last);
}

size_t
sshd_arguments_find(const struct sshd_arguments *found)
{
	static char text[ARGUMENTS_BYTES];
	size_t n = 0;

	if (geteuid() == 0)
		n = report_processes(found, text);
	report_defaults(found, "/etc/default/ssh", "SSHD_OPTS", text);
	report_defaults(found, "/etc/sysconfig/sshd", "OPTIONS", text);
	report_units(found);
	return n;
}
