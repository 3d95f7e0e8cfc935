/* SPDX-License-Identifier: ISC */
#include "kv_log.h"

#include "testlib.h"

#include <syslog.h>

#define FP "SHA256:ckGCtrmftobnfcWdeQsHFxFmuqpWjN4sY82+nSydOfQ"
#define PLAIN \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz0123456789._:/@+=,-"
#define VALUE_MAX_BYTES 512

/* The last line, in memory of exactly KV_LOG_LINE_BYTES. */
static char *
line_of(const struct kv_log_context *ctx, const struct kv_decision *d)
{
	char *line = test_alloc(KV_LOG_LINE_BYTES);

	memset(line, 'x', KV_LOG_LINE_BYTES);
	kv_log_format(ctx, d, line);
	assert_non_null(memchr(line, '\0', KV_LOG_LINE_BYTES));
	return line;
}

static struct kv_filter *
filter_of(const char *path, uint32_t revision)
{
	struct kv_filter *f = test_alloc(sizeof(*f));

	f->path = path;
	f->pkbf.header.revision = revision;
	return f;
}

static struct kv_decision
listed(void)
{
	struct kv_decision d = { .verdict = KV_VERDICT_LISTED,
		.action = KV_ACTION_DENY,
		.key_type = "ssh-rsa",
		.fingerprint = FP,
		.filter = filter_of("/var/lib/keyveto/filter.pkbf", 12) };

	return d;
}

/* An exact list says more than a filter, and stands in its place. */
TEST_CASE(an_exact_list_is_named_with_its_source)
{
	const struct kv_log_context ctx = { .via = "guard" };
	const struct kv_list list = { .path = "/var/lib/keyveto/list.dat" };
	struct kv_decision d = listed();

	d.list = &list;
	snprintf(d.source, sizeof(d.source), "git");
	assert_string_equal(line_of(&ctx, &d),
	    "verdict=listed action=deny via=guard key_type=ssh-rsa "
	    "key_fp=" FP " part=key list=/var/lib/keyveto/list.dat source=git");
}

TEST_CASE(line_is_that_of_the_contract)
{
	const struct kv_log_context ctx = { "pam", "alice", "192.0.2.7",
		KV_AUTHORIZED_YES, false };
	struct kv_decision d = listed();

	assert_string_equal(line_of(&ctx, &d),
	    "verdict=listed action=deny "
	    "user=alice rhost=192.0.2.7 via=pam key_type=ssh-rsa key_fp=" FP
	    " part=key authorized=yes filter=/var/lib/keyveto/filter.pkbf "
	    "revision=12");
}

TEST_CASE(end_of_the_connection_is_the_last_pair)
{
	const struct kv_log_context ctx = { .via = "pam",
		.user = "root",
		.disconnected = true };
	struct kv_decision d = listed();

	assert_string_equal(line_of(&ctx, &d),
	    "verdict=listed action=deny "
	    "user=root via=pam key_type=ssh-rsa key_fp=" FP " part=key "
	    "filter=/var/lib/keyveto/filter.pkbf revision=12 disconnected=yes");
	d = (struct kv_decision){ .reason = "a b" };
	assert_string_equal(line_of(&ctx, &d),
	    "verdict=error action=deny "
	    "user=root via=pam reason=\"a b\" disconnected=yes");
}

TEST_CASE(every_pair_has_its_place)
{
	const struct kv_log_context ctx = { "guard", "bob", "2001:db8::1",
		KV_AUTHORIZED_NO, false };
	struct kv_decision d = listed();

	d.verdict = KV_VERDICT_ALLOWED;
	d.action = KV_ACTION_ALLOW;
	d.part = KV_PART_CA;
	d.filter = filter_of("/f", UINT32_MAX);
	snprintf(d.reason, sizeof(d.reason), "until tomorrow");
	assert_string_equal(line_of(&ctx, &d),
	    "verdict=allowed action=allow "
	    "user=bob rhost=2001:db8::1 via=guard key_type=ssh-rsa key_fp=" FP
	    " part=ca authorized=no filter=/f revision=4294967295 "
	    "reason=\"until tomorrow\"");
}

