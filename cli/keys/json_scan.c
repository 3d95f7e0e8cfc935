/* SPDX-License-Identifier: ISC */
#include "keys/json_scan.h"

#include <string.h>

static bool
is_one_of(uint8_t c, const char *bytes)
{
	return c != '\0' && strchr(bytes, c) != NULL;
}

static bool
is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool
is_hex(uint8_t c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* How many bytes the escape that s starts with has; 0 if it is none. */
static size_t
escape_length(struct kv_span s)
{
	if (s.len < 2)
		return 0;
	if (s.p[1] != 'u')
		return is_one_of(s.p[1], "\"\\/bfnrt") ? 2 : 0;
	for (size_t i = 2; i < 6; i++) {
		if (i >= s.len || !is_hex(s.p[i]))
			return 0;
	}
	return 6;
}

/*
 * The string that s starts with, without its quotes. JSON_TOKEN_CUT if it has
 * no end.
 */
static enum json_token
read_string(struct kv_span s, struct kv_span *tokenp)
{
	size_t i = 1, n;

	while (i < s.len && s.p[i] != '"') {
		if (s.p[i] < 0x20)
			return JSON_TOKEN_BAD;
		n = s.p[i] == '\\' ?
		    escape_length((struct kv_span){ s.p + i, s.len - i }) :
		    1;
		/* An escape that is cut off is bad only if the text ends. */
		if (n == 0)
			return s.len - i < 6 ? JSON_TOKEN_CUT : JSON_TOKEN_BAD;
		i += n;
	}
	if (i >= s.len)
		return JSON_TOKEN_CUT;
	*tokenp = (struct kv_span){ s.p + 1, i - 1 };
	return JSON_TOKEN_STRING;
}

static size_t
count_digits(struct kv_span s, size_t at)
{
	size_t n = 0;

	while (at + n < s.len && is_digit(s.p[at + n]))
		n++;
	return n;
}

/* Tells if word is a number, all of it. */
static bool
is_number(struct kv_span word)
{
	size_t i = word.p[0] == '-', n = count_digits(word, i);

	if (n == 0 || (n > 1 && word.p[i] == '0'))
		return false;
	i += n;
	if (i < word.len && word.p[i] == '.') {
		if ((n = count_digits(word, i + 1)) == 0)
			return false;
		i += 1 + n;
	}
	if (i < word.len && (word.p[i] | 0x20) == 'e') {
		i++;
		i += i < word.len && (word.p[i] == '+' || word.p[i] == '-');
		if ((n = count_digits(word, i)) == 0)
			return false;
		i += n;
	}
	return i == word.len;
}

/* A number, true, false or null. */
static enum json_token
read_word(struct kv_span s, bool more, struct kv_span *tokenp)
{
	size_t n = 0;

	while (n < s.len &&
	    (is_digit(s.p[n]) || (s.p[n] | 0x20) == 'e' ||
		(s.p[n] >= 'a' && s.p[n] <= 'z') || s.p[n] == '+' ||
		s.p[n] == '-' || s.p[n] == '.'))
		n++;
	*tokenp = (struct kv_span){ s.p, n };
	if (n == 0)
		return JSON_TOKEN_BAD;
	if (n == s.len && more)
		return JSON_TOKEN_CUT;
	return kv_span_is(*tokenp, "true") || kv_span_is(*tokenp, "false") ||
		kv_span_is(*tokenp, "null") || is_number(*tokenp) ?
	    JSON_TOKEN_OTHER :
	    JSON_TOKEN_BAD;
}

static enum json_token
open_container(struct json_scan *s, bool object)
{
	if (s->depth == JSON_SCAN_DEPTH)
		return JSON_TOKEN_BAD;
	s->object[s->depth++] = object;
	s->expect = object ? JSON_SCAN_NAME_OR_END : JSON_SCAN_VALUE_OR_END;
	return JSON_TOKEN_OPEN;
}

/* What may follow a value. */
static void
expect_after_value(struct json_scan *s)
{
	s->expect = s->depth > 0 ? JSON_SCAN_COMMA_OR_END : JSON_SCAN_TOP;
}

static enum json_token
close_container(struct json_scan *s, bool object)
{
	if (s->object[s->depth - 1] != object)
		return JSON_TOKEN_BAD;
	s->depth--;
	expect_after_value(s);
	return JSON_TOKEN_CLOSE;
}

/* A comma, a colon, or the end of an array or object. */
static enum json_token
read_mark(struct json_scan *s, uint8_t c)
{
	const bool object = s->depth > 0 && s->object[s->depth - 1];

	switch (s->expect) {
	case JSON_SCAN_COLON:
		if (c != ':')
			return JSON_TOKEN_BAD;
		s->expect = JSON_SCAN_VALUE;
		return JSON_TOKEN_OTHER;
	case JSON_SCAN_COMMA_OR_END:
		if (c != ',')
			break;
		s->expect = object ? JSON_SCAN_NAME : JSON_SCAN_VALUE;
		return JSON_TOKEN_OTHER;
	case JSON_SCAN_VALUE_OR_END:
	case JSON_SCAN_NAME_OR_END:
		break;
	default:
		return JSON_TOKEN_BAD;
	}
	return c == ']' || c == '}' ? close_container(s, c == '}') :
				      JSON_TOKEN_BAD;
}

static bool
expects_value(const struct json_scan *s)
{
	return s->expect == JSON_SCAN_VALUE ||
	    s->expect == JSON_SCAN_VALUE_OR_END;
}

static enum json_token
read_quoted(struct json_scan *s, struct kv_span text, bool more,
    struct kv_span *tokenp)
{
	const bool value = expects_value(s);
	enum json_token t;

	if (!value && s->expect != JSON_SCAN_NAME &&
	    s->expect != JSON_SCAN_NAME_OR_END)
		return JSON_TOKEN_BAD;
	t = read_string(text, tokenp);
	if (t != JSON_TOKEN_STRING)
		return more ? t : JSON_TOKEN_BAD;
	if (value) {
		expect_after_value(s);
		return t;
	}
	s->expect = JSON_SCAN_COLON;
	return JSON_TOKEN_NAME;
}

/* Passes over a string, up to its end. False if it breaks off. */
static bool
skip_string(struct json_scan *s, struct kv_span *text)
{
	while (s->skips && text->len > 0 && text->p[0] >= 0x20) {
		if (s->escaped)
			s->escaped = false;
		else if (text->p[0] == '\\')
			s->escaped = true;
		else
			s->skips = text->p[0] != '"';
		text->p++;
		text->len--;
	}
	return !s->skips || text->len == 0;
}

bool
json_scan_skip(struct json_scan *s, struct kv_span *text)
{
	if (text->len == 0 || text->p[0] != '"' || !expects_value(s))
		return false;
	expect_after_value(s);
	s->skips = true;
	text->p++;
	text->len--;
	return skip_string(s, text);
}

enum json_token
json_scan_next(struct json_scan *s, struct kv_span *text, bool more,
    struct kv_span *tokenp)
{
	enum json_token t;
	uint8_t c;

	if (s->skips && (!skip_string(s, text) || (s->skips && !more)))
		return JSON_TOKEN_BAD;
	while (text->len > 0 && is_one_of(text->p[0], " \t\r\n")) {
		text->p++;
		text->len--;
	}
	*tokenp = (struct kv_span){ text->p, 1 };
	if (text->len == 0)
		return JSON_TOKEN_END;
	c = text->p[0];
	if (c == '"') {
		t = read_quoted(s, *text, more, tokenp);
	} else if (c == '[' || c == '{') {
		t = expects_value(s) || s->expect == JSON_SCAN_TOP ?
		    open_container(s, c == '{') :
		    JSON_TOKEN_BAD;
	} else if (is_one_of(c, ",:]}")) {
		t = read_mark(s, c);
	} else if (!expects_value(s)) {
		t = JSON_TOKEN_BAD;
	} else {
		t = read_word(*text, more, tokenp);
		if (t == JSON_TOKEN_OTHER)
			expect_after_value(s);
	}
	if (t == JSON_TOKEN_BAD || t == JSON_TOKEN_CUT)
		return t;
	c = t == JSON_TOKEN_NAME || t == JSON_TOKEN_STRING;
	text->len -= (size_t)(tokenp->p + tokenp->len + c - text->p);
	text->p = tokenp->p + tokenp->len + c;
	return t;
}

void
json_scan_plain(struct kv_span name, char plain[static JSON_PLAIN_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; i < name.len && n < JSON_PLAIN_BYTES; i++) {
		const uint8_t c = name.p[i];

		if (c != '_' && c != '-')
			plain[n++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 :
								   c);
	}
	plain[n < JSON_PLAIN_BYTES ? n : 0] = '\0';
}
