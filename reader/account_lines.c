/* SPDX-License-Identifier: ISC */
#include "account_lines.h"

#include <errno.h>

#include "kv_lines.h"
#include "reading/finding.h"
#include "reading/keys.h"
#include "reading/lines.h"
#include "wire/reading.h"

/* sshd is never offered a key as long as this. */
#define LINE_BYTES (256 * 1024)
/* Limits memory use. */
#define OUTPUT_MAX (64 * 1024)

/* What judges the keys of lines. */
struct judging {
	const struct kv_judge *judge; /* NULL: nothing */
	int64_t used;
};

static void
add_verdict(struct record_out *o, const struct judging *j,
    const struct kv_pubkey *key)
{
	struct kv_decision d;
	struct finding f = { 0 };

	if (j->judge == NULL || key->type == KV_KEY_NONE)
		return;
	kv_judge_pubkey(j->judge, key, j->used, &d);
	finding_set_verdict(&f, j->judge, finding_name_source, &d);
	finding_add_verdict(o, &f);
}

static void
send_key(struct record_out *o, uint64_t number, const struct kv_line *line,
    const struct judging *j)
{
	const bool is_ca = kv_line_has_option(line->options, "cert-authority");

	record_begin(o, READING_LINE_KEY);
	record_add(o, R_ANY(number), R_FLAG(is_ca));
	reading_add_blob(o, &line->key.key);
	reading_add_blob(o, &line->key.ca);
	record_add(o, R_SPAN(line->comment));
	add_verdict(o, j, &line->key.key);
	add_verdict(o, j, &line->key.ca);
	record_end(o);
}

static void
send_unknown(struct record_out *o, uint64_t number, const struct kv_line *line)
{
	record_send(o, READING_LINE_UNKNOWN, R_ANY(number), R_SPAN(line->type));
}

static void
send_problem(struct record_out *o, uint64_t number, enum kv_err err, int error)
{
	record_send(o, READING_LINE_PROBLEM, R_ANY(number), R_VALUE(err),
	    R_VALUE(err == KV_ERR_SYSTEM ? error : 0));
}

static void
read_line(struct record_out *out, uint64_t number, struct kv_span text,
    const struct judging *j)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	struct kv_line line;
	const enum kv_err err = kv_line_parse(text, blob, sizeof(blob), &line);

	if (err == KV_OK && line.is_blank)
		return;
	if (err == KV_OK)
		send_key(out, number, &line, j);
	else if (err == KV_ERR_TYPE_UNKNOWN && line.type.len > 0 &&
	    kv_keyname_find(line.type) == NULL)
		send_unknown(out, number, &line);
	else
		send_problem(out, number, err, errno);
	if (out->len >= OUTPUT_MAX)
		record_flush(out);
}

void
account_lines_read(struct record_out *out, int fd, const struct kv_judge *judge,
    int64_t used)
{
	static uint8_t buf[LINE_BYTES];
	const struct judging j = { .judge = judge, .used = used };
	struct kv_lines lines;
	struct kv_span text;
	bool more = true;

	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while (more) {
		const enum kv_err err = kv_lines_next(&lines, &text, &more);

		if (err == KV_ERR_SYSTEM) {
			send_problem(out, 0, err, errno);
			break;
		}
		if (err != KV_OK)
			send_problem(out, lines.number, err, 0);
		else if (more)
			read_line(out, lines.number, text, &j);
	}
	record_send_last(out, READING_LINES_END);
}
