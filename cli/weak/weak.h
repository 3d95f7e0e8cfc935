/* SPDX-License-Identifier: ISC */
/*
 * weak/weak: the RSA keys of one run of check, audit or scan: tests each alone,
 * and in the end all of them for primes that they share.
 */
#ifndef CLI_WEAK_WEAK_H
#define CLI_WEAK_WEAK_H

#include "keys/input.h"
#include "weak/rsa.h"

/* A run. Several threads may test keys of it at the same time. */
struct weak;

/* NULL without memory. */
struct weak *weak_new(void);
void weak_free(struct weak *w);

/* Where a key stands, besides its path and line. */
struct weak_place {
	const char *account; /* the owner of the file, or NULL */
	/* The caller's. */
	size_t row;
	bool judged;
};

/*
 * Tests a key that no list has. WEAK_NONE is no answer yet: then *keptp tells
 * whether weak_finish will have one. A key that is not RSA is never kept. Of one
 * account only so many keys are kept that they take some seconds: else whoever
 * writes a file could hold up an audit. Ends the process if memory runs out.
 */
enum weak_class weak_test(struct weak *w, const struct input_key *key,
    const struct weak_place *place, bool *keptp);

/*
 * Tests one key in each way but for shared primes, which takes milliseconds.
 * Ends the process if memory runs out.
 */
enum weak_class weak_find_alone(const struct input_key *key);

/* Notes a key of which all is known already: others may share its primes. */
void weak_note(struct weak *w, const struct input_key *key,
    const struct weak_place *place);

/* A key that weak_test kept. The pointers are valid during the call. */
struct weak_found {
	const struct input_key *key;
	struct weak_place place;
	enum weak_class class; /* WEAK_NONE: nothing was found */
	const char *reason;    /* which key has the same prime, or "" */
};

/*
 * Tests all moduli for being prime, for shared primes and small factors, by so
 * many threads. Gives found each key that was kept, in the order of their paths
 * and lines. progress: shows it on a terminal. False without memory, after a
 * message.
 */
bool weak_finish(struct weak *w, size_t threads, bool progress,
    void (*found)(const struct weak_found *f, void *arg), void *arg);

/* Gives problem the first key of each account that was not tested for all. */
void weak_each_limited(const struct weak *w,
    void (*problem)(const struct input_problem *p, void *arg), void *arg);

#endif
