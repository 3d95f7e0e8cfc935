/* SPDX-License-Identifier: ISC */
#include "userfiles.h"

#include "testkeys.h"
#include "testlib.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>

static struct kv_config config;
static struct kv_account account;
static struct testkey k, ca;
/* The key of k. */
static struct kv_sshkey offered;
static struct blob b;

/* The files that config names now. */
static const struct userfiles *
files(void)
{
	static struct userfiles named;

	userfiles_of_config(&config, &named);
	return &named;
}

/* The sentences about refused files, one on each line. */
static char told[4096];

static void
add_refused(const char *why, void *arg)
{
	size_t len = strlen(told);

	assert_ptr_equal(arg, told);
	snprintf(told + len, sizeof(told) - len, "%s\n", why);
}

/* Makes an account with an empty home and these patterns, and two keys. */
static void
set_up(const char *first, const char *second)
{
	account = (struct kv_account){ .name = "alice",
		.uid = geteuid(),
		.home = tmp_path("home") };
	kv_config_defaults(&config);
	config.strictmodes = KV_STRICTMODES_YES;
	config.pattern[0] = first;
	config.pattern[1] = second;
	config.n_patterns = second != NULL ? 2 : 1;
	assert_done(mkdir(account.home, 0755));
	testkey_new(&k, KV_KEY_ED25519);
	assert_ok(kv_sshkey_parse(k.blob.p, k.blob.len, &offered));
	testkey_new(&ca, KV_KEY_ED25519);
}

static const char *
home_file(const char *name, const char *text)
{
	return tmp_text(format("home/%s", name), text);
}

/* The files that config names now, opened unless they are too many. */
static const struct userfiles *
open_files(void)
{
	static struct userfiles named;

	userfiles_of_config(&config, &named);
	if (!userfiles_open(&named, &account))
		assert_false(named.are_open);
	return &named;
}

static void
close_files(const struct userfiles *files)
{
	for (size_t i = 0; i < files->n_open; i++)
		if (files->open[i].fd != -1)
			assert_done(close(files->open[i].fd));
}

static void
prints_of(const struct userfiles *files, const void *want, size_t len)
{
	const char *path = tmp_path("out");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	size_t got_len;
	const uint8_t *got;

	told[0] = '\0';
	alarm(PATIENCE);
	assert_true(userfiles_print(files, &account, fd, add_refused, told));
	alarm(0);
	close(fd);
	got = read_whole(path, &got_len);
	assert_bytes(got, got_len, want, len);
}

/* The guard must print exactly this, by files that are open, too. */
static void
prints(const void *want, size_t len)
{
	const struct userfiles *ahead = open_files();
	char said[sizeof(told)];

	prints_of(ahead, want, len);
	close_files(ahead);
	memcpy(said, told, sizeof(told));
	prints_of(files(), want, len);
	assert_string_equal(said, told);
}

static void
prints_text(const char *want)
{
	prints(want, strlen(want));
}

/* Printing into fd fails with this error. */
static void
printing_fails(int fd, int error)
{
	errno = 0;
	assert_false(userfiles_print(files(), &account, fd, add_refused, told));
	assert_int_equal(errno, error);
}

/* What is known of whether the files list the offered key. */
static void
expect_listed(const struct userfiles *named, enum kv_authorized want)
{
	assert_int_equal(userfiles_list_key(named, &account, &offered), want);
}

static bool lists(const struct blob *blob);

TEST_CASE(files_are_printed_in_order)
{
	set_up("one", "two");
	home_file("one", "1\n\n# x\n");
	home_file("two", "2\n");
	prints_text("1\n\n# x\n2\n");
	config.pattern[0] = "two";
	config.pattern[1] = "%h/one";
	prints_text("2\n1\n\n# x\n");
	assert_string_equal(told, "");
}

