/* SPDX-License-Identifier: ISC */
#include "testlib.h"

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>

#include <openssl/evp.h>
#include <openssl/rand.h>

#define SEED 20190420
#define MOST_TESTS 100
#define TMP_TEMPLATE "/tmp/keyveto-test.XXXXXX"

static struct CMUnitTest tests[MOST_TESTS];
static size_t n_tests;
static const struct fixture *fixture;
static void **kept;
static size_t n_kept;
static char dir[sizeof(TMP_TEMPLATE)];
static uint64_t rng_state;

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

int
test_cleanup(void **state)
{
	(void)state;
	interrupt_calls(0);
	fail_call(NULL, 0, 0);
	while (n_kept > 0)
		free(kept[--n_kept]);
	free(kept);
	kept = NULL;
	/* musl's goes down no more folders than that number. */
	if (dir[0] != '\0' &&
	    nftw(dir, remove_one, 64, FTW_DEPTH | FTW_PHYS) != 0)
		return -1;
	dir[0] = '\0';
	return 0;
}

/* This also frees what a group's set-up left when it failed. */
static void
clean_at_exit(void)
{
	(void)test_cleanup(NULL);
}

static int
before_all(void **state)
{
	umask(022);
	signal(SIGPIPE, SIG_IGN);
	rng_seed(SEED);
	atexit(clean_at_exit);
	if (fixture->before_all != NULL)
		fixture->before_all();
	return test_cleanup(state);
}

static int
after_all(void **state)
{
	(void)state;
	if (fixture->after_all != NULL)
		fixture->after_all();
	return 0;
}

static int
before_each(void **state)
{
	(void)state;
	if (fixture->before_each != NULL)
		fixture->before_each();
	return 0;
}

static int
after_each(void **state)
{
	if (fixture->after_each != NULL)
		fixture->after_each();
	return test_cleanup(state);
}

void
add_test(const char *name, CMUnitTestFunction test)
{
	if (n_tests == MOST_TESTS) {
		fprintf(stderr, "more tests than MOST_TESTS of testlib.c\n");
		abort();
	}
	tests[n_tests++] = (struct CMUnitTest){ name, test, before_each,
		after_each, NULL };
}

int
run_all_tests(const struct fixture *f)
{
	fixture = f;
	return _cmocka_run_group_tests("tests", tests, n_tests, before_all,
	    after_all);
}

__attribute__((weak)) int
main(void)
{
	return run_all_tests(&(struct fixture){ 0 });
}

void *
keep(void *p)
{
	assert_non_null(p);
	kept = realloc(kept, (n_kept + 1) * sizeof(*kept));
	assert_non_null(kept);
	kept[n_kept++] = p;
	return p;
}

void *
test_alloc(size_t len)
{
	return keep(calloc(1, len > 0 ? len : 1));
}

uint8_t *
exact_copy(const void *p, size_t len)
{
	/* No memory rather than one byte: none may be read. */
	uint8_t *copy = keep(malloc(len));

	if (len > 0)
		memcpy(copy, p, len);
	return copy;
}

char *
format(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	assert_true(vasprintf(&s, fmt, ap) >= 0);
	va_end(ap);
	return keep(s);
}

