/* SPDX-License-Identifier: ISC */
#include "sshd_config/sshd_config.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sshd_config/subject.h"
#include "sshd_config/words.h"

#define ANSWER_BYTES (1024 * 1024)
#define ANSWER_SECONDS 10
#define SPEC_BYTES 512

#define ARGUMENTS_MAX 16

static void
put_arguments(const struct sshd *sshd, const char *const *argument, size_t n,
    const char **argv)
{
	size_t k = 0;

	argv[k++] = sshd->path;
	for (size_t i = 0; i < n && k < ARGUMENTS_MAX - 5; i++)
		argv[k++] = argument[i];
	if (sshd->config != NULL) {
		argv[k++] = "-f";
		argv[k++] = sshd->config;
	}
	if (sshd->host_key != NULL) {
		argv[k++] = "-h";
		argv[k++] = sshd->host_key;
	}
	argv[k] = NULL;
}

/*
 * Makes /run/sshd, without which Debian's sshd -T fails. systemd makes it when
 * it starts ssh.service; with ssh.socket, that is at the first connection.
 */
static void
make_run_folder(void)
{
	if (geteuid() == 0 && access("/run/systemd/system", F_OK) == 0 &&
	    access("/lib/systemd/system/ssh.service", F_OK) == 0)
		(void)mkdir("/run/sshd", 0755);
}

void
sshd_start(const struct sshd *sshd, const char *const *argument, size_t n,
    struct sshd_question *q)
{
	const char *argv[ARGUMENTS_MAX];
	struct program program = { .argv = argv };
	int ends[2];

	*q = SSHD_NO_QUESTION;
	put_arguments(sshd, argument, n, argv);
	make_run_folder();
	if (pipe2(ends, O_CLOEXEC) == -1) {
		q->error = errno;
		return;
	}
	program_fds(&program, PROGRAM_NULL, ends[1], ends[1]);
	if (program_start(&program, &q->process))
		q->fd = ends[0];
	else {
		q->error = errno;
		close(ends[0]);
	}
	close(ends[1]);
}

/*
 * Writes the argument of -C. For a user it names everything that a Match line
 * may ask for: sshd fails if something is missing. For no user it names only a
 * port, which sshd needs for a Match LocalPort; then no other Match line
 * matches. False if it is too long.
 */
static bool
put_connection(const struct sshd_subject *s, const char *user,
    char spec[static SPEC_BYTES])
{
	int n;

	if (user == NULL)
		n = snprintf(spec, SPEC_BYTES, "lport=%u", s->free_port);
	else
		n = snprintf(spec, SPEC_BYTES,
		    "user=%s,host=localhost,"
		    "addr=127.0.0.1,laddr=%s,lport=%u,rdomain=",
		    user, s->address, s->port);
	return n < SPEC_BYTES;
}

void
sshd_ask(const struct sshd *sshd, const char *user, struct sshd_question *q)
{
	const struct sshd_subject *s = sshd_subject(sshd);
	char spec[SPEC_BYTES];
	const char *const argument[] = { "-T", "-C", spec };

	*q = SSHD_NO_QUESTION;
	if (*s->refused != '\0')
		q->refused = s->refused;
	else if (user != NULL && strchr(user, ',') != NULL)
		q->refused = "sshd cannot be asked about a name with a comma: "
			     "sshd -C takes it for the end of the name";
	else if (!put_connection(s, user, spec))
		q->refused = "sshd cannot be asked about a name that is so "
			     "long";
	else
		sshd_start(sshd, argument, 3, q);
	q->asked = true;
}

struct answer {
	char *text;
	size_t len;
};

static int
append_answer(const void *p, size_t len, void *arg)
{
	struct answer *a = arg;

	if (len >= ANSWER_BYTES - a->len)
		return EMSGSIZE;
	memcpy(a->text + a->len, p, len);
	a->len += len;
	return 0;
}

/* Joins the lines of text by "; ". */
static const char *
join_lines(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && strchr("\r\n", text[len - 1]) != NULL)
		text[--len] = '\0';
	/* sshd ends its lines with CR and LF. */
	for (char *p = text; *p != '\0'; p++) {
		if (*p == '\r')
			*p = ';';
		else if (*p == '\n')
			*p = p > text && p[-1] == ';' ? ' ' : ';';
	}
	return len > 0 ? text : "failed without a message";
}

/* Writes a sentence about an errno. After a timeout, sshd_ask asks no more. */
static void
put_reason(const struct sshd_question *q, int error, char *why, size_t cap)
{
	if (!q->timed_out)
		snprintf(why, cap, "sshd -T: %s", strerror(error));
	else
		snprintf(why, cap,
		    "sshd -T: no answer within %d seconds; "
		    "either a file that it opens, such as a HostKey, is a FIFO, "
		    "or the name service (nsswitch.conf) does not answer",
		    ANSWER_SECONDS);
	if (q->timed_out && q->asked)
		sshd_subject_refuse(why);
}

