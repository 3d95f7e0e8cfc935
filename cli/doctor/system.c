/* SPDX-License-Identifier: ISC */
/* What runs: the arguments of the sshd that listens, and the log. */
#include "doctor/doctor.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sshd_config/guard_command.h"
#include "sshd_config/process.h"
#include "sshd_config/sshd_config.h"

#define LOG_SOCKET "/dev/log"
#define ARGUMENTS_BYTES (64 * 1024)
#define BLANKS " \t\r\n\"'"
#define SYSTEMCTL "/usr/bin/systemctl"

/* Arguments of an sshd, and where they were seen. */
struct arguments {
	struct doctor *d;
	const char *check;
	const char *place;
	size_t overrides, unseen;
};

/*
 * -o options count before the file. The words of a running sshd have lost
 * their quotes: a value is taken to be one word.
 */
static void
look_at_option(struct arguments *a, const char *keyword, const char *value)
{
	static const char *const others[] = {
		"AuthorizedKeysCommandUser", "AuthorizedPrincipalsCommand",
		"AuthorizedPrincipalsCommandUser", "AuthorizedPrincipalsFile",
		"AuthenticationMethods", "HostbasedAuthentication", "Include",
		"PAMServiceName", "PermitTunnel", "TrustedUserCAKeys",
	};
	static const char remedy[] = "take the option out of the service's "
	    "arguments, and write it into sshd_config";
	const char *args;
	bool bad = false, known = false;

	if (strcasecmp(keyword, "AuthorizedKeysFile") == 0)
		bad = a->d->root.guard && strcasecmp(value, "none") != 0;
	else if (strcasecmp(keyword, "AuthorizedKeysCommand") == 0)
		bad = !guard_command(value, &args);
	else if (strcasecmp(keyword, "UsePAM") == 0)
		bad = strcasecmp(value, "yes") != 0;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		known |= strcasecmp(keyword, others[i]) == 0;
	if (bad)
		doctor_broken(a->d, a->check, remedy, "%s: -o %s=%s leads past "
		    "keyveto, whatever sshd_config says", a->place, keyword,
		    value);
	else if (known)
		doctor_warning(a->d, a->check, remedy, "%s: -o %s=%s is not "
		    "seen by the other checks", a->place, keyword, value);
	a->overrides += bad || known;
}

static void
look_at_file(struct arguments *a, const char *path)
{
	const char *asked = a->d->o->sshd.config;

	if (strcmp(path, asked != NULL ? asked : "/etc/ssh/sshd_config") == 0)
		return;
	doctor_warning(a->d, a->check, "name that file with --sshd-config",
	    "%s: its configuration is %s, which the other checks have not "
	    "seen", a->place, path);
	a->overrides++;
}

/* An option and its value: either may be behind a blank. */
static void
look_at_setting(struct arguments *a, char *keyword, char **rest)
{
	static char none[] = "";
	char *value = strchr(keyword, '=');

	if (value != NULL)
		*value++ = '\0';
	else if ((value = strtok_r(NULL, BLANKS, rest)) == NULL)
		value = none;
	look_at_option(a, keyword, value);
}

/* A word of options, such as "-Do": the last may have an argument. */
static void
look_at_word(struct arguments *a, char *word, char **rest)
{
	/* Those of all versions up to 10.5 (sshd.c, getopt). */
	static const char with_argument[] = "CEbcfghkopu";
	char option, *argument;

	while (*++word != '\0' && strchr(with_argument, *word) == NULL)
		;
	if ((option = *word) == '\0')
		return;
	argument = word[1] != '\0' ? word + 1 : strtok_r(NULL, BLANKS, rest);
	if (argument != NULL && option == 'f')
		look_at_file(a, argument);
	else if (argument != NULL && option == 'o')
		look_at_setting(a, argument, rest);
}

/* Goes through the words of text, which it cuts apart. */
static void
look_at_words(struct arguments *a, char *text)
{
	char *rest = NULL, *word;

	for (word = strtok_r(text, BLANKS, &rest); word != NULL;
	    word = strtok_r(NULL, BLANKS, &rest))
		if (word[0] == '-' && word[1] != '-')
			look_at_word(a, word, &rest);
}