char *
hex_of(const void *p, size_t len)
{
	const uint8_t *b = p;
	char *hex = test_alloc(2 * len + 1);

	for (size_t i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", b[i]);
	return hex;
}

char *
base64_of(const void *p, size_t len)
{
	char *text = test_alloc((len + 2) / 3 * 4 + 1);

	EVP_EncodeBlock((unsigned char *)text, p, (int)len);
	return text;
}

void
assert_bytes(const void *got, size_t got_len, const void *want, size_t want_len)
{
	if (got_len == want_len &&
	    (got_len == 0 || memcmp(got, want, got_len) == 0))
		return;
	print_error("got  %s\nwant %s\n", hex_of(got, got_len),
	    hex_of(want, want_len));
	fail_msg("%zu bytes differ from the %zu expected", got_len, want_len);
}

void
assert_span(struct kv_span got, const void *want, size_t want_len)
{
	assert_bytes(got.p, got.len, want, want_len);
}

void
assert_span_is(struct kv_span got, const char *want)
{
	assert_bytes(got.p, got.len, want, strlen(want));
}

void
assert_sha256(const void *p, size_t len, const char *hex)
{
	uint8_t digest[32];

	assert_int_equal(EVP_Digest(p, len, digest, NULL, EVP_sha256(), NULL),
	    1);
	assert_string_equal(hex_of(digest, sizeof(digest)), hex);
}

void
assert_lines(const char *got, const char *want)
{
	size_t number = 1, same = 0;

	while (got[same] != '\0' && got[same] == want[same])
		number += got[same++] == '\n';
	if (got[same] == want[same])
		return;
	while (same > 0 && got[same - 1] != '\n')
		same--;
	fail_msg("line %zu is \"%.*s\" instead of \"%.*s\"", number,
	    (int)strcspn(got + same, "\n"), got + same,
	    (int)strcspn(want + same, "\n"), want + same);
}

void
assert_between(uint64_t got, uint64_t min, uint64_t max)
{
	if (got < min || got > max)
		fail_msg("%ju is not between %ju and %ju", (uintmax_t)got,
		    (uintmax_t)min, (uintmax_t)max);
}

void
assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

struct kv_span
span_of(const char *s)
{
	return (struct kv_span){ (const uint8_t *)s, strlen(s) };
}

void
rng_seed(uint64_t seed)
{
	rng_state = seed;
}

/* splitmix64 */
uint64_t
rng_next(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

size_t
rng_below(size_t n)
{
	return (size_t)(rng_next() % n);
}

void
fresh_bytes(void *p, size_t len)
{
	assert_int_equal(RAND_bytes(p, (int)len), 1);
}

size_t
fresh_below(size_t n)
{
	uint32_t v;

	fresh_bytes(&v, sizeof(v));
	return v % n;
}

const char *
tmp_dir(void)
{
	if (dir[0] == '\0') {
		strcpy(dir, TMP_TEMPLATE);
		assert_non_null(mkdtemp(dir));
		/*
		 * With mkdtemp's mode 0700 other modes would make no
		 * difference.
		 */
		assert_return_code(chmod(dir, 0755), 0);
	}
	return dir;
}

const char *
tmp_path(const char *fmt, ...)
{
	va_list ap;
	char *name;

	va_start(ap, fmt);
	assert_true(vasprintf(&name, fmt, ap) >= 0);
	va_end(ap);
	return format("%s/%s", tmp_dir(), (char *)keep(name));
}

const char *
tmp_file(const char *name, const void *p, size_t len)
{
	const char *path = tmp_path("%s", name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	return path;
}

const char *
tmp_text(const char *name, const char *text)
{
	return tmp_file(name, text, strlen(text));
}

/* Reads the rest of f, and adds a NUL. */
static uint8_t *
read_stream(FILE *f, size_t *lenp)
{
	uint8_t *p = NULL;
	size_t cap = 0, n;

	*lenp = 0;
	do {
		cap = 2 * cap + 4096;
		p = realloc(p, cap + 1);
		assert_non_null(p);
		n = fread(p + *lenp, 1, cap - *lenp, f);
		*lenp += n;
	} while (n > 0);
	p[*lenp] = '\0';
	return keep(p);
}

uint8_t *
read_whole(const char *path, size_t *lenp)
{
	FILE *f = fopen(path, "r");
	uint8_t *p;

	assert_non_null(f);
	p = read_stream(f, lenp);
	fclose(f);
	return p;
}

int
open_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	assert_return_code(fd, 0);
	return fd;
}

size_t
count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

char *
output_of(const char *fmt, ...)
{
	va_list ap;
	char *command, *text;
	size_t len;
	FILE *f;
	int status;

	va_start(ap, fmt);
	assert_true(vasprintf(&command, fmt, ap) >= 0);
	va_end(ap);
	keep(command);
	f = popen(command, "r");
	assert_non_null(f);
	text = (char *)read_stream(f, &len);
	if ((status = pclose(f)) != 0)
		fail_msg("status %d of: %s", status, command);
	return text;
}

bool
have_root(void)
{
	const char *ci = getenv("CI");

	if (geteuid() == 0)
		return true;
	if (ci != NULL && *ci != '\0')
		fail_msg("needs root");
	fprintf(stderr, "needs root\n");
	return false;
}

static void
mutate_byte(uint8_t *m, size_t len, size_t i, mutant_fn fn, void *arg)
{
	const uint8_t was = m[i];
	uint8_t masks[8 + 3];

	for (unsigned int bit = 0; bit < 8; bit++)
		masks[bit] = (uint8_t)(1U << bit);
	masks[8] = 0xff;	/* inverted */
	masks[9] = was;		/* 0 */
	masks[10] = was ^ 0xff; /* 255 */
	for (size_t j = 0; j < COUNT(masks); j++) {
		m[i] = was ^ masks[j];
		if (masks[j] != 0)
			fn(m, len, arg);
	}
	m[i] = was;
}

static void
cut_both_ends(const uint8_t *p, size_t len, mutant_fn fn, void *arg)
{
	for (size_t i = 1; i <= len; i++) {
		uint8_t *m = malloc(len - i);

		if (len > i)
			memcpy(m, p, len - i);
		fn(m, len - i, arg);
		if (len > i)
			memcpy(m, p + i, len - i);
		fn(m, len - i, arg);
		free(m);
	}
}

void
for_each_mutant(const void *p, size_t len, mutant_fn fn, void *arg)
{
	uint8_t *m = malloc(len);

	assert_non_null(m);
	memcpy(m, p, len);
	for (size_t i = 0; i < len; i++)
		mutate_byte(m, len, i, fn, arg);
	for (int round = 0; round < 500; round++) {
		for (size_t n = 2 + rng_below(4); n > 0; n--)
			m[rng_below(len)] = (uint8_t)rng_next();
		if (memcmp(m, p, len) != 0)
			fn(m, len, arg);
		memcpy(m, p, len);
	}
	free(m);
	cut_both_ends(p, len, fn, arg);
}