TEST_CASE(expanded_names_are_taken_as_they_are)
{
	const char *const names[] = { "100%", "%h/x",
		format("%s/[ab]*", tmp_path("home")), NULL };
	const struct userfiles expanded = { .pattern = names,
		.n = 3,
		.expanded = true,
		.strictmodes = KV_STRICTMODES_YES,
		.wildcards = KV_WILDCARDS_NO };
	const uint8_t *got;
	const char *path;
	size_t len;
	int fd;

	set_up("one", NULL);
	home_file("one", "not this one\n");
	home_file("100%", "1\n");
	home_file("[ab]*", "3\n");
	home_file("a", "a wildcard\n");
	assert_done(mkdir(tmp_path("home/%%h"), 0755));
	tmp_text("home/%h/x", "2\n");
	path = tmp_path("out");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	told[0] = '\0';
	assert_true(
	    userfiles_print(&expanded, &account, fd, add_refused, told));
	close(fd);
	assert_string_equal(told, "");
	got = read_whole(path, &len);
	assert_bytes(got, len, "1\n2\n3\n", 6);
}

TEST_CASE(bytes_are_left_alone)
{
	static const char text[] = "\xef\xbb\xbf\0\r\n\r\x80\xff \t#\n\0\n";

	set_up("one", NULL);
	tmp_file("home/one", text, sizeof(text) - 1);
	prints(text, sizeof(text) - 1);
	/* The last line still has no line end. */
	tmp_file("home/one", text, 7);
	prints(text, 7);
}

TEST_CASE(large_files_are_printed_whole)
{
	static uint8_t data[1000 * 1000];

	set_up("one", NULL);
	fresh_bytes(data, sizeof(data));
	for (size_t len = 65534; len < 65540; len++) {
		tmp_file("home/one", data, len);
		prints(data, len);
	}
	tmp_file("home/one", data, sizeof(data));
	prints(data, sizeof(data));
	/* A second one is set apart once, and nowhere inside. */
	config.pattern[1] = config.pattern[0];
	config.n_patterns = 2;
	memset(data, 'x', sizeof(data));
	tmp_file("home/one", data, sizeof(data) / 2 - 1);
	data[sizeof(data) / 2 - 1] = '\n';
	prints(data, sizeof(data) - 1);
}

/* Neither a line nor a part of one gets lost, or comes twice. */
TEST_CASE(interrupted_calls_are_made_again)
{
	set_up("one", "two");
	home_file("one", "1");
	home_file("two", "2\n");
	for (int calls = 1; calls < 6; calls++) {
		interrupt_calls(calls);
		prints_text("1\n2\n");
		assert_int_equal(calls_to_interrupt(), 0);
	}
	for (int n = 1; n <= 3; n++) {
		fail_call("write", n, EINTR);
		prints_text("1\n2\n");
		assert_true(call_has_failed());
	}
	home_file("two", testkey_line(&k));
	interrupt_calls(3);
	assert_true(lists(&k.blob));
	assert_int_equal(calls_to_interrupt(), 0);
}

/* sshd passes over it too. */
TEST_CASE(link_to_itself_is_told)
{
	set_up("loop", "two");
	home_file("two", "2\n");
	assert_done(symlink("loop", tmp_path("home/loop")));
	prints_text("2\n");
	assert_contains(told, strerror(ELOOP));
}

TEST_CASE(files_are_kept_apart)
{
	set_up("one", "two");
	home_file("one", "1");
	home_file("two", "2");
	prints_text("1\n2");
	home_file("two", "");
	prints_text("1");
	home_file("one", "");
	home_file("two", "2");
	prints_text("2");
	/* An empty file between them adds no line end. */
	config.pattern[2] = "three";
	config.n_patterns = 3;
	home_file("one", "1");
	home_file("two", "");
	home_file("three", "\n3");
	prints_text("1\n\n3");
}

TEST_CASE(missing_files_are_empty)
{
	set_up("one", "none/two");
	prints_text("");
	home_file("one", "1\n");
	prints_text("1\n");
	assert_string_equal(told, "");
	config.n_patterns = 0;
	prints_text("");
}

TEST_CASE(refused_files_are_left_out_and_told)
{
	set_up("one", "two");
	home_file("one", "1\n");
	home_file("two", "2\n");
	assert_done(chmod(tmp_path("home/one"), 0666));
	prints_text("2\n");
	assert_string_equal(told,
	    format("bad ownership or modes for file %s/one\n", account.home));
	config.strictmodes = KV_STRICTMODES_NO;
	prints_text("1\n2\n");
	assert_string_equal(told, "");
}

