/* SPDX-License-Identifier: ISC */
#include "keys/mention.h"

#include <ctype.h>
#include <string.h>

#include "base/base64.h"

/* Base64 in a row that is a key, and no word, checksum or name. */
#define RUN_BYTES 40
#define LABEL_BYTES 64
#define BEHIND_BYTES 200
/* With all that does not count. */
#define ALL_BYTES ((size_t)16 * 1024)
#define TAG_BYTES 512
#define PREFIX_BYTES 200
#define PREFIX_LINES 8
#define FIELD_BYTES 256
#define SUM_START 2166136261u

#define BEGIN "BEGIN"
#define PRIVATE_KEY "PRIVATEKEY"
/* UTF-16 of either order. */
#define WIDE_BEGIN "B\0E\0G\0I\0N"
#define LEN(s) (sizeof(s) - 1)

/* "PRIVATE KEY" in base64 of a text, by how many bytes stand before a group. */
static const struct {
	const char *base64;
	size_t skipped; /* digits of the group before it */
} spellings[] = {
	{ "UFJJVkFURSBLRV", 0 },
	{ "BSSVZBVEUgS0VZ", 2 },
	{ "QUklWQVRFIEtFW", 3 },
};
#define SPELLING_BYTES 14

static bool
is_blank(uint8_t c)
{
	return c <= ' ' || c == '"' || c == '\'' || c == '`' || c == '\\';
}

/*
 * Notes which field of a record the text is in, by a colon behind a quote. Names
 * that differ in their digits alone are of one field.
 */
static void
note_field(struct mention_text *t, uint8_t c)
{
	if (c == '"') {
		t->last = t->token;
		t->token = SUM_START;
		t->quoted = true;
		t->left_before = t->left_here;
		t->left_here = t->left;
		return;
	}
	/* Its name does not count. */
	if (c == ':' && t->quoted) {
		t->now = t->last;
		t->left = t->left_before;
	}
	t->quoted = t->quoted && c <= ' ';
	if (!isdigit(c))
		t->token = (t->token ^ c) * 16777619u;
}

/* Passes over a tag of HTML, on one line. Returns false if c is in none. */
static bool
skip_tag(struct mention_text *t, uint8_t c)
{
	if (t->tag == 0 && c != '<')
		return false;
	/* "< " may stand before each line. */
	if (c == '\n' || t->tag == TAG_BYTES ||
	    (t->tag == 1 && !isalpha(c) && c != '/' && c != '!')) {
		t->tag = 0;
		return false;
	}
	t->tag = c == '>' ? 0 : t->tag + 1;
	t->held = t->held && t->tag > 0;
	return true;
}

/* Reads a byte behind BEGIN. */
static void
read_label(struct mention_text *t, uint8_t c)
{
	const size_t n = LEN(PRIVATE_KEY);
	char *end;

	if (skip_tag(t, c))
		return;
	if ((c >= 'a' && c <= 'z') || t->left-- == 0 ||
	    t->label_len == sizeof(t->label)) {
		t->at = MENTION_NONE;
		return;
	}
	if ((c < 'A' || c > 'Z') && (c < '0' || c > '9'))
		return;
	t->label[t->label_len++] = (char)c;
	end = t->label + t->label_len;
	if (t->label_len < n || memcmp(end - n, PRIVATE_KEY, n) != 0)
		return;
	/* PGP's keys are none of SSH. */
	t->at = memmem(t->label, t->label_len, "PGP", 3) != NULL ?
	    MENTION_NONE :
	    MENTION_BEHIND;
	t->left = t->left_here = t->left_before = BEHIND_BYTES;
	t->all = ALL_BYTES;
	t->lines = 0;
	t->run = 0;
	t->escaped = t->held = false;
}

/* Counts a byte that may not be in the key. */
static void
count(struct mention_text *t, uint8_t c, bool is_tag)
{
	const bool is_free = is_tag || is_blank(c) ||
	    (t->column <= t->free && t->lines > 0 && t->lines <= PREFIX_LINES);

	if (c == '\n') {
		t->lines++;
		t->column = 0;
	}
	t->column++;
	if (t->left > 0)
		t->left -= !is_free;
	/* Base64 that has begun goes on. */
	else if (!is_free && t->run <= 1)
		t->at = MENTION_NONE;
	if (t->all-- == 0)
		t->at = MENTION_NONE;
}

