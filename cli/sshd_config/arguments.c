/* SPDX-License-Identifier: ISC */
#include "sshd_config/arguments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "host/sshd_process.h"
#include "sshd_config/sshd_config.h"

#define ARGUMENTS_BYTES (64 * 1024)
/* A backslash is the shell's, or stands for a tab in a title set by sshd. */
#define BLANKS " \t\r\n\"'\\"
#define SYSTEMCTL "/usr/bin/systemctl"

bool
sshd_arguments_decide(const char *keyword)
{
	static const char *const keywords[] = {
		"AuthenticationMethods",
		"AuthorizedKeysCommand",
		"AuthorizedKeysCommandUser",
		"AuthorizedKeysFile",
		"AuthorizedPrincipalsCommand",
		"AuthorizedPrincipalsCommandUser",
		"AuthorizedPrincipalsFile",
		"HostbasedAuthentication",
		"Include",
		"PAMServiceName",
		"PubkeyAuthentication",
		"StrictModes",
		"TrustedUserCAKeys",
		"UsePAM",
	};

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strcasecmp(keyword, keywords[i]) == 0)
			return true;
	return false;
}

/* A command line that is split into words. */
struct words {
	char *text, *rest;   /* for strtok_r */
	const char *letters; /* the letters of "-Do" that are still to read */
	bool doubtful;	     /* an option may be a part of an -o value */
};

/*
 * Whether the value of an -o option may have several words. The quotes around
 * it are lost, so that words behind it may belong to it.
 */
static bool
may_have_words(const char *setting)
{
	static const char *const keywords[] = {
		"AuthorizedKeysCommand",
		"AuthorizedPrincipalsCommand",
		"ForceCommand",
		"SetEnv",
		"Subsystem",
		"VersionAddendum",
	};
	const size_t len = strcspn(setting, "=");

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strlen(keywords[i]) == len &&
		    strncasecmp(setting, keywords[i], len) == 0)
			return true;
	return false;
}

static char *
next_word(struct words *w)
{
	char *word = strtok_r(w->text, BLANKS, &w->rest);

	w->text = NULL;
	return word;
}

/*
 * The letter of the next option; '\0' at the end. *argumentp is its argument,
 * or NULL.
 */
static char
next_option(struct words *w, const char **argumentp)
{
	/* Of all versions up to OpenSSH 10.5 (sshd.c, getopt). */
	static const char with_argument[] = "CEbcfghkopu";
	const char *word;
	char letter;

	*argumentp = NULL;
	while (w->letters == NULL || *w->letters == '\0') {
		if ((word = next_word(w)) == NULL)
			return '\0';
		if (word[0] == '-' && word[1] != '-')
			w->letters = word + 1;
	}
	letter = *w->letters++;
	if (strchr(with_argument, letter) == NULL)
		return letter;
	*argumentp = *w->letters != '\0' ? w->letters : next_word(w);
	w->letters = NULL;
	if (letter == 'o' && *argumentp != NULL && may_have_words(*argumentp))
		w->doubtful = true;
	return letter;
}

/* Calls found->option. A blank or a "=" stands before the value. */
static void
call_option(const struct sshd_arguments *found, const struct sshd_start *start,
    const char *setting, struct words *w)
{
	char *keyword = strdup(setting), *value;
	const char *word = NULL;

	if (keyword == NULL)
		return;
	if ((value = strchr(keyword, '=')) != NULL)
		*value++ = '\0';
	else
		word = next_word(w);
	found->option(found->arg, start, keyword,
	    value != NULL    ? value :
		word != NULL ? word :
			       "");
	free(keyword);
}

/*
 * Whether an sshd with these arguments answers a question and ends. text must
 * not be a title that sshd has set.
 */
static bool
is_question(const char *text)
{
	char *copy = strdup(text);
	struct words w = { .text = copy };
	const char *argument;
	bool asks = false;
	char letter;

	while (copy != NULL && (letter = next_option(&w, &argument)) != '\0')
		asks |= !w.doubtful && strchr("tTGV", letter) != NULL;
	free(copy);
	return asks;
}

/*
 * The argument of the last -f, which is the one that counts. Ignores one that
 * may be part of an -o value. NULL if there is none.
 */
