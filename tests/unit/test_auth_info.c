/* SPDX-License-Identifier: ISC */
#include "auth_info.h"

#include "testlib.h"

static struct kv_span text;

static void
start(const char *s)
{
	size_t len = strlen(s);

	text = (struct kv_span){ exact_copy(s, len), len };
}

static void
expect(const char *type, const char *base64)
{
	struct auth_info_key key;

	memset(&key, 0xa5, sizeof(key));
	assert_true(auth_info_next_key(&text, &key));
	assert_span_is(key.type, type);
	assert_span_is(key.base64, base64);
}

static void
expect_end(void)
{
	struct auth_info_key key;

	assert_false(auth_info_next_key(&text, &key));
	assert_false(auth_info_next_key(&text, &key));
}

TEST_CASE(publickey_line_names_its_key)
{
	start("publickey ssh-ed25519 AAAA\n");
	expect("ssh-ed25519", "AAAA");
	expect_end();
	start("publickey ssh-ed25519 AAAA");
	expect("ssh-ed25519", "AAAA");
	expect_end();
}

TEST_CASE(hostbased_line_names_its_key)
{
	start("hostbased ssh-rsa AAAA\n");
	expect("ssh-rsa", "AAAA");
	expect_end();
}

TEST_CASE(methods_without_a_key_are_passed_over)
{
	static const char *const none[] = { "", "\n", "\n\n\n", "password\n",
		"password", "keyboard-interactive/pam\n",
		"gssapi-with-mic a@B\n", "none", " ", " publickey ssh-rsa AAAA",
		"publickeys ssh-rsa AAAA", "Publickey ssh-rsa AAAA",
		"xpublickey ssh-rsa AAAA", "password publickey ssh-rsa AAAA\n",
		"host ssh-rsa AAAA",
		"keyboard-interactive/publickey ssh-rsa AAAA" };

	for (size_t i = 0; i < COUNT(none); i++) {
		start(none[i]);
		expect_end();
	}
	text = (struct kv_span){ NULL, 0 };
	expect_end();
}

TEST_CASE(every_key_is_found)
{
	start("publickey ssh-ed25519 AAAA\npassword\n\npublickey ssh-rsa BBBB"
	      "\nkeyboard-interactive/pam\nhostbased ssh-dss CCCC\n"
	      "publickey ssh-ed25519 AAAA");
	expect("ssh-ed25519", "AAAA");
	expect("ssh-rsa", "BBBB");
	expect("ssh-dss", "CCCC");
	expect("ssh-ed25519", "AAAA");
	expect_end();
}

TEST_CASE(submethod_belongs_to_the_method)
{
	start("publickey/sub ssh-rsa AAAA\nhostbased/ ssh-dss BBBB\n");
	expect("ssh-rsa", "AAAA");
	expect("ssh-dss", "BBBB");
	expect_end();
}

TEST_CASE(what_follows_the_key_is_ignored)
{
	start("hostbased ssh-rsa AAAA client user \"x\", client host \"y\"\n"
	      "publickey ssh-rsa BBBB  \n");
	expect("ssh-rsa", "AAAA");
	expect("ssh-rsa", "BBBB");
	expect_end();
}

/* A line without its key must not count as a login without a key. */
TEST_CASE(line_without_its_key_is_still_one)
{
	start("publickey\npublickey \npublickey ssh-rsa\npublickey ssh-rsa \n"
	      "publickey  AAAA\nhostbased");
	expect("", "");
	expect("", "");
	expect("ssh-rsa", "");
	expect("ssh-rsa", "");
	expect("", "AAAA");
	expect("", "");
	expect_end();
}

TEST_CASE(odd_bytes_are_part_of_the_words)
{
	start("publickey ssh-rsa\t AAAA\r\n\rpublickey ssh-rsa BBBB\n");
	expect("ssh-rsa\t", "AAAA\r");
	expect_end();
}

static void
find_any(const uint8_t *p, size_t len, void *arg)
{
	struct kv_span rest = { p, len };
	struct auth_info_key key;
	size_t lines = 1, keys = 0;

	for (size_t i = 0; i < len; i++)
		lines += p[i] == '\n';
	while (auth_info_next_key(&rest, &key)) {
		keys++;
		assert_true(key.type.len + key.base64.len <= len);
	}
	assert_true(keys <= lines);
	*(size_t *)arg += keys;
}

TEST_CASE(mutants_are_read_to_their_end)
{
	static const char s[] = "publickey ssh-rsa AAAA\npassword\n"
				"hostbased/x ssh-dss BBBB info\n";
	size_t found = 0;

	for_each_mutant(s, strlen(s), find_any, &found);
	assert_true(found > 100);
}
