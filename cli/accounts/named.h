/* SPDX-License-Identifier: ISC */
/*
 * accounts/named: the keys that the words of a command line name. They are the
 * text of a key, files, FILE:LINE as keyveto check prints it, or a fingerprint:
 * of a key in the files behind it, or else of a key of this machine.
 */
#ifndef CLI_ACCOUNTS_NAMED_H
#define CLI_ACCOUNTS_NAMED_H

#include "keys/input.h"

struct named_keys {
	const struct kv_judge *judge; /* says which configuration counts */
	/* Gets each key. It may be in many files. */
	void (*key)(const struct input_key *key, void *arg);
	void *arg;
	/* Set by named_keys_read, the first already when it gives keys. */
	bool by_fingerprint;
	uint8_t digest[KV_SHA256_BYTES]; /* of that fingerprint */
	uint64_t line;			 /* keys on this line only; 0: on any */
	uint64_t problems;		 /* printed and counted */
};

/* Gives the keys that the words name, of which there is at least one. False
 * after a message. */
bool named_keys_read(struct named_keys *n, char **words);

/*
 * Whether the words look like a key of their own: "ssh-rsa AAAA...". A file of
 * the name of the first wins.
 */
bool named_is_key_text(char **words);

#endif
