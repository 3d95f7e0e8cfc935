/* SPDX-License-Identifier: ISC */
/*
 * proof/reader: finds the proofs of compromise in files, and verifies them. A
 * file may hold several, of both forms, and public keys: a JWS names its key
 * only by the SHA-256 of the SPKI, so the key must be found somewhere. See
 * keyveto-proof(5).
 */
#ifndef CLI_PROOF_READER_H
#define CLI_PROOF_READER_H

#include "keys/input.h"
#include "proof/key.h"

/* A proof that was verified. All pointers are valid only during the call. */
struct proof_found {
	const char *path;
	uint64_t line;
	const char *form;	     /* "JWS" or "PKCS#10" */
	const struct proof_key *key; /* that signed it */
};

struct proof_sink {
	void (*proved)(const struct proof_found *proof, void *arg);
	/* What has the form of a proof, but proves nothing: its reason says so. */
	void (*refused)(const struct input_problem *problem, void *arg);
	/* What could not be read, or not be verified for lack of the key. */
	void (*problem)(const struct input_problem *problem, void *arg);
	void *arg;
};

/*
 * Reads all proofs in the inputs (files, directories, "-"), up to a NULL, and
 * passes each to one function of the sink. As for input_read, a file may be
 * gzip, xz or UTF-16; it may be a pipe, too. Below a directory, what is no
 * proof is skipped.
 *
 * The keys are looked for in the inputs: a proof that verifies with a key proves
 * it, wherever that key was found. If for_key, and the last one of several
 * inputs has no proof, the proofs in the others must be of the keys in it.
 */
void proof_read(char *const *inputs, bool for_key,
    const struct proof_sink *sink);

/*
 * The same for commands that take keys: passes each key that is proved
 * compromised to the sink's key function, and the rest to its problem function.
 */
void proof_read_keys(char *const *inputs, const struct input_sink *sink);

#endif