/* Reads a byte behind PRIVATE KEY. Returns true if a key is there. */
static bool
read_behind(struct mention_text *t, uint8_t c)
{
	const bool was_escaped = t->escaped, is_tag = skip_tag(t, c);

	note_field(t, c);
	t->escaped = c == '\\' && !was_escaped;
	if (t->held && !is_tag)
		return true;
	if (t->field != 0 && t->now != t->field) {
		t->run = 0;
		if (t->all-- == 0)
			t->at = MENTION_NONE;
		return false;
	}
	/* "\n", but "\/" is a digit. */
	if (!base64_is_digit(c) || (was_escaped && c != '/')) {
		t->run = t->escaped ? t->run : 0;
	} else {
		t->zeros = (t->zeros || t->run == 0) &&
		    (t->run >= 4 || c == 'A');
		t->hex = (t->hex || t->run == 0) && isxdigit(c);
		if (++t->run >= RUN_BYTES && !t->zeros && !t->hex) {
			t->held = is_tag;
			return !is_tag;
		}
	}
	count(t, c, is_tag);
	return false;
}

/* Reads a byte. Returns true if a key is there. */
static bool
read_byte(struct mention_text *t, uint8_t c)
{
	bool found = false;

	if (c == '\0' && t->wide)
		return false;
	if (t->at == MENTION_LABEL)
		read_label(t, c);
	else if (t->at == MENTION_BEHIND)
		found = read_behind(t, c);
	if (found)
		t->at = MENTION_NONE;
	return found;
}

/* Where the next BEGIN of text is, of which *lenp is the length; NULL: nowhere. */
static const uint8_t *
find_begin(struct kv_span text, bool ascii, size_t *lenp)
{
	const uint8_t *p = memmem(text.p, text.len, BEGIN, LEN(BEGIN));
	const uint8_t *wide = ascii ?
	    NULL :
	    memmem(text.p, text.len, WIDE_BEGIN, LEN(WIDE_BEGIN));

	*lenp = LEN(BEGIN);
	if (wide != NULL && (p == NULL || wide < p)) {
		*lenp = LEN(WIDE_BEGIN);
		p = wide;
	}
	return p;
}

/* Starts behind the BEGIN of so many bytes at this place of the text. */
static void
start(struct mention_text *t, struct kv_span text, size_t at, size_t len)
{
	const uint8_t *nl = at > 0 ? memrchr(text.p, '\n', at) : NULL;
	const size_t column = nl != NULL ? (size_t)(text.p + at - nl) - 1 : at;

	*t = (struct mention_text){
		.at = MENTION_LABEL,
		.wide = len > LEN(BEGIN),
		.left = LABEL_BYTES,
		.free = column < PREFIX_BYTES ? column : PREFIX_BYTES,
		.token = SUM_START,
	};
	for (size_t i = at > FIELD_BYTES ? at - FIELD_BYTES : 0; i < at; i++)
		note_field(t, text.p[i]);
	t->field = t->now;
	t->left = LABEL_BYTES;
}

static void
read_text(struct mention *m, struct mention_text *t, struct kv_span text,
    uint64_t line)
{
	const bool ascii = m->ascii || t == &m->inner;
	struct kv_span rest;
	size_t i = 0, len;
	const uint8_t *p;

	while (i < text.len) {
		rest = (struct kv_span){ text.p + i, text.len - i };
		if (t->at != MENTION_NONE) {
			/* Each BEGIN counts, also behind a bare mention. */
			if (rest.len > sizeof(WIDE_BEGIN))
				rest.len = sizeof(WIDE_BEGIN);
			p = rest.p[0] == 'B' ? find_begin(rest, ascii, &len) :
					       NULL;
			if (p != rest.p) {
				if (read_byte(t, text.p[i++]))
					m->found(t->line, m->arg);
				continue;
			}
		} else if ((p = find_begin(rest, ascii, &len)) == NULL) {
			return;
		}
		i = (size_t)(p - text.p);
		start(t, text, i, len);
		t->line = line;
		i += len;
	}
}

/* --- base64 ----------------------------------------------------------------- */

