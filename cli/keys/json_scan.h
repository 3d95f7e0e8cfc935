/* SPDX-License-Identifier: ISC */
/*
 * keys/json_scan: takes JSON (RFC 8259) apart into its tokens, as it comes, and
 * keeps no value: jansson wants a whole value in memory. Arrays and objects may
 * follow one another without anything between them.
 */
#ifndef CLI_KEYS_JSON_SCAN_H
#define CLI_KEYS_JSON_SCAN_H

#include "kv_bytes.h"

/* Deeper JSON is refused. */
#define JSON_SCAN_DEPTH 100

enum json_token {
	JSON_TOKEN_BAD,	  /* no JSON, or nested too deep */
	JSON_TOKEN_END,	  /* nothing is left */
	JSON_TOKEN_CUT,	  /* the rest begins a token that goes on later */
	JSON_TOKEN_OPEN,  /* [ or {, which is open now */
	JSON_TOKEN_CLOSE, /* ] or } */
	JSON_TOKEN_NAME,  /* of a member */
	JSON_TOKEN_STRING,
	JSON_TOKEN_OTHER, /* a number, true, false, null; a comma, a colon */
};

/* Where a text is between two tokens. It starts as zeros, and can be copied. */
struct json_scan {
	enum {
		JSON_SCAN_TOP = 0,	/* an array or object, or the end */
		JSON_SCAN_VALUE,	/* behind a colon or a comma */
		JSON_SCAN_VALUE_OR_END, /* behind [ */
		JSON_SCAN_NAME,		/* behind a comma */
		JSON_SCAN_NAME_OR_END,	/* behind { */
		JSON_SCAN_COLON,	/* behind a name */
		JSON_SCAN_COMMA_OR_END, /* behind a value */
	} expect;
	bool skips, escaped; /* in a string that is passed over; behind a \ */
	unsigned int depth;
	bool object[JSON_SCAN_DEPTH]; /* of each open one: is it an object? */
};

/*
 * Takes the next token off the text, and sets *tokenp to it: of a name or a
 * string what stands between the quotes, with its escapes. more: the text may
 * go on behind its end. With JSON_TOKEN_BAD and JSON_TOKEN_CUT nothing is taken
 * but blanks.
 */
enum json_token json_scan_next(struct json_scan *s, struct kv_span *text,
    bool more, struct kv_span *tokenp);

/*
 * Passes over the string that text starts with, a value without an end. False if
 * it is none. json_scan_next passes over the rest of it.
 */
bool json_scan_skip(struct json_scan *s, struct kv_span *text);

/* The longest plain name, with its end. */
#define JSON_PLAIN_BYTES 32

/* Sets plain to name in lower case, without _ and -; "" if it is too long. */
void json_scan_plain(struct kv_span name, char plain[static JSON_PLAIN_BYTES]);

#endif
