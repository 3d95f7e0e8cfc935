/* SPDX-License-Identifier: ISC */
#include "kv_lines.h"

#include "testlib.h"

#include <sys/socket.h>

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
start_text(const char *text)
{
	start(text, strlen(text));
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

	assert_ok(kv_lines_next(&lines, &line, &more));
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

		assert_ok(kv_lines_next(&lines, &line, &more));
		assert_false(more);
		assert_int_equal(line.len, 0);
	}
	finish();
}

TEST_CASE(lines_are_returned_in_order)
{
	start_text("one\ntwo\n\n \nfive\r\n");
	expect("one", 1);
	expect("two", 2);
	expect("", 3);
	expect(" ", 4);
	expect("five\r", 5);
	expect_end();
}

TEST_CASE(last_line_needs_no_end)
{
	start_text("one\ntwo");
	expect("one", 1);
	expect("two", 2);
	expect_end();
}

TEST_CASE(empty_file_has_no_lines)
{
	start_text("");
	expect_end();
	start_text("\n");
	expect("", 1);
	expect_end();
}

TEST_CASE(nul_bytes_are_part_of_a_line)
{
	struct kv_span line;
	bool more;

	start("a\0b\n\0\n", 6);
	assert_ok(kv_lines_next(&lines, &line, &more));
	assert_span(line, "a\0b", 3);
	assert_ok(kv_lines_next(&lines, &line, &more));
	assert_span(line, "\0", 1);
	expect_end();
}

TEST_CASE(line_that_just_fits_is_returned)
{
	start_text("123456789012345\n123456789012345\nx");
	expect("123456789012345", 1);
	expect("123456789012345", 2);
	expect("x", 3);
	expect_end();
}

TEST_CASE(too_long_line_is_told_once_and_skipped)
{
	start_text("one\n1234567890123456\nthree\n"
		   "12345678901234567890123456789012345678901234567890\nfive");
	expect("one", 1);
	expect_too_long(2);
	expect("three", 3);
	expect_too_long(4);
	expect("five", 5);
	expect_end();
}

TEST_CASE(two_too_long_lines_are_told_apart)
{
	start_text("12345678901234567890\n12345678901234567890\n\nend");
	expect_too_long(1);
	expect_too_long(2);
	expect("", 3);
	expect("end", 4);
	expect_end();
}

TEST_CASE(file_may_end_inside_a_too_long_line)
{
	start_text("one\n12345678901234567890");
	expect("one", 1);
	expect_too_long(2);
	expect_end();
}

TEST_CASE(read_error_is_told)
{
	struct kv_span line;
	bool more;

	kv_lines_init(&lines, open_read(tmp_dir()), buf, sizeof(buf));
	errno = 0;
	assert_err(kv_lines_next(&lines, &line, &more), KV_ERR_SYSTEM);
	assert_int_equal(errno, EISDIR);
	finish();
}

/* Each read returns the bytes of one write, even if they are few. */
TEST_CASE(interrupted_reads_are_made_again)
{
	struct kv_lines l;
	struct kv_span line;
	bool more;
	int fd = open_read(tmp_text("lines", "one\ntwo\n"));

	kv_lines_init(&l, fd, buf, sizeof(buf));
	interrupt_calls(3);
	assert_ok(kv_lines_next(&l, &line, &more));
	assert_int_equal(calls_to_interrupt(), 0);
	assert_true(more);
	assert_span_is(line, "one");
	assert_ok(kv_lines_next(&l, &line, &more));
	assert_span_is(line, "two");
	fail_call("read", 1, EIO);
	errno = 0;
	assert_err(kv_lines_next(&l, &line, &more), KV_ERR_SYSTEM);
	assert_int_equal(errno, EIO);
	close(fd);
}

TEST_CASE(lines_may_arrive_in_pieces)
{
	static const char *const pieces[] = { "on", "e", "\ntw", "o", "\n",
		"th", "ree\nfour\nfi", "ve" };
	int ends[2];

	assert_done(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	for (size_t i = 0; i < COUNT(pieces); i++)
		assert_done(send(ends[1], pieces[i], strlen(pieces[i]), 0));
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
			assert_ok(r);
			assert_true(more);
			assert_span(line, text, n);
		} else
			assert_err(r, KV_ERR_LINE_TOO_LONG);
		n += nl != NULL;
		text += n;
		len -= n;
	}
}

TEST_CASE(random_text_is_cut_at_its_line_ends)
{
	char text[400];

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
