/* SPDX-License-Identifier: ISC */
/*
 * input: every key in a file, directory or stream, whatever form it has:
 * authorized_keys, .pub, known_hosts, ssh-keyscan output, SSH certificates,
 * RFC 4716, PEM and DER public keys, private key files. Forms are told apart
 * by content. Memory does not grow with the input.
 */
#ifndef CLI_KEYS_INPUT_H
#define CLI_KEYS_INPUT_H

#include "keys/quick.h"
#include "kv_line.h"
#include "kv_verdict.h"

#define INPUT_BUFFER_BYTES (1024 * 1024)

/* One key found. Everything belongs to the reader, until the callback ends. */
struct input_key {
	const char *path;     /* as given, or found in a directory; "-" */
	uint64_t line;	      /* from 1; 1 for a binary file */
	enum kv_part part;    /* of a certificate: the key, then the CA */
	struct kv_pubkey key; /* type KV_KEY_NONE: only the SPKI is known */
	struct kv_span spki;  /* set in that case */
	const char *type;     /* "ssh-rsa"; OpenSSL's name in that case */
	unsigned int bits;
	struct kv_span comment; /* untrusted text */
};

/* What could not be read or understood, at line (0: the whole file). */
struct input_problem {
	const char *path;
	uint64_t line;
	bool unknown_type;  /* a well-formed key of a type unknown to us */
	const char *type;   /* its name then, untrusted */
	const char *reason; /* may hold untrusted bytes */
};

/*
 * A run of whole lines of a text: what input_read cuts a long file into when
 * other threads are to read it.
 */
struct input_block {
	const char *path;
	uint64_t first_line;
	struct kv_span text; /* in buffer */
	uint8_t *buffer;
	bool walked; /* found in a directory */
};

/*
 * Takes over the blocks of long texts that hold no PEM: it must read each with
 * input_read_block later, on any thread. Text and path are the block's: the
 * path must be copied; the buffer is written to again only after the reader
 * has given it back and taken it anew.
 */
typedef void (*input_block_fn)(const struct input_block *block, void *arg);

struct input_sink {
	void (*key)(const struct input_key *key, void *arg);
	void (*problem)(const struct input_problem *problem, void *arg);
	/*
	 * Told from time to time how many more bytes were read, and 0 before a
	 * wait for more; may be NULL.
	 */
	void (*progress)(uint64_t bytes, void *arg);
	/* Told of each file that is read, before its keys; may be NULL. */
	void (*file)(const char *path, void *arg);
	input_block_fn block; /* may be NULL */
	/*
	 * With block: INPUT_BUFFER_BYTES to read into, and the reader's end of
	 * it. Blocks in it may be unread by then.
	 */
	uint8_t *(*take_buffer)(void *arg);
	void (*give_buffer)(uint8_t *buffer, void *arg);
	/*
	 * Takes the keys of the next lines of a text where that is no matter
	 * of doubt (keys/quick.h): lines that are done are not read. May be
	 * NULL.
	 */
	size_t (*quick)(struct kv_span text,
	    struct quick_line line[static QUICK_LINES], void *arg);
	void *arg;
};

/*
 * Reads a path (file, directory to be walked, "-" for standard input) and
 * hands each key and each problem to the sink, in the order of the input.
 * Directories are walked in the order the system lists them, not through
 * symbolic links in them; in a directory, what is no file, and lines that are
 * nothing like a key, are passed over silently.
 */
void input_read(const char *path, const struct input_sink *sink);

/* The same for an open descriptor, which stays the caller's. */
void input_read_fd(int fd, const char *path, const struct input_sink *sink);

void input_read_block(const struct input_block *block,
    const struct input_sink *sink);

/*
 * The size in bytes of a regular file, for progress; 0 if it cannot be told
 * without reading (a stream, a directory).
 */
uint64_t input_size(const char *path);

#endif
