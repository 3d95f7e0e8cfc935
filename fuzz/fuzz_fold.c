/* SPDX-License-Identifier: ISC */
/*
 * Lines of LDIF that are joined are the text without its folds; joined base64
 * is the text without blanks, and without the mark that each line has. The first
 * byte says which.
 */
#include <string.h>

#include "fuzz.h"
#include "keys/fold.h"
#include "keys/inside.h"

#define TEXT_MAX (64 * 1024)

/* What the lines so far must be joined to. */
static uint8_t want[TEXT_MAX];
static size_t len;

static void
add(struct kv_span s)
{
	FUZZ_CHECK(s.len <= sizeof(want) - len);
	if (s.len > 0)
		memcpy(want + len, s.p, s.len);
	len += s.len;
}

static void
expect(struct fold *f)
{
	FUZZ_CHECK(f->text != NULL || len == 0);
	FUZZ_CHECK(f->len == len && f->len <= f->cap);
	FUZZ_CHECK(len == 0 || memcmp(f->text, want, len) == 0);
	fold_free(f);
	FUZZ_CHECK(f->text == NULL && f->len == 0);
	len = 0;
}

static struct kv_span
without_blanks(struct kv_span s)
{
	while (s.len > 0 && s.p[0] <= ' ') {
		s.p++;
		s.len--;
	}
	while (s.len > 0 && s.p[s.len - 1] <= ' ')
		s.len--;
	return s;
}

static struct kv_span
without_mark(struct kv_span s, uint8_t mark)
{
	if (mark == 0)
		return s;
	FUZZ_CHECK(s.len > 0 && s.p[0] == mark);
	FUZZ_CHECK(mark == '+' || mark == '-' || mark == '>');
	return (struct kv_span){ s.p + 1, s.len - 1 };
}

/* Adds a line, or starts with it. */
static void
read_line(struct fold *f, struct kv_span line, bool ldif, uint64_t number)
{
	struct kv_span word;

	if (f->text != NULL && fold_add(f, line)) {
		word = without_blanks(without_mark(line, f->mark));
		FUZZ_CHECK(ldif ? line.p[0] == ' ' : inside_is_base64(word));
		add(ldif ? (struct kv_span){ line.p + 1, line.len - 1 } : word);
		return;
	}
	expect(f);
	if (!fold_start(f, line, ldif, number))
		return;
	FUZZ_CHECK(f->line == number && f->ldif == ldif);
	FUZZ_CHECK(!ldif || f->mark == 0);
	word = without_blanks(without_mark(line, f->mark));
	FUZZ_CHECK(!ldif || fold_is_attribute(line) || inside_is_base64(word));
	FUZZ_CHECK(!fold_is_blank(line));
	add(ldif ? line : word);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kv_span rest = { data + 1, size - 1 };
	struct fold f = { 0 };
	uint64_t number = 0;

	if (size < 1 || size > TEXT_MAX)
		return 0;
	while (rest.len > 0) {
		const uint8_t *nl = memchr(rest.p, '\n', rest.len);
		size_t n = nl != NULL ? (size_t)(nl - rest.p) : rest.len;

		read_line(&f, (struct kv_span){ rest.p, n }, data[0] & 1,
		    ++number);
		n += nl != NULL;
		rest.p += n;
		rest.len -= n;
	}
	expect(&f);
	return 0;
}
