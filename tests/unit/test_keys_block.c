/* SPDX-License-Identifier: ISC */
#include "keys/block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/pem.h"
#include "testlib.h"

#define BEGIN "-----BEGIN X-----"
#define END "-----END X-----"
#define BASE64 "MIIEpAIBAAKCAQEA"
#define KEY \
	"AAAAC3NzaC1lZDI1NTE5AAAAI" \
	"PNTll18C/d1B06jnitjXLCZgRsdyTumwJbtFemLpn07"
#define LINE BASE64 "MIIEpAIBAAKCAQEA/+" BASE64

static uint8_t *room;

static struct block
open_block(void)
{
	struct block b = { .room = &room };

	assert_true(block_open(&b, 7));
	return b;
}

static int
free_room(void **state)
{
	(void)state;
	free(room);
	room = NULL;
	return 0;
}

static void
lines_are_collected_up_to_the_end_line(void **state)
{
	struct block b = open_block();

	(void)state;
	assert_false(block_add(&b, span_of(BEGIN)));
	assert_false(block_add(&b, span_of("")));
	assert_false(block_add(&b, span_of(BASE64)));
	assert_true(block_add(&b, span_of(END)));
	assert_span_is(block_text(&b), BEGIN "\n\n" BASE64 "\n" END "\n");
	assert_int_equal(b.line, 7);
	assert_false(b.too_long);
	block_close(&b);
	assert_false(b.is_open);
	for (size_t i = 0; i < b.len; i++)
		assert_int_equal(room[i], 0);
}

static void
a_block_takes_its_longest_text_and_no_more(void **state)
{
	const size_t len = PEM_MAX_BYTES - strlen(END) - 2;
	uint8_t *line = test_alloc(len + 1);
	struct block b = open_block();

	(void)state;
	memset(line, 'A', len + 1);
	assert_false(block_add(&b, (struct kv_span){ line, len }));
	assert_true(block_add(&b, span_of(END)));
	assert_false(b.too_long);
	assert_int_equal(block_text(&b).len, PEM_MAX_BYTES);
	b = open_block();
	assert_false(block_add(&b, (struct kv_span){ line, len + 1 }));
	assert_true(block_add(&b, span_of(END)));
	assert_true(b.too_long);
}

/* Each line of a text in C, YAML or a shell, and what it is in the block. */
static void
quotes_around_lines_are_left_out(void **state)
{
	static const char *const rows[][4] = {
		{ "  \"" BASE64 "\\n\"", BASE64, NULL, "" },
		{ "\t'" BASE64 "\\r\\n' +", BASE64, NULL, "" },
		{ BASE64 "\\n\\", BASE64, NULL, "" },
		{ "    " BASE64, BASE64, NULL, "" },
		{ "\"" END "\\n\"; x", END, NULL, "" },
		{ BASE64 END "; rest", BASE64, END, "; rest" },
	};
	struct block b = open_block();
	struct kv_span part[2], rest;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t n = block_split(&b, span_of(rows[i][0]), part, &rest);

		assert_int_equal(n, rows[i][2] == NULL ? 1 : 2);
		assert_span_is(part[0], rows[i][1]);
		if (n == 2)
			assert_span_is(part[1], rows[i][2]);
		if (rows[i][3][0] != '\0')
			assert_span_is(rest, rows[i][3]);
	}
}

/* The line with the BEGIN, another one, and what that is in the block. */
static void
what_each_line_begins_with_is_left_out(void **state)
{
	static const char *const rows[][3] = {
		{ "+" BEGIN, "+" BASE64, BASE64 },
		{ "+" BEGIN, "++/+" BASE64, "+/+" BASE64 },
		{ "-" BEGIN, "-" END, END },
		{ "-" BEGIN, END, END },
		{ "> > " BEGIN, "> > " BASE64 "\r", BASE64 },
		{ "> " BEGIN, ">", "" },
		{ "# \t" BEGIN, "#", "" },
		{ " * " BEGIN, " * Comment: \"a (b)\"", "Comment: \"a (b)\"" },
		{ "echo '" BEGIN, "echo '" BASE64 "'", BASE64 },
		{ "  " BEGIN "\\n\\", "  " BASE64 "\\n\\", BASE64 },
		{ "\t" BEGIN "\",", "\t" BASE64 "\",", BASE64 },
		{ "+k = \"" BEGIN, "+  \"" BASE64 "\\n\"", BASE64 },
		{ "-k = \"" BEGIN, "-  \"" END "\\n\"", END },
		/* Another begin of a line is the block's. */
		{ "M: " BEGIN, BASE64, BASE64 },
		{ "/ " BEGIN, "/" BASE64, "/" BASE64 },
	};
	struct kv_span part[2], rest;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct block b = open_block();

		b.is_new = strstr(rows[i][1], END) == NULL;
		block_note_prefix(&b, span_of(rows[i][0]));
		assert_int_equal(block_split(&b, span_of(rows[i][1]), part,
				     &rest),
		    1);
		assert_span_is(part[0], rows[i][2]);
	}
}

