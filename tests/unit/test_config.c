/* SPDX-License-Identifier: ISC */
#include "kv_config.h"

#include "testlib.h"

#include <sys/socket.h>

#include <syslog.h>
#include <time.h>

#define PATH "keyveto.conf"
#define DAY 86400
/* The fingerprint of a digest of 32 zero bytes, and other fingerprints. */
#define FP "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define FP_B "SHA256:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA"

static const uint8_t zeros[KV_SHA256_BYTES];

/* The config that was read last. The next read frees it. */
static struct kv_config c;
static char why[KV_CONFIG_WHY_BYTES];

static enum kv_err
parse_bytes(const void *text, size_t len)
{
	enum kv_err r;
	uint8_t *copy = malloc(len);

	if (len > 0)
		memcpy(copy, text, len);
	kv_config_free(&c);
	memset(why, 'x', sizeof(why));
	r = kv_config_parse((const char *)copy, len, PATH, &c, why);
	/* The config must not point into the caller's text. */
	memset(copy, 'x', len);
	free(copy);
	assert_non_null(memchr(why, '\0', sizeof(why)));
	return r;
}

static void
parses(const char *text)
{
	enum kv_err r = parse_bytes(text, strlen(text));

	if (r != KV_OK)
		fail_msg("%s", why);
	assert_string_equal(why, "");
}

/* why begins with PATH, and the reason follows it. */
static void
mistake(const char *text, const char *reason)
{
	assert_err(parse_bytes(text, strlen(text)), KV_ERR_CONFIG);
	assert_string_equal(why, format(PATH "%s", reason));
}

static void
free_config(void)
{
	kv_config_free(&c);
}

static void
assert_defaults(void)
{
	assert_int_equal(c.n_filters, 1);
	assert_string_equal(c.filter[0], KV_CONFIG_FILTER_PATH);
	assert_int_equal(c.allowed.n, 0);
	assert_int_equal(c.n_patterns, 2);
	assert_string_equal(c.pattern[0], ".ssh/authorized_keys");
	assert_string_equal(c.pattern[1], ".ssh/authorized_keys2");
	assert_int_equal(c.on_hit, KV_ACTION_DENY);
	assert_int_equal(c.on_error, KV_ACTION_DENY);
	assert_int_equal(c.on_unsupported, KV_ACTION_ALLOW);
	assert_int_equal(c.syslog_facility, LOG_AUTHPRIV);
	assert_null(c.message);
	/* The build sets the default, which is never "no". */
	assert_int_not_equal(c.strictmodes, KV_STRICTMODES_NO);
}

TEST_CASE(empty_file_means_the_defaults)
{
	kv_config_defaults(&c);
	assert_defaults();
	parses("");
	assert_defaults();
	parses("\n\n# OnHit warn\n  \t# x\n\t \r\n#\n");
	assert_defaults();
	assert_int_equal(KV_ACTION_DENY, 0);
}

TEST_CASE(every_keyword_is_read)
{
	parses(
	    "Filter /a/b.pkbf\nBlocklist /a/c.dat\nAllowKey " FP "\n"
	    "OnHit warn\nOnProbable deny\nOnError allow\nOnUnsupported deny\nAuthorizedKeysFile /k/%u x\n"
	    "StrictModes no\nSyslogFacility LOCAL3\nMessage go away\n");
	assert_int_equal(c.n_filters, 1);
	assert_string_equal(c.filter[0], "/a/b.pkbf");
	assert_int_equal(c.n_blocklists, 1);
	assert_string_equal(c.blocklist[0], "/a/c.dat");
	assert_int_equal(c.on_probable, KV_ACTION_DENY);
	assert_int_equal(c.allowed.n, 1);
	assert_memory_equal(c.allowed.v[0].digest, zeros, sizeof(zeros));
	assert_string_equal(c.allowed.v[0].reason, "");
	assert_true(c.allowed.v[0].day == KV_CONFIG_NO_END);
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_int_equal(c.on_error, KV_ACTION_ALLOW);
	assert_int_equal(c.on_unsupported, KV_ACTION_DENY);
	assert_int_equal(c.n_patterns, 2);
	assert_string_equal(c.pattern[0], "/k/%u");
	assert_string_equal(c.pattern[1], "x");
	assert_int_equal(c.strictmodes, KV_STRICTMODES_NO);
	assert_int_equal(c.syslog_facility, LOG_LOCAL3);
	assert_string_equal(c.message, "go away");
}

