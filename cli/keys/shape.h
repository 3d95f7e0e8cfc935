/* SPDX-License-Identifier: ISC */
/* keys/shape: what one line is, as sshd and ssh read it, or to another text. */
#ifndef CLI_KEYS_SHAPE_H
#define CLI_KEYS_SHAPE_H

#include "kv_line.h"

enum shape_is {
	SHAPE_KEY,
	SHAPE_BLANK,	/* empty, or a comment */
	SHAPE_NEW_TYPE, /* a well-formed key of an unknown type */
	SHAPE_MARKED,	/* a key behind a byte order mark: sshd reads none */
	SHAPE_OTHER,
};

struct shape {
	enum shape_is is;
	enum kv_err err;     /* of SHAPE_OTHER */
	struct kv_line line; /* as kv_line_parse reads it */
	struct kv_span rest; /* behind a marker of known_hosts */
	/*
	 * The words before the key are neither options nor host names, but
	 * those of another text: "- ", "key: ".
	 */
	bool in_text;
	bool revoked; /* the marker of known_hosts is @revoked */
	/* Of SHAPE_BLANK: behind a NUL, or in a macro of C, there is more. */
	bool has_more;
	/* Of SHAPE_OTHER: */
	bool
	    broken; /* a key of a known type, but damaged; or its options are */
	bool keyless; /* it does not look like a key at all */
};

/* Reads a line. blob has KV_BLOB_MAX_BYTES, and holds the key. */
void shape_read(struct kv_span text, uint8_t *blob, struct shape *s);

/*
 * Tells if a line without a key opens something of another text: an object of
 * JSON, a list of YAML, a here-document.
 */
bool shape_is_opening(struct kv_span text);

/* Removes the blanks of the start. */
struct kv_span shape_skip_blanks(struct kv_span text);

/* Tells if there is more in a line that is empty or a comment for sshd. */
bool shape_has_more(struct kv_span text);

#endif