/* Reads the text in digits of base64, which may go on in other digits. */
static void
decode(struct mention *m, const uint8_t *p, size_t len, uint64_t line)
{
	const size_t kept = LEN(BEGIN) - 1;
	uint8_t data[3 * MENTION_TAIL_BYTES];
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		m->bits = m->bits << 6 | (uint32_t)base64_value(p[i]);
		m->n_bits += 6;
		if (m->n_bits >= 8) {
			m->n_bits -= 8;
			data[n++] = (uint8_t)(m->bits >> m->n_bits);
		}
		if (n < sizeof(data) && i + 1 < len)
			continue;
		read_text(m, &m->inner, (struct kv_span){ data, n }, line);
		/* BEGIN may be cut here. */
		if (m->inner.at == MENTION_NONE && n > kept) {
			memmove(data, data + n - kept, kept);
			n = kept;
		} else {
			n = 0;
		}
	}
}

/*
 * Where the group of base64 begins in which a spelling does, that is not before
 * from; SIZE_MAX: nowhere.
 */
static size_t
find_spelling(const uint8_t *p, size_t len, size_t from)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		const uint8_t *s = memmem(p + from, len - from,
		    spellings[i].base64, SPELLING_BYTES);
		const size_t at = s != NULL ? (size_t)(s - p) : 0;

		if (s != NULL && at >= spellings[i].skipped &&
		    at - spellings[i].skipped < first)
			first = at - spellings[i].skipped;
	}
	return first;
}

/* Reads the text in digits whose groups begin at this one and at others. */
static void
decode_around(struct mention *m, const uint8_t *p, size_t len, size_t at,
    uint64_t line)
{
	/* BEGIN stands before. */
	const size_t most = at < MENTION_TAIL_BYTES ? at : MENTION_TAIL_BYTES;
	const size_t from = at - most / 4 * 4;

	m->n_bits = 0;
	decode(m, p + from, len - from, line);
}

/* Reads digits in a row, which may go on from those before, in another line. */
static void
read_digits(struct mention *m, const uint8_t *p, size_t len, uint64_t line)
{
	uint8_t both[2 * MENTION_TAIL_BYTES];
	const size_t over = SPELLING_BYTES - 1;
	const size_t head = len < over ? len : over;
	const size_t tail = len < sizeof(m->tail) ? len : sizeof(m->tail);
	size_t at;

	memcpy(both, m->tail, m->tail_len);
	memcpy(both + m->tail_len, p, head);
	at = find_spelling(both, m->tail_len + head,
	    m->tail_len > over ? m->tail_len - over : 0);
	if (at != SIZE_MAX) {
		decode_around(m, both, m->tail_len, at, m->tail_line);
		decode(m, p, len, line);
	} else {
		at = find_spelling(p, len, 0);
		if (m->inner.at != MENTION_NONE)
			decode(m, p, at < len ? at : len, line);
		if (at != SIZE_MAX)
			decode_around(m, p, len, at, line);
	}
	memcpy(m->tail, p + len - tail, tail);
	m->tail_len = tail;
	m->tail_line = line;
}

static void
read_base64(struct mention *m, struct kv_span text, uint64_t line)
{
	const bool plus = text.len > 1 && text.p[0] == '+';
	/* Of a diff, it is no digit. */
	size_t n, at = plus && m->plus;

	if (text.len > 1)
		m->plus = plus;
	while (at < text.len) {
		for (n = 0;
		     at + n < text.len && base64_is_digit(text.p[at + n]); n++)
			;
		/* Words of prose are none. */
		if (n >= SPELLING_BYTES || (n > 0 && m->tail_len >= RUN_BYTES))
			read_digits(m, text.p + at, n, line);
		else if (n > 0)
			m->tail_len = 0;
		for (at += n; at < text.len && !base64_is_digit(text.p[at]);
		     at++)
			if (text.p[at] == '=')
				m->tail_len = 0;
		if (m->tail_len == 0)
			m->inner.at = MENTION_NONE;
	}
}

/* --- both ------------------------------------------------------------------- */

void
mention_read(struct mention *m, struct kv_span text, uint64_t line)
{
	read_text(m, &m->text, text, line);
	read_base64(m, text, line);
}

bool
mention_is_open(const struct mention *m)
{
	return m->text.at != MENTION_NONE || m->tail_len > 0;
}

void
mention_drop(struct mention *m)
{
	m->text.at = m->inner.at = MENTION_NONE;
	m->tail_len = 0;
}