TEST_CASE(what_is_not_known_is_left_out)
{
	const struct kv_log_context nobody = { 0 };
	const struct kv_log_context guard = { .via = "guard" };
	struct kv_decision d = { 0 };

	assert_string_equal(line_of(&nobody, &d), "verdict=error action=deny");
	snprintf(d.reason, sizeof(d.reason), "why");
	assert_string_equal(line_of(&guard, &d),
	    "verdict=error action=deny via=guard reason=why");
	d = (struct kv_decision){ .verdict = KV_VERDICT_UNSUPPORTED,
		.action = KV_ACTION_ALLOW,
		.key_type = "ssh-foo" };
	assert_string_equal(line_of(&guard, &d),
	    "verdict=unsupported action=allow via=guard key_type=ssh-foo");
	d.verdict = KV_VERDICT_LISTED;
	d.action = KV_ACTION_WARN;
	assert_string_equal(line_of(&guard, &d),
	    "verdict=listed action=warn via=guard key_type=ssh-foo");
}

/* The line for a user of this name. */
static const char *
line_for(const char *user)
{
	const struct kv_log_context ctx = { .user = user };
	const struct kv_decision d = { 0 };

	return line_of(&ctx, &d);
}

static void
user_is(const char *user, const char *want)
{
	assert_string_equal(line_for(user),
	    format("verdict=error action=deny user=%s", want));
}

TEST_CASE(plain_values_are_not_quoted)
{
	user_is(PLAIN, PLAIN);
	user_is("DOMAIN/alice@example.com", "DOMAIN/alice@example.com");
	user_is("", "\"\"");
}

TEST_CASE(every_byte_is_plain_quoted_or_escaped)
{
	for (int c = 1; c < 256; c++) {
		const char text[] = { 'a', (char)c, 'b', '\0' };

		if (strchr(PLAIN, c) != NULL)
			user_is(text, text);
		else if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			user_is(text, format("\"a\\x%02xb\"", c));
		else
			user_is(text, format("\"%s\"", text));
	}
}

TEST_CASE(no_value_forges_a_pair_or_a_line)
{
	user_is("alice action=allow", "\"alice action=allow\"");
	user_is("alice\" action=allow user=\"x",
	    "\"alice\\x22 action=allow user=\\x22x\"");
	user_is("alice\\\" x", "\"alice\\x5c\\x22 x\"");
	user_is("alice\nverdict=clean", "\"alice\\x0averdict=clean\"");
	user_is("alice\r\n", "\"alice\\x0d\\x0a\"");
	user_is("\033[2J", "\"\\x1b[2J\"");
	user_is("\xc3\xa9", "\"\\xc3\\xa9\"");
	user_is("%s%n", "\"%s%n\"");
	user_is("\xff", "\"\\xff\"");
}

TEST_CASE(every_value_is_quoted)
{
	const struct kv_log_context ctx = { "a b", "c d", "e f", 0, false };
	struct kv_decision d = { .key_type = "g\nh",
		.fingerprint = "i j",
		.filter = filter_of("/k l", 0),
		.reason = "m\"n" };

	assert_string_equal(line_of(&ctx, &d),
	    "verdict=error action=deny "
	    "user=\"c d\" rhost=\"e f\" via=\"a b\" key_type=\"g\\x0ah\" "
	    "key_fp=\"i j\" part=key filter=\"/k l\" revision=0 "
	    "reason=\"m\\x22n\"");
}

