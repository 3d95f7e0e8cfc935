/* SPDX-License-Identifier: ISC */
#include "kv_config.h"

#include "testlib.h"

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

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

static void
mistake(const char *text, const char *reason)
{
	assert_err(parse_bytes(text, strlen(text)), KV_ERR_CONFIG);
	assert_string_equal(why, reason);
}

static int
free_config(void **state)
{
	kv_config_free(&c);
	return test_cleanup(state);
}

#undef TEST
#define TEST(f) cmocka_unit_test_setup_teardown(f, NULL, free_config)

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

static void
empty_file_means_the_defaults(void **state)
{
	(void)state;
	kv_config_defaults(&c);
	assert_defaults();
	parses("");
	assert_defaults();
	parses("\n\n# OnHit warn\n  \t# x\n\t \r\n#\n");
	assert_defaults();
	assert_int_equal(KV_ACTION_DENY, 0);
}

static void
every_keyword_is_read(void **state)
{
	(void)state;
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

static void
every_value_is_read(void **state)
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

	(void)state;
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

static void
on_probable_is_as_on_hit_unless_it_is_set(void **state)
{
	(void)state;
	parses("OnHit warn");
	assert_int_equal(c.on_probable, KV_ACTION_WARN);
	parses("OnProbable warn");
	assert_int_equal(c.on_hit, KV_ACTION_DENY);
	assert_int_equal(c.on_probable, KV_ACTION_WARN);
}

static void
there_is_no_default_filter_beside_a_list(void **state)
{
	(void)state;
	parses("Blocklist /a");
	assert_int_equal(c.n_filters, 0);
	assert_int_equal(c.n_blocklists, 1);
	assert_string_equal(c.blocklist[0], "/a");
	mistake("Blocklist a",
	    PATH ":1: Blocklist needs an absolute path, not \"a\"");
}

/* OnError decides what a mistake means, so it must not be one itself. */
static void
mistaken_lines_set_nothing(void **state)
{
	(void)state;
	mistake("OnError allow x", PATH ":1: OnError takes one argument");
	assert_defaults();
	mistake("OnUnsupported allow\nOnError\n",
	    PATH ":2: OnError needs an argument");
	assert_defaults();
	mistake("Filter /a b", PATH ":1: Filter takes one argument");
	assert_defaults();
	mistake("Filter /a\nBlocklist\n",
	    PATH ":2: Blocklist needs an argument");
	assert_int_equal(c.n_blocklists, 0);
	mistake("AllowKey " FP "\nAllowKey\n",
	    PATH ":2: AllowKey needs a fingerprint");
	assert_int_equal(c.allowed.n, 1);
	mistake("AuthorizedKeysFile",
	    PATH ":1: AuthorizedKeysFile needs an argument");
	assert_defaults();
	mistake("Message", PATH ":1: Message needs a text");
	assert_defaults();
}

static void
words_of_strictmodes_are_those_that_are_read(void **state)
{
	static const enum kv_strictmodes modes[] = { KV_STRICTMODES_YES,
		KV_STRICTMODES_PRIVATE_GROUP, KV_STRICTMODES_NO };
	static const char *const words[] = { "yes", "private-group", "no" };
	enum kv_strictmodes mode;

	(void)state;
	for (size_t i = 0; i < COUNT(modes); i++) {
		assert_string_equal(kv_config_strictmodes_word(modes[i]),
		    words[i]);
		assert_true(kv_config_read_strictmodes(words[i], &mode));
		assert_int_equal(mode, modes[i]);
	}
	assert_false(kv_config_read_strictmodes("maybe", &mode));
}

static void
keywords_and_values_have_any_case(void **state)
{
	(void)state;
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

static void
blanks_and_line_ends_are_as_in_sshd_config(void **state)
{
	(void)state;
	parses("\t OnHit \t warn \t\r\nOnError\tallow\r\n\r\n  Message a\tb");
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_int_equal(c.on_error, KV_ACTION_ALLOW);
	assert_string_equal(c.message, "a b");
}

static void
one_equals_sign_may_follow_a_keyword(void **state)
{
	static const char *const good[] = {
		"OnHit=warn",
		"OnHit = warn",
		"OnHit =warn",
		"OnHit= warn",
		"OnHit\t=\twarn",
		"\"OnHit\"=\"warn\"",
		"\"OnHit\" = warn",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		parses(good[i]);
		assert_int_equal(c.on_hit, KV_ACTION_WARN);
	}
	mistake("OnHit==warn", PATH ":1: bad value \"=warn\" for OnHit");
	mistake("OnHit = = warn", PATH ":1: OnHit takes one argument");
	mistake("OnHit=", PATH ":1: OnHit needs an argument");
	mistake("=warn", PATH ":1: unknown keyword \"\"");
	parses("Message a=b = c\nFilter=/a=b");
	assert_string_equal(c.message, "a=b = c");
	assert_string_equal(c.filter[0], "/a=b");
	parses("Message = a = b");
	assert_string_equal(c.message, "a = b");
}

static void
quotes_hold_blanks(void **state)
{
	(void)state;
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

static void
comments_start_with_a_word(void **state)
{
	(void)state;
	parses("OnHit warn # deny\nFilter /a#b #c\nMessage a #b\n");
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_string_equal(c.filter[0], "/a#b");
	assert_string_equal(c.message, "a");
	parses("Message \"# is kept\" a#b");
	assert_string_equal(c.message, "# is kept a#b");
	mistake("OnHit #warn", PATH ":1: OnHit needs an argument");
	mistake("OnHit warn#", PATH ":1: bad value \"warn#\" for OnHit");
}

static void
first_value_wins(void **state)
{
	(void)state;
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
	    PATH ":2: bad value \"maybe\" for OnHit");
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
}

static void
filters_add_up(void **state)
{
	char *text = format("%s", "");

	(void)state;
	for (int i = 0; i < KV_CONFIG_MAX_FILTERS; i++)
		text = format("%sFilter /f%d\n", text, i);
	parses(text);
	assert_int_equal(c.n_filters, KV_CONFIG_MAX_FILTERS);
	for (int i = 0; i < KV_CONFIG_MAX_FILTERS; i++)
		assert_string_equal(c.filter[i], format("/f%d", i));
	mistake(format("%sFilter /more\n", text),
	    PATH ":65: more than 64 Filter lines");
	assert_int_equal(c.n_filters, KV_CONFIG_MAX_FILTERS);
}

static void
filters_need_absolute_paths(void **state)
{
	(void)state;
	mistake("Filter f.pkbf",
	    PATH ":1: Filter needs an absolute path, not "
		 "\"f.pkbf\"");
	mistake("Filter", PATH ":1: Filter needs an argument");
	mistake("Filter \"\"", PATH ":1: Filter needs an argument");
	mistake("Filter /a /b", PATH ":1: Filter takes one argument");
	mistake("Filter /a b", PATH ":1: Filter takes one argument");
}

static void
allowed_keys_add_up(void **state)
{
	char *text = format("%s", "");

	(void)state;
	for (int i = 0; i < 100; i++)
		text = format("%sAllowKey " FP " number %d\n", text, i);
	parses(text);
	assert_int_equal(c.allowed.n, 100);
	for (size_t i = 0; i < 100; i++)
		assert_string_equal(c.allowed.v[i].reason,
		    format("number %zu", i));
}

static void
allowed_keys_have_dates_and_reasons(void **state)
{
	(void)state;
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

static void
bad_fingerprints_are_mistakes(void **state)
{
	static const char *const bad[] = {
		"SHA256:AAAA",
		"sha256:AAAA",
		"MD5:00:11",
		"*",
		FP "=",
		"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		mistake(format("AllowKey %s", bad[i]),
		    format(PATH
			":1: bad "
			"fingerprint \"%s\" (SHA256:... as ssh-keygen -l prints "
			"it)",
			bad[i]));
		assert_int_equal(c.allowed.n, 0);
	}
	mistake("AllowKey", PATH ":1: AllowKey needs a fingerprint");
}

static void
impossible_dates_are_mistakes(void **state)
{
	static const char *const bad[] = {
		"",
		"2024",
		"2024-01",
		"2024-1-1",
		"2024-00-01",
		"2024-13-01",
		"2024-12-32",
		"2024-1/-10",
		"2024-00-10",
		"2024-01-00",
		"2024-01-32",
		"2024-04-31",
		"2023-02-29",
		"2024-02-30",
		"1900-02-29",
		"2100-02-29",
		"1969-12-31",
		"0000-01-01",
		"24-01-01",
		"2024/01/01",
		"2024/01-01",
		"2024-01/01",
		"2024-01-01x",
		"2024-01-01T00:00",
		" 2024-01-01",
		"+024-01-01",
		"202a-01-01",
		"2024-a1-01",
		"2024-01--1",
		"12024-01-01",
		"2024-01-1 ",
		"2024-0x-01",
		"2024-01-0:",
		"2024-01-/1",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		mistake(format("AllowKey " FP " \"until=%s\"", bad[i]),
		    format(PATH ":1: bad date \"%s\" (until=YYYY-MM-DD)",
			bad[i]));
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

static void
every_date_is_that_of_libc(void **state)
{
	(void)state;
	for (int year = 1970; year < 2410; year++)
		assert_year(year);
	assert_year(9999);
}

static void
allowed_key_counts_through_its_last_day(void **state)
{
	const int64_t midnight = 19782LL * DAY; /* 2024-02-29 */

	(void)state;
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

static void
only_the_same_key_is_allowed(void **state)
{
	uint8_t other[KV_SHA256_BYTES] = { 0 };

	(void)state;
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

static void
entry_that_is_past_hides_no_later_one(void **state)
{
	(void)state;
	parses("AllowKey " FP " until=1999-01-01 old\nAllowKey " FP " new\n");
	assert_string_equal(
	    kv_config_find_allowed(&c, zeros, 20000LL * DAY)->reason, "new");
	assert_string_equal(kv_config_find_allowed(&c, zeros, 0)->reason,
	    "old");
}

static void
patterns_are_checked(void **state)
{
	char *text = format("AuthorizedKeysFile");

	(void)state;
	mistake("AuthorizedKeysFile",
	    PATH ":1: AuthorizedKeysFile needs an "
		 "argument");
	mistake("AuthorizedKeysFile a %k",
	    PATH ":1: bad pattern \"%k\" "
		 "(tokens are %h %u %U %%)");
	mistake("AuthorizedKeysFile \"\"",
	    PATH ":1: bad pattern \"\" (tokens "
		 "are %h %u %U %%)");
	assert_defaults();
	for (int i = 0; i < KV_CONFIG_MAX_PATTERNS; i++)
		text = format("%s p%d", text, i);
	parses(text);
	assert_int_equal(c.n_patterns, KV_CONFIG_MAX_PATTERNS);
	assert_string_equal(c.pattern[255], "p255");
	mistake(format("%s more", text), PATH ":1: more than 256 patterns");
	assert_defaults();
}

static void
none_means_no_authorized_keys_file(void **state)
{
	(void)state;
	parses("AuthorizedKeysFile none");
	assert_int_equal(c.n_patterns, 0);
	parses("AuthorizedKeysFile NONE\nAuthorizedKeysFile x");
	assert_int_equal(c.n_patterns, 0);
}

static void
other_mistakes_are_named(void **state)
{
	static const char *const one[] = {
		"OnHit",
		"OnError",
		"OnUnsupported",
		"StrictModes",
		"SyslogFacility",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(one); i++) {
		mistake(one[i],
		    format(PATH ":1: %s needs an argument", one[i]));
		mistake(format("%s a b", one[i]),
		    format(PATH ":1: %s takes one argument", one[i]));
		mistake(format("%s \"\"", one[i]),
		    format(PATH ":1: %s needs an argument", one[i]));
		mistake(format("%s maybe", one[i]),
		    format(PATH ":1: bad value \"maybe\" for %s", one[i]));
		assert_defaults();
	}
	mistake("OnHit allow", PATH ":1: bad value \"allow\" for OnHit");
	mistake("OnError warn", PATH ":1: bad value \"warn\" for OnError");
	mistake("OnUnsupported warn",
	    PATH ":1: bad value \"warn\" for OnUnsupported");
	mistake("SyslogFacility KERN",
	    PATH ":1: bad value \"KERN\" for SyslogFacility");
	mistake("Message", PATH ":1: Message needs a text");
	mistake("Bogus 1", PATH ":1: unknown keyword \"Bogus\"");
	mistake("OnHits warn", PATH ":1: unknown keyword \"OnHits\"");
	mistake("\"OnHit warn\"", PATH ":1: unknown keyword \"OnHit warn\"");
	mistake("Message \"x", PATH ":1: unterminated quote");
	mistake("Message \"x\\\"", PATH ":1: unterminated quote");
	mistake("Message \"x\ny\"", PATH ":1: unterminated quote");
}

static void
too_many_words_are_a_mistake(void **state)
{
	char *text = format("Message");

	(void)state;
	for (int i = 1; i < 512; i++)
		text = format("%s a", text);
	parses(text);
	mistake(format("%s a", text), PATH ":1: more than 512 words");
}

static void
first_mistake_is_told_with_its_line(void **state)
{
	(void)state;
	mistake("\n# x\nOnHit warn\r\nBogus\nOnHit maybe\n",
	    PATH ":4: unknown keyword \"Bogus\"");
	mistake("OnHit warn\n\n\nOnHit maybe",
	    PATH ":4: bad value \"maybe\" for OnHit");
	/* The other lines hold. */
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
}

static void
on_error_counts_after_a_mistake_too(void **state)
{
	static const char *const lines[] = {
		"Bogus",
		"OnHit maybe",
		"Filter",
		"AllowKey x",
		"Message \"",
		"AuthorizedKeysFile %",
		"OnError",
		"OnError maybe",
	};

	(void)state;
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

static void
nul_bytes_are_mistakes(void **state)
{
	static const char text[] = "OnHit warn\0\nOnError allow\n";

	(void)state;
	assert_err(parse_bytes(text, sizeof(text) - 1), KV_ERR_CONFIG);
	assert_string_equal(why, PATH ":1: NUL byte");
	assert_int_equal(c.on_hit, KV_ACTION_DENY);
	assert_int_equal(c.on_error, KV_ACTION_ALLOW);
	/* Also alone on its line, or in a comment. */
	assert_err(parse_bytes("\n\0", 2), KV_ERR_CONFIG);
	assert_string_equal(why, PATH ":2: NUL byte");
	assert_err(parse_bytes("# \0", 3), KV_ERR_CONFIG);
}

static void
long_reasons_are_cut(void **state)
{
	char word[3000], *cut;
	const char *text;

	(void)state;
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

static void
file_of_a_mebibyte_is_the_largest(void **state)
{
	static char text[KV_CONFIG_MAX_BYTES + 1];
	static const char end[] = "\nOnHit warn";
	int fd;

	(void)state;
	memset(text, '#', sizeof(text));
	memcpy(text + KV_CONFIG_MAX_BYTES - strlen(end), end, strlen(end));
	assert_err(parse_bytes(text, KV_CONFIG_MAX_BYTES), KV_OK);
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_err(parse_bytes(text, sizeof(text)), KV_ERR_CONFIG);
	assert_string_equal(why, PATH ":1: file too large");
	assert_defaults();

	kv_config_free(&c);
	fd = open_read(tmp_file("conf", text, KV_CONFIG_MAX_BYTES));
	assert_err(kv_config_read(fd, PATH, &c, why), KV_OK);
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	close(fd);
	kv_config_free(&c);
	fd = open_read(tmp_file("conf", text, sizeof(text)));
	assert_err(kv_config_read(fd, PATH, &c, why), KV_ERR_CONFIG);
	assert_string_equal(why, PATH ":1: file too large");
	assert_defaults();
	close(fd);
}

static void
files_of_any_size_are_read_whole(void **state)
{
	static const char end[] = "\nOnHit warn";
	char text[9000];

	(void)state;
	memset(text, '#', sizeof(text));
	for (size_t len = sizeof(end);
	     len<sizeof(text); len += len % 4096> 4080 || len % 4096 < 5 ?
		 1 :
		 97) {
		int fd;

		memset(text, '#', len);
		memcpy(text + len - strlen(end), end, strlen(end));
		fd = open_read(tmp_file("conf", text, len));
		assert_err(kv_config_read(fd, PATH, &c, why), KV_OK);
		assert_string_equal(why, "");
		assert_int_equal(c.on_hit, KV_ACTION_WARN);
		kv_config_free(&c);
		close(fd);
	}
}

static void
file_may_arrive_in_pieces(void **state)
{
	int ends[2];

	(void)state;
	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), errno);
	assert_int_equal(send(ends[1], "OnHit wa", 8, 0), 8);
	assert_int_equal(send(ends[1], "rn\nOnErr", 8, 0), 8);
	assert_int_equal(send(ends[1], "or allow", 8, 0), 8);
	close(ends[1]);
	assert_err(kv_config_read(ends[0], PATH, &c, why), KV_OK);
	close(ends[0]);
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_int_equal(c.on_error, KV_ACTION_ALLOW);
}

static void
interrupted_reads_are_made_again(void **state)
{
	static const char text[] = "OnHit warn\n";
	int fd = open_read(tmp_text("conf", text));

	(void)state;
	interrupt_calls(3);
	assert_err(kv_config_read(fd, PATH, &c, why), KV_OK);
	assert_int_equal(calls_to_interrupt(), 0);
	assert_int_equal(c.on_hit, KV_ACTION_WARN);
	assert_int_equal(c.n_filters, 1);
	close(fd);
}

static void
file_that_cannot_be_read_leaves_the_defaults(void **state)
{
	int fd = open_read(tmp_dir());

	(void)state;
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

static void
without_memory_the_defaults_stay(void **state)
{
	static const char text[] = "OnHit warn\n";
	int fd = open_read(tmp_text("conf", text));

	(void)state;
	kv_config_free(&c);
	fail_call("malloc", 1, ENOMEM);
	assert_out_of_memory(
	    kv_config_parse(text, strlen(text), PATH, &c, why));
	fail_call("realloc", 1, ENOMEM);
	assert_out_of_memory(kv_config_read(fd, PATH, &c, why));
	close(fd);
}

static void
large_file_needs_memory_for_all_of_it(void **state)
{
	char text[3 * 4096 + 1];
	int fd;

	(void)state;
	memset(text, '#', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fd = open_read(tmp_text("conf", text));
	kv_config_free(&c);
	fail_call("realloc", 3, ENOMEM);
	assert_out_of_memory(kv_config_read(fd, PATH, &c, why));
	close(fd);
}

/* A key that is not allowed for want of memory is no silent matter. */
static void
allowed_key_without_memory_is_told(void **state)
{
	static const char text[] = "OnError deny\nAllowKey " FP
				   "\nAllowKey " FP_B "\n";

	(void)state;
	kv_config_free(&c);
	for (int n = 1; n < 3; n++) {
		fail_call("reallocarray", n, ENOMEM);
		mistake(text, format(PATH ":%d: out of memory", n + 1));
		assert_true(call_has_failed());
		assert_int_equal(c.allowed.n, 1);
	}
	fail_call(NULL, 0, 0);
	parses(text);
	assert_int_equal(c.allowed.n, 2);
}

static void
config_may_be_freed_twice(void **state)
{
	(void)state;
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

static void
message_names_the_key(void **state)
{
	(void)state;
	message_says("Key %f (%t) is bad", "Key SHA256:abc (ssh-rsa) is bad");
	message_says("%f%t%f", "SHA256:abcssh-rsaSHA256:abc");
	message_says("100%% %%f %x %F % %", "100% %f %x %F % %");
	message_says("", "");
	message_says("plain", "plain");
	message_says("after it", "after it");
	message_says("\001\xff", "\001\xff");
}

static void
values_in_a_message_are_not_expanded_again(void **state)
{
	char text[100];

	(void)state;
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

static void
mutants_are_read_or_refused(void **state)
{
	static const char text[] =
	    "Filter \"/a b\"\nAllowKey " FP
	    " until=2030-01-01 why \"not \\\" x\"\nOnHit=warn # x\n"
	    "AuthorizedKeysFile %h/x none\r\nMessage \"a\" b\n";
	size_t accepted = 0;

	(void)state;
	for_each_mutant(text, strlen(text), parse_any, &accepted);
	assert_true(accepted > 100);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(empty_file_means_the_defaults),
		TEST(every_keyword_is_read),
		TEST(every_value_is_read),
		TEST(on_probable_is_as_on_hit_unless_it_is_set),
		TEST(there_is_no_default_filter_beside_a_list),
		TEST(mistaken_lines_set_nothing),
		TEST(words_of_strictmodes_are_those_that_are_read),
		TEST(keywords_and_values_have_any_case),
		TEST(blanks_and_line_ends_are_as_in_sshd_config),
		TEST(one_equals_sign_may_follow_a_keyword),
		TEST(quotes_hold_blanks),
		TEST(comments_start_with_a_word),
		TEST(first_value_wins),
		TEST(filters_add_up),
		TEST(filters_need_absolute_paths),
		TEST(allowed_keys_add_up),
		TEST(allowed_keys_have_dates_and_reasons),
		TEST(bad_fingerprints_are_mistakes),
		TEST(impossible_dates_are_mistakes),
		TEST(every_date_is_that_of_libc),
		TEST(allowed_key_counts_through_its_last_day),
		TEST(only_the_same_key_is_allowed),
		TEST(entry_that_is_past_hides_no_later_one),
		TEST(patterns_are_checked),
		TEST(none_means_no_authorized_keys_file),
		TEST(other_mistakes_are_named),
		TEST(too_many_words_are_a_mistake),
		TEST(first_mistake_is_told_with_its_line),
		TEST(on_error_counts_after_a_mistake_too),
		TEST(nul_bytes_are_mistakes),
		TEST(long_reasons_are_cut),
		TEST(file_of_a_mebibyte_is_the_largest),
		TEST(files_of_any_size_are_read_whole),
		TEST(file_may_arrive_in_pieces),
		TEST(interrupted_reads_are_made_again),
		TEST(file_that_cannot_be_read_leaves_the_defaults),
		TEST(without_memory_the_defaults_stay),
		TEST(large_file_needs_memory_for_all_of_it),
		TEST(allowed_key_without_memory_is_told),
		TEST(config_may_be_freed_twice),
		TEST(message_names_the_key),
		TEST(values_in_a_message_are_not_expanded_again),
		TEST(mutants_are_read_or_refused),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