/* From errno; what is not there, or has just gone, is no news. */
static void
tell_unseen(struct arguments *a, const char *path)
{
	if (errno == ENOENT || errno == ESRCH)
		return;
	doctor_warning(a->d, a->check, NULL, "%s: %s: what sshd is started "
	    "with cannot be seen there", path, strerror(errno));
	a->unseen++;
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
	errno = n > 0 ? E2BIG : saved;
	return n == 0;
}

/*
 * What stands behind "sshd: ", or another name of sshd's; NULL where a process
 * has no title of that form, but still the arguments it was started with.
 */
static const char *
find_titled(const char *title)
{
	const size_t len = strcspn(title, " ");

	return len > 0 && title[len] == ' ' && title[len - 1] == ':' ?
	    title + len + 1 : NULL;
}

/*
 * A listening sshd shows its arguments, a login its account. Where there is
 * little room for its title, the end of that is cut off.
 */
static bool
is_listener(const char *title, bool *cutp)
{
	const char *shown = find_titled(title);

	*cutp = shown != NULL && strstr(title, "[listener]") == NULL;
	return !*cutp || *shown == '/';
}

/* sshd takes the name that it was started by for that of its PAM service. */
static void
look_at_name(struct arguments *a, const char *title)
{
	const char *shown = find_titled(title);
	const char *word = shown != NULL ? shown : title;
	size_t len = strcspn(word, " ");
	const char *name = memrchr(word, '/', len);

	name = name != NULL ? name + 1 : word;
	len -= (size_t)(name - word);
	if (a->d->service_set || (len == strlen(a->d->service) &&
	    strncmp(name, a->d->service, len) == 0))
		return;
	doctor_warning(a->d, a->check, "start it by the name of that service",
	    "%s: goes by the name of %.*s, and so does its PAM service; the "
	    "other checks have seen %s", a->place, (int)len, name,
	    a->d->service);
	a->overrides++;
}

static bool
look_at_process(struct arguments *a, const char *pid,
    char text[static ARGUMENTS_BYTES])
{
	const enum sshd_process what = sshd_process_look(pid);
	char path[64], place[64];
	size_t len;
	bool cut;

	snprintf(path, sizeof(path), "/proc/%.20s", pid);
	if (what == SSHD_PROCESS_UNSEEN)
		tell_unseen(a, path);
	if (what != SSHD_PROCESS_SSHD)
		return false;
	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	if (!read_text(path, text, &len)) {
		tell_unseen(a, path);
		return false;
	}
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	if (!is_listener(text, &cut))
		return false;
	snprintf(place, sizeof(place), "sshd, process %.20s", pid);
	if (cut) {
		doctor_warning(a->d, a->check, NULL, "%s: its arguments are "
		    "cut off: %s", place, text);
		a->unseen++;
	}
	a->place = place;
	look_at_name(a, text);
	look_at_words(a, text);
	a->place = NULL;
	return true;
}

static size_t
look_at_processes(struct arguments *a, char text[static ARGUMENTS_BYTES])
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	size_t n = 0;

	/* Where there is no /proc, nothing can be seen either. */
	if (dir == NULL && errno == ENOENT)
		errno = ENOTDIR;
	if (dir == NULL) {
		tell_unseen(a, "/proc");
		return 0;
	}
	while (errno = 0, (e = readdir(dir)) != NULL)
		if (e->d_name[strspn(e->d_name, "0123456789")] == '\0')
			n += look_at_process(a, e->d_name, text);
	if (errno != 0)
		tell_unseen(a, "/proc");
	closedir(dir);
	return n;
}

/* A file of the shell's assignments, whose words sshd is started with. */
static void
look_at_defaults(struct arguments *a, const char *path, const char *variable,
    char text[static ARGUMENTS_BYTES])
{
	const size_t name = strlen(variable);
	char *rest = text, *line;
	size_t len;

	if (!read_text(path, text, &len)) {
		tell_unseen(a, path);
		return;
	}
	a->place = path;
	while ((line = strsep(&rest, "\n")) != NULL) {
		line += strspn(line, " \t");
		if (strncmp(line, variable, name) == 0 && line[name] == '=')
			look_at_words(a, line + name + 1);
	}
}

