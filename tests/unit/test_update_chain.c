/* SPDX-License-Identifier: ISC */
#include "update/chain.h"

#include "testlib.h"

#include <stdlib.h>
#include <string.h>

/* So many files, by one letter each, and deltas between any two of them. */
#define FILES 7

static void
name_file(char text[static INDEX_SHA256_BYTES], int file)
{
	memset(text, 'a' + file, INDEX_SHA256_BYTES - 1);
	text[INDEX_SHA256_BYTES - 1] = '\0';
}

/* The fewest bytes from file 0 to the last one, by trying all ways. */
static uint64_t
try_all(const struct index_file *f, const char *from, unsigned int visited)
{
	uint64_t best = UINT64_MAX;

	if (strcmp(from, f->sha256) == 0)
		return 0;
	for (size_t i = 0; i < f->n_deltas; i++) {
		const struct index_delta *d = &f->delta[i];
		const unsigned int bit = 1U << (d->to[0] - 'a');
		uint64_t rest;

		if (strcmp(d->from, from) != 0 || (visited & bit) != 0)
			continue;
		rest = try_all(f, d->to, visited | bit);
		if (rest != UINT64_MAX && rest + d->size < best)
			best = rest + d->size;
	}
	return best;
}

static void
is_the_cheapest(const struct index_file *f, const char *from)
{
	const uint64_t want = try_all(f, from, 1);
	struct update_chain c;
	uint64_t bytes = 0;

	assert_int_equal(update_chain_find(f, from, &c), want != UINT64_MAX);
	if (want == UINT64_MAX)
		return;
	for (size_t i = 0; i < c.n; i++) {
		assert_string_equal(c.step[i]->from, from);
		from = c.step[i]->to;
		bytes += c.step[i]->size;
	}
	assert_string_equal(from, f->sha256);
	assert_int_equal(c.bytes, bytes);
	assert_int_equal(bytes, want);
}

static void
the_cheapest_of_all_ways_is_found(void **state)
{
	struct index_delta delta[3 * FILES];
	struct index_file f = { .delta = delta };
	char from[INDEX_SHA256_BYTES];

	(void)state;
	srandom(15);
	name_file(f.sha256, FILES - 1);
	name_file(from, 0);
	for (int turn = 0; turn < 3000; turn++) {
		f.n_deltas = (size_t)random() % (3 * FILES + 1);
		for (size_t i = 0; i < f.n_deltas; i++) {
			name_file(delta[i].from, (int)(random() % FILES));
			name_file(delta[i].to, (int)(random() % FILES));
			delta[i].size = (uint64_t)random() % 10;
		}
		is_the_cheapest(&f, from);
	}
}

static void
sizes_do_not_wrap_around(void **state)
{
	struct index_delta delta[3];
	struct index_file f = { .delta = delta, .n_deltas = 3 };
	struct update_chain c;
	char from[INDEX_SHA256_BYTES];

	(void)state;
	name_file(f.sha256, 3);
	name_file(from, 0);
	for (int i = 0; i < 3; i++) {
		name_file(delta[i].from, i);
		name_file(delta[i].to, i + 1);
		delta[i].size = INT64_MAX;
	}
	assert_true(update_chain_find(&f, from, &c));
	assert_int_equal(c.n, 3);
	assert_true(c.bytes > (uint64_t)INT64_MAX);
}

/* As many as an index may have, each of which could follow each. */
static void
the_most_deltas_take_no_time(void **state)
{
	static struct index_delta delta[INDEX_DELTAS];
	struct index_file f = { .delta = delta, .n_deltas = INDEX_DELTAS };
	struct update_chain c;

	(void)state;
	name_file(f.sha256, 1);
	for (size_t i = 0; i < INDEX_DELTAS; i++) {
		name_file(delta[i].from, 0);
		name_file(delta[i].to, 0);
		delta[i].size = INDEX_DELTAS - i;
	}
	assert_false(update_chain_find(&f, delta[0].from, &c));
	name_file(delta[7].to, 1);
	assert_true(update_chain_find(&f, delta[0].from, &c));
	assert_int_equal(c.n, 1);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_cheapest_of_all_ways_is_found),
		TEST(sizes_do_not_wrap_around),
		TEST(the_most_deltas_take_no_time),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
