/* SPDX-License-Identifier: ISC */
#include "report/json_out.h"

/* In JSON these characters are in strings only. */
static int
write_escaped(const char *text, size_t len, void *arg)
{
	FILE *out = arg;

	for (size_t i = 0; i < len; i++)
		if (text[i] == '<' || text[i] == '>' || text[i] == '&')
			fprintf(out, "\\u%04x", (unsigned int)text[i]);
		else
			putc(text[i], out);
	return ferror(out) ? -1 : 0;
}

bool
json_out(FILE *out, json_t *value)
{
	const bool ok = value != NULL &&
	    json_dump_callback(value, write_escaped, out,
		JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY) == 0;

	json_decref(value);
	return ok;
}

json_t *
json_out_text(const char *text)
{
	return text != NULL ? json_string(text) : json_null();
}
