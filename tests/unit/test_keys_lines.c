/* SPDX-License-Identifier: ISC */
#include "keys/lines.h"

#include "testkeys.h"

#define NO_END "PEM block has no end"

static uint8_t *room, blob[KV_BLOB_MAX_BYTES];
/* What was found, in order: "3 key, 4: reason, ". */
static char seen[8192];

static void
add(const char *text)
{
	assert_true(strlen(seen) + strlen(text) < sizeof(seen));
	strcat(seen, text);
}

static void
on_key(const struct input_key *key, void *arg)
{
	(void)arg;
	add(format("%u key, ", (unsigned int)key->line));
}

static void
on_problem(const struct input_problem *problem, void *arg)
{
	(void)arg;
	add(format("%u: %s, ", (unsigned int)problem->line, problem->reason));
}

static const struct input_sink sink = { .key = on_key, .problem = on_problem };

static struct lines
start(void)
{
	seen[0] = '\0';
	return (struct lines){
		.found = { .sink = &sink, .path = "file" },
		.block = { .room = &room },
		.blob = blob,
	};
}

static void
finish(struct lines *l, const char *want)
{
	lines_finish(l);
	lines_free(l);
	assert_string_equal(seen, want);
}

/* Reads a text whose lines come one by one, and at once. */
static void
expect(const char *text, bool walked, const char *want)
{
	struct lines l = start();

	l.walked = walked;
	lines_read(&l, span_of(text));
	finish(&l, want);
	l = start();
	l.walked = walked;
	for (const char *p = text, *next; *p != '\0'; p = next) {
		next = strchr(p, '\n');
		next = next != NULL ? next + 1 : p + strlen(p);
		lines_read(&l,
		    (struct kv_span){ (const uint8_t *)p, (size_t)(next - p) });
	}
	finish(&l, want);
}

TEST_CASE(a_file_of_keys_has_no_other_lines)
{
	const char *text = format("prose\n%s\n\nmore\n", ec_line);

	expect(text, false,
	    "1: no key on this line, 2 key, 4: no key on this line, ");
	expect(text, true, "2 key, ");
	expect("prose\nmore\n", false, "0: no key in this file, ");
	expect("prose\n", false, "1: no key on this line, ");
	expect("prose\n", true, "");
	expect("", false, "");
}

TEST_CASE(lines_of_another_text_are_no_problem)
{
	expect(format("keys:\n- \"%s\"\nmore\n", ec_line), false, "2 key, ");
	expect(format("[{\"key\": \"%s\",\n\"login\": \"ann\"}]\nx\n", ec_line),
	    false, "1 key, ");
}

TEST_CASE(blocks_are_read_from_their_first_line_to_their_last)
{
	const char *ppk = format("PuTTY-User-Key-File-3: x\nPublic-Lines: 1\n"
				 "%s\nPrivate-MAC: 0\n",
	    strchr(ec_line, ' ') + 1);

	expect(ppk, false, "1 key, ");
	expect(format("text\n%s%s", ppk, ppk), false, "2 key, 6 key, ");
	expect("-----BEGIN RSA PUBLIC KEY-----\nAAAA\n", false,
	    "1: " NO_END ", ");
	/* In a folder, it may be a manual. */
	expect("-----BEGIN RSA PUBLIC KEY-----\nAAAA\n", true, "");
	expect("-----BEGIN X-----\nAAAA\n-----END X-----\n", true, "");
	expect("-----BEGIN CMS-----\nAAAA\n", true, "");
	/* sshd ignores PEM. */
	expect(format("-----BEGIN X-----\n%s\n", ec_line), true,
	    "2 key, 1: " NO_END ", ");
	expect(
	    format("-----BEGIN CMS-----\n{\"k\": \"%s\"}\n-----END CMS-----\n",
		ec_line),
	    true, "2 key, ");
}

/* A text of one line, cut into parts of so many bytes. */
static void
expect_parts(const char *text, size_t size, bool walked, const char *want)
{
	struct kv_span rest = span_of(text), part;
	struct long_line line = { 0 };
	struct lines l = start();
	size_t step = size, used;

	l.walked = walked;
	while (rest.len > 0) {
		part.p = rest.p;
		part.len = step < rest.len ? step : rest.len;
		used = lines_read_part(&l, &line, part, part.len < rest.len);
		assert_true(used <= part.len);
		rest.p += used;
		rest.len -= used;
		/* What was not read begins the next part, with more behind. */
		step = size + (part.len - used);
	}
	lines_finish_part(&l, &line);
	finish(&l, want);
}

TEST_CASE(a_long_line_is_read_in_parts)
{
	const char *prose = "These words are much longer than one part. ";
	const size_t size = strlen(ec_line) + 20;

	expect_parts(format("%s %s%s%s%s%s", ec_line, prose, prose, prose,
			 prose, prose),
	    size, false, "1 key, ");
	expect_parts(format("%s%s%s%s%s%s", prose, prose, prose, prose, prose,
			 prose),
	    size, false, "1: line too long, ");
	expect_parts(format("[\"%s\",\"%s\",{\"k\":\"%s\",\"login\":\"ann\"}]",
			 prose, prose, ec_line),
	    size, false, "1 key, ");
}

static void
free_room(void)
{
	free(room);
}

int
main(void)
{
	return run_all_tests(&(struct fixture){ .after_all = free_room });
}
