/* SPDX-License-Identifier: ISC */
#include "scan/target.h"

#include <stdio.h>
#include <string.h>

#include "command.h"

/*
 * Splits text into host (*lenp bytes) and port (NULL: none). Text with two or
 * more colons and no brackets is an IPv6 address. Returns NULL, or what is
 * wrong.
 */
static const char *
split_target(const char *text, const char **hostp, size_t *lenp,
    const char **portp)
{
	const char *end;

	*portp = NULL;
	*hostp = text;
	if (*text == '[') {
		if ((end = strchr(text, ']')) == NULL)
			return "'[' without ']'";
		*hostp = text + 1;
		*lenp = (size_t)(end - text) - 1;
		if (end[1] == ':')
			*portp = end + 2;
		else if (end[1] != '\0')
			return "only a colon and a port may follow ']'";
		return NULL;
	}
	*lenp = strlen(text);
	end = strchr(text, ':');
	if (end != NULL && strchr(end + 1, ':') == NULL) {
		*lenp = (size_t)(end - text);
		*portp = end + 1;
	}
	return NULL;
}

const char *
scan_target_parse(const char *text, struct scan_target *t)
{
	const char *host, *port, *why;
	uint64_t number;
	size_t len;

	if ((why = split_target(text, &host, &len, &port)) != NULL)
		return why;
	if (len == 0)
		return "a host is missing: give HOST, HOST:PORT or "
		       "[ADDRESS]:PORT";
	if (len >= sizeof(t->host))
		return "the host name is too long";
	memcpy(t->host, host, len);
	t->host[len] = '\0';
	/* "user@host" or a URL is a likely mistake. */
	if (t->host[strcspn(t->host, " \t/@")] != '\0')
		return "not a host name: give HOST, HOST:PORT or "
		       "[ADDRESS]:PORT";
	if (port == NULL)
		port = SCAN_DEFAULT_PORT;
	if (!cli_read_number(port, 1, 65535, &number))
		return "a port is a number from 1 to 65535";
	snprintf(t->port, sizeof(t->port), "%u", (unsigned int)number);
	snprintf(t->name, sizeof(t->name),
	    strchr(t->host, ':') != NULL ? "[%s]:%s" : "%s:%s", t->host,
	    t->port);
	return NULL;
}
