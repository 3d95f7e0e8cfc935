/* SPDX-License-Identifier: ISC */
#include "kv_sources.h"

#include "testlib.h"

static void
assert_source(int fd, uint8_t id, const char *want)
{
	char name[KV_SOURCE_NAME_BYTES];

	memset(name, 'x', sizeof(name));
	kv_sources_name(fd, id, name);
	assert_string_equal(name, want);
}

/* In a buffer of as many bytes as the longest of them needs. */
static void
assert_words(int fd, uint8_t id, const char *want)
{
	char name[KV_SOURCE_NAME_BYTES], more[20];

	memset(more, 'x', sizeof(more));
	kv_sources_read(fd, id, name, more,
	    id < 25 ? sizeof(more) : strlen("twelve bytes") + 1);
	assert_string_equal(more, want);
}

TEST_CASE(sources_have_names_or_numbers)
{
	int fd = open_read(tmp_text("sources",
	    format("# names\n1 debianssl\n12\n13  b\n14 \x1b[31m\n"
		   " 15 blank\n256 large\n1 second\n16 %064d\n17 %063d\n"
		   "0018 digits\n19 git owner/name \x1b[31m\n20 pkg \n"
		   "21 a\tb\n22 a\x1b[0m b\n23 %063d owner/name x\n"
		   "24 %064d owner/name x\n25 a twelve bytes\n"
		   "26 a thirteen byte\n99 new",
		0, 0, 0, 0)));

	assert_source(fd, 1, "debianssl");
	assert_source(fd, 99, "new");
	assert_source(fd, 17, format("%063d", 0));
	assert_source(fd, 0, "id0");
	for (uint8_t id = 12; id < 17; id++)
		assert_source(fd, id, format("id%d", id));
	assert_source(fd, 18, "id18");
	/* What follows the name and a blank is no part of it. */
	assert_source(fd, 19, "git");
	assert_words(fd, 1, "");
	assert_words(fd, 19, "owner/name \x1b[31m");
	assert_words(fd, 20, "");
	assert_words(fd, 24, "");
	assert_words(fd, 25, "twelve bytes");
	assert_words(fd, 26, "");
	assert_source(fd, 20, "pkg");
	assert_source(fd, 21, "id21");
	assert_source(fd, 22, "id22");
	assert_source(fd, 23, format("%063d", 0));
	assert_source(fd, 24, "id24");
	close(fd);
	assert_source(-1, 255, "id255");
	fd = open_read(tmp_dir());
	assert_source(fd, 1, "id1");
	close(fd);
}

TEST_CASE(an_id_has_up_to_three_digits)
{
	int fd = open_read(tmp_text("sources",
	    "7 one\n42 two\n100 three\n255 last\n0 none\n0008 four\n"
	    "009 nine\n258 more\n"));

	assert_source(fd, 7, "one");
	assert_source(fd, 42, "two");
	assert_source(fd, 100, "three");
	assert_source(fd, 255, "last");
	assert_source(fd, 0, "none");
	assert_source(fd, 8, "id8");
	assert_source(fd, 9, "nine");
	assert_source(fd, 2, "id2");
	close(fd);
}

/* What was read before counts. */
TEST_CASE(a_file_that_cannot_be_read_to_its_end_names_what_was_read)
{
	int fd = open_read(tmp_text("sources", "1 debianssl more"));

	fail_call("pread", 2, EIO);
	assert_source(fd, 1, "debianssl");
	assert_true(call_has_failed());
	fail_call("pread", 2, EIO);
	assert_words(fd, 1, "more");
	fail_call("pread", 1, EIO);
	assert_source(fd, 1, "id1");
	fail_call("pread", 1, EIO);
	assert_words(fd, 1, "");
	close(fd);
}

TEST_CASE(a_signal_ends_no_reading)
{
	int fd = open_read(tmp_text("sources", "1 debianssl"));

	interrupt_calls(3);
	assert_source(fd, 1, "debianssl");
	assert_int_equal(calls_to_interrupt(), 0);
	/* An error of long ago is none of these reads. */
	alarm(PATIENCE);
	errno = EINTR;
	assert_source(fd, 1, "debianssl");
	alarm(0);
	close(fd);
}

/* kv_sources.h: what lies behind an offset is passed over. */
TEST_CASE(names_end_where_reading_does)
{
	static const char last[] = "\n1 last", next[] = "\n2 next\n";
	const size_t len = sizeof(last) - 1;
	char *text = test_alloc(2 * KV_SOURCES_MAX_BYTES + 1);
	int fd;

	memset(text, '#', 2 * KV_SOURCES_MAX_BYTES);
	memcpy(text + KV_SOURCES_MAX_BYTES - len, last, len);
	memcpy(text + KV_SOURCES_MAX_BYTES, next, sizeof(next) - 1);
	fd = open_read(tmp_text("sources", text));
	assert_source(fd, 1, "last");
	assert_words(fd, 1, "");
	assert_source(fd, 2, "id2");
	close(fd);
	/* All but its last byte is read. */
	memcpy(text + KV_SOURCES_MAX_BYTES - len + 1, last, len);
	fd = open_read(tmp_text("sources", text));
	assert_source(fd, 1, "las");
	close(fd);
}
