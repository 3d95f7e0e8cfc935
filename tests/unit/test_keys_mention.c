/* SPDX-License-Identifier: ISC */
#include "keys/mention.h"

#include "testlib.h"

#define BEGIN "BEGIN RSA PRIVATE KEY"
#define RUN "MIIEowIBAAKCAQEAwZx+y/0123456789MIIEowIB"
#define PRIVATE_KEY_0 "QkVHSU4gUlNBIFBSSVZBVEUgS0VZCg"
#define BLANKS_50 "                                                  "

static struct mention m;
static uint64_t seen[8];
static size_t n_seen;

static void
on_found(uint64_t line, void *arg)
{
	assert_ptr_equal(arg, &m);
	assert_true(n_seen < COUNT(seen));
	seen[n_seen++] = line;
}

static void
read_line(const char *text, uint64_t line)
{
	mention_read(&m, span_of(text), line);
	mention_read(&m, span_of("\n"), line);
}

/* A text of two lines: is a key told at the first? */
static void
expect(const char *first, const char *second, size_t n)
{
	m = (struct mention){ .found = on_found, .arg = &m };
	n_seen = 0;
	read_line(first, 7);
	read_line(second, 8);
	assert_int_equal(n_seen, n);
	assert_true(n == 0 || seen[0] == 7);
}

TEST_CASE(base64_behind_the_words_is_a_key)
{
	expect("-----" BEGIN "-----", RUN, 1);
	expect(BEGIN, RUN, 1);
	expect("BEGIN+OPENSSH+PRIVATE+KEY", RUN, 1);
	expect("BEGIN <b>PRIVATE</b> KEY", RUN, 1);
	expect("BEGIN PGP PRIVATE KEY BLOCK", RUN, 0);
	expect("BEGIN PUBLIC KEY", RUN, 0);
	expect("BEGIN a PRIVATE KEY", RUN, 0);
	expect("PRIVATE KEY", RUN, 0);
	/* One digit less, or with a blank. */
	expect(BEGIN, &RUN[1], 0);
	expect(BEGIN, format("%.20s %s", RUN, &RUN[20]), 0);
	/* A public key, a checksum. */
	expect(BEGIN, format("AAAA%s", RUN), 0);
	expect(BEGIN, format("%040d%040d", 0, 0), 0);
}

TEST_CASE(so_much_may_stand_between)
{
	expect(BEGIN, format("%0198d-%s", 0, RUN), 1);
	expect(BEGIN, format("%0199d.%s", 0, RUN), 0);
	/* Blanks, quotes and tags do not count. */
	expect(BEGIN,
	    format("%s%s%s%s%s'\"%s", BLANKS_50, BLANKS_50, BLANKS_50,
		BLANKS_50, BLANKS_50, RUN),
	    1);
	expect(BEGIN, format("<td id='%0300d'>%s", 0, RUN), 1);
	/* What stood before BEGIN stands before each line. */
	expect(format("%0150d-" BEGIN, 0),
	    format("%0150d-%0100d-%s", 0, 0, RUN), 1);
	/* Behind a bare mention, another BEGIN counts. */
	expect(format("x\n%0150d " BEGIN, 0), "x", 0);
	read_line(BEGIN, 9);
	read_line(format("%0150d-%s", 0, RUN), 10);
	assert_int_equal(n_seen, 1);
	assert_int_equal(seen[0], 9);
}

TEST_CASE(other_fields_of_a_record_do_not_count)
{
	const char *other = format("\"o\": \"%0250d\"", 0);

	expect(format("{%s, \"m\": \"" BEGIN "\", %s}", other, other),
	    format("{%s, \"m\": \"" RUN "\"}", other), 1);
	expect("{\"m\": \"" BEGIN "\"}", "{\"o\": \"" RUN "\"}", 0);
	expect("[\"" BEGIN "\",", "\"" RUN "\"]", 1);
}

/* A text as UTF-16. */
static struct kv_span
widen(const char *text)
{
	static uint8_t wide[512];
	size_t n = 0;

	for (; *text != '\0'; text++) {
		wide[n++] = (uint8_t)*text;
		wide[n++] = 0;
	}
	return (struct kv_span){ wide, n };
}

TEST_CASE(utf_16_is_read)
{
	for (int ascii = 0; ascii < 2; ascii++) {
		m = (struct mention){ .found = on_found,
			.arg = &m,
			.ascii = ascii != 0 };
		n_seen = 0;
		mention_read(&m, widen("-" BEGIN "-\r"), 7);
		mention_read(&m, widen("\n" RUN), 8);
		assert_int_equal(n_seen, ascii == 0);
	}
}

TEST_CASE(base64_of_it_is_read)
{
	/* "\n" and a word before make all three spellings. */
	static const char *const before[] = { "", "\n", "x\n", "word word\n" };

	for (size_t i = 0; i < COUNT(before); i++) {
		const char *plain = format("%s-----" BEGIN "-----\n" RUN RUN,
		    before[i]);
		const char *once = base64_of(plain, strlen(plain));

		expect(format("data: %s", once), "", 1);
		for (size_t cut = 40; cut < strlen(once); cut++)
			expect(format("  %.*s", (int)cut, once),
			    format("  %s", once + cut), 1);
		plain = format("%s" BEGIN " is at the start of each",
		    before[i]);
		expect(base64_of(plain, strlen(plain)), "", 0);
	}
	expect(PRIVATE_KEY_0, "", 0);
}

TEST_CASE(nothing_goes_on_behind_a_key)
{
	expect(BEGIN, "", 0);
	assert_true(mention_is_open(&m));
	mention_drop(&m);
	assert_false(mention_is_open(&m));
	read_line(RUN, 9);
	assert_int_equal(n_seen, 0);
}