TEST_CASE(every_value_is_read)
{
	static const struct {
		const char *word;
		int facility;
	} facilities[] = {
		{ "DAEMON", LOG_DAEMON },
		{ "USER", LOG_USER },
		{ "AUTH", LOG_AUTH },
		{ "AUTHPRIV", LOG_AUTHPRIV },
		{ "LOCAL0", LOG_LOCAL0 },
		{ "LOCAL1", LOG_LOCAL1 },
		{ "LOCAL2", LOG_LOCAL2 },
		{ "LOCAL3", LOG_LOCAL3 },
		{ "LOCAL4", LOG_LOCAL4 },
		{ "LOCAL5", LOG_LOCAL5 },
		{ "LOCAL6", LOG_LOCAL6 },
		{ "LOCAL7", LOG_LOCAL7 },
	};

	for (size_t i = 0; i < COUNT(facilities); i++) {
		parses(format("SyslogFacility %s", facilities[i].word));
		assert_int_equal(c.syslog_facility, facilities[i].facility);
	}
	parses("OnHit deny\nOnError deny\nOnUnsupported allow");
	assert_int_equal(c.on_hit, KV_ACTION_DENY);
	assert_int_equal(c.on_error, KV_ACTION_DENY);
	assert_int_equal(c.on_unsupported, KV_ACTION_ALLOW);
	parses(
	    "AuthorizedKeysFileWildcards no\nAuthorizedKeysFileWildcards yes");
	assert_int_equal(c.wildcards, KV_WILDCARDS_NO);
	parses("authorizedkeysfilewildcards YES");
	assert_int_equal(c.wildcards, KV_WILDCARDS_YES);
	parses("# nothing");
	assert_int_equal(c.wildcards, KV_WILDCARDS_WRITTEN);
	parses("StrictModes yes");
	assert_int_equal(c.strictmodes, KV_STRICTMODES_YES);
	parses("StrictModes private-group");
	assert_int_equal(c.strictmodes, KV_STRICTMODES_PRIVATE_GROUP);
}

TEST_CASE(on_probable_is_as_on_hit_unless_it_is_set)
{
	parses("OnHit warn");
	assert_int_equal(c.on_probable, KV_ACTION_WARN);
	parses("OnProbable warn");
	assert_int_equal(c.on_hit, KV_ACTION_DENY);
	assert_int_equal(c.on_probable, KV_ACTION_WARN);
}

TEST_CASE(there_is_no_default_filter_beside_a_list)
{
	parses("Blocklist /a");
	assert_int_equal(c.n_filters, 0);
	assert_int_equal(c.n_blocklists, 1);
	assert_string_equal(c.blocklist[0], "/a");
	mistake("Blocklist a",
	    ":1: Blocklist needs an absolute path, not \"a\"");
}

/* OnError decides what a mistake means, so it must not be one itself. */
TEST_CASE(mistaken_lines_set_nothing)
{
	mistake("OnError allow x", ":1: OnError takes one argument");
	assert_defaults();
	mistake("OnUnsupported allow\nOnError\n",
	    ":2: OnError needs an argument");
	assert_defaults();
	mistake("Filter /a b", ":1: Filter takes one argument");
	assert_defaults();
	mistake("Filter /a\nBlocklist\n", ":2: Blocklist needs an argument");
	assert_int_equal(c.n_blocklists, 0);
	mistake("AllowKey " FP "\nAllowKey\n",
	    ":2: AllowKey needs a fingerprint");
	assert_int_equal(c.allowed.n, 1);
	mistake("AuthorizedKeysFile",
	    ":1: AuthorizedKeysFile needs an argument");
	assert_defaults();
	mistake("Message", ":1: Message needs a text");
	assert_defaults();
}

TEST_CASE(words_of_strictmodes_are_those_that_are_read)
{
	static const enum kv_strictmodes modes[] = { KV_STRICTMODES_YES,
		KV_STRICTMODES_PRIVATE_GROUP, KV_STRICTMODES_NO };
	static const char *const words[] = { "yes", "private-group", "no" };
	enum kv_strictmodes mode;

	for (size_t i = 0; i < COUNT(modes); i++) {
		assert_string_equal(kv_config_strictmodes_word(modes[i]),
		    words[i]);
		assert_true(kv_config_read_strictmodes(words[i], &mode));
		assert_int_equal(mode, modes[i]);
	}
	assert_false(kv_config_read_strictmodes("maybe", &mode));
}

