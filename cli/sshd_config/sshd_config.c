/* SPDX-License-Identifier: ISC */
#include "sshd_config/sshd_config.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "sshd_config/subject.h"

#define ANSWER_BYTES (1024 * 1024)
#define ANSWER_SECONDS 10
#define SPEC_BYTES 512

/* The lines of an answer that count. */
static const char *const keywords[] = {
	"authorizedkeysfile ", "authorizedkeyscommand ",
	"trustedusercakeys ", "strictmodes ", "hostkey ", "hostcertificate ",
};

#define KEYWORDS (sizeof(keywords) / sizeof(keywords[0]))

/* Starts path with argv, all that it prints going to fd. 0 or errno. */
static int
spawn(const char *path, char *const *argv, int fd, pid_t *pidp)
{
	char search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char locale[] = "LC_ALL=C";
	char *const env[] = { search, locale, NULL };
	posix_spawn_file_actions_t actions;
	int error;

	if ((error = posix_spawn_file_actions_init(&actions)) != 0)
		return error;
	if ((error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO,
	    "/dev/null", O_RDONLY, 0)) == 0 &&
	    (error = posix_spawn_file_actions_adddup2(&actions, fd,
	    STDOUT_FILENO)) == 0 &&
	    (error = posix_spawn_file_actions_adddup2(&actions, fd,
	    STDERR_FILENO)) == 0)
		error = posix_spawn(pidp, path, &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

#define ARGUMENTS_MAX 16

/* Puts together what sshd is started with. */
static void
put_arguments(const struct sshd *sshd, const char *const *argument, size_t n,
    char **argv)
{
	size_t k = 0;

	argv[k++] = (char *)sshd->path;
	for (size_t i = 0; i < n && k < ARGUMENTS_MAX - 5; i++)
		argv[k++] = (char *)argument[i];
	if (sshd->config != NULL) {
		argv[k++] = (char *)"-f";
		argv[k++] = (char *)sshd->config;
	}
	if (sshd->host_key != NULL) {
		argv[k++] = (char *)"-h";
		argv[k++] = (char *)sshd->host_key;
	}
	argv[k] = NULL;
}

/*
 * Debian's sshd answers no question without this folder. systemd makes it when
 * it starts ssh.service; with ssh.socket that is at the first connection, hours
 * after the boot perhaps. It makes the same: an empty one, root's alone.
 */
static void
make_run_folder(void)
{
	if (geteuid() == 0 && access("/run/systemd/system", F_OK) == 0 &&
	    access("/lib/systemd/system/ssh.service", F_OK) == 0)
		(void)mkdir("/run/sshd", 0755);
}

static int64_t
monotonic_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
sshd_start(const struct sshd *sshd, const char *const *argument, size_t n,
    struct sshd_question *q)
{
	char *argv[ARGUMENTS_MAX];
	int ends[2];

	*q = (struct sshd_question){
		.pid = -1, .fd = -1,
		.deadline = monotonic_ms() + ANSWER_SECONDS * 1000
	};
	put_arguments(sshd, argument, n, argv);
	make_run_folder();
	if (pipe2(ends, O_CLOEXEC) == -1) {
		q->error = errno;
		return;
	}
	q->error = spawn(sshd->path, argv, ends[1], &q->pid);
	close(ends[1]);
	if (q->error == 0)
		q->fd = ends[0];
	else {
		close(ends[0]);
		q->pid = -1;
	}
}

/*
 * What -C is to say. All that a Match line may ask for, lest sshd refuse to
 * answer; but of nobody in particular no more than a port, which sshd wants to
 * be told where a Match LocalPort stands. Other criteria then match nothing.
 */
static bool
put_connection(const struct sshd_subject *s, const char *user,
    char spec[static SPEC_BYTES])
{
	int n;

	if (user == NULL)
		n = snprintf(spec, SPEC_BYTES, "lport=%u", s->free_port);
	else
		n = snprintf(spec, SPEC_BYTES, "user=%s,host=localhost,"
		    "addr=127.0.0.1,laddr=%s,lport=%u,rdomain=", user,
		    s->address, s->port);
	return n < SPEC_BYTES;
}

void
sshd_ask(const struct sshd *sshd, const char *user, struct sshd_question *q)
{
	const struct sshd_subject *s = sshd_subject(sshd);
	char spec[SPEC_BYTES];
	const char *const argument[] = { "-T", "-C", spec };

	*q = (struct sshd_question){ .pid = -1, .fd = -1 };
	if (*s->refused != '\0')
		q->refused = s->refused;
	else if (user != NULL && strchr(user, ',') != NULL)
		q->refused = "sshd cannot be asked about a name with a comma: "
		    "sshd -C takes it for the end of the name";
	else if (!put_connection(s, user, spec))
		q->refused = "sshd is not asked about so long a name";
	else
		sshd_start(sshd, argument, 3, q);
	q->asked = true;
}

/* Waits for more; what comes late, but comes, may take a second longer. */
static bool
wait_for_more(const struct sshd_question *q)
{
	struct pollfd p = { .fd = q->fd, .events = POLLIN };
	int64_t left = q->deadline - monotonic_ms();
	int n;

	do
		n = poll(&p, 1, left > 1000 ? (int)left : 1000);
	while (n == -1 && errno == EINTR);
	return n > 0;
}

/* Reads all of it, and a NUL; false with errno. */
static bool
read_answer(struct sshd_question *q, char *buf)
{
	size_t len = 0;
	ssize_t n;

	while (len < ANSWER_BYTES - 1) {
		if (!wait_for_more(q)) {
			q->timed_out = true;
			errno = ETIMEDOUT;
			return false;
		}
		n = read(q->fd, buf + len, ANSWER_BYTES - 1 - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		buf[len += (size_t)n] = '\0';
		if (n == 0)
			return true;
	}
	errno = EMSGSIZE;
	return false;
}

/* What a program that failed has said, as one line. */
static const char *
join_lines(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && strchr("\r\n", text[len - 1]) != NULL)
		text[--len] = '\0';
	/* sshd ends its lines with both. */
	for (char *p = text; *p != '\0'; p++) {
		if (*p == '\r')
			*p = ';';
		else if (*p == '\n')
			*p = p > text && p[-1] == ';' ? ' ' : ';';
	}
	return len > 0 ? text : "it failed without a word";
}

/* Why there is no answer, from errno where it was being read. */
static void
put_reason(const struct sshd_question *q, char *why, size_t cap)
{
	if (!q->timed_out)
		snprintf(why, cap, "sshd -T: %s", strerror(errno));
	else
		snprintf(why, cap, "sshd -T: no answer within %d seconds; "
		    "either a file that it opens, such as a HostKey, is a FIFO, "
		    "or the name service (nsswitch.conf) does not answer",
		    ANSWER_SECONDS);
	if (q->timed_out && q->asked)
		sshd_subject_refuse(why);
}

char *
sshd_answer_text(struct sshd_question *q, char *why, size_t cap)
{
	char *text = malloc(ANSWER_BYTES);
	int status = 0;
	bool ok;

	if (q->pid == -1) {
		snprintf(why, cap, "%s", q->refused != NULL ? q->refused :
		    strerror(q->error));
		free(text);
		return NULL;
	}
	ok = text != NULL && read_answer(q, text);
	if (!ok) {
		put_reason(q, why, cap);
		kill(q->pid, SIGKILL);
	}
	close(q->fd);
	while (waitpid(q->pid, &status, 0) == -1 && errno == EINTR)
		;
	if (ok && status != 0) {
		snprintf(why, cap, "sshd -T: %s", join_lines(text));
		ok = false;
	}
	if (ok)
		return text;
	free(text);
	return NULL;
}

char *
sshd_run(const struct sshd *sshd, const char *const *argument, size_t n,
    char *why, size_t cap)
{
	struct sshd_question q;

	sshd_start(sshd, argument, n, &q);
	return sshd_answer_text(&q, why, cap);
}

struct sshd_settings *
sshd_answer(struct sshd_question *q, char *why, size_t cap)
{
	char *text = sshd_answer_text(q, why, cap);
	struct sshd_settings *s;

	if (text == NULL)
		return NULL;
	if ((s = sshd_settings_parse(text)) == NULL)
		snprintf(why, cap, "%s", strerror(errno));
	free(text);
	return s;
}

bool
sshd_text_value(const char *text, const char *keyword, char *value, size_t cap)
{
	const size_t len = strlen(keyword);

	while (*text != '\0') {
		size_t line = strcspn(text, "\n");

		if (line > len && strncasecmp(text, keyword, len) == 0 &&
		    text[len] == ' ') {
			snprintf(value, cap, "%.*s", (int)(line - len - 1),
			    text + len + 1);
			return true;
		}
		text += line + (text[line] == '\n');
	}
	*value = '\0';
	return false;
}

bool
sshd_text_is(const char *text, const char *keyword, const char *value)
{
	char have[SSHD_VALUE_BYTES];

	return sshd_text_value(text, keyword, have, sizeof(have)) &&
	    strcasecmp(have, value) == 0;
}

/* The lines of text that count, as a string of their own. */
static char *
select_lines(const char *text)
{
	char *out = malloc(strlen(text) + 2), *end = out;

	if (out == NULL)
		return NULL;
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		for (size_t i = 0; i < KEYWORDS; i++) {
			if (strncasecmp(text, keywords[i],
			    strlen(keywords[i])) != 0)
				continue;
			memcpy(end, text, len);
			end += len;
			*end++ = '\n';
		}
		text += len + (text[len] == '\n');
	}
	*end = '\0';
	return out;
}

