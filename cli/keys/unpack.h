/* SPDX-License-Identifier: ISC */
/*
 * keys/unpack: reads a file that is gzip, xz or UTF-16 as the UTF-8 text in it.
 * Memory does not grow with the file.
 */
#ifndef CLI_KEYS_UNPACK_H
#define CLI_KEYS_UNPACK_H

#include <sys/types.h>

#include "keys/utf16.h"

enum unpack_form {
	UNPACK_NONE,
	UNPACK_SHORT, /* more bytes are needed to say */
	UNPACK_GZIP,
	UNPACK_XZ,
	UNPACK_UTF16LE,
	UNPACK_UTF16BE,
};

/* The form that a file has, by its first bytes. */
enum unpack_form unpack_recognise(struct kv_span start);

/*
 * What to say of a file whose contents are not looked into: an archive or a key
 * store; NULL for another file.
 */
const char *unpack_foreign(struct kv_span start);

/* gzip in xz, or the other way round, then UTF-16. */
#define UNPACK_LAYERS 3
/* How many of these may be gzip or xz. */
#define UNPACK_PACKED_MAX 2
/* Memory for one. xz -9 needs 65 MiB to unpack. A file may ask for 4 GiB. */
#define UNPACK_XZ_BYTES (128 * 1024 * 1024)
/* A small file can unpack to any size. */
#define UNPACK_MAX_BYTES (1024u * 1024 * 1024)
/*
 * How much more than its size what a stranger sent may unpack to, from so many
 * bytes on. Keys and signatures are random bytes: nothing packs them so well.
 */
#define UNPACK_WARY_RATIO 32
#define UNPACK_WARY_BYTES (256 * 1024)

struct unpack_layer;

/* The zero value with fd set reads fd as it is. */
struct unpack {
	int fd;
	bool regular;  /* a file that can be read again */
	bool wary;     /* refuse what unpacks to more than UNPACK_WARY_RATIO */
	uint64_t read; /* bytes of the file itself */
	struct unpack_layer *layer[UNPACK_LAYERS];
	size_t n;
	const char *why; /* of the last error; NULL: errno */
};

/*
 * Reads what was read so far in another form. start is what has been read of
 * it, which is not text yet. False with u->why.
 */
bool unpack_add(struct unpack *u, enum unpack_form form, struct kv_span start);

/* The room that unpack_read needs. */
#define UNPACK_CAP_MIN UTF16_ROOM

/* As read: 0 is the end. -1 with u->why, or errno. cap: UNPACK_CAP_MIN. */
ssize_t unpack_read(struct unpack *u, uint8_t *buf, size_t cap);

/* The form of the file itself. */
enum unpack_form unpack_form(const struct unpack *u);

/* Does not close fd. */
void unpack_free(struct unpack *u);

#endif
