/* SPDX-License-Identifier: ISC */
/*
 * JSON that is read in two parts gives the same texts, with the same owners, as
 * JSON that is read at once; each text is a part of the input. LDIF gives each
 * line once, in order. The first bytes say which, and where the parts meet.
 */
#include <string.h>

#include "fuzz.h"
#include "keys/owner.h"

#define HEAD_BYTES 3
#define TEXT_MAX (64 * 1024)
/* Each text that is given may have a name and a dn. */
#define FOUND_MAX (64 * TEXT_MAX)

struct found {
	struct kv_span input;
	uint8_t *data;
	size_t len, texts;
	bool lines;
};

static void
append(struct found *f, struct kv_span s)
{
	FUZZ_CHECK(s.len == 0 || s.p != NULL);
	if (f->len + s.len + 1 > FOUND_MAX)
		return;
	if (s.len > 0)
		memcpy(f->data + f->len, s.p, s.len);
	f->len += s.len;
	f->data[f->len++] = '\n';
}

static bool
has_key(struct kv_span text, void *arg)
{
	(void)arg;
	return text.len > 0 && memchr(text.p, 'K', text.len) != NULL;
}

static void
take_text(const struct owner_text *t, void *arg)
{
	struct found *f = arg;

	FUZZ_CHECK(t->is_line == f->lines);
	FUZZ_CHECK(t->owner.name.len <= OWNER_MAX_BYTES);
	FUZZ_CHECK(t->owner.dn.len <= OWNER_MAX_BYTES);
	FUZZ_CHECK(t->owner.name.len > 0 || t->owner.dn.len == 0);
	FUZZ_CHECK(t->text.len == 0 ||
	    memmem(f->input.p, f->input.len, t->text.p, t->text.len) != NULL);
	f->texts++;
	append(f, t->text);
	append(f, t->owner.name);
}

static void
take_note(uint64_t line, const char *text, void *arg)
{
	(void)line;
	(void)arg;
	FUZZ_CHECK(text[0] != '\0');
}

static struct owners *
start(struct found *f)
{
	const struct owner_sink sink = {
		.has_key = has_key,
		.text = take_text,
		.note = take_note,
		.arg = f,
	};
	struct owners *o = owners_new(&sink);

	FUZZ_CHECK(o != NULL);
	f->len = f->texts = 0;
	return o;
}

/* Reads JSON in two parts. False if not all of it was read as JSON. */
static bool
read_json(struct found *f, size_t cut)
{
	struct owners *o = start(f);
	struct kv_span rest = f->input;
	size_t used = 0;
	bool ok = true;

	if (cut > 0)
		ok = owners_json(o, (struct kv_span){ rest.p, cut }, true, 1,
		    &used);
	if (ok) {
		FUZZ_CHECK(used <= rest.len);
		rest.p += used;
		rest.len -= used;
		ok = owners_json(o, rest, false, 1, &used) && used == rest.len;
	}
	owners_flush(o, true, 1);
	FUZZ_CHECK(!owners_in_json(o));
	owners_free(o);
	return ok;
}

static void
read_ldif(struct found *f)
{
	struct owners *o = start(f);
	struct kv_span rest = f->input;
	size_t lines = 0;

	while (rest.len > 0) {
		const uint8_t *nl = memchr(rest.p, '\n', rest.len);
		size_t len = nl != NULL ? (size_t)(nl - rest.p) : rest.len;

		if (len == 0)
			owners_flush(o, true, lines);
		else
			owners_ldif(o, (struct kv_span){ rest.p, len },
			    ++lines);
		len += nl != NULL;
		rest.p += len;
		rest.len -= len;
	}
	owners_flush(o, true, lines);
	FUZZ_CHECK(f->texts == lines);
	owners_free(o);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t whole_data[FOUND_MAX], parts_data[FOUND_MAX];
	struct found whole = { .data = whole_data };
	struct found parts = { .data = parts_data };
	size_t cut;

	if (size < HEAD_BYTES || size - HEAD_BYTES > TEXT_MAX)
		return 0;
	cut = (size_t)(data[1] << 8 | data[2]);
	whole.input.p = parts.input.p = data + HEAD_BYTES;
	whole.input.len = parts.input.len = size - HEAD_BYTES;
	whole.lines = (data[0] & 1) != 0;
	if (whole.lines) {
		read_ldif(&whole);
		return 0;
	}
	if (cut > whole.input.len)
		cut = whole.input.len;
	if (read_json(&whole, 0) && read_json(&parts, cut)) {
		FUZZ_CHECK(whole.texts == parts.texts);
		FUZZ_CHECK(whole.len == parts.len);
		FUZZ_CHECK(memcmp(whole.data, parts.data, whole.len) == 0);
	}
	return 0;
}
