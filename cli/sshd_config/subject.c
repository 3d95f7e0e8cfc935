/* SPDX-License-Identifier: ISC */
#include "sshd_config/subject.h"

#include <netinet/in.h>

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sshd_config/overview.h"

/* The result of the last call of sshd_subject, and about which sshd it was. */
static struct {
	char sshd[3 * PATH_MAX];
	struct sshd_subject is;
} last;

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
	char asked[sizeof(last.sshd)], why[sizeof(s->refused)];
	char *text;
	const char *at;

	snprintf(asked, sizeof(asked), "%s\n%s\n%s", sshd->path,
	    sshd->config != NULL ? sshd->config : "",
	    sshd->host_key != NULL ? sshd->host_key : "");
	if (strcmp(asked, last.sshd) == 0)
		return s;
	memcpy(last.sshd, asked, sizeof(asked));
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
sshd_subject_refuse(const char *why)
{
	snprintf(last.is.refused, sizeof(last.is.refused), "%s", why);
}