TEST_CASE(keywords_and_values_have_any_case)
{
	parses("ONHIT Warn\nonerror ALLOW\noNuNsupported dEny\n"
	       "STRICTMODES Private-Group\nsyslogfacility local0\n"
	       "FILTER /X\nallowkey " FP "\nauthorizedkeysfile X\nmessage X\n");
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_int_equal(c.on_error, KV_ACTION_ALLOW);
	assert_int_equal(c.on_unsupported, KV_ACTION_DENY);
	assert_int_equal(c.strictmodes, KV_STRICTMODES_PRIVATE_GROUP);
	assert_int_equal(c.syslog_facility, LOG_LOCAL0);
	assert_string_equal(c.filter[0], "/X");
	assert_int_equal(c.allowed.n, 1);
	assert_string_equal(c.pattern[0], "X");
	assert_string_equal(c.message, "X");
}

TEST_CASE(blanks_and_line_ends_are_as_in_sshd_config)
{
	parses("\t OnHit \t warn \t\r\nOnError\tallow\r\n\r\n  Message a\tb");
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_int_equal(c.on_error, KV_ACTION_ALLOW);
	assert_string_equal(c.message, "a b");
}

TEST_CASE(one_equals_sign_may_follow_a_keyword)
{
	static const char *const good[] = { "OnHit=warn", "OnHit = warn",
		"OnHit =warn", "OnHit= warn", "OnHit\t=\twarn",
		"\"OnHit\"=\"warn\"", "\"OnHit\" = warn" };

	for (size_t i = 0; i < COUNT(good); i++) {
		parses(good[i]);
		assert_int_equal(c.on_hit, KV_ACTION_WARN);
	}
	mistake("OnHit==warn", ":1: bad value \"=warn\" for OnHit");
	mistake("OnHit = = warn", ":1: OnHit takes one argument");
	mistake("OnHit=", ":1: OnHit needs an argument");
	mistake("=warn", ":1: unknown keyword \"\"");
	parses("Message a=b = c\nFilter=/a=b");
	assert_string_equal(c.message, "a=b = c");
	assert_string_equal(c.filter[0], "/a=b");
	parses("Message = a = b");
	assert_string_equal(c.message, "a = b");
}

TEST_CASE(quotes_hold_blanks)
{
	parses("Filter \"/a b/c\td\"\nMessage \"two  blanks\" one\n"
	       "AuthorizedKeysFile \"/k s/%u\" x\"y z\"w\n");
	assert_string_equal(c.filter[0], "/a b/c\td");
	assert_string_equal(c.message, "two  blanks one");
	assert_string_equal(c.pattern[0], "/k s/%u");
	assert_string_equal(c.pattern[1], "xy zw");
	parses("Message \"a \\\"b\\\" \\\\ \\n c\"\nFilter /a\\b");
	assert_string_equal(c.message, "a \"b\" \\ \\n c");
	assert_string_equal(c.filter[0], "/a\\b");
	/* Outside of quotes a backslash is a character like others. */
	parses("Message a\\\\b \"a\\b\\\\\"");
	assert_string_equal(c.message, "a\\\\b a\\b\\");
	parses("Message \"\"");
	assert_string_equal(c.message, "");
	parses("Message \"\" a \"\" b");
	assert_string_equal(c.message, " a  b");
}

TEST_CASE(comments_start_with_a_word)
{
	parses("OnHit warn # deny\nFilter /a#b #c\nMessage a #b\n");
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_string_equal(c.filter[0], "/a#b");
	assert_string_equal(c.message, "a");
	parses("Message \"# is kept\" a#b");
	assert_string_equal(c.message, "# is kept a#b");
	mistake("OnHit #warn", ":1: OnHit needs an argument");
	mistake("OnHit warn#", ":1: bad value \"warn#\" for OnHit");
}

