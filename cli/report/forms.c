/* SPDX-License-Identifier: ISC */
#include "report/forms.h"

#include <time.h>

const char *
report_time(int64_t seconds, char text[static REPORT_TIME_BYTES])
{
	const time_t when = (time_t)seconds;
	struct tm tm;

	*text = '\0';
	if (gmtime_r(&when, &tm) == NULL ||
	    strftime(text, REPORT_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		*text = '\0';
	return text;
}

const char *
report_yes_or_no(int64_t n)
{
	return n == FLEET_UNKNOWN ? "" : n != 0 ? "yes" : "no";
}

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
report_json(FILE *out, json_t *value)
{
	const bool ok = value != NULL &&
	    json_dump_callback(value, write_escaped, out,
		JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY) == 0;

	json_decref(value);
	return ok;
}
