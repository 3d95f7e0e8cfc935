/* SPDX-License-Identifier: ISC */
#include "sshd_config/sshd_config.h"

#include <sys/stat.h>

#include <netinet/in.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sshd_config/overview.h"

#define ANSWER_BYTES (1024 * 1024)
#define ANSWER_SECONDS 10
#define SPEC_BYTES 512
#define VERSION_NAME "OpenSSH_"

/* In its process: sshd takes the names of files from there, as it does in /. */
static void
start_in_root(const char *path)
{
	(void)path;
	if (chdir("/") == -1)
		_exit(1);
}

/* The name of a configuration that counts in any folder. */
static const char *
absolute_config(const char *config, char place[static PATH_MAX])
{
	return *config == '/' || strcmp(config, "none") == 0 ||
		realpath(config, place) == NULL ?
	    config :
	    place;
}

void
sshd_start(const struct sshd *sshd, const char *const *argument, size_t n,
    struct sshd_question *q)
{
	/* The program, -f and -h with their values, and NULL. */
	const char **argv = calloc(n + 2 * sshd->n_options + 6, sizeof(*argv));
	struct program program = { .argv = argv, .before_exec = start_in_root };
	char place[PATH_MAX];
	size_t k = 0;
	int ends[2];

	*q = SSHD_NO_QUESTION;
	if (argv == NULL) {
		q->error = errno;
		return;
	}
	argv[k++] = sshd->path;
	for (size_t i = 0; i < n; i++)
		argv[k++] = argument[i];
	for (size_t i = 0; i < sshd->n_options; i++) {
		argv[k++] = "-o";
		argv[k++] = sshd->option[i];
	}
	if (sshd->config != NULL) {
		argv[k++] = "-f";
		argv[k++] = absolute_config(sshd->config, place);
	}
	if (sshd->host_key != NULL) {
		argv[k++] = "-h";
		argv[k++] = sshd->host_key;
	}
	/*
	 * Debian's sshd -T fails without /run/sshd. systemd makes it when it
	 * starts ssh.service; with ssh.socket, that is at the first connection.
	 */
	if (geteuid() == 0 && access("/run/systemd/system", F_OK) == 0 &&
	    access("/lib/systemd/system/ssh.service", F_OK) == 0)
		(void)mkdir("/run/sshd", 0755);
	if (pipe2(ends, O_CLOEXEC) == -1) {
		q->error = errno;
		free(argv);
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
	free(argv);
}

/* The result of the last call of sshd_subject, and about which sshd it was. */
static struct {
	char *sshd; /* NULL: there was none */
	struct sshd_subject is;
} last;

/* A string that is equal for equal sshd. NULL without memory. */
static char *
name_sshd(const struct sshd *sshd)
{
	char *name = NULL;
	size_t len;
	FILE *out = open_memstream(&name, &len);

	if (out == NULL)
		return NULL;
	fprintf(out, "%s\n%s\n%s", sshd->path,
	    sshd->config != NULL ? sshd->config : "",
	    sshd->host_key != NULL ? sshd->host_key : "");
	for (size_t i = 0; i < sshd->n_options; i++)
		fprintf(out, "\n%s", sshd->option[i]);
	if (fclose(out) == 0)
		return name;
	free(name);
	return NULL;
}

/* A port's number, from a number or a service's name as sshd reads it; or 0. */
static unsigned long
port_number(const char *text)
{
	const struct servent *se;
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end != text && *end == '\0')
		return n;
	se = getservbyname(text, "tcp");
	return se != NULL ? ntohs((uint16_t)se->s_port) : 0;
}

/* Sets refused and free_port by sshd's configuration files. */
static void
read_files(const struct sshd *sshd, struct sshd_subject *s)
{
	struct sshd_overview o;
	size_t i = 0;

	sshd_overview(sshd, &o);
	snprintf(s->refused, sizeof(s->refused), "%s", o.blocking);
	s->free_port = 65535;
	while (i < o.match.port.n && s->free_port > 1) {
		if (port_number(o.match.port.v[i++]) == s->free_port) {
			s->free_port--;
			i = 0;
		}
	}
	sshd_overview_free(&o);
}