/* ENOENT of a missing file must not hide the next, refused file. */
TEST_CASE(refused_file_after_a_missing_one_is_told)
{
	set_up("none", "two");
	home_file("two", "2\n");
	assert_done(chmod(tmp_path("home/two"), 0666));
	prints_text("");
	assert_contains(told, "bad ownership or modes");
	assert_done(remove(tmp_path("home/two")));
	assert_done(mkdir(tmp_path("home/two"), 0755));
	prints_text("");
	assert_contains(told, "is not a regular file");
}

TEST_CASE(fifos_and_directories_are_told)
{
	set_up("fifo", "dir");
	assert_done(mkfifo(tmp_path("home/fifo"), 0600));
	assert_done(mkdir(tmp_path("home/dir"), 0755));
	prints_text("");
	assert_string_equal(told,
	    format("%s/fifo is not a regular file\n"
		   "%s/dir is not a regular file\n",
		account.home, account.home));
}

TEST_CASE(wildcards_stand_for_every_file_they_match)
{
	set_up(".ssh/keys.d/*.pub", NULL);
	assert_done(mkdir(tmp_path("home/.ssh"), 0700));
	assert_done(mkdir(tmp_path("home/.ssh/keys.d"), 0700));
	prints_text("");
	home_file(".ssh/keys.d/b.pub", "b");
	home_file(".ssh/keys.d/a.pub", "a");
	home_file(".ssh/keys.d/other", "x");
	prints_text("a\nb");
	config.pattern[0] = ".ssh/keys.d/[b].pu?";
	prints_text("b");
	assert_string_equal(told, "");
}

TEST_CASE(output_of_a_pattern_that_cannot_be_written_is_a_failure)
{
	int full = open("/dev/full", O_WRONLY);

	set_up("on*", "two");
	home_file("one", "1\n");
	told[0] = '\0';
	assert_done(full);
	printing_fails(full, ENOSPC);
	close(full);
}

TEST_CASE(wildcards_are_read_as_sshd_does)
{
	static const struct {
		const char *pattern, *want;
	} cases[] = {
		{ "[^a]", "^a" },
		{ "[!a]", "*^b" },
		{ "\\a", "a" },
		{ "\\*", "*" },
		{ "*", "*^ab" },
		{ "[a-b]", "ab" },
		{ "[[:alpha:]]", "ab" },
		{ "[[:nonsense:]]", "" },
		{ "[", "" },
		{ "[]a]", "a" },
		{ ".hidde?", "h" },
		{ "?hidden", "" },
		{ "[a/b]", "" },
		/* A slash is never in a set, at either end of a range. */
		{ "[.-/]", "" },
		{ "[/-b]", "" },
		{ "[!-/b]", "" },
		{ "[/b]", "" },
		/* Sets that do not end, and brackets inside. */
		{ "[]", "" },
		{ "[!", "" },
		{ "[!]", "" },
		{ "[!]a]", "*^b" },
		{ "[\\]a]", "a" },
		{ "[a\\]", "" },
		{ "[[]", "" },
		{ "[[a]", "a" },
		{ "[a-]", "a" },
		{ "[a-", "" },
		{ "[a\\-b]", "ab" },
		{ "[*\\-b]", "*b" },
		{ "[!a-b]", "*^" },
		{ "[b-a]", "" },
		{ "[^-a]", "^a" },
		{ "[,-.a]", "a" },
		/* Classes, and what looks like one. */
		{ "[[:punct:]]", "*^" },
		{ "[![:punct:]]", "ab" },
		{ "[[:alpha:]^]", "^ab" },
		{ "[a[:punct:]]", "*^a" },
		{ "[[:alph:]]", "" },
		{ "[![:alph:]]", "" },
		{ "[!/]", "" },
		{ "[!a-/]", "" },
		{ "[[:alphaa:]]", "" },
		{ "[[:alpha]]", "" },
		{ "[[:alpha:", "" },
		{ "[[:alpha:a]", "a" },
		{ "[[\\:alpha:]]", "" },
		{ "[[:\\alpha:]]", "" },
		{ "[:a]", "a" },
		{ "**", "*^ab" },
		{ "?*", "*^ab" },
		{ "??", "" },
		{ "*?*", "*^ab" },
	};

	set_up("*", NULL);
	config.wildcards = KV_WILDCARDS_YES;
	home_file("a", "a");
	home_file("b", "b");
	home_file("^", "^");
	home_file("*", "*");
	home_file(".hidden", "h");
	for (size_t i = 0; i < COUNT(cases); i++) {
		/*
		 * Each file is one byte, so the expected text needs only line
		 * ends.
		 */
		char want[16] = "";

		for (const char *p = cases[i].want; *p != '\0'; p++)
			snprintf(want + strlen(want),
			    sizeof(want) - strlen(want), "%s%c",
			    *want != '\0' ? "\n" : "", *p);
		config.pattern[0] = cases[i].pattern;
		prints_text(want);
	}
}

