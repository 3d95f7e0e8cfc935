/* SPDX-License-Identifier: ISC */
#include "userfiles.h"

#include "testkeys.h"
#include "testlib.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct kv_config config;
static struct kv_account account;
static struct testkey k, ca;
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

/* Makes an account with an empty home and these patterns. */
static void
set_up(const char *first, const char *second)
{
	account = (struct kv_account){
		.name = "alice",
		.uid = geteuid(),
		.home = tmp_path("home"),
	};
	kv_config_defaults(&config);
	config.strictmodes = KV_STRICTMODES_YES;
	config.pattern[0] = first;
	config.pattern[1] = second;
	config.n_patterns = second != NULL ? 2 : 1;
	assert_return_code(mkdir(account.home, 0755), errno);
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
			assert_return_code(close(files->open[i].fd), errno);
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

static bool lists(const struct blob *blob);

static void
files_are_printed_in_order(void **state)
{
	(void)state;
	set_up("one", "two");
	home_file("one", "1\n\n# x\n");
	home_file("two", "2\n");
	prints_text("1\n\n# x\n2\n");
	config.pattern[0] = "two";
	config.pattern[1] = "%h/one";
	prints_text("2\n1\n\n# x\n");
	assert_string_equal(told, "");
}

static void
expanded_names_are_taken_as_they_are(void **state)
{
	const char *const names[] = { "100%", "%h/x",
		format("%s/[ab]*", tmp_path("home")), NULL };
	const struct userfiles expanded = {
		.pattern = names,
		.n = 3,
		.expanded = true,
		.strictmodes = KV_STRICTMODES_YES,
		.wildcards = KV_WILDCARDS_NO,
	};
	const uint8_t *got;
	const char *path;
	size_t len;
	int fd;

	(void)state;
	set_up("one", NULL);
	home_file("one", "not this one\n");
	home_file("100%", "1\n");
	home_file("[ab]*", "3\n");
	home_file("a", "a wildcard\n");
	assert_return_code(mkdir(tmp_path("home/%%h"), 0755), errno);
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

static void
bytes_are_left_alone(void **state)
{
	static const char text[] = "\xef\xbb\xbf\0\r\n\r\x80\xff \t#\n\0\n";

	(void)state;
	set_up("one", NULL);
	tmp_file("home/one", text, sizeof(text) - 1);
	prints(text, sizeof(text) - 1);
	/* The last line still has no line end. */
	tmp_file("home/one", text, 7);
	prints(text, 7);
}

static void
large_files_are_printed_whole(void **state)
{
	static uint8_t data[1000 * 1000];

	(void)state;
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
static void
interrupted_calls_are_made_again(void **state)
{
	(void)state;
	set_up("one", "two");
	home_file("one", "1");
	home_file("two", "2\n");
	testkey_new(&k, KV_KEY_ED25519);
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
static void
link_to_itself_is_told(void **state)
{
	(void)state;
	set_up("loop", "two");
	home_file("two", "2\n");
	assert_return_code(symlink("loop", tmp_path("home/loop")), errno);
	prints_text("2\n");
	assert_contains(told, strerror(ELOOP));
}

static void
files_are_kept_apart(void **state)
{
	(void)state;
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

static void
missing_files_are_empty(void **state)
{
	(void)state;
	set_up("one", "none/two");
	prints_text("");
	home_file("one", "1\n");
	prints_text("1\n");
	assert_string_equal(told, "");
	config.n_patterns = 0;
	prints_text("");
}

static void
refused_files_are_left_out_and_told(void **state)
{
	(void)state;
	set_up("one", "two");
	home_file("one", "1\n");
	home_file("two", "2\n");
	assert_return_code(chmod(tmp_path("home/one"), 0666), errno);
	prints_text("2\n");
	assert_string_equal(told,
	    format("bad ownership or modes for file "
		   "%s/one\n",
		account.home));
	config.strictmodes = KV_STRICTMODES_NO;
	prints_text("1\n2\n");
	assert_string_equal(told, "");
}

/* ENOENT of a missing file must not hide the next, refused file. */
static void
refused_file_after_a_missing_one_is_told(void **state)
{
	(void)state;
	set_up("none", "two");
	home_file("two", "2\n");
	assert_return_code(chmod(tmp_path("home/two"), 0666), errno);
	prints_text("");
	assert_contains(told, "bad ownership or modes");
	assert_return_code(remove(tmp_path("home/two")), errno);
	assert_return_code(mkdir(tmp_path("home/two"), 0755), errno);
	prints_text("");
	assert_contains(told, "is not a regular file");
}

static void
fifos_and_directories_are_told(void **state)
{
	(void)state;
	set_up("fifo", "dir");
	assert_return_code(mkfifo(tmp_path("home/fifo"), 0600), errno);
	assert_return_code(mkdir(tmp_path("home/dir"), 0755), errno);
	prints_text("");
	assert_string_equal(told,
	    format("%s/fifo is not a regular file\n"
		   "%s/dir is not a regular file\n",
		account.home, account.home));
}

static void
wildcards_stand_for_every_file_they_match(void **state)
{
	(void)state;
	set_up(".ssh/keys.d/*.pub", NULL);
	assert_return_code(mkdir(tmp_path("home/.ssh"), 0700), errno);
	assert_return_code(mkdir(tmp_path("home/.ssh/keys.d"), 0700), errno);
	prints_text("");
	home_file(".ssh/keys.d/b.pub", "b");
	home_file(".ssh/keys.d/a.pub", "a");
	home_file(".ssh/keys.d/other", "x");
	prints_text("a\nb");
	config.pattern[0] = ".ssh/keys.d/[b].pu?";
	prints_text("b");
	assert_string_equal(told, "");
}

static void
output_of_a_pattern_that_cannot_be_written_is_a_failure(void **state)
{
	int full = open("/dev/full", O_WRONLY);

	(void)state;
	set_up("on*", "two");
	home_file("one", "1\n");
	told[0] = '\0';
	assert_return_code(full, errno);
	assert_false(
	    userfiles_print(files(), &account, full, add_refused, told));
	assert_int_equal(errno, ENOSPC);
	close(full);
}

static void
wildcards_are_read_as_sshd_does(void **state)
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

	(void)state;
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

static void
backslash_at_the_end_is_one(void **state)
{
	(void)state;
	set_up("a\\", NULL);
	config.wildcards = KV_WILDCARDS_YES;
	home_file("a\\", "a\n");
	home_file("a", "not this one\n");
	prints_text("a\n");
	config.pattern[0] = "?\\";
	prints_text("a\n");
}

/* sshd passes over what it cannot search. The log names what exists. */
static void
places_that_cannot_be_searched_are_told_once(void **state)
{
	(void)state;
	set_up("*/x", "one/*");
	home_file("one", "1\n");
	prints_text("");
	assert_string_equal(told, "");
	assert_return_code(symlink("loop", tmp_path("home/loop")), errno);
	prints_text("");
	assert_string_equal(told,
	    format("%s: cannot be searched: %s\n", tmp_path("home/*/x"),
		strerror(ELOOP)));
}

/* More paths than fit in the memory that a search begins with. */
static void
wildcards_stand_for_many_files(void **state)
{
	char want[3 * 1000 + 1] = "";

	(void)state;
	set_up("*", NULL);
	for (int i = 0; i < 1000; i++) {
		home_file(format("%03d", i), format("%c\n", 'a' + i % 26));
		want[2 * i] = (char)('a' + i % 26);
		want[2 * i + 1] = '\n';
	}
	prints_text(want);
}

static void
without_memory_for_wildcards_printing_fails(void **state)
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

	(void)state;
	set_up("on*", "two");
	home_file("one", "1\n");
	home_file("two", "2\n");
	out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_return_code(out, errno);
	told[0] = '\0';
	for (size_t i = 0; i < COUNT(calls); i++) {
		fail_call(calls[i].name, calls[i].nth, ENOMEM);
		errno = 0;
		assert_false(
		    userfiles_print(files(), &account, out, add_refused, told));
		assert_int_equal(errno, ENOMEM);
		assert_true(call_has_failed());
	}
	close(out);
	assert_string_equal(told, "");
}

static void
wildcards_are_only_where_they_are_wanted(void **state)
{
	(void)state;
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
	assert_return_code(mkdir(tmp_path("home/[x]"), 0755), errno);
	assert_return_code(mkdir(tmp_path("home/x"), 0755), errno);
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

static void
wildcards_from_tokens_are_none(void **state)
{
	(void)state;
	set_up("%u", NULL);
	account.name = "*";
	home_file("*", "star\n");
	home_file("other", "other\n");
	prints_text("star\n");
}

static void
overlong_paths_are_told(void **state)
{
	char name[PATH_MAX];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	set_up(name, "two");
	home_file("two", "2\n");
	prints_text("2\n");
	assert_contains(told, "too long");
	/* Nor does a search find anything there. */
	testkey_new(&k, KV_KEY_ED25519);
	assert_false(lists(&k.blob));
	home_file("two", testkey_line(&k));
	assert_true(lists(&k.blob));
	/* What a wildcard stands for can make it too long, too. */
	home_file("two", "2\n");
	assert_return_code(mkdir(tmp_path("home/%.200s", name), 0755), errno);
	memcpy(name, "n*/", 3);
	name[PATH_MAX - 10 - strlen(account.home)] = '\0';
	prints_text("2\n");
	assert_contains(told, "cannot be searched: ");
	assert_contains(told, strerror(ENAMETOOLONG));
}

static void
output_that_cannot_be_written_is_a_failure(void **state)
{
	int ends[2], full = open("/dev/full", O_WRONLY);

	(void)state;
	set_up("one", NULL);
	home_file("one", "1\n");
	told[0] = '\0';
	assert_false(
	    userfiles_print(files(), &account, full, add_refused, told));
	assert_int_equal(errno, ENOSPC);
	close(full);
	assert_return_code(pipe(ends), errno);
	close(ends[0]);
	assert_false(
	    userfiles_print(files(), &account, ends[1], add_refused, told));
	assert_int_equal(errno, EPIPE);
	close(ends[1]);
	assert_false(
	    userfiles_print(files(), &account, ends[1], add_refused, told));
	assert_int_equal(errno, EBADF);
	/* Without anything to write nothing fails. */
	home_file("one", "");
	assert_true(userfiles_print(files(), &account, -1, add_refused, told));
}

/* Whichever part it is: the output must not be used. */
static void
every_write_that_fails_is_a_failure(void **state)
{
	int fd;

	(void)state;
	set_up("one", "two");
	home_file("one", "1");
	home_file("two", "2\n");
	for (int n = 1; n <= 3; n++) {
		fd = open(tmp_path("out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
		fail_call("write", n, EIO);
		assert_false(
		    userfiles_print(files(), &account, fd, add_refused, told));
		assert_int_equal(errno, EIO);
		assert_true(call_has_failed());
		close(fd);
	}
}

/* The guard must also notice that the line end it adds was not written. */
static void
line_end_that_cannot_be_written_is_a_failure(void **state)
{
	struct rlimit was, limit;
	int fd;

	(void)state;
	set_up("one", "two");
	home_file("one", "1");
	home_file("two", "2");
	fd = open(tmp_path("out"), O_WRONLY | O_CREAT, 0600);
	assert_return_code(getrlimit(RLIMIT_FSIZE, &was), errno);
	limit = was;
	limit.rlim_cur = 1;
	signal(SIGXFSZ, SIG_IGN);
	assert_return_code(setrlimit(RLIMIT_FSIZE, &limit), errno);
	assert_false(userfiles_print(files(), &account, fd, add_refused, told));
	assert_int_equal(errno, EFBIG);
	assert_return_code(setrlimit(RLIMIT_FSIZE, &was), errno);
	close(fd);
}

/* /proc/PID/mem is a regular file whose first byte cannot be read. */
static void
read_error_is_the_end_of_the_file(void **state)
{
	(void)state;
	set_up("/proc/self/mem", "two");
	config.strictmodes = KV_STRICTMODES_NO;
	home_file("two", "2\n");
	prints_text("2\n");
	assert_contains(told, "/proc/self/mem: cannot be read to its end: ");
	assert_contains(told, strerror(EIO));
}

static void
no_descriptor_is_left_open(void **state)
{
	size_t before;

	(void)state;
	set_up("one", "*");
	home_file("one", "1\n");
	home_file("bad", "x\n");
	assert_return_code(chmod(tmp_path("home/bad"), 0666), errno);
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

static void
plain_key_is_found_in_any_file(void **state)
{
	const char *line;

	(void)state;
	set_up("one", "two");
	testkey_new(&k, KV_KEY_ED25519);
	testkey_new(&ca, KV_KEY_ED25519);
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

static void
key_is_found_whatever_its_encoding(void **state)
{
	static const uint8_t e[] = { 1, 0, 1 };
	struct blob rsa = { 0 };

	(void)state;
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

static void
certificate_is_found_by_its_ca(void **state)
{
	const char *ca_line;

	(void)state;
	set_up("one", NULL);
	testkey_new(&k, KV_KEY_ED25519);
	testkey_new(&ca, KV_KEY_ECDSA_P256);
	testcert_new(&b, &k, &ca);
	ca_line = testkey_line(&ca);
	home_file("one", format("cert-authority %s\n", ca_line));
	assert_true(lists(&b));
	home_file("one",
	    format("restrict,Cert-Authority,principals=\"a\" "
		   "%s\n",
		ca_line));
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

static void
unreadable_lines_do_not_hide_the_rest(void **state)
{
	char *text = test_alloc(600 * 1024);
	const char *line;

	(void)state;
	set_up("one", NULL);
	testkey_new(&k, KV_KEY_ED25519);
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

static void
unreadable_file_does_not_hide_the_next(void **state)
{
	(void)state;
	set_up("/proc/self/mem", "two");
	config.strictmodes = KV_STRICTMODES_NO;
	testkey_new(&k, KV_KEY_ED25519);
	home_file("two", testkey_line(&k));
	assert_true(lists(&k.blob));
}

/* sshd accepts a certificate by its CA's line only. */
static void
certificate_on_a_line_lists_nothing(void **state)
{
	const char *name = "ssh-ed25519-cert-v01@openssh.com";

	(void)state;
	set_up("one", NULL);
	testkey_new(&k, KV_KEY_ED25519);
	testkey_new(&ca, KV_KEY_ED25519);
	testcert_new(&b, &k, &ca);
	home_file("one",
	    format("%s\ncert-authority %s\n", line_of(name, &b),
		line_of(name, &b)));
	assert_false(lists(&k.blob));
	assert_false(lists(&b));
}

/* A file that could not be read may list the key; a missing file does not. */
static void
unread_file_leaves_it_unknown(void **state)
{
	struct kv_sshkey offered;

	(void)state;
	set_up("/proc/self/mem", "missing");
	config.strictmodes = KV_STRICTMODES_NO;
	testkey_new(&k, KV_KEY_ED25519);
	assert_err(kv_sshkey_parse(k.blob.p, k.blob.len, &offered), KV_OK);
	assert_int_equal(userfiles_list_key(files(), &account, &offered),
	    KV_AUTHORIZED_UNKNOWN);
	config.pattern[0] = "one/below-a-file";
	home_file("one", "");
	assert_int_equal(userfiles_list_key(files(), &account, &offered),
	    KV_AUTHORIZED_NO);
	/* A link to itself exists, and cannot be opened. */
	assert_return_code(symlink("loop", tmp_path("home/loop")), errno);
	config.pattern[0] = "loop";
	assert_int_equal(userfiles_list_key(files(), &account, &offered),
	    KV_AUTHORIZED_UNKNOWN);
	config.pattern[0] = "loop/*";
	assert_int_equal(userfiles_list_key(files(), &account, &offered),
	    KV_AUTHORIZED_UNKNOWN);
	config.pattern[0] = "missing/*";
	assert_int_equal(userfiles_list_key(files(), &account, &offered),
	    KV_AUTHORIZED_NO);
}

static void
refused_file_lists_nothing(void **state)
{
	struct kv_sshkey offered;

	(void)state;
	set_up("one", NULL);
	testkey_new(&k, KV_KEY_ED25519);
	home_file("one", testkey_line(&k));
	assert_true(lists(&k.blob));
	assert_return_code(chmod(tmp_path("home/one"), 0666), errno);
	assert_false(lists(&k.blob));
	/* It is no file of keys to sshd, so nothing is unknown. */
	assert_err(kv_sshkey_parse(k.blob.p, k.blob.len, &offered), KV_OK);
	assert_int_equal(userfiles_list_key(files(), &account, &offered),
	    KV_AUTHORIZED_NO);
}

static void
key_is_found_before_other_lines(void **state)
{
	(void)state;
	set_up("one", "two");
	testkey_new(&k, KV_KEY_ED25519);
	home_file("one", format("%s\n%s\n", testkey_line(&k), rsa_line));
	home_file("two", rsa_line);
	assert_true(lists(&k.blob));
}

/* The guard must not search a file for longer than a login takes. */
static void
larger_files_are_not_searched(void **state)
{
	const off_t most = 64 * 1024 * 1024;
	struct kv_sshkey offered;

	(void)state;
	set_up("one", NULL);
	testkey_new(&k, KV_KEY_ED25519);
	assert_err(kv_sshkey_parse(k.blob.p, k.blob.len, &offered), KV_OK);
	home_file("one", format("%s\n", testkey_line(&k)));
	assert_return_code(truncate(tmp_path("home/one"), most), errno);
	assert_int_equal(userfiles_list_key(files(), &account, &offered),
	    KV_AUTHORIZED_YES);
	for (int n = 1; n <= 2; n++) {
		fail_call("lseek", n, EIO);
		assert_int_equal(userfiles_list_key(files(), &account,
				     &offered),
		    KV_AUTHORIZED_UNKNOWN);
		assert_true(call_has_failed());
	}
	assert_return_code(truncate(tmp_path("home/one"), most + 1), errno);
	assert_int_equal(userfiles_list_key(files(), &account, &offered),
	    KV_AUTHORIZED_UNKNOWN);
}

/* A file that was searched is printed from its begin. */
static void
open_files_are_read_twice(void **state)
{
	const struct userfiles *ahead;
	struct kv_sshkey offered;
	const char *text;
	int fd = open("/dev/null", O_WRONLY);

	(void)state;
	set_up("one", "two");
	testkey_new(&k, KV_KEY_ED25519);
	assert_err(kv_sshkey_parse(k.blob.p, k.blob.len, &offered), KV_OK);
	text = home_file("one", format("%s\n# more\n", testkey_line(&k)));
	home_file("two", "2\n");
	ahead = open_files();
	assert_int_equal(ahead->n_open, 2);
	/* Nothing is opened any more. */
	assert_return_code(rename(text, tmp_path("moved")), errno);
	assert_int_equal(userfiles_list_key(ahead, &account, &offered),
	    KV_AUTHORIZED_YES);
	text = format("%s\n# more\n2\n", testkey_line(&k));
	prints_of(ahead, text, strlen(text));
	assert_int_equal(userfiles_list_key(ahead, &account, &offered),
	    KV_AUTHORIZED_YES);
	/* A file that cannot be read from its begin is not read at all. */
	fail_call("lseek", 2, EIO);
	assert_false(userfiles_print(ahead, &account, fd, add_refused, told));
	assert_int_equal(errno, EIO);
	fail_call("lseek", 1, EIO);
	assert_int_equal(userfiles_list_key(ahead, &account, &offered),
	    KV_AUTHORIZED_UNKNOWN);
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
static void
too_many_files_are_not_kept_open(void **state)
{
	static struct userfiles named;
	int before = dup(0), after;

	(void)state;
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
static void
key_is_found_after_a_line_that_is_too_long(void **state)
{
	size_t len = 2 * 1024 * 1024 + 10;
	struct kv_sshkey offered;
	const char *key_line;
	char *text;

	(void)state;
	set_up("one", NULL);
	testkey_new(&k, KV_KEY_ED25519);
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
	assert_err(kv_sshkey_parse(k.blob.p, k.blob.len, &offered), KV_OK);
	assert_int_equal(userfiles_list_key(files(), &account, &offered),
	    KV_AUTHORIZED_UNKNOWN);
}

static void
nothing_lists_a_key_that_could_not_be_parsed(void **state)
{
	const struct kv_sshkey offered = { .is_cert = true };

	(void)state;
	set_up("one", NULL);
	home_file("one", format("\n# x\ncert-authority %s\n", rsa_line));
	assert_int_equal(userfiles_list_key(files(), &account, &offered),
	    KV_AUTHORIZED_NO);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(files_are_printed_in_order),
		TEST(expanded_names_are_taken_as_they_are),
		TEST(bytes_are_left_alone),
		TEST(large_files_are_printed_whole),
		TEST(interrupted_calls_are_made_again),
		TEST(link_to_itself_is_told),
		TEST(files_are_kept_apart),
		TEST(missing_files_are_empty),
		TEST(refused_files_are_left_out_and_told),
		TEST(refused_file_after_a_missing_one_is_told),
		TEST(fifos_and_directories_are_told),
		TEST(wildcards_stand_for_every_file_they_match),
		TEST(output_of_a_pattern_that_cannot_be_written_is_a_failure),
		TEST(wildcards_are_read_as_sshd_does),
		TEST(backslash_at_the_end_is_one),
		TEST(places_that_cannot_be_searched_are_told_once),
		TEST(wildcards_stand_for_many_files),
		TEST(without_memory_for_wildcards_printing_fails),
		TEST(wildcards_are_only_where_they_are_wanted),
		TEST(wildcards_from_tokens_are_none),
		TEST(overlong_paths_are_told),
		TEST(output_that_cannot_be_written_is_a_failure),
		TEST(every_write_that_fails_is_a_failure),
		TEST(line_end_that_cannot_be_written_is_a_failure),
		TEST(read_error_is_the_end_of_the_file),
		TEST(no_descriptor_is_left_open),
		TEST(plain_key_is_found_in_any_file),
		TEST(key_is_found_whatever_its_encoding),
		TEST(certificate_is_found_by_its_ca),
		TEST(certificate_on_a_line_lists_nothing),
		TEST(unreadable_lines_do_not_hide_the_rest),
		TEST(unreadable_file_does_not_hide_the_next),
		TEST(unread_file_leaves_it_unknown),
		TEST(refused_file_lists_nothing),
		TEST(key_is_found_before_other_lines),
		TEST(larger_files_are_not_searched),
		TEST(open_files_are_read_twice),
		TEST(too_many_files_are_not_kept_open),
		TEST(key_is_found_after_a_line_that_is_too_long),
		TEST(nothing_lists_a_key_that_could_not_be_parsed),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
