/* SPDX-License-Identifier: ISC */
#include "published/manifest.h"

#include "testlib.h"

#define SHA "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef"

static struct manifest m;
static char why[MANIFEST_WHY_BYTES];

static bool
parse(const void *text, size_t len)
{
	bool ok = manifest_parse(text, len, &m, why);

	assert_int_equal(ok, why[0] == '\0');
	assert_non_null(memchr(why, '\0', sizeof(why)));
	return ok;
}

/* The manifest with more members, or what replaces the date. */
static const char *
with(const char *more)
{
	return format(
	    "{\"bkformat\": 0, \"blocklist_url\": \"https://x/l.xz\", "
	    "\"blocklist_sha256\": \"" SHA "\", %s}",
	    more);
}

TEST_CASE(dates_are_those_of_iso_8601)
{
	static const struct {
		const char *text;
		int64_t time;
	} good[] = {
		{ "1970-01-01", 0 },
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-11-20T10:00:00+00:00", 1795168800 },
		{ "2026-11-20T10:00:00", 1795168800 },
		{ "2026-11-20 10:00:00.123456+00:00", 1795168800 },
		{ "2026-11-20T12:30:00+0230", 1795168800 },
		{ "2026-11-20T05:00:00-05:00", 1795168800 },
		{ "2026-11-20T10:00Z", 1795168800 },
		{ "2024-02-29", 1709164800 },
		{ "9999-12-31T23:59:59Z", 253402300799 },
	};
	static const char *const bad[] = { "", "2026", "2026-11", "2026-11-00",
		"2026-00-01", "2026-13-01", "2026-11-31", "2023-02-29",
		"1969-12-31", "2026-11-20T", "2026-11-20T24:00:00Z",
		"2026-11-20T10", "2026-11-20T10:00:61Z", "2026-11-20T10:60Z",
		"2026-11-20T10:00:00Zx", "2026-11-20T10:00:00+1",
		"2026-11-20T10:00:00+24:00", "+2026-11-20", " 2026-11-20",
		"26-11-20", "2026-1-20", "2026-11-20\n" };
	int64_t time;

	for (size_t i = 0; i < COUNT(good); i++) {
		assert_true(manifest_parse_date(good[i].text, &time));
		assert_int_equal(time, good[i].time);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		if (manifest_parse_date(bad[i], &time))
			fail_msg("\"%s\" is taken for a date", bad[i]);
}

TEST_CASE(members_are_read)
{
	const char *text = with(
	    "\"date\": \"2026-11-20\", \"blocklists\": ["
	    "{\"id\": 1, \"name\": \"a-b_c.d\", "
	    "\"repo\": \"r/s\", \"path\": \"p\"}, "
	    "{\"id\": 255, \"name\": \"last\"}, "
	    "{\"id\": 256, \"name\": \"beyond\"}]");

	assert_true(parse(text, strlen(text)));
	assert_string_equal(m.blocklist_url, "https://x/l.xz");
	assert_string_equal(m.blocklist_sha256,
	    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	assert_string_equal(m.lookup_url, "");
	assert_false(m.deprecated);
	assert_string_equal(m.source[1].name, "a-b_c.d");
	assert_string_equal(m.source[1].repo, "r/s");
	assert_string_equal(m.source[255].name, "last");
	assert_string_equal(m.source[255].path, "");
	assert_string_equal(m.source[0].name, "");
	assert_int_equal(m.left_out, 1);
}

static void
parse_mutant(const uint8_t *p, size_t len, void *arg)
{
	(void)arg;
	if (parse(p, len)) {
		assert_true(manifest_is_plain(m.blocklist_url));
		assert_int_equal(strlen(m.blocklist_sha256), 64);
	}
}

TEST_CASE(mutants_are_survived)
{
	const char *text = with("\"date\": \"2026-11-20\", \"blocklists\": ["
				"{\"id\": 1, \"name\": \"a\"}], "
				"\"deprecated\": \"soon\"");

	for_each_mutant((const uint8_t *)text, strlen(text), parse_mutant,
	    NULL);
}
