/* SPDX-License-Identifier: ISC */
#include "kv_lines.h"

#include "testlib.h"

#include <sys/socket.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CAP 16

static uint8_t buf[CAP];
static struct kv_lines lines;

static void
start(const void *text, size_t len)
{
	int fd = open_read(tmp_file("text", text, len));

	memset(buf, 'X', sizeof(buf));
	kv_lines_init(&lines, fd, buf, sizeof(buf));
}

static void
finish(void)
{
	close(lines.fd);
}

static void
expect(const char *want, uint64_t number)
{
	struct kv_span line;
	bool more = false;

	assert_err(kv_lines_next(&lines, &line, &more), KV_OK);
	assert_true(more);
	assert_span_is(line, want);
	assert_int_equal(lines.number, number);
}

static void
expect_too_long(uint64_t number)
{
	struct kv_span line;
	bool more;

	assert_err(kv_lines_next(&lines, &line, &more), KV_ERR_LINE_TOO_LONG);
	assert_int_equal(line.len, 0);
	assert_int_equal(lines.number, number);
}

/* The reader is at the end, and a second call says so again. */
static void
expect_end(void)
{
	for (int i = 0; i < 2; i++) {
		struct kv_span line = { NULL, 1 };
		bool more = true;

		assert_err(kv_lines_next(&lines, &line, &more), KV_OK);
		assert_false(more);
		assert_int_equal(line.len, 0);
	}
	finish();
}

static void
lines_are_returned_in_order(void **state)
{
	static const char text[] = "one\ntwo\n\n \nfive\r\n";

	(void)state;
	start(text, strlen(text));
	expect("one", 1);
	expect("two", 2);
	expect("", 3);
	expect(" ", 4);
	expect("five\r", 5);
	expect_end();
}

static void
last_line_needs_no_end(void **state)
{
	(void)state;
	start("one\ntwo", 7);
	expect("one", 1);
	expect("two", 2);
	expect_end();
}

static void
empty_file_has_no_lines(void **state)
{
	(void)state;
	start("", 0);
	expect_end();
	start("\n", 1);
	expect("", 1);
	expect_end();
}

static void
nul_bytes_are_part_of_a_line(void **state)
{
	struct kv_span line;
	bool more;

	(void)state;
	start("a\0b\n\0\n", 6);
	assert_err(kv_lines_next(&lines, &line, &more), KV_OK);
	assert_span(line, "a\0b", 3);
	assert_err(kv_lines_next(&lines, &line, &more), KV_OK);
	assert_span(line, "\0", 1);
	expect_end();
}

static void
line_that_just_fits_is_returned(void **state)
{
	static const char text[] = "123456789012345\n123456789012345\nx";

	(void)state;
	start(text, strlen(text));
	expect("123456789012345", 1);
	expect("123456789012345", 2);
	expect("x", 3);
	expect_end();
}

static void
too_long_line_is_told_once_and_skipped(void **state)
{
	static const char text[] =
	    "one\n1234567890123456\nthree\n"
	    "12345678901234567890123456789012345678901234567890\nfive";

	(void)state;
	start(text, strlen(text));
	expect("one", 1);
	expect_too_long(2);
	expect("three", 3);
	expect_too_long(4);
	expect("five", 5);
	expect_end();
}

static void
two_too_long_lines_are_told_apart(void **state)
{
	static const char text[] =
	    "12345678901234567890\n12345678901234567890\n\nend";

	(void)state;
	start(text, strlen(text));
	expect_too_long(1);
	expect_too_long(2);
	expect("", 3);
	expect("end", 4);
	expect_end();
}

static void
file_may_end_inside_a_too_long_line(void **state)
{
	static const char text[] = "one\n12345678901234567890";

	(void)state;
	start(text, strlen(text));
	expect("one", 1);
	expect_too_long(2);
	expect_end();
}

static void
read_error_is_told(void **state)
{
	struct kv_span line;
	bool more;

	(void)state;
	kv_lines_init(&lines, open_read(tmp_dir()), buf, sizeof(buf));
	errno = 0;
	assert_err(kv_lines_next(&lines, &line, &more), KV_ERR_SYSTEM);
	assert_int_equal(errno, EISDIR);
	finish();
}

/* Each read returns the bytes of one write, even if they are few. */
static void
interrupted_reads_are_made_again(void **state)
{
	struct kv_lines l;
	struct kv_span line;
	bool more;
	int fd = open_read(tmp_text("lines", "one\ntwo\n"));

	(void)state;
	kv_lines_init(&l, fd, buf, sizeof(buf));
	interrupt_calls(3);
	assert_err(kv_lines_next(&l, &line, &more), KV_OK);
	assert_int_equal(calls_to_interrupt(), 0);
	assert_true(more);
	assert_span_is(line, "one");
	assert_err(kv_lines_next(&l, &line, &more), KV_OK);
	assert_span_is(line, "two");
	fail_call("read", 1, EIO);
	errno = 0;
	assert_err(kv_lines_next(&l, &line, &more), KV_ERR_SYSTEM);
	assert_int_equal(errno, EIO);
	close(fd);
}

static void
lines_may_arrive_in_pieces(void **state)
{
	static const char *const pieces[] = {
		"on",
		"e",
		"\ntw",
		"o",
		"\n",
		"th",
		"ree\nfour\nfi",
		"ve",
	};
	int ends[2];

	(void)state;
	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), errno);
	for (size_t i = 0; i < COUNT(pieces); i++)
		assert_return_code(send(ends[1], pieces[i], strlen(pieces[i]),
				       0),
		    errno);
	close(ends[1]);
	kv_lines_init(&lines, ends[0], buf, sizeof(buf));
	expect("one", 1);
	expect("two", 2);
	expect("three", 3);
	expect("four", 4);
	expect("five", 5);
	expect_end();
}

/* The expected lines of text, found in the simplest way. */
static void
expect_all_of(const char *text, size_t len)
{
	uint64_t number = 0;

	while (len > 0) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl != NULL ? (size_t)(nl - text) : len;
		struct kv_span line;
		bool more;
		enum kv_err r = kv_lines_next(&lines, &line, &more);

		number++;
		assert_int_equal(lines.number, number);
		if (n < CAP) {
			assert_err(r, KV_OK);
			assert_true(more);
			assert_span(line, text, n);
		} else
			assert_err(r, KV_ERR_LINE_TOO_LONG);
		n += nl != NULL;
		text += n;
		len -= n;
	}
}

static void
random_text_is_cut_at_its_line_ends(void **state)
{
	char text[400];

	(void)state;
	for (int round = 0; round < 1000; round++) {
		size_t len = rng_below(sizeof(text)), every = 1 + rng_below(40);

		for (size_t i = 0; i < len; i++)
			text[i] = rng_below(every) == 0 ?
			    '\n' :
			    (char)rng_below(10);
		start(text, len);
		expect_all_of(text, len);
		expect_end();
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(lines_are_returned_in_order),
		TEST(last_line_needs_no_end),
		TEST(empty_file_has_no_lines),
		TEST(nul_bytes_are_part_of_a_line),
		TEST(line_that_just_fits_is_returned),
		TEST(too_long_line_is_told_once_and_skipped),
		TEST(two_too_long_lines_are_told_apart),
		TEST(file_may_end_inside_a_too_long_line),
		TEST(read_error_is_told),
		TEST(interrupted_reads_are_made_again),
		TEST(lines_may_arrive_in_pieces),
		TEST(random_text_is_cut_at_its_line_ends),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
