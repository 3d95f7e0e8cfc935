/* SPDX-License-Identifier: ISC */
/* testjudge: judges keys as the guard does, for the tests of kv_verdict. */
#ifndef TESTJUDGE_H
#define TESTJUDGE_H

#include "kv_line.h"
#include "kv_verdict.h"
#include "testkeys.h"

/* The time of each judgement: 2023-11-14. */
#define NOW 1700000000

extern struct kv_judge j;
extern struct kv_decision d;
extern struct kv_sshkey offered;
extern uint8_t decoded[KV_BLOB_MAX_BYTES];

/* Opens j with this keyveto.conf, which is made in tmp_dir. */
__attribute__((format(printf, 1, 2))) void configure(const char *fmt, ...);
/* For a fixture: after_each. */
void close_judge(void);

/* Judge what sshd gives as %t and %k. They set d and offered. */
void judge_bytes(const char *type, const void *text, size_t len);
void judge_as(const char *type, const struct blob *blob);
void judge(const struct testkey *k);
/* Judges a new certificate of k by ca. */
void judge_cert(const struct testkey *k, const struct testkey *ca);

void expect(enum kv_verdict verdict, enum kv_action action);
/* The same, of the key that they judge, or as judge_as does. */
void expect_of(const struct testkey *k, enum kv_verdict verdict,
    enum kv_action action);
void expect_as(const char *type, const struct blob *blob,
    enum kv_verdict verdict, enum kv_action action);
/* The line that is logged of d has these words. */
void expect_log(const char *words);

/* Make a filter, and an exact list, of keys by the oracle: lines of text. */
const char *filter_of(const char *name, const char *lines);
const char *list_of(const char *name, int id, const char *lines);

/* That of the blob, by the code under test. */
char *fingerprint_of(const struct testkey *k);

#endif