TEST_CASE(first_value_wins)
{
	parses("OnHit warn\nOnHit deny\nOnError allow\nOnError deny\n"
	       "OnUnsupported deny\nOnUnsupported allow\nStrictModes no\n"
	       "StrictModes yes\nSyslogFacility USER\nSyslogFacility DAEMON\n"
	       "Message one\nMessage two\nAuthorizedKeysFile a b\n"
	       "AuthorizedKeysFile c\n");
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_int_equal(c.on_error, KV_ACTION_ALLOW);
	assert_int_equal(c.on_unsupported, KV_ACTION_DENY);
	assert_int_equal(c.strictmodes, KV_STRICTMODES_NO);
	assert_int_equal(c.syslog_facility, LOG_USER);
	assert_string_equal(c.message, "one");
	assert_int_equal(c.n_patterns, 2);
	assert_string_equal(c.pattern[0], "a");
	/* This is also true of a first line that repeats the default. */
	parses("OnHit deny\nOnHit warn\nOnError deny\nOnError allow\n"
	       "OnUnsupported allow\nOnUnsupported deny\n");
	assert_int_equal(c.on_hit, KV_ACTION_DENY);
	assert_int_equal(c.on_error, KV_ACTION_DENY);
	assert_int_equal(c.on_unsupported, KV_ACTION_ALLOW);
	/* A bad value on a second line is still a mistake. */
	mistake("OnHit warn\nOnHit maybe\n",
	    ":2: bad value \"maybe\" for OnHit");
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
}

TEST_CASE(filters_add_up)
{
	char *text = format("%s", "");

	for (int i = 0; i < KV_CONFIG_MAX_FILTERS; i++)
		text = format("%sFilter /f%d\n", text, i);
	parses(text);
	assert_int_equal(c.n_filters, KV_CONFIG_MAX_FILTERS);
	for (int i = 0; i < KV_CONFIG_MAX_FILTERS; i++)
		assert_string_equal(c.filter[i], format("/f%d", i));
	mistake(format("%sFilter /more\n", text),
	    ":65: more than 64 Filter lines");
	assert_int_equal(c.n_filters, KV_CONFIG_MAX_FILTERS);
}

TEST_CASE(filters_need_absolute_paths)
{
	mistake("Filter f.pkbf",
	    ":1: Filter needs an absolute path, not \"f.pkbf\"");
	mistake("Filter", ":1: Filter needs an argument");
	mistake("Filter \"\"", ":1: Filter needs an argument");
	mistake("Filter /a /b", ":1: Filter takes one argument");
	mistake("Filter /a b", ":1: Filter takes one argument");
}

TEST_CASE(allowed_keys_add_up)
{
	char *text = format("%s", "");

	for (int i = 0; i < 100; i++)
		text = format("%sAllowKey " FP " number %d\n", text, i);
	parses(text);
	assert_int_equal(c.allowed.n, 100);
	for (size_t i = 0; i < 100; i++)
		assert_string_equal(c.allowed.v[i].reason,
		    format("number %zu", i));
}

TEST_CASE(allowed_keys_have_dates_and_reasons)
{
	parses("AllowKey " FP " until=1970-01-02\n"
	       "AllowKey " FP " \"false positive,\" see until=later\n"
	       "AllowKey " FP " until=2000-03-01 until=2001-01-01 # x\n"
	       "AllowKey " FP " \"until=2000-03-01\" \n"
	       "AllowKey " FP " Until=x\n"
	       "AllowKey " FP " until then\n");
	assert_int_equal(c.allowed.n, 6);
	assert_int_equal(c.allowed.v[0].day, 1);
	assert_string_equal(c.allowed.v[0].reason, "");
	assert_true(c.allowed.v[1].day == KV_CONFIG_NO_END);
	assert_string_equal(c.allowed.v[1].reason,
	    "false positive, see until=later");
	assert_int_equal(c.allowed.v[2].day, 11017);
	assert_string_equal(c.allowed.v[2].reason, "until=2001-01-01");
	assert_int_equal(c.allowed.v[3].day, 11017);
	assert_string_equal(c.allowed.v[4].reason, "Until=x");
	assert_string_equal(c.allowed.v[5].reason, "until then");
}

TEST_CASE(bad_fingerprints_are_mistakes)
{
	static const char *const bad[] = { "SHA256:AAAA", "sha256:AAAA",
		"MD5:00:11", "*", FP "=",
		"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB" };

	for (size_t i = 0; i < COUNT(bad); i++) {
		mistake(format("AllowKey %s", bad[i]),
		    format(
			":1: bad "
			"fingerprint \"%s\" (SHA256:... as ssh-keygen -l prints "
			"it)",
			bad[i]));
		assert_int_equal(c.allowed.n, 0);
	}
	mistake("AllowKey", ":1: AllowKey needs a fingerprint");
}

