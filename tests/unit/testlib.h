/* SPDX-License-Identifier: ISC */
/*
 * testlib: functions for all unit tests. A test program runs in the root of the
 * repository, prints only cmocka's output, and leaves no file behind. What
 * nearly every test needs of libc is included here.
 */
#ifndef TESTLIB_H
#define TESTLIB_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "kv_bytes.h"
#include "kv_err.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Seconds. Only a hang takes this long. */
#define PATIENCE 120

/*
 * A test, which its program runs after those above it. Its memory and temporary
 * directory are freed when it ends.
 */
#define TEST_CASE(name) \
	static void name(void **state); \
	__attribute__((constructor)) static void add_##name(void) \
	{ \
		add_test(#name, name); \
	} \
	static void name(__attribute__((unused)) void **state)

/* A test that only root can make: see have_root. */
#define TEST_CASE_AS_ROOT(name) \
	static void as_root_##name(void); \
	TEST_CASE(name) \
	{ \
		if (have_root()) \
			as_root_##name(); \
	} \
	static void as_root_##name(void)

/* What a program does besides. NULL: nothing. */
struct fixture {
	void (*before_all)(void);
	void (*after_all)(void);
	void (*before_each)(void);
	void (*after_each)(void);
};

/* Runs the tests of the program. A program without a fixture needs no main. */
int run_all_tests(const struct fixture *f);
void add_test(const char *name, CMUnitTestFunction test);
/* Frees what the test has made so far. */
int test_cleanup(void **state);

/* Compares errors by their texts, which a failure then shows. */
#define assert_err(got, want) \
	assert_string_equal(kv_strerror(got), kv_strerror(want))
#define assert_ok(got) assert_err(got, KV_OK)
/* A call that returns -1, and sets errno, if it fails. */
#define assert_done(got) assert_return_code(got, errno)

/* Compares bytes, and shows both if they differ. */
void assert_bytes(const void *got, size_t got_len, const void *want,
    size_t want_len);
void assert_span(struct kv_span got, const void *want, size_t want_len);
void assert_span_is(struct kv_span got, const char *want);
void assert_sha256(const void *p, size_t len, const char *hex);
/* Compares long texts, and shows the first line that differs. */
void assert_lines(const char *got, const char *want);
/* As assert_in_range, which cmocka 2 calls deprecated. */
void assert_between(uint64_t got, uint64_t min, uint64_t max);
/* Fails unless text contains part. */
void assert_contains(const char *text, const char *part);

struct kv_span span_of(const char *s);

/* Memory that is freed at the end of the test. */
void *keep(void *p);
void *test_alloc(size_t len);
/* A copy of exactly len bytes, so that a sanitizer sees accesses beyond it. */
uint8_t *exact_copy(const void *p, size_t len);
__attribute__((format(printf, 1, 2))) char *format(const char *fmt, ...);
char *hex_of(const void *p, size_t len);
char *base64_of(const void *p, size_t len);

/* rng_: numbers that are the same in each run. fresh_: new in each run. */
void rng_seed(uint64_t seed);
uint64_t rng_next(void);
size_t rng_below(size_t n);
void fresh_bytes(void *p, size_t len);
size_t fresh_below(size_t n);

/* The test's own directory below /tmp, made by the first call. */
const char *tmp_dir(void);
__attribute__((format(printf, 1, 2))) const char *tmp_path(const char *fmt,
    ...);
/* Makes a file in tmp_dir with mode 0644. */
const char *tmp_file(const char *name, const void *p, size_t len);
const char *tmp_text(const char *name, const char *text);
uint8_t *read_whole(const char *path, size_t *lenp);
int open_read(const char *path);
/* The number of open descriptors of this process. */
size_t count_descriptors(void);

/*
 * A signal comes during each of the next calls of read, pread and write, so
 * many of them: the call fails with EINTR.
 */
void interrupt_calls(int calls);
/* How many of them have not come yet. */
int calls_to_interrupt(void);
/*
 * The nth call of this function from now on fails with this error. The
 * functions are those of testcalls.c. NULL: none fails.
 */
void fail_call(const char *name, int nth, int error);
bool call_has_failed(void);

/* What the kernel answers, for a test with a pread(2) of its own. */
ssize_t test_pread(int fd, void *p, size_t len, off_t offset);

/* The second implementation, as the start of a command for output_of. */
#define ORACLE "python3 -B tests/oracle/pkbf.py "

/* Runs a command, which must succeed, and returns its output. */
__attribute__((format(printf, 1, 2))) char *output_of(const char *fmt, ...);

/*
 * Whether the test runs as root. If not, prints a line to standard error; if CI
 * is set, the test fails.
 */
bool have_root(void);

/*
 * Calls fn with mutants of the len bytes at p, none equal to it: each bit
 * flipped, each byte inverted, zeroed and set to 255, cut at both ends, and
 * random ones. Each mutant is in memory of exactly its length.
 */
typedef void (*mutant_fn)(const uint8_t *p, size_t len, void *arg);
void for_each_mutant(const void *p, size_t len, mutant_fn fn, void *arg);

#endif
