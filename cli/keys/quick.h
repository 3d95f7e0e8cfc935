/* SPDX-License-Identifier: ISC */
/*
 * keys/quick: reads the keys of a large text without copying a line.
 *
 * It knows one form of line only: TYPE, a blank, canonical base64, then the end
 * of the line or a blank and a comment without a NUL; only for common types,
 * canonically encoded. kv_line reads such a line as exactly one key. All other
 * lines are left to kv_line, as are keys that need no secret (kv_nosecret): they
 * decide.
 * tests/unit/test_quick.c proves that both ways agree.
 *
 * Without it and the look-ups of sets/quick_judge, keyveto check takes 7 times
 * as long for a million lines: 2.0 instead of 0.27 s of processor time for
 * 225 MB and a filter of 256 MiB.
 */
#ifndef CLI_KEYS_QUICK_H
#define CLI_KEYS_QUICK_H

#include "kv_bytes.h"
#include "kv_verdict.h"

/* How many lines are read in one call. */
#define QUICK_LINES 256

struct quick_line {
	size_t len; /* with its line end */
	bool done;  /* the line needs no more reading */
};

/*
 * Options of quick_hash. An ECDSA key has a second SPKI, with a compressed
 * point, which quick_hash does not hash.
 */
enum quick_flags {
	QUICK_ECDSA = 1,    /* ECDSA keys may be done, too */
	QUICK_IN_ORDER = 2, /* stop after a line that is not done */
};

/* Hashes of keys, in order. A caller sets to NULL what it does not want. */
struct quick_hashes {
	struct kv_pkbf_hash *spki;	  /* QUICK_LINES of them */
	struct kv_blocklist_hash *number; /* the same */
	size_t n;
};

/*
 * Looks at the next lines of a text of whole lines (the last may lack its line
 * end): at most QUICK_LINES, and none after one that may start a PEM block. A
 * line that is certainly one key is done. h gets the hashes of these keys, for
 * filters and for exact lists. Returns the number of lines, at least 1 if text
 * is not empty.
 */
size_t quick_hash(struct kv_span text, unsigned int flags,
    struct quick_line line[static QUICK_LINES], struct quick_hashes *h);

/* As kv_fingerprint_digest, with OpenSSL. */
void quick_digest(const struct kv_pubkey *key,
    uint8_t digest[static KV_SHA256_BYTES]);

#endif