TEST_CASE(impossible_dates_are_mistakes)
{
	static const char *const bad[] = { "", "2024", "2024-01", "2024-1-1",
		"2024-00-01", "2024-13-01", "2024-12-32", "2024-1/-10",
		"2024-00-10", "2024-01-00", "2024-01-32", "2024-04-31",
		"2023-02-29", "2024-02-30", "1900-02-29", "2100-02-29",
		"1969-12-31", "0000-01-01", "24-01-01", "2024/01/01",
		"2024/01-01", "2024-01/01", "2024-01-01x", "2024-01-01T00:00",
		" 2024-01-01", "+024-01-01", "202a-01-01", "2024-a1-01",
		"2024-01--1", "12024-01-01", "2024-01-1 ", "2024-0x-01",
		"2024-01-0:", "2024-01-/1" };

	for (size_t i = 0; i < COUNT(bad); i++) {
		mistake(format("AllowKey " FP " \"until=%s\"", bad[i]),
		    format(":1: bad date \"%s\" (until=YYYY-MM-DD)", bad[i]));
		assert_int_equal(c.allowed.n, 0);
	}
}

/* Compares each day of a year with libc's calendar. */
static void
assert_year(int year)
{
	static char text[400 * (sizeof(FP) + 40)];
	struct tm tm = { .tm_year = year - 1900, .tm_mday = 1 };
	time_t first = timegm(&tm), t;
	size_t len = 0, n = 0;

	for (t = first; gmtime_r(&t, &tm) != NULL && tm.tm_year == year - 1900;
	     t += DAY)
		len += strftime(text + len, sizeof(text) - len,
		    "AllowKey " FP " until=%Y-%m-%d\n", &tm);
	parses(text);
	for (t = first; n < c.allowed.n; t += DAY, n++)
		assert_true(c.allowed.v[n].day == t / DAY);
	assert_between(n, 365, 366);
}

TEST_CASE(every_date_is_that_of_libc)
{
	for (int year = 1970; year < 2410; year++)
		assert_year(year);
	assert_year(9999);
}

TEST_CASE(allowed_key_counts_through_its_last_day)
{
	const int64_t midnight = 19782LL * DAY; /* 2024-02-29 */

	parses("AllowKey " FP " until=2024-02-29\n");
	assert_non_null(kv_config_find_allowed(&c, zeros, 0));
	assert_non_null(kv_config_find_allowed(&c, zeros, midnight));
	assert_ptr_equal(kv_config_find_allowed(&c, zeros, midnight + DAY - 1),
	    &c.allowed.v[0]);
	assert_null(kv_config_find_allowed(&c, zeros, midnight + DAY));
	assert_null(kv_config_find_allowed(&c, zeros, midnight + 400 * DAY));
	parses("AllowKey " FP);
	assert_non_null(kv_config_find_allowed(&c, zeros, INT64_MAX));
}

TEST_CASE(only_the_same_key_is_allowed)
{
	uint8_t other[KV_SHA256_BYTES] = { 0 };

	parses("AllowKey " FP_B " b\nAllowKey " FP " a\n");
	assert_string_equal(kv_config_find_allowed(&c, zeros, 0)->reason, "a");
	for (size_t i = 0; i < sizeof(other); i++) {
		other[i] = 1;
		assert_null(kv_config_find_allowed(&c, other, 0));
		other[i] = 0;
	}
	parses("");
	assert_null(kv_config_find_allowed(&c, zeros, 0));
}

TEST_CASE(entry_that_is_past_hides_no_later_one)
{
	parses("AllowKey " FP " until=1999-01-01 old\nAllowKey " FP " new\n");
	assert_string_equal(
	    kv_config_find_allowed(&c, zeros, 20000LL * DAY)->reason, "new");
	assert_string_equal(kv_config_find_allowed(&c, zeros, 0)->reason,
	    "old");
}

TEST_CASE(patterns_are_checked)
{
	char *text = format("AuthorizedKeysFile");

	mistake("AuthorizedKeysFile",
	    ":1: AuthorizedKeysFile needs an argument");
	mistake("AuthorizedKeysFile a %k",
	    ":1: bad pattern \"%k\" (tokens are %h %u %U %%)");
	mistake("AuthorizedKeysFile \"\"",
	    ":1: bad pattern \"\" (tokens are %h %u %U %%)");
	assert_defaults();
	for (int i = 0; i < KV_CONFIG_MAX_PATTERNS; i++)
		text = format("%s p%d", text, i);
	parses(text);
	assert_int_equal(c.n_patterns, KV_CONFIG_MAX_PATTERNS);
	assert_string_equal(c.pattern[255], "p255");
	mistake(format("%s more", text), ":1: more than 256 patterns");
	assert_defaults();
}