TEST_CASE(backslash_at_the_end_is_one)
{
	set_up("a\\", NULL);
	config.wildcards = KV_WILDCARDS_YES;
	home_file("a\\", "a\n");
	home_file("a", "not this one\n");
	prints_text("a\n");
	config.pattern[0] = "?\\";
	prints_text("a\n");
}

/* sshd passes over what it cannot search. The log names what exists. */
TEST_CASE(places_that_cannot_be_searched_are_told_once)
{
	set_up("*/x", "one/*");
	home_file("one", "1\n");
	prints_text("");
	assert_string_equal(told, "");
	assert_done(symlink("loop", tmp_path("home/loop")));
	prints_text("");
	assert_string_equal(told,
	    format("%s: cannot be searched: %s\n", tmp_path("home/*/x"),
		strerror(ELOOP)));
}

/* More paths than fit in the memory that a search begins with. */
TEST_CASE(wildcards_stand_for_many_files)
{
	char want[3 * 1000 + 1] = "";

	set_up("*", NULL);
	for (int i = 0; i < 1000; i++) {
		home_file(format("%03d", i), format("%c\n", 'a' + i % 26));
		want[2 * i] = (char)('a' + i % 26);
		want[2 * i + 1] = '\n';
	}
	prints_text(want);
}

TEST_CASE(without_memory_for_wildcards_printing_fails)
{
	static const struct {
		const char *name;
		int nth;
	} calls[] = {
		{ "realloc", 1 },
#ifdef __GLIBC__
		{ "calloc", 1 },
#else
		/* The first is opendir(3)'s in musl. */
		{ "calloc", 2 },
#endif
	};
	int out;

	set_up("on*", "two");
	home_file("one", "1\n");
	home_file("two", "2\n");
	out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_done(out);
	told[0] = '\0';
	for (size_t i = 0; i < COUNT(calls); i++) {
		fail_call(calls[i].name, calls[i].nth, ENOMEM);
		printing_fails(out, ENOMEM);
		assert_true(call_has_failed());
	}
	close(out);
	assert_string_equal(told, "");
}

TEST_CASE(wildcards_are_only_where_they_are_wanted)
{
	set_up("[ab]", NULL);
	config.strictmodes = KV_STRICTMODES_NO;
	home_file("a", "a\n");
	home_file("[ab]", "literal\n");
	prints_text("a\n");
	config.wildcards = KV_WILDCARDS_YES;
	prints_text("a\n");
	config.wildcards = KV_WILDCARDS_NO;
	prints_text("literal\n");
	/* sshd 10.0 and later also expands wildcards in the name of a home. */
	assert_done(mkdir(tmp_path("home/[x]"), 0755));
	assert_done(mkdir(tmp_path("home/x"), 0755));
	home_file("[x]/keys", "own\n");
	home_file("x/keys", "other\n");
	account.home = tmp_path("home/[x]");
	config.pattern[0] = "keys";
	prints_text("own\n");
	config.wildcards = KV_WILDCARDS_WRITTEN;
	prints_text("own\n");
	config.wildcards = KV_WILDCARDS_YES;
	prints_text("other\n");
}

TEST_CASE(wildcards_from_tokens_are_none)
{
	set_up("%u", NULL);
	account.name = "*";
	home_file("*", "star\n");
	home_file("other", "other\n");
	prints_text("star\n");
}

