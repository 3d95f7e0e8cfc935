/* SPDX-License-Identifier: ISC */
/*
 * keys/lines: the last stage behind keys/input: lines of a text become keys. It
 * routes each line to a PEM block or to sshd's reader of a line, and looks for
 * keys inside the others, and for private keys that cannot be read.
 */
#ifndef CLI_KEYS_LINES_H
#define CLI_KEYS_LINES_H

#include "keys/kind.h"
#include "keys/mention.h"

/* A PEM block that is being collected. */
struct block {
	uint8_t **room; /* PEM_MAX_BYTES; allocated when the first begins */
	bool is_open;
	bool too_long; /* a part of it is missing */
	size_t len;    /* in room */
	uint64_t line; /* of its BEGIN line */
};

/* The caller sets the first members, and the rest to zero. */
struct lines {
	struct found found;
	struct kind kind;
	struct block block;
	uint8_t *blob; /* KV_BLOB_MAX_BYTES, for decoded keys */
	bool plain;    /* as in struct input_sink */
	/*
	 * Lines that do not look like a key are no problem: the file was found
	 * in a directory, or is no text.
	 */
	bool walked;

	struct mention mention;
	uint64_t keyless; /* lines without a key; blank lines do not count */
	bool silent;	  /* nothing inside a line is a problem */
	bool foreign;	  /* it stands in a block of a kind without keys */
};

/* Reads whole lines. The last may lack its line end. */
void lines_read(struct lines *l, struct kv_span text);

/* A line that is read in parts. It starts as zeros. */
struct long_line {
	uint64_t found; /* before it */
	bool started;
	bool done;   /* nothing behind its start counts, up to a NUL */
	bool nul;    /* there was one */
	bool binary; /* its start is no text */
};

/*
 * Reads a part of a line. more: it goes on. Returns how much was read; the rest
 * begins the next part. sshd reads lines of any length, so a key before a long
 * comment counts. A key behind the start of the line cannot be read as sshd
 * does: that is a problem to report.
 */
size_t lines_read_part(struct lines *l, struct long_line *line,
    struct kv_span part, bool more);
void lines_finish_part(struct lines *l, const struct long_line *line);

/* Reads what waits for more lines, and says if nothing looked like a key. */
void lines_finish(struct lines *l);

/* Erases what is left, and frees it. room and blob are the caller's. */
void lines_free(struct lines *l);

#endif
