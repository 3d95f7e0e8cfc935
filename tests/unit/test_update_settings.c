/* SPDX-License-Identifier: ISC */
#include "upkeep/settings.h"

#include "testlib.h"

#define PATH "update.conf"

static struct update_conf c;
/* The source without a name, as it is found. */
static struct update_settings s;
static char why[UPDATE_SETTINGS_WHY_BYTES];

static bool
parse_bytes(const void *text, size_t len)
{
	char *copy = (char *)exact_copy(text, len);
	bool ok;

	memset(why, 'x', sizeof(why));
	ok = update_conf_parse(copy, len, PATH, &c, why);
	assert_true(update_conf_find(&c, "", &s));
	/* The settings must not point into the caller's text. */
	memset(copy, 'x', len);
	assert_non_null(memchr(why, '\0', sizeof(why)));
	assert_int_equal(ok, why[0] == '\0');
	return ok;
}

static void
parses(const char *text)
{
	update_conf_free(&c);
	if (!parse_bytes(text, strlen(text)))
		fail_msg("%s", why);
}

/* why begins with PATH, and the reason follows it. */
static void
mistake(const char *text, const char *reason)
{
	update_conf_free(&c);
	assert_false(parse_bytes(text, strlen(text)));
	assert_string_equal(why, format(PATH "%s", reason));
}

TEST_CASE(empty_file_gives_the_defaults)
{
	parses("");
	assert_null(s.url);
	assert_null(s.signature_url);
	assert_null(s.allowed_signers);
	assert_null(s.ca_file);
	assert_null(s.proxy);
	assert_string_equal(s.identity, "keyveto");
	assert_int_equal(s.max_bytes, (uint64_t)4 << 30);
	assert_int_equal(s.timeout, 21600);
	assert_int_equal(s.stall_timeout, 60);
	assert_int_equal(s.max_age, 0);
	assert_true(s.max_rate > 0.000999 && s.max_rate < 0.001001);
	update_conf_free(&c);
}

TEST_CASE(each_keyword_sets_its_value)
{
	parses("# all of them\n"
	       "URL https://example.com/f\n"
	       "  signatureurl\t\"https://example.com/a b\"\r\n"
	       "ALLOWEDSIGNERS = /etc/signers # why\n"
	       "Identity=\"a \\\"name\\\"\"\n"
	       "CAFile /ca.pem\nProxy http://p:1\n"
	       "MaxSize 12k\nMaxFalsePositives 1e-6\n"
	       "Timeout 604800\nStallTimeout 1\nMaxAge 36500");
	assert_int_equal(s.max_age, 36500);
	assert_string_equal(s.url, "https://example.com/f");
	assert_string_equal(s.signature_url, "https://example.com/a b");
	assert_string_equal(s.allowed_signers, "/etc/signers");
	assert_string_equal(s.identity, "a \"name\"");
	assert_string_equal(s.ca_file, "/ca.pem");
	assert_string_equal(s.proxy, "http://p:1");
	assert_int_equal(s.max_bytes, 12 * 1024);
	assert_true(s.max_rate > 0.9e-6 && s.max_rate < 1.1e-6);
	assert_int_equal(s.timeout, 604800);
	assert_int_equal(s.stall_timeout, 1);
	update_conf_free(&c);
}

TEST_CASE(first_line_of_a_keyword_counts_and_all_are_checked)
{
	parses("URL one\nURL two\nMaxSize 5\nMaxSize 6\nProxy none\nProxy x\n");
	assert_string_equal(s.url, "one");
	assert_int_equal(s.max_bytes, 5);
	assert_string_equal(s.proxy, "");
	mistake("MaxSize 5\nMaxSize x\n",
	    ":2: MaxSize needs a number of bytes, K, M, G or T after it");
	update_conf_free(&c);
}