static char *
ask_systemd(const char *what, const char *how, const char *unit)
{
	const char *const argument[] = { what, how, unit };
	struct sshd systemctl = { .path = SYSTEMCTL };
	char why[1024];

	return sshd_run(&systemctl, argument, 3, why, sizeof(why));
}

/* Returns the answer, to be freed; one that equals known is an alias's. */
static char *
look_at_unit(struct arguments *a, const char *place, const char *unit,
    const char *known)
{
	char *text = ask_systemd("show", "--property=ExecStart", unit);
	char *words = text != NULL ? strdup(text) : NULL;

	a->place = place;
	if (words == NULL) {
		doctor_warning(a->d, a->check, NULL, "%s: systemd does not "
		    "tell how it starts that", place);
		a->unseen++;
	} else if (known == NULL || strcmp(text, known) != 0)
		look_at_words(a, words);
	a->place = NULL;
	free(words);
	return text;
}

/* The answer about a socket's template, which any instance of it shows. */
static char *
look_at_template(struct arguments *a, const char *name, const char *known)
{
	char place[64], unit[64], *active;

	snprintf(unit, sizeof(unit), "%s.socket", name);
	if ((active = ask_systemd("is-active", "--quiet", unit)) == NULL)
		return NULL;
	free(active);
	snprintf(place, sizeof(place), "%s@.service", name);
	snprintf(unit, sizeof(unit), "%s@keyveto.service", name);
	return look_at_unit(a, place, unit, known);
}

/*
 * What systemd starts sshd with, from the next start on. With a socket there is
 * no process to look at before somebody connects.
 */
static void
look_at_units(struct arguments *a)
{
	char *ssh, *sshd, *from_ssh, *from_sshd;

	if (access("/run/systemd/system", F_OK) == -1)
		return;
	ssh = look_at_unit(a, "ssh.service", "ssh.service", NULL);
	sshd = look_at_unit(a, "sshd.service", "sshd.service", ssh);
	from_ssh = look_at_template(a, "ssh", NULL);
	from_sshd = look_at_template(a, "sshd", from_ssh);
	free(ssh);
	free(sshd);
	free(from_ssh);
	free(from_sshd);
}

void
doctor_service(struct doctor *d, const char *check)
{
	static char text[ARGUMENTS_BYTES];
	struct arguments a = { .d = d, .check = check };
	size_t n = 0;

	if (geteuid() == 0) {
		n = look_at_processes(&a, text);
	} else {
		doctor_warning(d, check, "run keyveto doctor as root",
		    "only root can see the arguments of sshd");
		a.unseen++;
	}
	look_at_defaults(&a, "/etc/default/ssh", "SSHD_OPTS", text);
	look_at_defaults(&a, "/etc/sysconfig/sshd", "OPTIONS", text);
	look_at_units(&a);
	if (a.overrides + a.unseen > 0)
		return;
	if (n == 0)
		doctor_ok(d, check, "no sshd listens at present, and none is "
		    "to be given options that count");
	else
		doctor_ok(d, check, "%zu sshd %s, without options that count",
		    n, n == 1 ? "listens" : "listen");
}

/* Connects and goes away; nothing is logged. 0 or errno. */
static int
reach_log(int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = 0;

	if (fd == -1)
		return errno;
	memcpy(address.sun_path, LOG_SOCKET, sizeof(LOG_SOCKET));
	if (connect(fd, (const struct sockaddr *)&address,
	    sizeof(address)) == -1)
		error = errno;
	close(fd);
	return error;
}

void
doctor_syslog(struct doctor *d, const char *check)
{
	int error = reach_log(SOCK_DGRAM);

	if (error == EPROTOTYPE)
		error = reach_log(SOCK_STREAM);
	if (error == 0)
		doctor_ok(d, check, LOG_SOCKET " takes what is logged");
	else
		doctor_warning(d, check, "start the machine's log service; "
		    "until then nobody sees who is refused, or why",
		    LOG_SOCKET ": %s", strerror(error));
}
