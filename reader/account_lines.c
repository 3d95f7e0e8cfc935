/* SPDX-License-Identifier: ISC */
#include "account_lines.h"

#include <errno.h>
#include <time.h>

#include "kv_lines.h"
#include "reading/lines.h"
#include "wire/reading.h"

/* sshd is never offered a key as long as this. */
#define LINE_BYTES (256 * 1024)
/* Limits memory use. */
#define OUTPUT_MAX (64 * 1024)

static void
read_line(struct record_out *out, uint64_t number, struct kv_span text,
    int64_t now)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	struct kv_line line;
	const enum kv_err err = kv_line_parse(text, blob, sizeof(blob), &line);

	if (err == KV_OK && line.is_blank)
		return;
	if (err == KV_OK)
		reading_send_line(out, number, &line, now);
	else if (err == KV_ERR_TYPE_UNKNOWN && line.type.len > 0 &&
	    kv_keyname_find(line.type) == NULL)
		reading_send_unknown_line(out, number, &line, now);
	else
		reading_send_line_problem(out, number, err, errno);
	if (out->len >= OUTPUT_MAX)
		record_flush(out);
}

void
account_lines_read(struct record_out *out, int fd)
{
	static uint8_t buf[LINE_BYTES];
	const int64_t now = time(NULL);
	struct kv_lines lines;
	struct kv_span text;
	bool more = true;

	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while (more) {
		const enum kv_err err = kv_lines_next(&lines, &text, &more);

		if (err == KV_ERR_SYSTEM) {
			reading_send_line_problem(out, 0, err, errno);
			break;
		}
		if (err != KV_OK)
			reading_send_line_problem(out, lines.number, err, 0);
		else if (more)
			read_line(out, lines.number, text, now);
	}
	record_begin(out, READING_LINES_END);
	record_end(out);
	record_flush(out);
}