TEST_CASE(overlong_paths_are_told)
{
	char name[PATH_MAX];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	set_up(name, "two");
	home_file("two", "2\n");
	prints_text("2\n");
	assert_contains(told, "too long");
	/* Nor does a search find anything there. */
	assert_false(lists(&k.blob));
	home_file("two", testkey_line(&k));
	assert_true(lists(&k.blob));
	/* What a wildcard stands for can make it too long, too. */
	home_file("two", "2\n");
	assert_done(mkdir(tmp_path("home/%.200s", name), 0755));
	memcpy(name, "n*/", 3);
	name[PATH_MAX - 10 - strlen(account.home)] = '\0';
	prints_text("2\n");
	assert_contains(told, "cannot be searched: ");
	assert_contains(told, strerror(ENAMETOOLONG));
}

TEST_CASE(output_that_cannot_be_written_is_a_failure)
{
	int ends[2], full = open("/dev/full", O_WRONLY);

	set_up("one", NULL);
	home_file("one", "1\n");
	told[0] = '\0';
	printing_fails(full, ENOSPC);
	close(full);
	assert_done(pipe(ends));
	close(ends[0]);
	printing_fails(ends[1], EPIPE);
	close(ends[1]);
	printing_fails(ends[1], EBADF);
	/* Without anything to write nothing fails. */
	home_file("one", "");
	assert_true(userfiles_print(files(), &account, -1, add_refused, told));
}

