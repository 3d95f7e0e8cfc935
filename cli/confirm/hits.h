/* SPDX-License-Identifier: ISC */
/*
 * confirm/hits: the different keys that filters list and no exact list does, and
 * where they are.
 */
#ifndef CLI_CONFIRM_HITS_H
#define CLI_CONFIRM_HITS_H

#include "confirm/api.h"
#include "keys/input.h"

struct keep;

struct hit_place {
	char *path;
	uint64_t line;
	char *comment; /* untrusted */
};

struct hit {
	char id[PROOF_ID_BYTES]; /* the SHA-256 of the SPKI */
	uint8_t *spki;
	size_t spki_len; /* 0: it has several, none of which is the key */
	char *type;
	unsigned int bits;
	char fingerprint[KV_FINGERPRINT_BYTES]; /* "" if there is none */
	/* What exact lists have of it, if they have such keys. */
	bool has_hash;
	struct kv_blocklist_hash hash;
	bool allowed; /* an AllowKey lets it in */
	struct hit_place *place;
	size_t n_places;
	/* What is known of it now. */
	enum api_verdict verdict;
	char *why;	/* of API_NO_ANSWER; NULL without a reason */
	bool has_proof; /* which is kept */
};

/* All zeroes: empty. Freed by hits_free. */
struct hits {
	struct hit **v;
	size_t n;
	void *by_id; /* a tree of tsearch(3) */
	uint64_t clean;
	uint64_t exact;	   /* keys that exact lists have, counted each time */
	uint64_t problems; /* keys that could not be judged: printed */
	bool failed;	   /* out of memory */
};

/*
 * Judges a key by a struct judging, and adds it if it is a hit, or its place if
 * it is there.
 */
void hits_judge(struct hits *h, const struct kv_judge *judge, int64_t now,
    const struct input_key *key);

void hits_free(struct hits *h);

/* How hits are printed. */
struct hit_output {
	bool json, quiet;
	const char *asked; /* the URL, for people */
	const struct keep *keep;
	int64_t now;
};

/*
 * Prints a line, or a JSON object, for each place of the key:
 *   PATH:LINE: confirmed: TYPE BITS SHA256:... COMMENT (proof: PATH)
 *   PATH:LINE: not confirmed: TYPE BITS SHA256:... COMMENT
 *   PATH:LINE: no answer: TYPE BITS SHA256:... COMMENT (REASON)
 * and of a key that is not confirmed the AllowKey line. False after a message.
 */
bool hits_print(const struct hit_output *o, const struct hit *hit);

#endif
