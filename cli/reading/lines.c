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
receive_key(struct kv_bytes *b, uint64_t flags, const struct kv_judge *judge,
    struct reading_line *line)
{
	struct kv_span ca;

	if (flags > (READING_FREE | READING_CA | READING_EXPIRED) ||
	    !record_get(b, R_SPAN(line->blob), R_SPAN(ca),
		R_SPAN(line->comment)) ||
	    !reading_parse_blob(line->blob, &line->key) ||
	    (ca.len > 0 && !reading_parse_blob(ca, &line->ca)) ||
	    !receive_verdict(b, judge, &line->key_found) ||
	    (ca.len > 0 && !receive_verdict(b, judge, &line->ca_found)))
		return false;
	line->is_ca = (flags & READING_CA) != 0;
	line->has_expired = (flags & READING_EXPIRED) != 0;
	/* A certificate lets nobody in by itself. */
	return ca.len == 0 || !line->is_free;
}

static bool
receive_unknown(struct kv_bytes *b, uint64_t flags, struct reading_line *line)
{
	struct kv_span type;

	if (flags > READING_FREE || !record_get(b, R_SPAN(type)))
		return false;
	snprintf(line->type, sizeof(line->type), "%.*s",
	    (int)(type.len < sizeof(line->type) ? type.len :
						  sizeof(line->type)),
	    (const char *)type.p);
	return type.len > 0;
}

static bool
receive_problem(struct kv_bytes *b, uint64_t err, struct reading_line *line)
{
	int error;

	if (err == KV_OK || err > KV_ERR_CONFIG ||
	    !record_get(b, R_NUMBER(error, ERROR_MAX)) ||
	    (error != 0) != (err == KV_ERR_SYSTEM))
		return false;
	line->reason = err == KV_ERR_SYSTEM ?
	    strerror(error) :
	    kv_strerror((enum kv_err)err);
	return true;
}

bool
reading_receive_line(uint8_t tag, struct kv_bytes b,
    const struct kv_judge *judge, struct reading_line *line)
{
	uint64_t flags;
	bool ok = false;

	*line = (struct reading_line){ .number = 0 };
	if (!record_get(&b, R_ANY(line->number), R_ANY(flags)))
		return false;
	if (tag == READING_LINE_KEY || tag == READING_LINE_UNKNOWN) {
		line->is_free = (flags & READING_FREE) != 0;
		ok = tag == READING_LINE_KEY ?
		    receive_key(&b, flags, judge, line) :
		    receive_unknown(&b, flags, line);
	} else if (tag == READING_LINE_PROBLEM)
		ok = receive_problem(&b, flags, line);
	return ok && b.left == 0;
}
