/* SPDX-License-Identifier: ISC */
#include "keys/source.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <zlib.h>

#include "testlib.h"

#define TEXT "ssh-ed25519 AAAA of somebody\n"
#define STEP 4096

static uint64_t counted;
static size_t waits;

static void
count(uint64_t bytes, void *arg)
{
	(void)arg;
	counted += bytes;
	waits += bytes == 0;
}

static struct source
start(int fd)
{
	struct source s = { .fd = fd, .progress = count };
	struct stat st;

	counted = waits = 0;
	assert_done(fstat(fd, &st));
	s.regular = S_ISREG(st.st_mode);
	s.size = (uint64_t)st.st_size;
	return s;
}

static struct source
start_file(const void *p, size_t len)
{
	return start(open_read(tmp_file("file", p, len)));
}

/* Reads to the end, cap bytes at a time. Returns how many there were. */
static size_t
read_all(struct source *s, uint8_t *buf, size_t room, size_t cap)
{
	const struct source_yield none = { 0 };
	size_t len = 0, n;

	while (!s->eof) {
		source_poll(s);
		assert_true(len + cap <= room);
		assert_true(source_read(s, &none, buf + len, cap, &n));
		len += n;
	}
	return len;
}

static void
expect_text(struct source *s, const char *want)
{
	uint8_t buf[256];

	assert_bytes(buf, read_all(s, buf, sizeof(buf), 64), want,
	    strlen(want));
	source_free(s);
	close(s->fd);
}

static void
expect_failure(struct source *s, const struct source_yield *yield,
    const char *why)
{
	uint8_t buf[64];
	size_t n = 1;

	source_poll(s);
	assert_false(source_read(s, yield, buf, sizeof(buf), &n));
	assert_string_equal(s->why, why);
	assert_int_equal(n, 0);
	source_free(s);
	close(s->fd);
}

TEST_CASE(a_file_is_read_to_its_end_and_counted)
{
	struct source s = start_file(TEXT, strlen(TEXT));

	expect_text(&s, TEXT);
	assert_int_equal(counted, strlen(TEXT));
	assert_int_equal(waits, 0);
}

TEST_CASE(what_a_pipe_holds_comes_before_a_wait)
{
	const struct source_yield none = { 0 };
	struct source s;
	uint8_t buf[256];
	int p[2];
	size_t n;

	assert_done(pipe(p));
	s = start(p[0]);
	assert_int_equal(write(p[1], TEXT, 9), 9);
	source_poll(&s);
	assert_true(s.ready);
	assert_true(source_read(&s, &none, buf, sizeof(buf), &n));
	assert_bytes(buf, n, TEXT, 9);
	source_poll(&s);
	assert_false(s.ready);
	close(p[1]);
	source_poll(&s);
	assert_true(s.ready);
	assert_true(source_read(&s, &none, buf, sizeof(buf), &n));
	assert_true(s.eof);
	assert_int_equal(n, 0);
	close(p[0]);
}

TEST_CASE(gzip_and_utf_16_in_it_are_unpacked)
{
	const char *path = tmp_file("file", "", 0);
	uint8_t wide[2 * sizeof(TEXT)], buf[256], *start_bytes;
	const struct source_yield none = { 0 };
	struct source s;
	size_t n, len = 0;
	gzFile z;

	wide[len++] = 0xfe;
	wide[len++] = 0xff;
	for (const char *p = TEXT; *p != '\0'; p++) {
		wide[len++] = 0;
		wide[len++] = (uint8_t)*p;
	}
	assert_non_null(z = gzopen(path, "wb"));
	assert_int_equal(gzwrite(z, wide, (unsigned int)len), (int)len);
	assert_int_equal(gzclose(z), Z_OK);
	s = start(open_read(path));
	source_poll(&s);
	assert_int_equal(source_room(&s), 1);
	assert_true(source_read(&s, &none, buf, 16, &n));
	start_bytes = exact_copy(buf, n);
	assert_true(
	    source_unpack(&s, UNPACK_GZIP, (struct kv_span){ start_bytes, n }));
	source_poll(&s);
	assert_true(source_read(&s, &none, buf, 4, &n));
	assert_int_equal(n, 4);
	start_bytes = exact_copy(buf, n);
	assert_true(source_unpack(&s, UNPACK_UTF16BE,
	    (struct kv_span){ start_bytes, n }));
	assert_int_equal(source_room(&s), UNPACK_CAP_MIN);
	expect_text(&s, TEXT);
}

TEST_CASE(damaged_gzip_says_why)
{
	static const uint8_t bad[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff,
		0xff, 0xff, 0xff };
	const struct source_yield none = { 0 };
	struct source s = start_file(bad, sizeof(bad));
	uint8_t buf[4];
	size_t n;

	source_poll(&s);
	assert_true(source_read(&s, &none, buf, 4, &n));
	assert_true(source_unpack(&s, UNPACK_GZIP, (struct kv_span){ buf, n }));
	expect_failure(&s, &none, "its gzip data is damaged");
}

TEST_CASE(a_stream_without_a_key_has_an_end)
{
	const struct source_yield many = { 3, SOURCE_KEYLESS_MAX_LINES + 1 };
	const struct source_yield more = { 3, 2 * many.keyless + 1 };
	struct source s;
	uint8_t byte;
	size_t n;
	int p[2];

	assert_done(pipe(p));
	assert_int_equal(write(p[1], TEXT, 9), 9);
	s = start(p[0]);
	/* A key was found since: the lines before it do not count. */
	source_poll(&s);
	assert_true(source_read(&s, &many, &byte, 1, &n));
	expect_failure(&s, &more,
	    "no key in 8 million lines of it; the rest was not read");
	close(p[1]);
	assert_done(pipe(p));
	assert_int_equal(write(p[1], TEXT, 9), 9);
	s = start(p[0]);
	s.keyless = SOURCE_KEYLESS_MAX_BYTES;
	expect_failure(&s, &(struct source_yield){ 0 },
	    "no key in 2 GiB of it; the rest was not read");
	close(p[1]);
}

TEST_CASE(a_file_that_grows_without_end_is_given_up)
{
	const struct source_yield many = { 0, 2 * SOURCE_KEYLESS_MAX_LINES };
	struct source s = start_file(TEXT, strlen(TEXT));
	uint8_t byte;
	size_t n;

	/* Lines without a key say nothing of a file: it has an end. */
	source_poll(&s);
	assert_true(source_read(&s, &many, &byte, 1, &n));
	s.total = s.size + SOURCE_GROWTH_MAX_BYTES;
	expect_failure(&s, &many,
	    "gets longer while it is read; the rest was not read");
}

TEST_CASE(a_hole_is_passed_over_but_for_its_last_steps)
{
	const char *path = tmp_file("file", "", 0);
	const off_t hole = 64 * STEP;
	uint8_t *buf = test_alloc((size_t)hole);
	struct source s;
	size_t len;
	int fd;

	assert_done(fd = open(path, O_RDWR));
	assert_done(ftruncate(fd, hole));
	assert_int_equal(pwrite(fd, TEXT, 9, hole), 9);
	s = start(fd);
	assert_true(source_skip_hole(&s, STEP));
	len = read_all(&s, buf, (size_t)hole, STEP);
	assert_true(len >= STEP && len < 4 * STEP);
	assert_int_equal(((size_t)hole + 9 - len) % STEP, 0);
	assert_bytes(buf + len - 9, 9, TEXT, 9);
	assert_int_equal(s.total, hole + 9);
	assert_int_equal(counted, s.total);
	close(fd);
}
