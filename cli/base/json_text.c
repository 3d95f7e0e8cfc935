/* SPDX-License-Identifier: ISC */
#include "base/json_text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

json_t *
json_bytes(const void *text, size_t len)
{
	const uint8_t *p = text;
	json_t *value;
	char *escaped, *out;

	if (len == 0)
		return json_string("");
	/* NULL if they are not UTF-8. JSON escapes all controls but DEL. */
	value = json_stringn(text, len);
	if (value != NULL && memchr(p, 0x7f, len) == NULL)
		return value;
	json_decref(value);
	if ((escaped = malloc(len * 4 + 1)) == NULL)
		return NULL;
	out = escaped;
	for (size_t i = 0; i < len; i++) {
		if (p[i] >= 0x20 && p[i] < 0x7f)
			*out++ = (char)p[i];
		else
			out += sprintf(out, "\\x%02x", p[i]);
	}
	value = json_stringn(escaped, (size_t)(out - escaped));
	free(escaped);
	return value;
}

json_t *
json_text(const char *s)
{
	return s != NULL ? json_bytes(s, strlen(s)) : json_null();
}

bool
json_print(json_t *object)
{
	bool ok = object != NULL &&
	    json_dumpf(object, stdout, JSON_ENSURE_ASCII) == 0;

	if (object == NULL)
		cli_error("out of memory");
	else
		putchar('\n');
	json_decref(object);
	return cli_stdout_ok() && ok;
}
