/* SPDX-License-Identifier: ISC */
/*
 * testlib: what all unit tests share. Each test program is run from the
 * repository's root, prints what cmocka prints and leaves nothing behind.
 */
#ifndef TESTLIB_H
#define TESTLIB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "kv_bytes.h"
#include "kv_err.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Seconds for what must not wait. Only a hang takes as long. */
#define PATIENCE 120

/* A test after which its memory and its temporary directory are gone. */
#define TEST(f) cmocka_unit_test_setup_teardown(f, NULL, test_cleanup)

/* Group set-up of every program. */
int test_begin(void **state);
int test_cleanup(void **state);

/* Compares errors by their text, so that a failure can be read. */
#define assert_err(got, want) \
	assert_string_equal(kv_strerror(got), kv_strerror(want))

/* Compares bytes and shows both when they differ. */
void assert_bytes(const void *got, size_t got_len, const void *want,
    size_t want_len);
void assert_span(struct kv_span got, const void *want, size_t want_len);
void assert_span_is(struct kv_span got, const char *want);
void assert_sha256(const void *p, size_t len, const char *hex);
/* Compares long texts and shows the first line that differs. */
void assert_lines(const char *got, const char *want);
/* Whether text has part in it. */
void assert_contains(const char *text, const char *part);

struct kv_span span_of(const char *s);

/* Memory that lives until the end of the test. */
void *keep(void *p);
void *test_alloc(size_t len);
/* A copy of exactly len bytes, so that a sanitizer sees a step beyond. */
uint8_t *exact_copy(const void *p, size_t len);
__attribute__((format(printf, 1, 2))) char *format(const char *fmt, ...);
char *hex_of(const void *p, size_t len);
char *base64_of(const void *p, size_t len);

/* Numbers that are the same in each run, and bytes that are not. */
void rng_seed(uint64_t seed);
uint64_t rng_next(void);
size_t rng_below(size_t n);
void fresh_bytes(void *p, size_t len);
size_t fresh_below(size_t n);

/* The test's own directory below /tmp, made when it is first asked for. */
const char *tmp_dir(void);
__attribute__((format(printf, 1, 2))) const char *tmp_path(const char *fmt,
    ...);
/* A file in it with mode 0644. */
const char *tmp_file(const char *name, const void *p, size_t len);
const char *tmp_text(const char *name, const char *text);
uint8_t *read_whole(const char *path, size_t *lenp);
int open_read(const char *path);
/* How many descriptors this process has open. */
size_t count_descriptors(void);

/* The second implementation, to be given a command line by output_of. */
#define ORACLE "python3 -B tests/oracle/pkbf.py "

/* What a command prints; it must succeed. */
__attribute__((format(printf, 1, 2))) char *output_of(const char *fmt, ...);

/*
 * False, with a line on standard error, when the test is not run as root;
 * where CI is set that is a failure.
 */
bool have_root(void);

/*
 * Calls fn with every mutant of len bytes at p: each bit flipped, each byte
 * inverted, zeroed and set, cut at both ends, and some with a few changes at
 * once. Each mutant is memory of exactly its length.
 */
typedef void (*mutant_fn)(const uint8_t *p, size_t len, void *arg);
void for_each_mutant(const void *p, size_t len, mutant_fn fn, void *arg);

#endif
