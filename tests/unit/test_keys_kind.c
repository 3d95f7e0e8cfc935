/* SPDX-License-Identifier: ISC */
#include "keys/kind.h"

#include "testlib.h"

/* The lines of problems, in order: "3 5 ". */
static char seen[256];

static void
on_problem(const struct input_problem *problem, void *arg)
{
	(void)arg;
	strcat(seen, format("%u ", (unsigned int)problem->line));
}

static const struct input_sink sink = { .problem = on_problem };

static struct found
start(void)
{
	seen[0] = '\0';
	return (struct found){ .sink = &sink, .path = "file" };
}

static void
add_empty(struct kind *k, struct found *f, uint64_t line)
{
	f->line = line;
	kind_add_empty(k, KV_ERR_LINE_NO_KEY, f);
}

TEST_CASE(in_a_file_of_keys_lines_without_one_are_problems)
{
	struct found f = start();
	struct kind k = { 0 };

	add_empty(&k, &f, 3);
	add_empty(&k, &f, 5);
	assert_string_equal(seen, "");
	kind_decide(&k, KIND_LINES, &f);
	assert_string_equal(seen, "3 5 ");
	kind_decide(&k, KIND_TEXT, &f);
	assert_int_equal(k.is, KIND_LINES);
	kind_finish(&k, &f);
	assert_string_equal(seen, "3 5 ");
}

TEST_CASE(in_another_text_they_are_none)
{
	struct found f = start();
	struct kind k = { 0 };

	add_empty(&k, &f, 3);
	kind_add_block(&k, &f);
	assert_int_equal(k.is, KIND_TEXT);
	f.n++;
	kind_finish(&k, &f);
	assert_string_equal(seen, "");
}

TEST_CASE(a_file_without_a_key_is_one_problem)
{
	struct found f = start();
	struct kind k = { 0 };

	add_empty(&k, &f, 3);
	kind_finish(&k, &f);
	assert_string_equal(seen, "3 ");
	f = start();
	add_empty(&k, &f, 3);
	add_empty(&k, &f, 4);
	kind_finish(&k, &f);
	assert_string_equal(seen, "0 ");
}

TEST_CASE(so_many_lines_without_a_key_are_another_text)
{
	struct found f = start();
	struct kind k = { 0 };
	uint64_t line = 0;

	while (k.is == KIND_UNKNOWN && line < 100000)
		add_empty(&k, &f, ++line);
	assert_int_equal(k.is, KIND_TEXT);
	assert_int_equal(line, 10001);
	kind_finish(&k, &f);
	assert_string_equal(seen, "0 ");
}