TEST_CASE(none_means_no_authorized_keys_file)
{
	parses("AuthorizedKeysFile none");
	assert_int_equal(c.n_patterns, 0);
	parses("AuthorizedKeysFile NONE\nAuthorizedKeysFile x");
	assert_int_equal(c.n_patterns, 0);
}

TEST_CASE(other_mistakes_are_named)
{
	static const char *const one[] = { "OnHit", "OnError", "OnUnsupported",
		"StrictModes", "SyslogFacility" };

	for (size_t i = 0; i < COUNT(one); i++) {
		mistake(one[i], format(":1: %s needs an argument", one[i]));
		mistake(format("%s a b", one[i]),
		    format(":1: %s takes one argument", one[i]));
		mistake(format("%s \"\"", one[i]),
		    format(":1: %s needs an argument", one[i]));
		mistake(format("%s maybe", one[i]),
		    format(":1: bad value \"maybe\" for %s", one[i]));
		assert_defaults();
	}
	mistake("OnHit allow", ":1: bad value \"allow\" for OnHit");
	mistake("OnError warn", ":1: bad value \"warn\" for OnError");
	mistake("OnUnsupported warn",
	    ":1: bad value \"warn\" for OnUnsupported");
	mistake("SyslogFacility KERN",
	    ":1: bad value \"KERN\" for SyslogFacility");
	mistake("Message", ":1: Message needs a text");
	mistake("Bogus 1", ":1: unknown keyword \"Bogus\"");
	mistake("OnHits warn", ":1: unknown keyword \"OnHits\"");
	mistake("\"OnHit warn\"", ":1: unknown keyword \"OnHit warn\"");
	mistake("Message \"x", ":1: unterminated quote");
	mistake("Message \"x\\\"", ":1: unterminated quote");
	mistake("Message \"x\ny\"", ":1: unterminated quote");
}

TEST_CASE(too_many_words_are_a_mistake)
{
	char *text = format("Message");

	for (int i = 1; i < 512; i++)
		text = format("%s a", text);
	parses(text);
	mistake(format("%s a", text), ":1: more than 512 words");
}

TEST_CASE(first_mistake_is_told_with_its_line)
{
	mistake("\n# x\nOnHit warn\r\nBogus\nOnHit maybe\n",
	    ":4: unknown keyword \"Bogus\"");
	mistake("OnHit warn\n\n\nOnHit maybe",
	    ":4: bad value \"maybe\" for OnHit");
	/* The other lines hold. */
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
}

TEST_CASE(on_error_counts_after_a_mistake_too)
{
	static const char *const lines[] = { "Bogus", "OnHit maybe", "Filter",
		"AllowKey x", "Message \"", "AuthorizedKeysFile %", "OnError",
		"OnError maybe" };

	for (size_t i = 0; i < COUNT(lines); i++) {
		const char *text = format("%s\nOnError allow\nFilter /f\n",
		    lines[i]);

		assert_err(parse_bytes(text, strlen(text)), KV_ERR_CONFIG);
		assert_int_equal(c.on_error, KV_ACTION_ALLOW);
		assert_string_equal(c.filter[0], "/f");
		text = format("OnError allow\n%s\n", lines[i]);
		assert_err(parse_bytes(text, strlen(text)), KV_ERR_CONFIG);
		assert_int_equal(c.on_error, KV_ACTION_ALLOW);
		text = format("%s\nOnError deny\n", lines[i]);
		assert_err(parse_bytes(text, strlen(text)), KV_ERR_CONFIG);
		assert_int_equal(c.on_error, KV_ACTION_DENY);
	}
}

TEST_CASE(nul_bytes_are_mistakes)
{
	static const char text[] = "OnHit warn\0\nOnError allow\n";

	assert_err(parse_bytes(text, sizeof(text) - 1), KV_ERR_CONFIG);
	assert_string_equal(why, PATH ":1: NUL byte");
	assert_int_equal(c.on_hit, KV_ACTION_DENY);
	assert_int_equal(c.on_error, KV_ACTION_ALLOW);
	/* Also alone on its line, or in a comment. */
	assert_err(parse_bytes("\n\0", 2), KV_ERR_CONFIG);
	assert_string_equal(why, PATH ":2: NUL byte");
	assert_err(parse_bytes("# \0", 3), KV_ERR_CONFIG);
}

