/* SPDX-License-Identifier: ISC */
/*
 * weak/weak: keeps the RSA keys of one run of check, audit or scan, which are
 * tested at its end.
 */
#ifndef CLI_WEAK_WEAK_H
#define CLI_WEAK_WEAK_H

#include "keys/input.h"
#include "weak/tests.h"

/* A run. */
struct weak;

/*
 * test is weak_tests_run, or has another process run it. NULL without memory.
 */
struct weak *weak_new(bool (*test)(struct weak_tests *t));
void weak_free(struct weak *w);

/* Where a key stands, besides its path and line. */
struct weak_place {
	const char *account; /* the owner of the file, or NULL */
	/* The caller's. */
	size_t row;
	bool judged;
};

/*
 * Keeps a key that no list has, for weak_finish. False if it will not be
 * tested: it is no RSA key, or tiny, or its account has had its share. Of one
 * account only so many keys are tested that they take some seconds: else
 * whoever writes a file could hold up an audit. Ends the process if memory runs
 * out.
 */
bool weak_add(struct weak *w, const struct input_key *key,
    const struct weak_place *place);

/* Has test try one key. False with why of test. */
bool weak_test_alone(const struct input_key *key,
    bool (*test)(struct weak_tests *t), enum weak_class *classp,
    char why[static WEAK_WHY_BYTES]);

/* A key that was added. The pointers are valid during the call. */
struct weak_found {
	const struct input_key *key;
	struct weak_place place;
	enum weak_class class; /* WEAK_NONE: nothing was found */
};

/*
 * Tests all keys, by so many threads. Gives found each key that was added, in
 * the order of their paths and lines. progress: shows it on a terminal. False
 * after a message.
 */
bool weak_finish(struct weak *w, size_t threads, bool progress,
    void (*found)(const struct weak_found *f, void *arg), void *arg);

/* Gives problem the first key of each account that was not tested for all. */
void weak_each_limited(const struct weak *w,
    void (*problem)(const struct input_problem *p, void *arg), void *arg);

#endif
