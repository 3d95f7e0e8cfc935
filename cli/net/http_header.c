/* SPDX-License-Identifier: ISC */
#include "net/http_header.h"

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