/* As cat -n, grep -n and logs write them: the first line decides. */
static void
what_varies_before_each_line_is_left_out(void **state)
{
	static const char *const rows[][3] = {
		{ "   9\t" BEGIN, "  10\t" LINE, "  11\t" END },
		{ "9:" BEGIN, "10:" LINE " \r", "x -- 11:" END },
		{ "a 12:00 app[1]: " BEGIN, "a 12:01 app[23]: " LINE,
		    "b 12:01 app[1]: " END "\r" },
		{ "- " BEGIN, "  " LINE, "  " END },
	};
	static const char *const others[][2] = {
		{ "k = \"" BEGIN, "x = \"" LINE },
		{ "1 " BEGIN, "2 " BASE64 },
		{ "1=" BEGIN, "2=" LINE },
		{ "a " BEGIN, "- " KEY },
		{ "1-n" BEGIN, "2-n" LINE },
		{ "a " BEGIN,
		    "commit 0123456789abcdef0123456789abcdef01234567" },
		{ "1 " BEGIN, "2 " LINE ";" },
	};
	struct kv_span part[2], rest;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct block b = open_block();

		b.is_new = true;
		block_note_prefix(&b, span_of(rows[i][0]));
		for (size_t j = 1; j < 3; j++) {
			assert_int_equal(block_split(&b, span_of(rows[i][j]),
					     part, &rest),
			    1);
			assert_span_is(part[0], j == 1 ? LINE : END);
			b.is_new = false;
		}
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		struct block b = open_block();

		b.is_new = true;
		block_note_prefix(&b, span_of(others[i][0]));
		assert_int_equal(block_split(&b, span_of(others[i][1]), part,
				     &rest),
		    0);
	}
}

static void
what_the_first_line_does_not_begin_with_is_left_out_of_none(void **state)
{
	static const char *const prefixes[] = { "n", "+ ", "A" };
	struct kv_span part[2], rest;

	(void)state;
	for (size_t i = 0; i < COUNT(prefixes); i++) {
		struct block b = open_block();
		char line[64];

		snprintf(line, sizeof(line), "%s" BEGIN, prefixes[i]);
		b.is_new = true;
		block_note_prefix(&b, span_of(line));
		assert_int_equal(block_split(&b, span_of(BASE64), part, &rest),
		    1);
		b.is_new = false;
		snprintf(line, sizeof(line), "%.1s" BASE64, prefixes[i]);
		assert_int_equal(block_split(&b, span_of(line), part, &rest),
		    1);
		assert_span_is(part[0], line);
	}
}

static void
a_block_notes_no_longer_prefix_than_it_has_room_for(void **state)
{
	char text[BLOCK_PREFIX_MAX_BYTES + sizeof(BEGIN) + 1];
	struct block b = open_block();

	(void)state;
	for (size_t len = BLOCK_PREFIX_MAX_BYTES;
	     len <= BLOCK_PREFIX_MAX_BYTES + 1; len++) {
		memset(text, 'x', len);
		memcpy(text + len, BEGIN, sizeof(BEGIN));
		b.prefix_len = 0;
		block_note_prefix(&b, span_of(text));
		assert_int_equal(b.prefix_len,
		    len == BLOCK_PREFIX_MAX_BYTES ? len : 0);
	}
}

static void
only_base64_or_a_header_follows_a_begin_line(void **state)
{
	static const char *const good[] = { BASE64, "",
		"Proc-Type: 4,ENCRYPTED" };
	static const char *const bad[] = { "return;", "print(a, x: y)",
		"the next words", END };
	struct block b = open_block();
	struct kv_span part[2], rest;

	(void)state;
	b.is_new = true;
	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(block_split(&b, span_of(good[i]), part, &rest) > 0);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(block_split(&b, span_of(bad[i]), part, &rest),
		    0);
	b.is_new = false;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(block_split(&b, span_of(bad[i]), part, &rest),
		    1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_are_collected_up_to_the_end_line),
		TEST(a_block_takes_its_longest_text_and_no_more),
		TEST(quotes_around_lines_are_left_out),
		TEST(what_each_line_begins_with_is_left_out),
		TEST(what_varies_before_each_line_is_left_out),
		TEST(
		    what_the_first_line_does_not_begin_with_is_left_out_of_none),
		TEST(a_block_notes_no_longer_prefix_than_it_has_room_for),
		TEST(only_base64_or_a_header_follows_a_begin_line),
	};

	return cmocka_run_group_tests(tests, test_begin, free_room);
}
