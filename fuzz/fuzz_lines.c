/* SPDX-License-Identifier: ISC */
/*
 * Lines of a text give the same keys and problems whether they come at once
 * or one by one; each names a line that is there. A text that comes as parts
 * of one line is read to its end. The first two bytes say which, if the file
 * was found in a directory, and how long the parts are.
 */
#include <string.h>

#include "fuzz.h"
#include "keys/lines.h"
#include "kv_fingerprint.h"

#define HEAD_BYTES 2
#define SEEN_MAX (1024 * 1024)

static uint8_t *room, blob[KV_BLOB_MAX_BYTES];

struct seen {
	uint8_t data[SEEN_MAX];
	size_t len;
	uint64_t lines; /* of the text */
};

static void
add(struct seen *s, const void *p, size_t len)
{
	if (len == 0 || len > SEEN_MAX - s->len)
		return;
	memcpy(s->data + s->len, p, len);
	s->len += len;
}

static void
on_key(const struct input_key *key, void *arg)
{
	struct seen *s = arg;
	uint8_t digest[KV_SHA256_BYTES];

	FUZZ_CHECK(key->line >= 1 && key->line <= s->lines);
	add(s, &key->line, sizeof(key->line));
	if (key->key.type != KV_KEY_NONE) {
		kv_fingerprint_digest(&key->key, digest);
		add(s, digest, sizeof(digest));
	}
	add(s, key->comment.p, key->comment.len);
}

static void
on_problem(const struct input_problem *problem, void *arg)
{
	struct seen *s = arg;

	FUZZ_CHECK(problem->line <= s->lines);
	FUZZ_CHECK(problem->reason[0] != '\0');
	add(s, &problem->line, sizeof(problem->line));
	add(s, problem->reason, strlen(problem->reason));
}

static struct lines
start(const struct input_sink *sink, bool walked)
{
	return (struct lines){
		.found = { .sink = sink, .path = "fuzz" },
		.block = { .room = &room },
		.blob = blob,
		.plain = sink->plain,
		.walked = walked,
	};
}

static void
read_parts(struct lines *l, struct kv_span text, size_t size)
{
	struct long_line line = { 0 };
	size_t step = size, used;

	do {
		const struct kv_span part = { text.p,
			step < text.len ? step : text.len };

		used = lines_read_part(l, &line, part, part.len < text.len);
		FUZZ_CHECK(used <= part.len);
		FUZZ_CHECK(used > 0 || part.len < text.len || text.len == 0);
		text.p += used;
		text.len -= used;
		step = size + (part.len - used);
	} while (text.len > 0);
	lines_finish_part(l, &line);
}

static void
read_each(struct lines *l, struct kv_span text)
{
	while (text.len > 0) {
		const uint8_t *nl = memchr(text.p, '\n', text.len);
		size_t n = nl != NULL ? (size_t)(nl - text.p) + 1 : text.len;

		lines_read(l, (struct kv_span){ text.p, n });
		text.p += n;
		text.len -= n;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct seen whole, each;
	struct input_sink sink = { .key = on_key,
		.problem = on_problem,
		.arg = &whole };
	const struct kv_span text = { data + HEAD_BYTES, size - HEAD_BYTES };
	struct lines l;

	if (size < HEAD_BYTES)
		return 0;
	whole.len = each.len = 0;
	whole.lines = 1;
	for (size_t i = 0; i < text.len; i++)
		whole.lines += text.p[i] == '\n';
	each.lines = whole.lines;
	sink.plain = (data[0] & 2) != 0;
	l = start(&sink, (data[0] & 1) != 0);
	if ((data[0] & 4) != 0)
		read_parts(&l, text, 64 + (size_t)data[1] * 16);
	else
		lines_read(&l, text);
	lines_finish(&l);
	lines_free(&l);
	if ((data[0] & 4) != 0)
		return 0;
	sink.arg = &each;
	l = start(&sink, (data[0] & 1) != 0);
	read_each(&l, text);
	lines_finish(&l);
	lines_free(&l);
	FUZZ_CHECK(whole.len == each.len);
	FUZZ_CHECK(memcmp(whole.data, each.data, whole.len) == 0);
	return 0;
}