static const char *
find_file(char *text)
{
	struct words w = { .text = text };
	const char *argument, *file = NULL;
	char letter;

	while ((letter = next_option(&w, &argument)) != '\0')
		if (letter == 'f' && argument != NULL && !w.doubtful)
			file = argument;
	return file;
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

/* Calls found->name. */
static void
call_name(const struct sshd_arguments *found, const struct sshd_start *start,
    const char *title)
{
	const char *shown = find_titled(title);
	const char *word = shown != NULL ? shown : title;
	size_t len = strcspn(word, " ");
	const char *base = memrchr(word, '/', len);
	char *name;

	base = base != NULL ? base + 1 : word;
	len -= (size_t)(base - word);
	if ((name = strndup(base, len)) == NULL)
		return;
	found->name(found->arg, start, name);
	free(name);
}

/*
 * Calls the functions with the arguments in text. title is the title of a
 * process; NULL for a file or a unit.
 */
static void
report_arguments(const struct sshd_arguments *found, const char *place,
    const char *text, const char *title)
{
	char *first = strdup(text), *second = strdup(text);
	struct sshd_start start = { .place = place, .listens = title != NULL };
	struct words w = { .text = second };
	const bool ok = first != NULL && second != NULL;
	const char *argument;
	char letter;

	if (ok)
		start.file = find_file(first);
	else
		found->unseen(found->arg, place, strerror(ENOMEM));
	if (title != NULL)
		call_name(found, &start, title);
	while (ok && (letter = next_option(&w, &argument)) != '\0') {
		if (letter == 'f' && argument != NULL)
			found->file(found->arg, &start, argument);
		else if (letter == 'o' && argument != NULL)
			call_option(found, &start, argument, &w);
	}
	free(first);
	free(second);
}

/* Calls found->unseen with errno, unless the file or process does not exist. */
static void
call_unseen(const struct sshd_arguments *found, const char *path)
{
	char why[256];

	if (errno == ENOENT || errno == ESRCH)
		return;
	snprintf(why, sizeof(why),
	    "%s: what sshd is started with cannot be "
	    "seen there",
	    strerror(errno));
	found->unseen(found->arg, path, why);
}

/* Reads a small file of /proc or /etc, as text. False with errno. */
static bool
read_text(const char *path, char text[static ARGUMENTS_BYTES], size_t *lenp)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = 1;
	int saved;

	*lenp = 0;
	if (fd == -1)
		return false;
	while (*lenp < ARGUMENTS_BYTES - 1 && n > 0) {
		n = read(fd, text + *lenp, ARGUMENTS_BYTES - 1 - *lenp);
		if (n > 0)
			*lenp += (size_t)n;
	}
	saved = errno;
	close(fd);
	text[*lenp] = '\0';
	errno = n > 0 ? EFBIG : saved;
	return n == 0;
}

/*
 * Whether the title is that of an sshd that listens. A listener's title has its
 * arguments, a login's has the account. *cutp: the end of the title may be
 * missing, because the process had too little room for it.
 */
static bool
is_listener(const char *title, bool *cutp)
{
	const char *shown = find_titled(title);

	*cutp = shown != NULL && strstr(title, "[listener]") == NULL;
	return !*cutp || *shown == '/';
}

/*
 * Reports the arguments of an sshd, which text has. False if it does not
 * listen. An sshd that answers a question sets no title.
 */
static bool
report_listener(const struct sshd_arguments *found, const char *pid,
    enum sshd_process what, const char *text)
{
	char place[64], *why;
	bool cut;

	if (!is_listener(text, &cut) ||
	    (find_titled(text) == NULL && is_question(text)))
		return false;
	snprintf(place, sizeof(place), "sshd, process %.20s", pid);
	if (what == SSHD_PROCESS_ELSEWHERE) {
		found->unseen(found->arg, place,
		    "it runs in a chroot, and "
		    "reads another /etc/ssh/sshd_config there: not looked at");
		return false;
	}
	if (cut) {
		if (asprintf(&why, "its arguments are cut off: %s", text) == -1)
			why = NULL;
		found->unseen(found->arg, place,
		    why != NULL ? why : "its arguments are cut off");
		free(why);
	}
	report_arguments(found, place, text, text);
	return true;
}

/* Reports a process's arguments. False if it is no sshd that listens. */
static bool
report_process(const struct sshd_arguments *found, const char *pid,
    char text[static ARGUMENTS_BYTES])
{
	const enum sshd_process what = sshd_process_kind(pid);
	char path[64];
	size_t len;

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
	return report_listener(found, pid, what, text);
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
	while (errno = 0, (e = readdir(dir)) != NULL)
		if (e->d_name[strspn(e->d_name, "0123456789")] == '\0')
			n += report_process(found, e->d_name, text);
	if (errno != 0)
		call_unseen(found, "/proc");
	closedir(dir);
	return n;
}

/* Removes a shell comment. */
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
			found->unseen(found->arg, path,
			    "it takes options from "
			    "elsewhere ($), which cannot be seen there");
		report_arguments(found, path, line, NULL);
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
 * Reports the arguments of a unit, unless systemctl's answer equals known: then
 * one name is an alias of the other. Returns the answer, which the caller
 * frees.
 */
static char *
report_unit(const struct sshd_arguments *found, const char *place,
    const char *unit, const char *known)
{
	char *text = run_systemctl("show", "--property=ExecStart", unit);

	if (text == NULL)
		found->unseen(found->arg, place,
		    "systemctl show does not tell how systemd starts it");
	else if (known == NULL || strcmp(text, known) != 0)
		report_arguments(found, place, text, NULL);
	return text;
}

/* The same for the template that a socket starts, if the socket is active. */
static char *
report_template(const struct sshd_arguments *found, const char *name,
    const char *known)
{
	char place[64], unit[64], *active;

	snprintf(unit, sizeof(unit), "%s.socket", name);
	if ((active = run_systemctl("is-active", "--quiet", unit)) == NULL)
		return NULL;
	free(active);
	snprintf(place, sizeof(place), "%s@.service", name);
	snprintf(unit, sizeof(unit), "%s@keyveto.service", name);
	return report_unit(found, place, unit, known);
}

/*
 * Reports what systemd starts the next sshd with. With a socket, no process
 * listens that could be asked.
 */
static void
report_units(const struct sshd_arguments *found)
{
	char *ssh, *sshd, *from_ssh, *from_sshd;

	if (access("/run/systemd/system", F_OK) == -1)
		return;
	ssh = report_unit(found, "ssh.service", "ssh.service", NULL);
	sshd = report_unit(found, "sshd.service", "sshd.service", ssh);
	from_ssh = report_template(found, "ssh", NULL);
	from_sshd = report_template(found, "sshd", from_ssh);
	free(ssh);
	free(sshd);
	free(from_ssh);
	free(from_sshd);
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
