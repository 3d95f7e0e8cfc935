/* SPDX-License-Identifier: ISC */
#include "reading/lines.h"

#include <stdio.h>
#include <string.h>

#include "reading/keys.h"
#include "wire/reading.h"

#define ERROR_MAX 4095 /* no errno is higher */

static bool
receive_verdict(struct kv_bytes *b, const struct kv_judge *judge,
    struct finding *f)
{
	return judge == NULL ||
	    finding_get_verdict(b, judge->n_filters, judge->n_lists, f);
}

static bool
receive_key(struct kv_bytes *b, const struct kv_judge *judge,
    struct reading_line *line)
{
	struct kv_span ca;

	return record_get(b, R_FLAG(line->is_ca), R_SPAN(line->blob),
		   R_SPAN(ca), R_SPAN(line->comment)) &&
	    reading_parse_blob(line->blob, &line->key) &&
	    (ca.len == 0 || reading_parse_blob(ca, &line->ca)) &&
	    receive_verdict(b, judge, &line->key_found) &&
	    (ca.len == 0 || receive_verdict(b, judge, &line->ca_found));
}

static bool
receive_unknown(struct kv_bytes *b, struct reading_line *line)
{
	struct kv_span type;

	if (!record_get(b, R_SPAN(type)))
		return false;
	snprintf(line->type, sizeof(line->type), "%.*s",
	    (int)(type.len < sizeof(line->type) ? type.len :
						  sizeof(line->type)),
	    (const char *)type.p);
	return type.len > 0;
}

static bool
receive_problem(struct kv_bytes *b, struct reading_line *line)
{
	enum kv_err err;
	int error;

	if (!record_get(b, R_RANGE(err, KV_OK + 1, KV_ERR_CONFIG),
		R_NUMBER(error, ERROR_MAX)) ||
	    (error != 0) != (err == KV_ERR_SYSTEM))
		return false;
	line->reason = err == KV_ERR_SYSTEM ?
	    strerror(error) :
	    kv_strerror(err);
	return true;
}

bool
reading_receive_line(uint8_t tag, struct kv_bytes b,
    const struct kv_judge *judge, struct reading_line *line)
{
	bool ok = false;

	*line = (struct reading_line){ .number = 0 };
	if (!record_get(&b, R_ANY(line->number)))
		return false;
	if (tag == READING_LINE_UNKNOWN)
		ok = receive_unknown(&b, line);
	else if (tag == READING_LINE_KEY)
		ok = receive_key(&b, judge, line);
	else if (tag == READING_LINE_PROBLEM)
		ok = receive_problem(&b, line);
	return ok && b.left == 0;
}
