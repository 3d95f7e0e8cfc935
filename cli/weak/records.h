/* SPDX-License-Identifier: ISC */
/* weak/records: what weak/tests is to test, and what it finds, as records. */
#ifndef CLI_WEAK_RECORDS_H
#define CLI_WEAK_RECORDS_H

#include "base/record.h"
#include "weak/tests.h"

/* Adds the records of all that is to be tested. */
void weak_records_put(struct record_out *o, const struct weak_tests *t);

/*
 * Reads these records. The numbers stay in b; the rest is the process's. False
 * if they are none of ours, or without memory.
 */
bool weak_records_get(struct kv_bytes b, struct weak_tests *t);

/*
 * Adds what was found of modulus i to a record; of exponent i - t->n, if i is
 * not below t->n. False if nothing was found.
 */
bool weak_records_put_found(struct record_out *o, const struct weak_tests *t,
    size_t i);

/*
 * Sets what a record says was found. It comes from a process that may lie: each
 * is about a modulus or an exponent behind that of the last one, of which
 * *nextp, 0 at first, is kept. False if tests find no such thing.
 */
KV_MUST_CHECK bool weak_records_get_found(struct kv_bytes b,
    struct weak_tests *t, size_t *nextp);

#endif
