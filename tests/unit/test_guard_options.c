/* SPDX-License-Identifier: ISC */
#include "options.h"

#include "testlib.h"

#include "kv_config.h"

/* A good command line, which tests change. */
#define GOOD \
	"--user", "alice", "--home", "/home/alice", "--type", "ssh-rsa", \
	    "--key", "AAAA"

static struct guard_options o;
static char why[256];

/* Reads the words behind the program's name, up to a NULL. */
static bool
read_words(const char *const *words)
{
	char **argv = test_alloc(64 * sizeof(*argv));
	int argc = 0;
	bool r;

	argv[argc++] = format("keyveto-authorized-keys");
	while (*words != NULL)
		argv[argc++] = format("%s", *words++);
	memset(&o, 0xa5, sizeof(o));
	memset(why, 'x', sizeof(why));
	r = guard_options_read(argc, argv, &o, why, sizeof(why));
	if (!r)
		assert_non_null(memchr(why, '\0', sizeof(why)));
	return r;
}

#define READ(...) read_words((const char *const[]){ __VA_ARGS__, NULL })

#define accepts(...) \
	do { \
		if (!READ(__VA_ARGS__)) \
			fail_msg("%s", why); \
	} while (0)

#define refuses(reason, ...) \
	do { \
		assert_false(READ(__VA_ARGS__)); \
		assert_string_equal(why, reason); \
	} while (0)

TEST_CASE(good_command_line_is_read)
{
	accepts(GOOD);
	assert_string_equal(o.user, "alice");
	assert_string_equal(o.home, "/home/alice");
	assert_string_equal(o.type, "ssh-rsa");
	assert_string_equal(o.key, "AAAA");
	assert_string_equal(o.config, KV_CONFIG_PATH);
	assert_null(o.connection);
	assert_false(o.have_uid);
	assert_null(o.command);
	assert_false(o.help);
	assert_false(o.version);
	assert_false(o.walls);
}

TEST_CASE(order_does_not_matter)
{
	accepts("--key", "AAAA", "--config", "/c", "--type", "t", "--uid", "0",
	    "--connection", "192.0.2.1 22 192.0.2.7 50022", "--home", "/",
	    "--user", "u");
	assert_string_equal(o.user, "u");
	assert_string_equal(o.home, "/");
	assert_string_equal(o.type, "t");
	assert_string_equal(o.key, "AAAA");
	assert_string_equal(o.config, "/c");
	assert_string_equal(o.connection, "192.0.2.1 22 192.0.2.7 50022");
	assert_true(o.have_uid);
	assert_int_equal(o.uid, 0);
}

TEST_CASE(values_may_look_like_options)
{
	accepts("--user", "--home", "--home", "/h", "--type", "--", "--key",
	    "--help");
	assert_string_equal(o.user, "--home");
	assert_string_equal(o.type, "--");
	assert_string_equal(o.key, "--help");
	assert_false(o.help);
	assert_null(o.command);
}

TEST_CASE(missing_options_are_named)
{
	refuses("missing --user", "--home", "/h", "--type", "t", "--key", "k");
	refuses("missing --home", "--user", "u", "--type", "t", "--key", "k");
	refuses("missing --type", "--user", "u", "--home", "/h", "--key", "k");
	refuses("missing --key", "--user", "u", "--home", "/h", "--type", "t");
	assert_false(read_words((const char *const[]){ NULL }));
	assert_contains(why, "missing --");
}

TEST_CASE(empty_values_are_refused)
{
	refuses("empty --user", "--user", "", "--home", "/h", "--type", "t",
	    "--key", "k");
	refuses("empty --type", "--user", "u", "--home", "/h", "--type", "",
	    "--key", "k");
	refuses("empty --key", "--user", "u", "--home", "/h", "--type", "t",
	    "--key", "");
	refuses("empty --user", "--user", "", "--type", "t", "--key", "k", "--",
	    "/c");
	/* sshd decides about an account without a home directory. */
	accepts("--user", "u", "--home", "", "--type", "t", "--key", "k");
	accepts(GOOD, "--connection", "");
}

/* sshd takes any home that a name service names. */
TEST_CASE(home_may_be_any)
{
	static const char *const homes[] = { "home", "./h", ".", "~", "-x",
		"--", "--home", "/" };

	for (size_t i = 0; i < COUNT(homes); i++) {
		accepts("--user", "u", "--home", homes[i], "--type", "t",
		    "--key", "k");
		accepts("--user", "u", "--home", homes[i], "--type", "t",
		    "--key", "k", "--", "/c");
	}
}

static const char *const names[] = { "--user", "--home", "--type", "--key",
	"--uid", "--connection", "--config" };

TEST_CASE(incomplete_options_are_refused)
{
	for (size_t i = 0; i < COUNT(names); i++)
		refuses(format("missing value of %s", names[i]), names[i]);
}

TEST_CASE(repeated_options_are_refused)
{
	for (size_t i = 0; i < COUNT(names); i++)
		refuses(format("repeated option %s", names[i]), names[i], "1",
		    names[i], "1");
}