/* Sets address and port by ListenAddress: ADDRESS:PORT or [ADDRESS]:PORT. */
static void
read_address(const char *text, struct sshd_subject *s)
{
	char value[SSHD_VALUE_BYTES], *address = value, *colon;
	unsigned long port;

	if (!sshd_text_value(text, "listenaddress", value, sizeof(value)))
		return;
	value[strcspn(value, " ")] = '\0';
	if ((colon = strrchr(value, ':')) == NULL)
		return;
	*colon = '\0';
	port = strtoul(colon + 1, NULL, 10);
	if (port > 0 && port <= 65535)
		s->port = (unsigned int)port;
	if (*address == '[') {
		address++;
		address[strcspn(address, "]")] = '\0';
	}
	/* An sshd that listens everywhere also listens at 127.0.0.1. */
	if (strcmp(address, "::") != 0 && strcmp(address, "0.0.0.0") != 0 &&
	    strlen(address) < sizeof(s->address))
		memcpy(s->address, address, strlen(address) + 1);
}

const struct sshd_subject *
sshd_subject(const struct sshd *sshd)
{
	static const char *const argument[] = { "-dd", "-T", "-C", "lport=1" };
	static const char mark[] = "load_server_config: filename ";
	struct sshd_subject *s = &last.is;
	struct sshd named = *sshd;
	struct sshd_question q;
	char *asked = name_sshd(sshd), why[sizeof(s->refused)];
	char *text;
	const char *at;

	if (asked != NULL && last.sshd != NULL &&
	    strcmp(asked, last.sshd) == 0) {
		free(asked);
		return s;
	}
	free(last.sshd);
	last.sshd = asked;
	*s = (struct sshd_subject){ .address = "127.0.0.1", .port = 22 };
	read_files(sshd, s);
	if (*s->refused != '\0')
		return s;
	/* No Match block can change what this answer is needed for. */
	sshd_start(sshd, argument, 4, &q);
	text = sshd_answer_text(&q, why, sizeof(why));
	if (q.timed_out)
		snprintf(s->refused, sizeof(s->refused), "%s", why);
	if (text != NULL && (at = strstr(text, mark)) != NULL) {
		at += sizeof(mark) - 1;
		snprintf(s->file, sizeof(s->file), "%.*s",
		    (int)strcspn(at, "\r\n"), at);
	}
	if (text != NULL)
		read_address(text, s);
	free(text);
	/* Without config, only the answer tells which file sshd reads. */
	named.config = s->file;
	if (*s->refused == '\0' && sshd->config == NULL && *s->file != '\0')
		read_files(&named, s);
	return s;
}

