/* SPDX-License-Identifier: ISC */
/*
 * Whatever JSON stands beside what a scanner found, no text is given but what
 * was found. The first byte says where the parts meet in which it is read.
 */
#include <jansson.h>
#include <string.h>

#include "fuzz.h"
#include "keys/owner.h"

#define TEXT_MAX (64 * 1024)
/* Before a value that others wrote. */
#define START "{\"Secret\":\"K0\",\"RuleID\":\"private-key\",\"x\":"

struct found {
	size_t secrets, findings;
};

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

	FUZZ_CHECK(t->finding != NULL && !t->is_line);
	FUZZ_CHECK(t->finding->number > 0 && t->finding->place[0] != '\0');
	f->findings++;
	f->secrets += kv_span_is(t->text, "K0");
}

static void
take_note(uint64_t line, const char *text, void *arg)
{
	(void)line;
	(void)arg;
	FUZZ_CHECK(text[0] != '\0');
}

/* Reads the text in two parts. False if it is not read to its end. */
static bool
read_parts(struct owners *o, struct kv_span text, size_t cut)
{
	size_t used = 0;

	if (cut > 0 &&
	    !owners_json(o, (struct kv_span){ text.p, cut }, true, 1, &used))
		return false;
	text.p += used;
	text.len -= used;
	return owners_json(o, text, false, 1, &used) && used == text.len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t text[sizeof(START) + TEXT_MAX];
	const size_t start = sizeof(START) - 1;
	struct found f = { 0 };
	const struct owner_sink sink = {
		.has_key = has_key,
		.text = take_text,
		.note = take_note,
		.arg = &f,
	};
	struct owners *o;
	json_t *value;
	size_t cut;

	/* jansson ends at a NUL. */
	if (size < 2 || size > TEXT_MAX ||
	    memchr(data + 1, '\0', size - 1) != NULL)
		return 0;
	value = json_loadb((const char *)data + 1, size - 1,
	    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (value == NULL)
		return 0;
	json_decref(value);
	memcpy(text, START, start);
	memcpy(text + start, data + 1, size - 1);
	text[start + size - 1] = '}';
	FUZZ_CHECK((o = owners_new(&sink)) != NULL);
	cut = data[0] < start + size ? data[0] : start + size;
	if (read_parts(o, (struct kv_span){ text, start + size }, cut)) {
		FUZZ_CHECK(f.secrets >= 1);
		/* One inside may be what others wrote. */
		FUZZ_CHECK(f.findings <= owners_findings(o));
	}
	owners_free(o);
	return 0;
}
