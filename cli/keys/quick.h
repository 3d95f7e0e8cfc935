/* SPDX-License-Identifier: ISC */
/*
 * keys/quick: the keys of a large text, without a copy between line and hash.
 *
 * It knows lines of one form only: TYPE, a blank, canonical base64, nothing or
 * a blank and a comment; of the usual types, canonically encoded. Such a line
 * is one key and nothing else to kv_line. Everything else is left to kv_line,
 * and a key that a filter lists to kv_verdict: they decide, and
 * tests/unit/test_quick.c proves that the two ways agree.
 */
#ifndef CLI_KEYS_QUICK_H
#define CLI_KEYS_QUICK_H

#include "filter/pkbf_map.h"
#include "kv_bytes.h"
#include "kv_verdict.h"

/* Lines that are read at a time. */
#define QUICK_LINES PKBF_MAP_BATCH

struct quick_line {
	size_t len; /* its line end included */
	bool done;  /* nothing is left to be read in it */
};

/* What quick_hash is to do. */
enum quick_flags {
	QUICK_ECDSA = 1,    /* keys on NIST's curves, too: they have a
				   second SPKI, compressed */
	QUICK_IN_ORDER = 2, /* stop after a line that is not done */
};

/*
 * Looks at the next lines of a text of whole lines (the last may lack its
 * end): as many as fit, or up to one that may start a PEM block. A line that
 * is one key for certain is done, and the hashes of these keys' SPKIs are in
 * hash, in order, *n_hashesp of them. Returns how many lines there are, at
 * least 1 if text is not empty.
 */
size_t quick_hash(struct kv_span text, unsigned int flags,
    struct quick_line line[static QUICK_LINES],
    struct kv_pkbf_hash hash[static QUICK_LINES], size_t *n_hashesp);

/* What a judge's filters are asked; may be shared by threads. */
struct quick {
	struct pkbf_map map[KV_CONFIG_MAX_FILTERS];
	size_t n_maps;
};

/*
 * False if the judge cannot call a key clean, or a filter cannot be mapped:
 * there is nothing to be quick about then. Ended by quick_close.
 */
bool quick_open(struct quick *q, const struct kv_judge *j);
void quick_close(struct quick *q);

/* quick_hash, with lines done only if their key is clean: *cleanp of them. */
size_t quick_judge(const struct quick *q, struct kv_span text,
    struct quick_line line[static QUICK_LINES], size_t *cleanp);

#endif