static void
add_path(const char *path, const char **list, size_t *np)
{
	if (strcasecmp(path, "none") != 0 && *np < SSHD_WORDS_MAX)
		list[(*np)++] = path;
}

/*
 * Cuts the words of s apart; quotes hold blanks together. sshd passes over
 * "none" beside other files (auth2-pubkey.c:user_key_allowed2).
 */
static void
add_paths(char *s, const char **list, size_t *np)
{
	while (*(s += strspn(s, " \t")) != '\0') {
		const char *word;
		size_t len;

		if (*s == '"')
			len = strcspn(++s, "\"");
		else
			len = strcspn(s, " \t");
		word = s;
		s += len;
		if (*s != '\0')
			*s++ = '\0';
		add_path(word, list, np);
	}
}

static void
take_line(struct sshd_settings *s, char *line)
{
	char *value = line + strcspn(line, " ");
	const char *path;

	*value++ = '\0';
	path = strcasecmp(value, "none") == 0 ? NULL : value;
	if (strcasecmp(line, "authorizedkeysfile") == 0)
		add_paths(value, s->pattern, &s->n_patterns);
	else if (strcasecmp(line, "authorizedkeyscommand") == 0)
		s->command = path;
	else if (strcasecmp(line, "trustedusercakeys") == 0)
		s->user_ca = path;
	else if (strcasecmp(line, "strictmodes") == 0)
		s->strictmodes = strcasecmp(value, "no") != 0;
	else if (strcasecmp(line, "hostkey") == 0)
		add_path(value, s->host_key, &s->n_host_keys);
	else
		add_path(value, s->host_certificate,
		    &s->n_host_certificates);
}

struct sshd_settings *
sshd_settings_parse(const char *text)
{
	struct sshd_settings *s = calloc(1, sizeof(*s));
	char *rest, *line;

	if (s == NULL)
		return NULL;
	s->strictmodes = true;
	if ((s->text = select_lines(text)) == NULL ||
	    (s->memory = strdup(s->text)) == NULL) {
		sshd_settings_free(s);
		return NULL;
	}
	rest = s->memory;
	while ((line = strsep(&rest, "\n")) != NULL)
		if (*line != '\0')
			take_line(s, line);
	return s;
}

void
sshd_settings_free(struct sshd_settings *s)
{
	if (s == NULL)
		return;
	free(s->text);
	free(s->memory);
	free(s);
}