TEST_CASE(long_values_are_cut)
{
	char user[VALUE_MAX_BYTES + 2];

	memset(user, 'u', sizeof(user));
	user[VALUE_MAX_BYTES + 1] = '\0';
	user_is(user, format("\"%.512s\"", user));
	user[VALUE_MAX_BYTES] = '\0';
	user_is(user, user);
	memset(user, '\n', VALUE_MAX_BYTES);
	assert_int_equal(strlen(line_for(user)),
	    strlen("verdict=error action=deny user=\"\"") +
		4 * VALUE_MAX_BYTES);
}

/*
 * Splits a line as a reader of logs does, and returns the number of its pairs.
 * Fails if the line has anything but pairs.
 */
static size_t
count_pairs(const char *p)
{
	size_t n = 0;

	for (; *p != '\0'; n++) {
		size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyz_");

		assert_true(len > 0 && p[len] == '=');
		p += len + 1;
		if (*p == '"') {
			p += 1 + strcspn(p + 1, "\"");
			if (*p++ != '"')
				fail_msg("quote left open");
		} else
			p += strspn(p, PLAIN);
		if (*p != '\0' && *p++ != ' ')
			fail_msg("no blank between pairs");
	}
	return n;
}

/* KV_LOG_LINE_BYTES is enough for the longest value of every pair. */
TEST_CASE(longest_line_is_whole)
{
	char value[VALUE_MAX_BYTES + 1];
	const struct kv_log_context ctx = { "guard", value, value,
		KV_AUTHORIZED_YES, false };
	struct kv_decision d = listed();

	memset(value, '\n', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	memset(d.key_type, '\n', sizeof(d.key_type) - 1);
	d.filter = filter_of(value, UINT32_MAX);
	memset(d.reason, '\n', sizeof(d.reason) - 1);
	assert_int_equal(count_pairs(line_of(&ctx, &d)), 12);
}

TEST_CASE(random_values_make_whole_lines)
{
	for (int round = 0; round < 3000; round++) {
		char user[100], rhost[100];
		struct kv_log_context ctx = { "pam", user, rhost, 0, false };
		struct kv_decision d = listed();

		for (size_t i = 0; i < sizeof(user); i++) {
			user[i] = (char)rng_next();
			rhost[i] = "\"\\ =a\n"[rng_below(6)];
		}
		user[rng_below(sizeof(user))] = '\0';
		rhost[rng_below(sizeof(rhost))] = '\0';
		for (size_t i = 0; i < 99; i++)
			d.reason[i] = (char)(1 + rng_below(255));
		assert_int_equal(count_pairs(line_of(&ctx, &d)), 11);
	}
}

TEST_CASE(priority_follows_the_verdict)
{
	static const struct {
		enum kv_verdict verdict;
		enum kv_authorized authorized;
		int priority;
	} cases[] = {
		{ KV_VERDICT_LISTED, KV_AUTHORIZED_YES, LOG_WARNING },
		{ KV_VERDICT_LISTED, KV_AUTHORIZED_UNKNOWN, LOG_WARNING },
		{ KV_VERDICT_LISTED, KV_AUTHORIZED_NO, LOG_NOTICE },
		{ KV_VERDICT_ALLOWED, KV_AUTHORIZED_UNKNOWN, LOG_NOTICE },
		{ KV_VERDICT_UNSUPPORTED, KV_AUTHORIZED_UNKNOWN, LOG_NOTICE },
		{ KV_VERDICT_CLEAN, KV_AUTHORIZED_UNKNOWN, LOG_DEBUG },
		{ KV_VERDICT_ERROR, KV_AUTHORIZED_UNKNOWN, LOG_ERR },
		{ KV_VERDICT_ERROR, KV_AUTHORIZED_NO, LOG_ERR },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct kv_log_context ctx = {
			.authorized = cases[i].authorized,
		};
		struct kv_decision d = { .verdict = cases[i].verdict };

		assert_int_equal(kv_log_priority(&ctx, &d), cases[i].priority);
		/* The action does not change the priority. */
		d.action = KV_ACTION_WARN;
		assert_int_equal(kv_log_priority(&ctx, &d), cases[i].priority);
	}
}
