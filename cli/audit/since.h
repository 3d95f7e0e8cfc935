/* SPDX-License-Identifier: ISC */
/*
 * audit/since: the keys that are new since a former audit of this host. A key is
 * new to an account that did not have it: not if its line, its comment or its
 * file is another one now. A host key that becomes a user CA is new. Memory grows
 * with the keys.
 */
#ifndef CLI_AUDIT_SINCE_H
#define CLI_AUDIT_SINCE_H

#include "logs/logins.h"

/* So many keys of the former audit are kept, and so many new ones. */
#define SINCE_KEYS_MAX 1000000
/* What is kept of a comment. */
#define SINCE_COMMENT_BYTES 512

/* An account's key. */
struct since_key {
	uint8_t digest[KV_SHA256_BYTES];
	char *account; /* as JSON has it; "" for a file that is of none */
	bool user_ca;  /* of no account, and a CA: it lets anybody in */
	bool former;   /* the former audit has it; then the rest is empty */
	char *name;    /* of the account; NULL: none */
	char *path;    /* of the first file that has it */
	uint64_t line;
	enum kv_verdict verdict;
	enum kv_part part;
	char *type;
	unsigned int bits;
	uint8_t *comment; /* untrusted */
	size_t comment_len;
};

/* All zeroes: no key. Freed by since_free. */
struct since {
	struct since_key **v;
	size_t n, n_former;
	void *tree;   /* of tsearch(3), by digest, account and user_ca */
	int64_t time; /* of the former audit, in seconds since 1970 */
	/* Keys of this audit without a fingerprint, although they are judged. */
	uint64_t unknown;
	bool full;   /* there are more new keys than SINCE_KEYS_MAX */
	bool failed; /* out of memory */
};

/*
 * Adds a key of the former audit; ca: as a CA. All of them come before those of
 * this one. False if there are too many.
 */
bool since_add_former(struct since *s,
    const uint8_t digest[static KV_SHA256_BYTES], const char *account, bool ca);

/*
 * Adds a key of this audit, or its last verdict, if it is new, and returns
 * whether it is. account is NULL for a file that is of none.
 */
bool since_add(struct since *s, const char *account,
    const struct input_key *key, const struct kv_decision *d);

/*
 * Prints a line for each new key on standard output, or one that says that there
 * is none; with json an object with "new": true for each. logins tells of their
 * logins; NULL: nothing does. unsupported: so many more keys may be new; only the
 * text says so. False after a message.
 */
bool since_print(const struct since *s, const struct logins *logins,
    uint64_t unsupported, bool json);

void since_free(struct since *s);

#endif