TEST_CASE(unknown_options_and_words_are_refused)
{
	refuses("unknown option --bogus", GOOD, "--bogus");
	refuses("unknown option word", GOOD, "word");
	refuses("unknown option ", GOOD, "");
	refuses("unknown option -", GOOD, "-");
	refuses("unknown option -u", "-u", "alice");
	refuses("unknown option --user=alice", "--user=alice");
	refuses("unknown option --use", "--use", "alice");
	refuses("unknown option --USER", "--USER", "alice");
	refuses("unknown option -h", "-h");
}

TEST_CASE(uid_is_a_decimal_number)
{
	static const char *const bad[] = { "", "-1", "+1", " 1", "1 ", "0x10",
		"1000a", "4294967295", "4294967296", "18446744073709551616",
		"99999999999999999999", "1.0", "alice" };

	for (size_t i = 0; i < COUNT(bad); i++)
		refuses(format("bad --uid %s", bad[i]), GOOD, "--uid", bad[i]);
	accepts(GOOD, "--uid", "4294967294");
	assert_int_equal(o.uid, 4294967294U);
	accepts(GOOD, "--uid", "0001000");
	assert_int_equal(o.uid, 1000);
}

TEST_CASE(command_is_what_follows_two_dashes)
{
	accepts(GOOD, "--", "/usr/bin/keys", "--user", "alice", "--", "x");
	assert_string_equal(o.command[0], "/usr/bin/keys");
	assert_string_equal(o.command[1], "--user");
	assert_string_equal(o.command[2], "alice");
	assert_string_equal(o.command[3], "--");
	assert_string_equal(o.command[4], "x");
	assert_null(o.command[5]);
	refuses("no command after --", GOOD, "--");
}

TEST_CASE(command_needs_neither_user_nor_home)
{
	accepts("--type", "t", "--key", "k", "--", "/c");
	assert_null(o.user);
	assert_null(o.home);
	refuses("missing --type", "--key", "k", "--", "/c");
	refuses("missing --key", "--type", "t", "--", "/c");
}

TEST_CASE(help_and_version_need_nothing_else)
{
	accepts("--help");
	assert_true(o.help);
	accepts("--version");
	assert_true(o.version);
	accepts("--walls");
	assert_true(o.walls);
	accepts("--user", "u", "--help", "--bogus");
	assert_true(o.help);
	/* Words behind -- belong to the command. */
	accepts(GOOD, "--", "/c", "--help");
	assert_false(o.help);
}

TEST_CASE(long_words_in_a_reason_are_cut)
{
	char word[1000], small[8];
	char *argv[] = { word, word, NULL };

	memset(word, 'w', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_false(READ(word));
	assert_string_equal(why, format("unknown option %.100s", word));
	assert_false(guard_options_read(2, argv, &o, small, sizeof(small)));
	assert_string_equal(small, "unknown");
}

TEST_CASE(usage_names_every_option)
{
	for (size_t i = 0; i < COUNT(names); i++)
		assert_contains(GUARD_USAGE, names[i]);
	assert_contains(GUARD_USAGE, "-- COMMAND");
}

TEST_CASE(files_may_be_named_many_times)
{
	char **argv = test_alloc(1024 * sizeof(*argv));
	int argc = 0;

	accepts(GOOD);
	assert_int_equal(o.n_files, 0);
	assert_false(o.have_strictmodes || o.have_wildcards);
	accepts(GOOD, "--file", "a", "--file", "--", "--file", "/b/%u");
	assert_int_equal(o.n_files, 3);
	assert_string_equal(o.file[0], "a");
	assert_string_equal(o.file[1], "--");
	assert_string_equal(o.file[2], "/b/%u");
	refuses("empty --file", GOOD, "--file", "");
	refuses("missing value of --file", GOOD, "--file");
	for (const char *const *w =
		 (const char *const[]){ "guard", GOOD, NULL };
	     *w != NULL; w++)
		argv[argc++] = format("%s", *w);
	for (int i = 0; i < KV_CONFIG_MAX_PATTERNS; i++) {
		argv[argc++] = format("--file");
		argv[argc++] = format("%d", i);
	}
	assert_true(guard_options_read(argc, argv, &o, why, sizeof(why)));
	assert_int_equal(o.n_files, KV_CONFIG_MAX_PATTERNS);
	/* Other options may follow them. */
	argv[argc++] = format("--uid");
	argv[argc++] = format("7");
	assert_true(guard_options_read(argc, argv, &o, why, sizeof(why)));
	argv[argc++] = format("--file");
	argv[argc++] = format("more");
	assert_false(guard_options_read(argc, argv, &o, why, sizeof(why)));
	assert_string_equal(why, "too many times --file");
}

TEST_CASE(modes_are_words_of_keyveto_conf)
{
	accepts(GOOD, "--strictmodes", "no", "--wildcards", "yes");
	assert_true(o.have_strictmodes && o.have_wildcards);
	assert_int_equal(o.strictmodes, KV_STRICTMODES_NO);
	assert_int_equal(o.wildcards, KV_WILDCARDS_YES);
	accepts(GOOD, "--strictmodes", "private-group");
	assert_int_equal(o.strictmodes, KV_STRICTMODES_PRIVATE_GROUP);
	assert_false(o.have_wildcards);
	refuses("bad --strictmodes maybe", GOOD, "--strictmodes", "maybe");
	refuses("bad --wildcards *", GOOD, "--wildcards", "*");
}