void
sshd_ask(const struct sshd *sshd, const char *user, struct sshd_question *q)
{
	const struct sshd_subject *s = sshd_subject(sshd);
	char spec[SPEC_BYTES];
	const char *const argument[] = { "-T", "-C", spec };
	int n;

	/*
	 * For a user, -C names everything that a Match line may ask for: sshd
	 * fails if something is missing. For no user it names only a port,
	 * which sshd needs for a Match LocalPort; then no other Match line
	 * matches.
	 */
	if (user == NULL)
		n = snprintf(spec, SPEC_BYTES, "lport=%u", s->free_port);
	else
		n = snprintf(spec, SPEC_BYTES,
		    "user=%s,host=localhost,addr=127.0.0.1,laddr=%s,lport=%u,rdomain=",
		    user, s->address, s->port);
	*q = SSHD_NO_QUESTION;
	if (*s->refused != '\0')
		q->refused = s->refused;
	else if (user != NULL && strchr(user, ',') != NULL)
		q->refused = "sshd cannot be asked about a name with a comma: "
			     "sshd -C takes it for the end of the name";
	else if (n >= SPEC_BYTES)
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
	if (a.text != NULL)
		a.text[a.len] = '\0';
	if (error == 0 && status == 0)
		return a.text;
	if (q->timed_out)
		snprintf(why, cap,
		    "sshd -T: no answer within %d seconds; "
		    "either a file that it opens, such as a HostKey, is a FIFO, "
		    "or the name service (nsswitch.conf) does not answer",
		    ANSWER_SECONDS);
	else
		snprintf(why, cap, "sshd -T: %s",
		    error != 0 || a.text == NULL ? strerror(error) :
						   join_lines(a.text));
	if (q->timed_out && q->asked)
		snprintf(last.is.refused, sizeof(last.is.refused), "%s", why);
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
sshd_version(const char *path, char *version, size_t cap)
{
	static const char *const argument[] = { "-V" };
	const struct sshd sshd = { .path = path };
	char why[512], *text, *found;

	*version = '\0';
	if ((text = sshd_run(&sshd, argument, 1, why, sizeof(why))) == NULL)
		return false;
	/* "OpenSSH_9.2p1 Debian-2+deb12u7, OpenSSL 3.0.17 1 Jul 2025". */
	if ((found = strstr(text, VERSION_NAME)) != NULL)
		snprintf(version, cap, "%.*s", (int)strcspn(found, ",\r\n"),
		    found);
	free(text);
	return *version != '\0';
}

bool
sshd_version_at_least(const char *path, unsigned int major, unsigned int minor)
{
	unsigned long have_major, have_minor = 0;
	char version[256], *end;

	if (!sshd_version(path, version, sizeof(version)))
		return false;
	/* Without a number the version is 0. */
	have_major = strtoul(version + strlen(VERSION_NAME), &end, 10);
	if (*end == '.')
		have_minor = strtoul(end + 1, NULL, 10);
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

	for (size_t n; *text != '\0'; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n <= len || strncasecmp(text, keyword, len) != 0 ||
		    text[len] != ' ')
			continue;
		snprintf(value, cap, "%.*s", (int)(n - len - 1),
		    text + len + 1);
		return true;
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

struct sshd_settings *
sshd_settings_parse(const char *text)
{
	struct sshd_settings s = {
		.memory = strdup(text),
		.pubkey = true,
		.strictmodes = true,
	};
	const struct {
		const char *keyword, **value;
	} strings[] = {
		{ "authorizedkeysfile", &s.keys_files },
		{ "authorizedkeyscommand", &s.keys_command },
		{ "authorizedkeyscommanduser", &s.keys_user },
		{ "trustedusercakeys", &s.user_ca },
		{ "authorizedprincipalsfile", &s.principals_file },
		{ "authorizedprincipalscommand", &s.principals_command },
		{ "authorizedprincipalscommanduser", &s.principals_user },
		{ "pamservicename", &s.service },
		{ "authenticationmethods", &s.methods },
		{ "permittunnel", &s.tunnel },
	};
	const size_t n_strings = sizeof(strings) / sizeof(strings[0]);
	struct sshd_settings *parsed = malloc(sizeof(*parsed));
	char *rest = s.memory, *line, *value;

	for (size_t i = 0; i < n_strings; i++)
		*strings[i].value = "";
	while (rest != NULL && (line = strsep(&rest, "\n")) != NULL) {
		if ((value = strchr(line, ' ')) == NULL)
			continue;
		*value++ = '\0';
		/* sshd uses the first value of a keyword. */
		for (size_t i = 0; i < n_strings; i++)
			if (strcasecmp(line, strings[i].keyword) == 0 &&
			    **strings[i].value == '\0')
				*strings[i].value = value;
		if (strcasecmp(line, "pubkeyauthentication") == 0)
			s.pubkey = strcasecmp(value, "no") != 0;
		else if (strcasecmp(line, "strictmodes") == 0)
			s.strictmodes = strcasecmp(value, "no") != 0;
		else if (strcasecmp(line, "hostbasedauthentication") == 0)
			s.hostbased = strcasecmp(value, "yes") == 0;
		else if (strcasecmp(line, "usepam") == 0)
			s.use_pam = strcasecmp(value, "yes") == 0;
		else if (strcasecmp(line, "hostkey") == 0)
			add_path(value, s.host_key, &s.n_host_keys);
		else if (strcasecmp(line, "hostcertificate") == 0)
			add_path(value, s.host_certificate,
			    &s.n_host_certificates);
	}
	s.words = strdup(s.keys_files);
	if (parsed == NULL || s.memory == NULL || s.words == NULL) {
		free(s.memory);
		free(s.words);
		free(parsed);
		return NULL;
	}
	add_paths(s.words, s.pattern, &s.n_patterns);
	*parsed = s;
	return parsed;
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
	    strcmp(a->keys_user, b->keys_user) == 0 &&
	    strcmp(a->user_ca, b->user_ca) == 0 &&
	    a->strictmodes == b->strictmodes;
}
