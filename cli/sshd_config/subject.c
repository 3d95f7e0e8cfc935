/* SPDX-License-Identifier: ISC */
#include "sshd_config/subject.h"

#include <netinet/in.h>

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sshd_config/overview.h"

/* The sshd that was looked at last. */
static struct {
	char path[PATH_MAX], config[PATH_MAX], host_key[PATH_MAX];
	struct sshd_subject is;
} last;

static bool
equals(const char *kept, const char *given)
{
	return strcmp(kept, given != NULL ? given : "") == 0;
}

static void
keep(char kept[static PATH_MAX], const char *given)
{
	snprintf(kept, PATH_MAX, "%s", given != NULL ? given : "");
}

/* The number that sshd reads in a Match LocalPort; 0 if it is none. */
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

static unsigned int
find_free_port(const struct sshd_patterns *named)
{
	unsigned int port = 65535;
	size_t i = 0;

	while (i < named->n && port > 1) {
		if (port_number(named->v[i]) == port) {
			port--;
			i = 0;
		} else
			i++;
	}
	return port;
}

/* What sshd is about to read: which files it would wait for, which ports. */
static void
look_at_files(const struct sshd *sshd, struct sshd_subject *s)
{
	struct sshd_overview o;

	sshd_overview(sshd, &o);
	s->free_port = find_free_port(&o.match.port);
	snprintf(s->refused, sizeof(s->refused), "%s", o.blocking);
	sshd_overview_free(&o);
}

/* The line in which sshd tells, at -dd, what it reads. */
static void
find_file(const char *text, struct sshd_subject *s)
{
	static const char mark[] = "load_server_config: filename ";
	const char *at = strstr(text, mark);

	if (at == NULL)
		return;
	at += sizeof(mark) - 1;
	snprintf(s->file, sizeof(s->file), "%.*s", (int)strcspn(at, "\r\n"),
	    at);
}

/* ListenAddress as sshd prints it: ADDRESS:PORT, [ADDRESS]:PORT. */
static void
find_place(const char *text, struct sshd_subject *s)
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
	/* Whoever listens everywhere is reached by the usual address. */
	if (strcmp(address, "::") != 0 && strcmp(address, "0.0.0.0") != 0 &&
	    strlen(address) < sizeof(s->address))
		memcpy(s->address, address, strlen(address) + 1);
}

/* No Match block can change what is asked for here. */
static void
ask(const struct sshd *sshd, struct sshd_subject *s)
{
	static const char *const argument[] = { "-dd", "-T", "-C", "lport=1" };
	struct sshd_question q;
	char why[sizeof(s->refused)], *text;

	sshd_start(sshd, argument, 4, &q);
	text = sshd_answer_text(&q, why, sizeof(why));
	if (q.timed_out)
		snprintf(s->refused, sizeof(s->refused), "%s", why);
	if (text == NULL)
		return;
	find_file(text, s);
	find_place(text, s);
	free(text);
}

const struct sshd_subject *
sshd_subject(const struct sshd *sshd)
{
	struct sshd_subject *s = &last.is;
	struct sshd named = *sshd;

	if (equals(last.path, sshd->path) &&
	    equals(last.config, sshd->config) &&
	    equals(last.host_key, sshd->host_key))
		return s;
	keep(last.path, sshd->path);
	keep(last.config, sshd->config);
	keep(last.host_key, sshd->host_key);
	*s = (struct sshd_subject){ .address = "127.0.0.1", .port = 22 };
	look_at_files(sshd, s);
	if (*s->refused != '\0')
		return s;
	ask(sshd, s);
	/* Another sshd's file is known only now. */
	named.config = s->file;
	if (*s->refused == '\0' && sshd->config == NULL && *s->file != '\0')
		look_at_files(&named, s);
	return s;
}

void
sshd_subject_refuse(const char *why)
{
	snprintf(last.is.refused, sizeof(last.is.refused), "%s", why);
}