TEST_CASE(sizes_have_units_and_an_end)
{
	static const char *const bad[] = { "0", "-1", "+1", "1.5", "1KB", "1P",
		"K", "0x10", "9223372036854775808", "8388608T",
		"99999999999999999999", "\"1 \"", "1\v", "1+" };

	parses("MaxSize 1\n");
	assert_int_equal(s.max_bytes, 1);
	parses("MaxSize 3M\n");
	assert_int_equal(s.max_bytes, 3 << 20);
	parses("MaxSize 2g\n");
	assert_int_equal(s.max_bytes, (uint64_t)2 << 30);
	parses("MaxSize 8388607T\n");
	assert_int_equal(s.max_bytes, (uint64_t)8388607 << 40);
	parses("MaxSize 9223372036854775807\n");
	assert_int_equal(s.max_bytes, INT64_MAX);
	for (size_t i = 0; i < COUNT(bad); i++)
		mistake(format("MaxSize %s", bad[i]),
		    ":1: MaxSize needs a number of bytes, K, M, G or T after it");
	update_conf_free(&c);
}

TEST_CASE(rates_and_seconds_have_bounds)
{
	static const char *const bad_rates[] = { "0", "1", "1.1", "-0.5", "nan",
		"inf", "0,5", "1e-", "0x1p-3", ".", "1e-999" };
	static const char *const bad_seconds[] = { "0", "604801", "1s", "-1",
		"1e3" };

	for (size_t i = 0; i < COUNT(bad_rates); i++)
		mistake(format("MaxFalsePositives %s", bad_rates[i]),
		    ":1: MaxFalsePositives needs a number between 0 and 1");
	for (size_t i = 0; i < COUNT(bad_seconds); i++)
		mistake(format("Timeout %s", bad_seconds[i]),
		    ":1: Timeout needs seconds, 1 to 604800");
	update_conf_free(&c);
}

TEST_CASE(mistakes_name_the_line)
{
	char *large = test_alloc(UPDATE_SETTINGS_MAX_BYTES + 1);

	mistake("\n\nURl\n", ":3: URL needs an argument");
	mistake("URL \"\"", ":1: URL needs a URL");
	mistake("URL a b", ":1: URL takes one argument");
	mistake("Filter /x", ":1: unknown keyword \"Filter\"");
	mistake("MaxAge 36501", ":1: MaxAge needs days, 1 to 36500");
	mistake("CAFile x", ":1: CAFile needs an absolute path");
	mistake("URL \"x", ":1: unterminated quote");
	update_conf_free(&c);
	assert_false(parse_bytes("URL x\nURL a\0b\n", 14));
	assert_string_equal(why, PATH ":2: NUL byte");
	/* A message does not repeat a value, which may be a password. */
	mistake("CAFile secret", ":1: CAFile needs an absolute path");
	memset(large, '\n', UPDATE_SETTINGS_MAX_BYTES + 1);
	update_conf_free(&c);
	assert_true(parse_bytes(large, UPDATE_SETTINGS_MAX_BYTES));
	update_conf_free(&c);
	assert_false(parse_bytes(large, UPDATE_SETTINGS_MAX_BYTES + 1));
	assert_string_equal(why, PATH ":1: file too large");
	update_conf_free(&c);
}

static void
parse_mutant(const uint8_t *p, size_t len, void *arg)
{
	(void)arg;
	if (parse_bytes(p, len)) {
		assert_true(s.max_bytes > 0 && s.max_bytes <= INT64_MAX);
		assert_true(s.max_rate > 0 && s.max_rate < 1);
		assert_true(s.timeout > 0 && s.stall_timeout > 0);
		assert_non_null(s.identity);
	}
	update_conf_free(&c);
}

TEST_CASE(gone_keywords_say_what_to_use)
{
	mistake("Source x\nIndex https://x/\n",
	    ":2: Index is gone: write the URL of the file in that folder: of "
	    "the filter, or of the manifest NAME.json of the list; "
	    "keyveto-publish, of the package keyveto-fleet, makes it. "
	    "AllowedSigners needs the namespaces keyveto-filter and "
	    "keyveto-list in the place of keyveto-index");
	mistake("file x",
	    ":1: File is gone: write the URL of that file "
	    "itself");
	update_conf_free(&c);
}

TEST_CASE(mutants_are_survived)
{
	static const char text[] =
	    "URL https://x/\nIdentity \"a \\\"b\"\n"
	    "MaxSize 12G\nMaxFalsePositives 0.01\nTimeout 5 # five\n"
	    "StallTimeout=6\nProxy none\nAllowedSigners /a\n"
	    "Source x\nURL /x\nTarget /y\nAllowedSigners /a\n";

	for_each_mutant(text, sizeof(text) - 1, parse_mutant, NULL);
}
