/* SPDX-License-Identifier: ISC */
#include "sshd_config/subject.h"

#include <netinet/in.h>

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sshd_config/overview.h"

/* The result of the last call of sshd_subject. */
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
copy_or_empty(char kept[static PATH_MAX], const char *given)
{
	snprintf(kept, PATH_MAX, "%s", given != NULL ? given : "");
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

/* Sets refused and free_port by sshd's configuration files. */
static void
read_files(const struct sshd *sshd, struct sshd_subject *s)
{
	struct sshd_overview o;

	sshd_overview(sshd, &o);
	s->free_port = find_free_port(&o.match.port);
	snprintf(s->refused, sizeof(s->refused), "%s", o.blocking);
	sshd_overview_free(&o);
}

/* Sets file by a line that sshd prints with -dd. */
static void
read_file_name(const char *text, struct sshd_subject *s)
{
	static const char mark[] = "load_server_config: filename ";
	const char *at = strstr(text, mark);

	if (at == NULL)
		return;
	at += sizeof(mark) - 1;
	snprintf(s->file, sizeof(s->file), "%.*s", (int)strcspn(at, "\r\n"),
	    at);
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

/*
 * Sets file, address and port by sshd's answer. No Match block can change
 * those.
 */
static void
read_answer(const struct sshd *sshd, struct sshd_subject *s)
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
	read_file_name(text, s);
	read_address(text, s);
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
	copy_or_empty(last.path, sshd->path);
	copy_or_empty(last.config, sshd->config);
	copy_or_empty(last.host_key, sshd->host_key);
	*s = (struct sshd_subject){ .address = "127.0.0.1", .port = 22 };
	read_files(sshd, s);
	if (*s->refused != '\0')
		return s;
	read_answer(sshd, s);
	/* Without config, only the answer tells which file sshd reads. */
	named.config = s->file;
	if (*s->refused == '\0' && sshd->config == NULL && *s->file != '\0')
		read_files(&named, s);
	return s;
}

void
sshd_subject_refuse(const char *why)
{
	snprintf(last.is.refused, sizeof(last.is.refused), "%s", why);
}
