/* SPDX-License-Identifier: ISC */
/*
 * keys/input: reads every key in a file, directory or stream: authorized_keys,
 * .pub, known_hosts, ssh-keyscan output, SSH certificates, RFC 4716, PEM and
 * DER public keys, private key files; and keys inside other texts (keys/inside)
 * and in gzip, xz and UTF-16 (keys/unpack). The form is recognised by content.
 * Memory use does not grow with the input.
 */
#ifndef CLI_KEYS_INPUT_H
#define CLI_KEYS_INPUT_H

#include <sys/stat.h>

#include <stdio.h>

#include "kv_fingerprint.h"
#include "kv_line.h"
#include "kv_verdict.h"

/* One key found. All pointers are valid only during the callback. */
struct input_key {
	const char *path;     /* as given, or found in a directory; "-" */
	uint64_t line;	      /* from 1; 1 for a binary file */
	const char *account;  /* whose file it is; NULL: it is not known */
	enum kv_part part;    /* of a certificate: the key, then the CA */
	struct kv_pubkey key; /* type KV_KEY_NONE: it has only spki */
	struct kv_span spki;  /* only if the type is KV_KEY_NONE */
	/* What exact lists have of such a key; NULL: they do not have it. */
	const struct kv_blocklist_hash *hash;
	const char *type; /* "ssh-rsa"; with KV_KEY_NONE, OpenSSL's name */
	unsigned int bits;
	struct kv_span comment; /* untrusted text */
};

/*
 * What could not be read or understood, at line (0: the whole file). Valid only
 * during the callback.
 */
struct input_problem {
	const char *path;
	uint64_t line;
	bool unknown_type;  /* a well-formed key of an unknown type */
	const char *type;   /* if unknown_type: its name, untrusted */
	const char *reason; /* may hold untrusted bytes */
	bool archive;	    /* in a folder: only so many are told */
};

/* A reader's memory, kept from file to file. Zeros; see input_room_free. */
struct input_room {
	uint8_t *buf, *blob, *pem;
};

void input_room_free(struct input_room *room);

struct input_sink {
	void (*key)(const struct input_key *key, void *arg);
	void (*problem)(const struct input_problem *problem, void *arg);
	/*
	 * Called with the number of bytes read since the last call, and with 0
	 * before a wait for more input. May be NULL.
	 */
	void (*progress)(uint64_t bytes, void *arg);
	/* Called for each file, before its keys. May be NULL. */
	void (*file)(const char *path, void *arg);
	void *arg;
	/* Of the caller; NULL: each call gets memory of its own. */
	struct input_room *room;
	/*
	 * Only what sshd and ssh read of a file counts: keys on lines, and PEM.
	 * Nothing is unpacked, and no key inside another text is given.
	 */
	bool plain;
	/* A stranger sent it: it may unpack to no more than UNPACK_WARY_RATIO. */
	bool wary;
};

/* For a sink that has no use for these. */
static inline void
input_ignore_problem(const struct input_problem *problem, void *arg)
{
	(void)problem;
	(void)arg;
}

/*
 * Reads path (a file, a directory, or "-" for standard input) and passes each
 * key and each problem to the sink, in the order of the input. A directory is
 * read as keys/walk gives its files. Lines in these that do not look like a key
 * are skipped silently. In a file that is named itself, such a line is a
 * problem if the first line is a key as sshd reads it. Else the file is a text
 * of another kind, and one problem if nothing in it looks like a key.
 */
void input_read(const char *path, const struct input_sink *sink);

/* How long nobody may have opened a FIFO for writing. */
#define INPUT_FIFO_WAIT_MS 5000

/* How deep a walk goes; so many directories are open then, and the first. */
#define WALK_DEPTH_MAX 64

/* A file that was found, and is not open. */
struct walk_file {
	int dir;	  /* an open directory */
	const char *name; /* in dir */
	const char *path; /* for messages; name is its end */
};

/*
 * Opens a file, non-blocking, and sets *st. -1 with *whyp, which is NULL if
 * there is no regular file of this name any more.
 */
int walk_open(const struct walk_file *file, struct stat *st, const char **whyp);

/* Takes the files of input_walk. */
struct input_walk {
	/*
	 * An open file, which input_walk closes, unless path is "-". walked:
	 * found in a directory.
	 */
	void (*file)(int fd, const char *path, bool walked, void *arg);
	/* If not NULL, it gets the files of directories instead. */
	void (*found)(const struct walk_file *file, void *arg);
	void (*problem)(const struct input_problem *problem, void *arg);
	void *arg;
};

/*
 * Passes on the files that input_read would read, in the same order. The
 * entries of a directory come in the order of their names, byte by byte.
 * Symbolic links and what is neither file nor directory are passed over, and
 * never opened: opening a device can do something. So are the file systems of
 * the kernel below a directory. Memory holds the names of one path of
 * directories.
 */
void input_walk(const char *path, const struct input_walk *w);

/* As input_read, for an open descriptor. The caller closes it. */
void input_read_fd(int fd, const char *path, const struct input_sink *sink);

/* An open file, and what is known of it. */
struct input_file {
	int fd;
	const char *path;
	bool walked; /* found in a directory */
	bool regular;
	bool fifo; /* opened without waiting for a writer */
	uint64_t size;
};

/* Describes an open file. */
void input_describe_file(struct input_file *file, int fd, const char *path,
    bool walked);

/* As input_read_fd, for a file that another process opened and described. */
void input_read_file(const struct input_file *file,
    const struct input_sink *sink);

/*
 * Judges a key as kv_judge_pubkey does, or kv_judge_spki if it has no SSH form.
 */
void input_judge(const struct kv_judge *j, const struct input_key *key,
    int64_t now, struct kv_decision *d);

/*
 * Prints a line on out: PATH:LINE: TYPE BITS FINGERPRINT, without what a key
 * does not have, and that it is the CA's.
 */
void input_print_key(FILE *out, const struct input_key *key);

/* The most hashes that a key has in exact lists. */
#define INPUT_HASHES_MAX 2

/* Sets hash to those of the key. Returns how many there are, or 0. */
size_t input_hashes(const struct input_key *key,
    struct kv_blocklist_hash hash[static INPUT_HASHES_MAX]);

/* The size in bytes of a regular file, for progress; 0 for anything else. */
uint64_t input_size(const char *path);

#endif
