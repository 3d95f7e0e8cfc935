/* SPDX-License-Identifier: ISC */
/*
 * A pair of the line that is logged, as a reader of the line reads it: name=plain, or
 * name="...", where \xNN is a byte. What vsnprintf makes of a format is left to libc.
 * CBMC passes a char as a char where C says int, so the copy has an unsigned int.
 *
 * shrink lib/kv_log.c: VALUE_MAX_BYTES 512 -> VALUE_MAX_BYTES 8
 * shrink lib/kv_log.c: unsigned char c = -> unsigned int c =
 * proof  pair [quick] --no-conversion-check --replace append:read_back --replace strspn:count_plain --unwind TEXT+2: values of up to TEXT bytes, cut at VALUE_MAX_BYTES
 * proof  bytes [quick] --unwind 74: every byte of a value
 * proof  room [quick] --unwind 2: any place of a line, any answer of vsnprintf
 * proof  priority [quick] --unwind 2: every decision
 */
#define TEXT 12

#include "lib/kv_log.c"

#include "libc.h"
#include "prove.h"

static const char *value;
static size_t length, place;
static enum { NAME, VALUE, QUOTED, END } expected;

/* The next byte of the value. */
static void
read_byte(int c)
{
	PROVE(place < length && place < VALUE_MAX_BYTES, "no byte more");
	PROVE(c == (unsigned char)value[place], "the byte that was written");
	place++;
}

static bool
is_plain(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	    (c >= '0' && c <= '9') || c == '.' || c == '_' || c == ':' ||
	    c == '/' || c == '@' || c == '+' || c == '=' || c == ',' ||
	    c == '-';
}

/* Instead of strspn, as `bytes` proves it. */
size_t
count_plain(const char *s, const char *accept)
{
	size_t n = 0;

	PROVE(s == value && accept == plain, "of the value");
	while (is_plain(s[n]))
		n++;
	return n;
}

void
bytes(void)
{
	const char text[2] = { nondet_char(), '\0' };

	PROVE(strspn(text, plain) == is_plain(text[0]), "plain, or not");
}

/* Instead of append. */
void
read_back(struct line *l, const char *format, ...)
{
	va_list ap;
	int c;

	PROVE(expected != END, "nothing behind the value");
	va_start(ap, format);
	switch (expected) {
	case NAME:
		PROVE(format[2] == '%' && format[4] == '=', "a name and =");
		PROVE(*va_arg(ap, const char *) == (l->len > 0 ? ' ' : '\0'),
		    "a blank between pairs");
		PROVE(*va_arg(ap, const char *) == 'k', "the name");
		expected = VALUE;
		break;
	case VALUE:
		if (format[0] == '"') {
			expected = QUOTED;
			break;
		}
		PROVE(format[1] == 's' && format[2] == '\0', "the value");
		PROVE(va_arg(ap, const char *) == value, "this value");
		PROVE(length > 0 && length <= VALUE_MAX_BYTES,
		    "an empty value is quoted, and one that is cut");
		for (size_t i = 0; i < TEXT; i++)
			PROVE(i >= length || is_plain(value[i]), "plain");
		expected = END;
		break;
	case QUOTED:
		if (format[0] == '"') {
			PROVE(place ==
				(length < VALUE_MAX_BYTES ? length :
							    VALUE_MAX_BYTES),
			    "all that is not cut");
			expected = END;
			break;
		}
		c = va_arg(ap, int);
		read_byte(c);
		if (format[0] == '\\' && format[1] == 'x')
			break;
		PROVE(format[0] == '%' && format[1] == 'c', "a byte");
		PROVE(c >= 0x20 && c < 0x7f && c != '"' && c != '\\',
		    "no byte that ends the value or the line");
		break;
	case END:
		break;
	}
	va_end(ap);
	if (nondet_bool())
		l->len = 1;
}

void
pair(void)
{
	struct line l = { .len = any_size_up_to(1) };

	value = nondet_bool() ? any_text(TEXT) : NULL;
	if (value != NULL)
		length = strlen(value);
	append_pair(&l, "k", value);
	PROVE(expected == (value != NULL ? END : NAME),
	    "a whole pair, or nothing");
}

static struct line line;

int
vsnprintf(char *to, size_t cap, const char *format, va_list ap)
{
	PROVE(to == line.p + line.len && cap == KV_LOG_LINE_BYTES - line.len,
	    "what is left of the line");
	PROVE(cap > 0, "room for the NUL");
	return nondet_int();
}

void
room(void)
{
	static char text[KV_LOG_LINE_BYTES];
	size_t before = any_size_up_to(KV_LOG_LINE_BYTES - 1);

	line = (struct line){ text, before };
	append(&line, "%s", "");
	PROVE(line.len >= before && line.len < KV_LOG_LINE_BYTES,
	    "room for the NUL of the next one");
}

void
priority(void)
{
	struct kv_log_context ctx = { .authorized = nondet_int() };
	struct kv_decision d;
	int p = kv_log_priority(&ctx, &d);

	PROVE((p == LOG_DEBUG) == (d.verdict == KV_VERDICT_CLEAN),
	    "only clean keys are for debug");
	PROVE(d.verdict != KV_VERDICT_ERROR || p == LOG_ERR, "an error is one");
	PROVE(d.verdict != KV_VERDICT_LISTED || p == LOG_WARNING ||
		(p == LOG_NOTICE && ctx.authorized == KV_AUTHORIZED_NO),
	    "a listed key is a warning, or a scanner's");
}

/* kv_log_format calls these. */
const char *
kv_verdict_name(enum kv_verdict verdict)
{
	return "";
}

const char *
kv_action_name(enum kv_action action)
{
	return "";
}

const char *
kv_part_name(enum kv_part part)
{
	return "";
}