TEST_CASE(long_reasons_are_cut)
{
	char word[3000], *cut;
	const char *text;

	memset(word, 'w', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_err(parse_bytes(word, sizeof(word) - 1), KV_ERR_CONFIG);
	assert_int_equal(strlen(why), sizeof(why) - 1);
	text = PATH ":1: unknown keyword \"www";
	assert_memory_equal(why, text, strlen(text));
	kv_config_free(&c);
	cut = test_alloc(KV_CONFIG_WHY_BYTES);
	assert_err(kv_config_parse("x", 1, word, &c, cut), KV_ERR_CONFIG);
	assert_int_equal(strlen(cut), KV_CONFIG_WHY_BYTES - 1);
}

TEST_CASE(file_of_a_mebibyte_is_the_largest)
{
	static char text[KV_CONFIG_MAX_BYTES + 1];
	static const char end[] = "\nOnHit warn";
	int fd;

	memset(text, '#', sizeof(text));
	memcpy(text + KV_CONFIG_MAX_BYTES - strlen(end), end, strlen(end));
	assert_ok(parse_bytes(text, KV_CONFIG_MAX_BYTES));
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_err(parse_bytes(text, sizeof(text)), KV_ERR_CONFIG);
	assert_string_equal(why, PATH ":1: file too large");
	assert_defaults();

	kv_config_free(&c);
	fd = open_read(tmp_file("conf", text, KV_CONFIG_MAX_BYTES));
	assert_ok(kv_config_read(fd, PATH, &c, why));
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	close(fd);
	kv_config_free(&c);
	fd = open_read(tmp_file("conf", text, sizeof(text)));
	assert_err(kv_config_read(fd, PATH, &c, why), KV_ERR_CONFIG);
	assert_string_equal(why, PATH ":1: file too large");
	assert_defaults();
	close(fd);
}

TEST_CASE(files_of_any_size_are_read_whole)
{
	static const char end[] = "\nOnHit warn";
	char text[9000];

	memset(text, '#', sizeof(text));
	for (size_t len = sizeof(end);
	     len<sizeof(text); len += len % 4096> 4080 || len % 4096 < 5 ?
		 1 :
		 97) {
		int fd;

		memset(text, '#', len);
		memcpy(text + len - strlen(end), end, strlen(end));
		fd = open_read(tmp_file("conf", text, len));
		assert_ok(kv_config_read(fd, PATH, &c, why));
		assert_string_equal(why, "");
		assert_int_equal(c.on_hit, KV_ACTION_WARN);
		kv_config_free(&c);
		close(fd);
	}
}

TEST_CASE(file_may_arrive_in_pieces)
{
	int ends[2];

	assert_done(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	assert_int_equal(send(ends[1], "OnHit wa", 8, 0), 8);
	assert_int_equal(send(ends[1], "rn\nOnErr", 8, 0), 8);
	assert_int_equal(send(ends[1], "or allow", 8, 0), 8);
	close(ends[1]);
	assert_ok(kv_config_read(ends[0], PATH, &c, why));
	close(ends[0]);
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_int_equal(c.on_error, KV_ACTION_ALLOW);
}

TEST_CASE(interrupted_reads_are_made_again)
{
	static const char text[] = "OnHit warn\n";
	int fd = open_read(tmp_text("conf", text));

	interrupt_calls(3);
	assert_ok(kv_config_read(fd, PATH, &c, why));
	assert_int_equal(calls_to_interrupt(), 0);
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_int_equal(c.n_filters, 1);
	close(fd);
}

TEST_CASE(file_that_cannot_be_read_leaves_the_defaults)
{
	int fd = open_read(tmp_dir());

	errno = 0;
	assert_err(kv_config_read(fd, PATH, &c, why), KV_ERR_SYSTEM);
	assert_int_equal(errno, EISDIR);
	assert_string_equal(why, PATH ": Is a directory");
	assert_defaults();
	close(fd);
}

static void
assert_out_of_memory(enum kv_err r)
{
	assert_err(r, KV_ERR_MEMORY);
	assert_true(call_has_failed());
	assert_string_equal(why, PATH ": out of memory");
	assert_defaults();
}

TEST_CASE(without_memory_the_defaults_stay)
{
	static const char text[] = "OnHit warn\n";
	int fd = open_read(tmp_text("conf", text));

	kv_config_free(&c);
	fail_call("malloc", 1, ENOMEM);
	assert_out_of_memory(
	    kv_config_parse(text, strlen(text), PATH, &c, why));
	fail_call("realloc", 1, ENOMEM);
	assert_out_of_memory(kv_config_read(fd, PATH, &c, why));
	close(fd);
}

TEST_CASE(large_file_needs_memory_for_all_of_it)
{
	char text[3 * 4096 + 1];
	int fd;

	memset(text, '#', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fd = open_read(tmp_text("conf", text));
	kv_config_free(&c);
	fail_call("realloc", 3, ENOMEM);
	assert_out_of_memory(kv_config_read(fd, PATH, &c, why));
	close(fd);
}

/* A key that is not allowed for want of memory is no silent matter. */
TEST_CASE(allowed_key_without_memory_is_told)
{
	static const char text[] = "OnError deny\nAllowKey " FP
				   "\nAllowKey " FP_B "\n";

	kv_config_free(&c);
	for (int n = 1; n < 3; n++) {
		fail_call("reallocarray", n, ENOMEM);
		mistake(text, format(":%d: out of memory", n + 1));
		assert_true(call_has_failed());
		assert_int_equal(c.allowed.n, 1);
	}
	fail_call(NULL, 0, 0);
	parses(text);
	assert_int_equal(c.allowed.n, 2);
}

TEST_CASE(config_may_be_freed_twice)
{
	parses("AllowKey " FP "\n");
	kv_config_free(&c);
	assert_int_equal(c.n_filters, 0);
	assert_int_equal(c.n_blocklists, 0);
	assert_int_equal(c.n_patterns, 0);
	assert_int_equal(c.allowed.n, 0);
	kv_config_free(&c);
	assert_null(kv_config_find_allowed(&c, zeros, 0));
}

/* The message is whole if it fits, and else cut. */
static void
message_says(const char *message, const char *want)
{
	size_t need = strlen(want) + 1;

	for (size_t cap = 1; cap <= need + 3; cap++) {
		char *out = (char *)exact_copy(test_alloc(cap), cap);
		size_t len = cap < need ? cap - 1 : need - 1;

		kv_config_message(message, "SHA256:abc", "ssh-rsa", out, cap);
		assert_int_equal(strlen(out), len);
		assert_memory_equal(out, want, len);
	}
}

TEST_CASE(message_names_the_key)
{
	message_says("Key %f (%t) is bad", "Key SHA256:abc (ssh-rsa) is bad");
	message_says("%f%t%f", "SHA256:abcssh-rsaSHA256:abc");
	message_says("100%% %%f %x %F % %", "100% %f %x %F % %");
	message_says("", "");
	message_says("plain", "plain");
	message_says("after it", "after it");
	message_says("\001\xff", "\001\xff");
}

TEST_CASE(values_in_a_message_are_not_expanded_again)
{
	char text[100];

	kv_config_message("%f %t", "%t", "%f%%", text, sizeof(text));
	assert_string_equal(text, "%t %f%%");
}

static void
parse_any(const uint8_t *p, size_t len, void *arg)
{
	enum kv_err r = parse_bytes(p, len);

	assert_true(r == KV_OK || r == KV_ERR_CONFIG);
	assert_int_equal(r == KV_OK, why[0] == '\0');
	assert_true(c.n_filters >= 1);
	for (size_t i = 0; i < c.n_filters; i++)
		assert_int_equal(c.filter[i][0], '/');
	*(size_t *)arg += r == KV_OK;
}

TEST_CASE(mutants_are_read_or_refused)
{
	static const char text[] =
	    "Filter \"/a b\"\nAllowKey " FP
	    " until=2030-01-01 why \"not \\\" x\"\nOnHit=warn # x\n"
	    "AuthorizedKeysFile %h/x none\r\nMessage \"a\" b\n";
	size_t accepted = 0;

	for_each_mutant(text, strlen(text), parse_any, &accepted);
	assert_true(accepted > 100);
}

int
main(void)
{
	return run_all_tests(&(struct fixture){ .after_each = free_config });
}
