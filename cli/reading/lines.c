/* SPDX-License-Identifier: ISC */
#include "reading/lines.h"

#include <stdio.h>
#include <string.h>

#include "keys/line_options.h"
#include "reading/keys.h"
#include "wire/reading.h"

/* Of these three records. */
enum line_flags {
	LINE_FREE = 1,
	LINE_CA = 2,
	LINE_EXPIRED = 4,
};

/* More than any errno. */
#define ERROR_MAX 4096

static unsigned int
free_flag(const struct kv_line *line, int64_t now)
{
	/* sshd compares no certificate with the key that a client has. */
	return !line->key.is_cert && line_options_are_free(line->options, now) ?
	    LINE_FREE :
	    0;
}

void
reading_send_line(struct record_out *o, uint64_t number,
    const struct kv_line *line, int64_t now)
{
	unsigned int flags = free_flag(line, now);

	if (kv_line_has_option(line->options, "cert-authority"))
		flags |= LINE_CA;
	if (line_options_have_expired(line->options, now))
		flags |= LINE_EXPIRED;
	record_begin(o, READING_LINE_KEY);
	record_add_number(o, number);
	record_add_number(o, flags);
	reading_add_blob(o, &line->key.key);
	reading_add_blob(o, &line->key.ca);
	record_add_bytes(o, line->comment.p, line->comment.len);
	record_end(o);
}

void
reading_send_unknown_line(struct record_out *o, uint64_t number,
    const struct kv_line *line, int64_t now)
{
	record_begin(o, READING_LINE_UNKNOWN);
	record_add_number(o, number);
	record_add_number(o, free_flag(line, now));
	record_add_bytes(o, line->type.p, line->type.len);
	record_end(o);
}

void
reading_send_line_problem(struct record_out *o, uint64_t number,
    enum kv_err err, int error)
{
	record_begin(o, READING_LINE_PROBLEM);
	record_add_number(o, number);
	record_add_number(o, err);
	record_add_number(o, err == KV_ERR_SYSTEM ? (uint64_t)error : 0);
	record_end(o);
}

static bool
receive_key(struct kv_bytes *b, uint64_t flags, struct reading_line *line)
{
	struct kv_span ca;

	if (flags > (LINE_FREE | LINE_CA | LINE_EXPIRED) ||
	    kv_bytes_get_string(b, &line->blob) != KV_OK ||
	    kv_bytes_get_string(b, &ca) != KV_OK ||
	    kv_bytes_get_string(b, &line->comment) != KV_OK ||
	    !reading_parse_blob(line->blob, &line->key) ||
	    (ca.len > 0 && !reading_parse_blob(ca, &line->ca)))
		return false;
	line->is_ca = (flags & LINE_CA) != 0;
	line->has_expired = (flags & LINE_EXPIRED) != 0;
	/* A certificate lets nobody in by itself. */
	return ca.len == 0 || !line->is_free;
}

static bool
receive_unknown(struct kv_bytes *b, uint64_t flags, struct reading_line *line)
{
	struct kv_span type;

	if (flags > LINE_FREE || kv_bytes_get_string(b, &type) != KV_OK)
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
	uint64_t error;

	if (err == KV_OK || err > KV_ERR_CONFIG ||
	    record_get_number(b, &error) != KV_OK || error >= ERROR_MAX ||
	    (error != 0) != (err == KV_ERR_SYSTEM))
		return false;
	line->reason = err == KV_ERR_SYSTEM ?
	    strerror((int)error) :
	    kv_strerror((enum kv_err)err);
	return true;
}

bool
reading_receive_line(uint8_t tag, struct kv_bytes b, struct reading_line *line)
{
	uint64_t flags;
	bool ok = false;

	*line = (struct reading_line){ .number = 0 };
	if (record_get_number(&b, &line->number) != KV_OK ||
	    record_get_number(&b, &flags) != KV_OK)
		return false;
	if (tag == READING_LINE_KEY || tag == READING_LINE_UNKNOWN) {
		line->is_free = (flags & LINE_FREE) != 0;
		ok = tag == READING_LINE_KEY ? receive_key(&b, flags, line) :
					       receive_unknown(&b, flags, line);
	} else if (tag == READING_LINE_PROBLEM)
		ok = receive_problem(&b, flags, line);
	return ok && b.left == 0;
}
