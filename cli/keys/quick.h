/* SPDX-License-Identifier: ISC */
/*
 * keys/quick: reads the keys of a large text without copying a line.
 *
 * It knows one form of line only: TYPE, a blank, canonical base64, then the end
 * of the line or a blank and a comment; only for common types, canonically
 * encoded. kv_line reads such a line as exactly one key. All other lines are
 * left to kv_line, as are keys that need no secret (kv_nosecret), and a key
 * that may be listed to kv_verdict: they decide.
 * tests/unit/test_quick.c proves that both ways agree.
 *
 * Without it and its look-ups of many keys at a time (sets/pkbf_map.h),
 * keyveto check takes 7 times as long for a million lines: 2.0 instead of
 * 0.27 s of processor time for 225 MB and a filter of 256 MiB.
 */
#ifndef CLI_KEYS_QUICK_H
#define CLI_KEYS_QUICK_H

#include "sets/pkbf_map.h"
#include "kv_bytes.h"
#include "sets/list_index.h"
#include "kv_verdict.h"

/* How many lines are read in one call. */
#define QUICK_LINES PKBF_MAP_BATCH

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

/* A judge's filters, mapped, and its lists. Threads may share it. */
struct quick {
	struct kv_judge *judge;
	struct pkbf_map map[KV_CONFIG_MAX_FILTERS];
	size_t n_maps;
	struct list_index *list;
	size_t n_lists;
};

/*
 * False without a message if the judge has neither filters nor lists or is
 * broken, or if a filter cannot be mapped: use kv_judge_pubkey then. After
 * true, call quick_close. Until then, the judge must stay open, and looks up in
 * the maps, too.
 */
bool quick_open(struct quick *q, struct kv_judge *j);
void quick_close(struct quick *q);

/*
 * As quick_hash with QUICK_ECDSA, but a line is done only if its key is clean.
 * *cleanp is the number of these.
 */
size_t quick_judge(struct quick *q, struct kv_span text,
    struct quick_line line[static QUICK_LINES], size_t *cleanp);

#endif