/* Whichever part it is: the output must not be used. */
TEST_CASE(every_write_that_fails_is_a_failure)
{
	int fd;

	set_up("one", "two");
	home_file("one", "1");
	home_file("two", "2\n");
	for (int n = 1; n <= 3; n++) {
		fd = open(tmp_path("out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
		fail_call("write", n, EIO);
		printing_fails(fd, EIO);
		assert_true(call_has_failed());
		close(fd);
	}
}

/* /proc/PID/mem is a regular file whose first byte cannot be read. */
TEST_CASE(read_error_is_the_end_of_the_file)
{
	set_up("/proc/self/mem", "two");
	config.strictmodes = KV_STRICTMODES_NO;
	home_file("two", "2\n");
	prints_text("2\n");
	assert_contains(told, "/proc/self/mem: cannot be read to its end: ");
	assert_contains(told, strerror(EIO));
}

TEST_CASE(no_descriptor_is_left_open)
{
	size_t before;

	set_up("one", "*");
	home_file("one", "1\n");
	home_file("bad", "x\n");
	assert_done(chmod(tmp_path("home/bad"), 0666));
	before = count_descriptors();
	prints_text("1\n1\n");
	assert_int_equal(count_descriptors(), before);
}

/* Whether the account lists the key in blob. */
static bool
lists(const struct blob *blob)
{
	struct kv_sshkey key;
	bool found;

	(void)!kv_sshkey_parse(blob->p, blob->len, &key);
	alarm(PATIENCE);
	found = userfiles_list_key(files(), &account, &key) ==
	    KV_AUTHORIZED_YES;
	alarm(0);
	return found;
}

TEST_CASE(plain_key_is_found_in_any_file)
{
	const char *line;

	set_up("one", "two");
	line = testkey_line(&k);
	assert_false(lists(&k.blob));
	home_file("one", format("# %s\n\n%s\n", line, rsa_line));
	assert_false(lists(&k.blob));
	home_file("two",
	    format("%s\ncommand=\"x y\",restrict %s c", rsa_line, line));
	assert_true(lists(&k.blob));
	assert_false(lists(&ca.blob));
	home_file("one", format("%s\r\n", line));
	home_file("two", "");
	assert_true(lists(&k.blob));
}

TEST_CASE(key_is_found_whatever_its_encoding)
{
	static const uint8_t e[] = { 1, 0, 1 };
	struct blob rsa = { 0 };

	set_up("one", NULL);
	blob_of_line(rsa_line, &rsa);
	b.len = 0;
	put_text(&b, "rsa-sha2-256");
	put_padded(&b, e, 3, 9);
	put(&b, rsa.p + 4 + 7 + 4 + 3, rsa.len - 18);
	home_file("one", format("%s\n", line_of("rsa-sha2-512", &b)));
	assert_true(lists(&rsa));
	home_file("one", format("%s\n", rsa_line));
	assert_true(lists(&b));
}

TEST_CASE(certificate_is_found_by_its_ca)
{
	const char *ca_line;

	set_up("one", NULL);
	testkey_new(&ca, KV_KEY_ECDSA_P256);
	testcert_new(&b, &k, &ca);
	ca_line = testkey_line(&ca);
	home_file("one", format("cert-authority %s\n", ca_line));
	assert_true(lists(&b));
	home_file("one",
	    format("restrict,Cert-Authority,principals=\"a\" %s\n", ca_line));
	assert_true(lists(&b));
	/* Another CA on the line does not list the certificate. */
	home_file("one", format("cert-authority %s\n", rsa_line));
	assert_false(lists(&b));
	/* A plain line of the CA's key lists that key, not its certificates. */
	home_file("one", format("%s\n", ca_line));
	assert_false(lists(&b));
	assert_true(lists(&ca.blob));
	/* A cert-authority line does not list its key as a plain key. */
	home_file("one", format("cert-authority %s\n", ca_line));
	assert_false(lists(&ca.blob));
	/* An account that lists the certificate's key is exposed too. */
	home_file("one", format("%s\n", testkey_line(&k)));
	assert_true(lists(&b));
}

TEST_CASE(unreadable_lines_do_not_hide_the_rest)
{
	char *text = test_alloc(600 * 1024);
	const char *line;

	set_up("one", NULL);
	line = testkey_line(&k);
	memset(text, 'x', 300 * 1024);
	strcpy(text + 300 * 1024,
	    format("\nssh-rsa AAAA\ncommand=\"x %s\n"
		   "%s\n",
		line, line));
	home_file("one", text);
	assert_true(lists(&k.blob));
	home_file("one", format("command=\"x %s\nx x %s\n", line, line));
	assert_false(lists(&k.blob));
}

TEST_CASE(unreadable_file_does_not_hide_the_next)
{
	set_up("/proc/self/mem", "two");
	config.strictmodes = KV_STRICTMODES_NO;
	home_file("two", testkey_line(&k));
	assert_true(lists(&k.blob));
}

/* sshd accepts a certificate by its CA's line only. */
TEST_CASE(certificate_on_a_line_lists_nothing)
{
	const char *name = "ssh-ed25519-cert-v01@openssh.com";

	set_up("one", NULL);
	testcert_new(&b, &k, &ca);
	home_file("one",
	    format("%s\ncert-authority %s\n", line_of(name, &b),
		line_of(name, &b)));
	assert_false(lists(&k.blob));
	assert_false(lists(&b));
}

/* A file that could not be read may list the key; a missing file does not. */
TEST_CASE(unread_file_leaves_it_unknown)
{
	set_up("/proc/self/mem", "missing");
	config.strictmodes = KV_STRICTMODES_NO;
	expect_listed(files(), KV_AUTHORIZED_UNKNOWN);
	config.pattern[0] = "one/below-a-file";
	home_file("one", "");
	expect_listed(files(), KV_AUTHORIZED_NO);
	/* A link to itself exists, and cannot be opened. */
	assert_done(symlink("loop", tmp_path("home/loop")));
	config.pattern[0] = "loop";
	expect_listed(files(), KV_AUTHORIZED_UNKNOWN);
	config.pattern[0] = "loop/*";
	expect_listed(files(), KV_AUTHORIZED_UNKNOWN);
	config.pattern[0] = "missing/*";
	expect_listed(files(), KV_AUTHORIZED_NO);
}

TEST_CASE(refused_file_lists_nothing)
{
	set_up("one", NULL);
	home_file("one", testkey_line(&k));
	assert_true(lists(&k.blob));
	assert_done(chmod(tmp_path("home/one"), 0666));
	assert_false(lists(&k.blob));
	/* It is no file of keys to sshd, so nothing is unknown. */
	expect_listed(files(), KV_AUTHORIZED_NO);
}

TEST_CASE(key_is_found_before_other_lines)
{
	set_up("one", "two");
	home_file("one", format("%s\n%s\n", testkey_line(&k), rsa_line));
	home_file("two", rsa_line);
	assert_true(lists(&k.blob));
}

/* The guard must not search a file for longer than a login takes. */
TEST_CASE(larger_files_are_not_searched)
{
	const off_t most = 64 * 1024 * 1024;

	set_up("one", NULL);
	home_file("one", format("%s\n", testkey_line(&k)));
	assert_done(truncate(tmp_path("home/one"), most));
	expect_listed(files(), KV_AUTHORIZED_YES);
	for (int n = 1; n <= 2; n++) {
		fail_call("lseek", n, EIO);
		expect_listed(files(), KV_AUTHORIZED_UNKNOWN);
		assert_true(call_has_failed());
	}
	assert_done(truncate(tmp_path("home/one"), most + 1));
	expect_listed(files(), KV_AUTHORIZED_UNKNOWN);
}

/* A file that was searched is printed from its begin. */
TEST_CASE(open_files_are_read_twice)
{
	const struct userfiles *ahead;
	const char *text;
	int fd = open("/dev/null", O_WRONLY);

	set_up("one", "two");
	text = home_file("one", format("%s\n# more\n", testkey_line(&k)));
	home_file("two", "2\n");
	ahead = open_files();
	assert_int_equal(ahead->n_open, 2);
	/* Nothing is opened any more. */
	assert_done(rename(text, tmp_path("moved")));
	expect_listed(ahead, KV_AUTHORIZED_YES);
	text = format("%s\n# more\n2\n", testkey_line(&k));
	prints_of(ahead, text, strlen(text));
	expect_listed(ahead, KV_AUTHORIZED_YES);
	/* A file that cannot be read from its begin is not read at all. */
	fail_call("lseek", 2, EIO);
	assert_false(userfiles_print(ahead, &account, fd, add_refused, told));
	assert_int_equal(errno, EIO);
	fail_call("lseek", 1, EIO);
	expect_listed(ahead, KV_AUTHORIZED_UNKNOWN);
	close_files(ahead);
	close(fd);
}

static bool
opens_ahead(struct userfiles *named)
{
	userfiles_of_config(&config, named);
	return userfiles_open(named, &account);
}

/* These are opened one by one, as they were always. */
TEST_CASE(too_many_files_are_not_kept_open)
{
	static struct userfiles named;
	int before = dup(0), after;

	set_up("file*", "two");
	for (int i = 0; i < USERFILES_OPEN_MAX; i++)
		home_file(format("file%02d", i), "x\n");
	assert_true(opens_ahead(&named));
	assert_int_equal(named.n_open, USERFILES_OPEN_MAX);
	close_files(&named);
	home_file("two", "2\n");
	assert_false(opens_ahead(&named));
	assert_false(named.are_open);
	assert_int_equal(named.n_open, 0);
	/* A limit of descriptors is ours, and not that of the file. */
	config.n_patterns = 1;
	fail_call("open", 3, EMFILE);
	assert_false(opens_ahead(&named));
	fail_call("open", 3, ENFILE);
	assert_false(opens_ahead(&named));
	fail_call("open", 3, EIO);
	assert_true(opens_ahead(&named));
	assert_true(call_has_failed());
	close_files(&named);
	/* All are closed again. */
	close(before);
	assert_int_equal(after = dup(0), before);
	close(after);
}

/* Lines of two MiB are told apart from keys; the rest is searched. */
TEST_CASE(key_is_found_after_a_line_that_is_too_long)
{
	size_t len = 2 * 1024 * 1024 + 10;
	const char *key_line;
	char *text;

	set_up("one", NULL);
	text = test_alloc(len + 4096);
	memset(text, 'x', len);
	strcpy(text + len, format("\n%s\n", testkey_line(&k)));
	home_file("one", text);
	assert_true(lists(&k.blob));
	/* The longest line that is read, with the key at its end. */
	len = 2 * 1024 * 1024 - 1;
	memset(text, 'x', len);
	key_line = format("\" %s", testkey_line(&k));
	memcpy(text, "command=\"", 9);
	strcpy(text + len - strlen(key_line), key_line);
	strcat(text, "\n");
	home_file("one", text);
	assert_true(lists(&k.blob));
	/* The key may stand in the line that was not read. */
	memset(text, 'x', len + 1);
	text[len + 1] = '\0';
	home_file("one", text);
	expect_listed(files(), KV_AUTHORIZED_UNKNOWN);
}

TEST_CASE(nothing_lists_a_key_that_could_not_be_parsed)
{
	set_up("one", NULL);
	offered = (struct kv_sshkey){ .is_cert = true };
	home_file("one", format("\n# x\ncert-authority %s\n", rsa_line));
	expect_listed(files(), KV_AUTHORIZED_NO);
}