char *
sshd_answer_text(struct sshd_question *q, char *why, size_t cap)
{
	struct answer a = { .text = malloc(ANSWER_BYTES) };
	int status = 0, error;

	if (q->fd == -1) {
		snprintf(why, cap, "%s",
		    q->refused != NULL ? q->refused : strerror(q->error));
		free(a.text);
		return NULL;
	}
	error = a.text == NULL ?
	    ENOMEM :
	    program_read(q->fd, ANSWER_SECONDS, append_answer, &a);
	close(q->fd);
	q->timed_out = error == ETIMEDOUT;
	if (error != 0)
		program_kill(&q->process);
	else
		error = program_wait(&q->process, &status);
	if (error == 0 && status == 0) {
		a.text[a.len] = '\0';
		return a.text;
	}
	if (error != 0)
		put_reason(q, error, why, cap);
	else {
		a.text[a.len] = '\0';
		snprintf(why, cap, "sshd -T: %s", join_lines(a.text));
	}
	free(a.text);
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

bool
sshd_version_at_least(const char *path, unsigned int major, unsigned int minor)
{
	static const char *const argument[] = { "-V" };
	static const char name[] = "OpenSSH_";
	const struct sshd sshd = { .path = path };
	unsigned long have_major = 0, have_minor = 0;
	char why[512], *text, *version;

	if ((text = sshd_run(&sshd, argument, 1, why, sizeof(why))) == NULL)
		return false;
	/* "OpenSSH_9.2p1 Debian-2". Without a number the version is 0. */
	if ((version = strstr(text, name)) != NULL) {
		have_major = strtoul(version + sizeof(name) - 1, &version, 10);
		if (*version == '.')
			have_minor = strtoul(version + 1, NULL, 10);
	}
	free(text);
	return have_major > major ||
	    (have_major == major && have_minor >= minor);
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

static void
add_path(const char *path, const char **list, size_t *np)
{
	if (strcasecmp(path, "none") != 0 && *np < SSHD_WORDS_MAX)
		list[(*np)++] = path;
}

/*
 * Splits s into words, which may be in quotes. Skips "none", as sshd does
 * beside other files (auth2-pubkey.c:user_key_allowed2).
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

/* Adds a line of sshd -T. sshd uses the first value of a keyword. */
static void
add_setting(struct sshd_settings *s, const char *keyword, const char *value)
{
	const struct {
		const char *keyword, **value;
	} strings[] = {
		{ "authorizedkeysfile", &s->keys_files },
		{ "authorizedkeyscommand", &s->keys_command },
		{ "authorizedkeyscommanduser", &s->keys_user },
		{ "trustedusercakeys", &s->user_ca },
		{ "authorizedprincipalsfile", &s->principals_file },
		{ "authorizedprincipalscommand", &s->principals_command },
		{ "authorizedprincipalscommanduser", &s->principals_user },
		{ "pamservicename", &s->service },
		{ "authenticationmethods", &s->methods },
		{ "permittunnel", &s->tunnel },
	};

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		if (strcasecmp(keyword, strings[i].keyword) == 0 &&
		    **strings[i].value == '\0')
			*strings[i].value = value;
	if (strcasecmp(keyword, "pubkeyauthentication") == 0)
		s->pubkey = strcasecmp(value, "no") != 0;
	else if (strcasecmp(keyword, "strictmodes") == 0)
		s->strictmodes = strcasecmp(value, "no") != 0;
	else if (strcasecmp(keyword, "hostbasedauthentication") == 0)
		s->hostbased = strcasecmp(value, "yes") == 0;
	else if (strcasecmp(keyword, "usepam") == 0)
		s->use_pam = strcasecmp(value, "yes") == 0;
	else if (strcasecmp(keyword, "hostkey") == 0)
		add_path(value, s->host_key, &s->n_host_keys);
	else if (strcasecmp(keyword, "hostcertificate") == 0)
		add_path(value, s->host_certificate, &s->n_host_certificates);
}

struct sshd_settings *
sshd_settings_parse(const char *text)
{
	struct sshd_settings *s = malloc(sizeof(*s));
	char *rest, *line, *value;

	if (s == NULL)
		return NULL;
	*s = (struct sshd_settings){
		.memory = strdup(text),
		.keys_files = "",
		.keys_command = "",
		.keys_user = "",
		.user_ca = "",
		.principals_file = "",
		.principals_command = "",
		.principals_user = "",
		.service = "",
		.methods = "",
		.tunnel = "",
		.pubkey = true,
		.strictmodes = true,
	};
	rest = s->memory;
	while (rest != NULL && (line = strsep(&rest, "\n")) != NULL) {
		if ((value = strchr(line, ' ')) == NULL)
			continue;
		*value++ = '\0';
		add_setting(s, line, value);
	}
	if (s->memory == NULL || (s->words = strdup(s->keys_files)) == NULL) {
		sshd_settings_free(s);
		return NULL;
	}
	add_paths(s->words, s->pattern, &s->n_patterns);
	return s;
}

void
sshd_settings_free(struct sshd_settings *s)
{
	if (s == NULL)
		return;
	free(s->memory);
	free(s->words);
	free(s);
}

bool
sshd_settings_same_keys(const struct sshd_settings *a,
    const struct sshd_settings *b)
{
	return strcmp(a->keys_files, b->keys_files) == 0 &&
	    strcmp(a->keys_command, b->keys_command) == 0 &&
	    strcmp(a->user_ca, b->user_ca) == 0 &&
	    a->strictmodes == b->strictmodes;
}
