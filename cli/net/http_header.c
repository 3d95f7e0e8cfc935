/* SPDX-License-Identifier: ISC */
#include "net/http_header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool
http_value_is_safe(const char *text)
{
	size_t len = strlen(text);

	if (len >= HTTP_VALUE_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	}
	return true;
}

bool
http_etag_is_strong(const char *etag)
{
	size_t len = strlen(etag);

	return len >= 2 && etag[0] == '"' && etag[len - 1] == '"';
}

off_t
http_range_start(const char *content_range)
{
	static const char unit[] = "bytes ";
	const char *p = content_range + sizeof(unit) - 1;
	long long start;
	char *end;

	if (strncasecmp(content_range, unit, sizeof(unit) - 1) != 0 ||
	    *p < '0' || *p > '9')
		return -1;
	errno = 0;
	start = strtoll(p, &end, 10);
	return errno == 0 && *end == '-' ? (off_t)start : -1;
}

void
http_header_keep(const char *line, size_t len, const char *name,
    char value[static HTTP_VALUE_BYTES])
{
	size_t n = strlen(name);

	if (len <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
		return;
	line += n + 1;
	len -= n + 1;
	while (len > 0 && strchr(" \t", *line) != NULL) {
		line++;
		len--;
	}
	while (len > 0 && strchr(" \t\r\n", line[len - 1]) != NULL)
		len--;
	value[0] = '\0';
	if (len >= HTTP_VALUE_BYTES || memchr(line, '\0', len) != NULL)
		return;
	memcpy(value, line, len);
	value[len] = '\0';
	if (!http_value_is_safe(value))
		value[0] = '\0';
}
