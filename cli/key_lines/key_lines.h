/* SPDX-License-Identifier: ISC */
/*
 * key_lines: adds, changes and removes the lines of keyveto.conf that name a key,
 * for keyveto allow and keyveto deny.
 */
#ifndef CLI_KEY_LINES_KEY_LINES_H
#define CLI_KEY_LINES_KEY_LINES_H

#include "kv_fingerprint.h"

#include "keys/input.h"

#define KEY_LINES_REASON_MAX 512
/* More keys would make keyveto.conf too large for a login. */
#define KEY_LINES_MAX 10000

struct key_line {
	uint8_t digest[KV_SHA256_BYTES];
	char fingerprint[KV_FINGERPRINT_BYTES];
	size_t found; /* how many lines named it before */
	bool stays;   /* its lines are left as they are */
};

/* What to do. All zeroes but for config: AllowKey lines for no key. */
struct key_lines {
	const char *config; /* keyveto.conf, as given */
	bool denies;	    /* DenyKey lines, not AllowKey lines */
	bool remove;	    /* take the lines out */
	bool yes;	    /* although it may lock somebody out */
	const char *date;   /* until= or since=; NULL without one */
	char reason[KEY_LINES_REASON_MAX + 1];
	/* Different keys, in the order of their digests. */
	struct key_line *key;
	size_t n;
	bool failed; /* a key could not be added: after a message */
	/* Set by key_lines_apply. */
	size_t found; /* how many of the keys had a line before */
	size_t stay;  /* how many others keep theirs as they are */
	bool same;    /* nothing had to be changed */
	char *was;    /* the first line of the first such key */
	bool warns;   /* by OnHit, a listed key is let in */
};

/* Adds a key unless it is there. False after a message. */
bool key_lines_add(struct key_lines *q,
    const uint8_t digest[static KV_SHA256_BYTES]);

/*
 * Adds the key of a text that begins with "SHA256:". False after a message.
 */
bool key_lines_add_fingerprint(struct key_lines *q, const char *text);

/*
 * Adds the keys of a file; of a certificate only the key inside. False after a
 * message. shown is for messages; fd is -1, or the file, which stays the
 * caller's.
 */
bool key_lines_add_file(struct key_lines *q, const char *shown, int fd);

/* Joins the words to the reason. False after a message. */
bool key_lines_set_reason(struct key_lines *q, char **word, int n);

/* Whether DenyKey lines with this date do not count today. */
bool key_lines_begin_later(const struct key_lines *q);

/*
 * Changes the file. False after a message. A later date lets in no key that is
 * refused today: its DenyKey lines stay, after a note.
 */
bool key_lines_apply(struct key_lines *q);

/* Prints how the change is taken back: what is behind "--remove". */
void key_lines_print_undo(const struct key_lines *q, const char *what);

/* Prints what was there before, if anything was. */
void key_lines_print_before(const struct key_lines *q);

void key_lines_free(struct key_lines *q);

#endif
