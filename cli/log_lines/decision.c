/* SPDX-License-Identifier: ISC */
#include "log_lines/decision.h"

#include <string.h>

/*
 * Takes the next pair off *textp: its name and its value, without quotes. False
 * at the end, or at what is no pair. kv_log writes no quote into a value. In
 * JSON a backslash stands before each quote.
 */
static bool
next_pair(const char **textp, struct kv_span *name, struct kv_span *value)
{
	const char *p = *textp + strspn(*textp, " ");
	size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz_");

	if (n == 0 || p[n] != '=')
		return false;
	*name = (struct kv_span){ (const uint8_t *)p, n };
	p += n + 1;
	if (p[0] == '\\' && p[1] == '"')
		p++;
	if (*p == '"') {
		n = strcspn(++p, "\"");
		if (p[n] != '"')
			return false;
		*textp = p + n + 1;
	} else {
		n = strcspn(p, " ");
		*textp = p + n;
	}
	*value = (struct kv_span){ (const uint8_t *)p, n };
	return true;
}

/*
 * Takes the pairs of a decision off *textp. False if they are about no key of a
 * filter.
 */
static bool
read_pairs(const char **textp, struct log_decision *d)
{
	bool filter = false, list = false, key = false;
	struct kv_span name, value;

	*d = (struct log_decision){ .accepted = true };
	while (next_pair(textp, &name, &value)) {
		filter |= kv_span_is(name, "filter");
		list |= kv_span_is(name, "list");
		if (kv_span_is(name, "authorized") && kv_span_is(value, "no"))
			d->accepted = false;
		if (kv_span_is(name, "key_fp"))
			key = kv_fingerprint_parse(value, d->digest) == KV_OK;
	}
	return key && filter && !list;
}

/*
 * What stands before keyveto's text depends on who wrote the log: a blank,
 * MESSAGE= or a quote of JSON. Another program's text may come first.
 */
bool
log_decision_parse(const char *line, struct log_decision *d)
{
	static const char start[] = "verdict=listed ";
	const char *text = line;
	bool found = false;

	while (!found && (text = strstr(text, start)) != NULL) {
		if (text == line || strchr(" =\"", text[-1]) != NULL)
			found = read_pairs(&text, d);
		else
			text += strlen(start);
	}
	return found;
}
