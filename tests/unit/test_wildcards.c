/* SPDX-License-Identifier: ISC */
/*
 * What a pattern must find is written beside it, by kv_wildcards.h and by
 * sshd's glob. test_guard_userfiles.c has more patterns, and
 * tests/oracle/wildcards.py compares drawn ones with a second implementation.
 */
#include "kv_wildcards.h"

#include "testlib.h"

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>

/* The files in tmp_dir that were found, each with a blank behind it. */
static char found[4096];
/* The errno of a place that could not be searched. */
static int error;

static bool
add_found(const char *path, void *arg)
{
	const char *dir = tmp_dir();
	size_t len = strlen(found);

	assert_ptr_equal(arg, found);
	assert_int_equal(strncmp(path, dir, strlen(dir)), 0);
	snprintf(found + len, sizeof(found) - len, "%s ",
	    path + strlen(dir) + 1);
	return true;
}

static enum kv_err
find_path(const char *path)
{
	found[0] = '\0';
	error = -1;
	return kv_wildcards_find(path, add_found, found, &error);
}

/* The search for a path ends so, and has found these files. */
static void
search(const char *path, enum kv_err err, const char *want, int want_error)
{
	assert_err(find_path(path), err);
	assert_string_equal(found, want);
	assert_int_equal(error, want_error);
}

/* This pattern in tmp_dir must find exactly these files. */
static void
finds(const char *pattern, const char *want)
{
	search(tmp_path("%s", pattern), KV_OK, want, 0);
}

static void
make(const char *name)
{
	tmp_text(name, "");
}

TEST_CASE(a_bracket_that_begins_no_set_is_itself)
{
	static const char *const names[] = { "[]", "[a", "[!a", "[!]", "[",
		"[ab", "[!ab" };

	make("a");
	make("b");
	for (size_t i = 0; i < COUNT(names); i++) {
		make(names[i]);
		finds(names[i], format("%s ", names[i]));
	}
	finds("[[]", "[ ");
	finds("[[]?", "[] [a ");
}

TEST_CASE(a_pattern_matches_whole_names_only)
{
	make("a");
	make("ab");
	make("abc");
	finds("[a]", "a ");
	finds("?", "a ");
	finds("?b", "ab ");
	finds("*[b]", "ab ");
	finds("[a]b", "ab ");
	finds("a*c", "abc ");
	finds("[b]", "");
	finds("*c?", "");
	finds("a[b]c[d]", "");
}

/* What a pattern finds does not depend on the one before. */
TEST_CASE(a_pattern_leaves_nothing_behind)
{
	make("a");
	make("]");
	finds("[[:alpha:]]", "a ");
	finds("[[:alpha:]", "");
	finds("[b[:alpha:]]", "a ");
	finds("[b[:alpha:]", "");
	finds("[b[:alpha:]-]]", "");
	finds("[b[:alpha:]-", "");
}

TEST_CASE(a_colon_needs_its_bracket_to_name_a_class)
{
	make("b");
	make("^");
	finds("[b:punct:]", "b ");
	finds("[:punct:b]", "b ");
	finds("[b[:punct:]]", "^ b ");
	finds("[b[:punct]", "b ");
	finds("[b[:punct:", "");
}

TEST_CASE(neighbours_of_a_slash_are_members)
{
	make("a.");
	make("a0");
	finds("a[.]", "a. ");
	finds("a[0]", "a0 ");
	finds("a[--.]", "a. ");
	finds("a[.-0]", "a. a0 ");
	finds("a[0-9]", "a0 ");
}

/* sshd finds no set where it finds a slash. */
TEST_CASE(a_slash_in_a_set_searches_nothing)
{
	static const char *const sets[] = { "[/]", "[!/]", "[a/b]", "[a-/]",
		"[/-b]" };

	assert_done(symlink("loop", tmp_path("loop")));
	search(tmp_path("loop/[ab]"), KV_OK, "", ELOOP);
	for (size_t i = 0; i < COUNT(sets); i++)
		finds(format("loop/%s", sets[i]), "");
}

/* The classes of the C locale, as POSIX lists them. */
TEST_CASE(a_class_has_its_characters)
{
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGIT "0123456789"
#define PUNCT "!\"#$%&'()*+,-.:;<=>?@[\\]^_`{|}~"
#define CNTRL \
	"\1\2\3\4\5\6\7\b\t\n\v\f\r\16\17\20\21\22\23\24\25\26\27\30\31\32" \
	"\33\34\35\36\37\177"
	static const struct {
		const char *name, *has;
	} classes[] = {
		{ "alnum", UPPER LOWER DIGIT },
		{ "alpha", UPPER LOWER },
		{ "blank", " \t" },
		{ "cntrl", CNTRL },
		{ "digit", DIGIT },
		{ "graph", UPPER LOWER DIGIT PUNCT },
		{ "lower", LOWER },
		{ "print", UPPER LOWER DIGIT PUNCT " " },
		{ "punct", PUNCT },
		{ "space", " \t\n\v\f\r" },
		{ "upper", UPPER },
		{ "xdigit", DIGIT "abcdefABCDEF" },
	};

	for (int c = 1; c <= 0xff; c++) {
		if (c != '/')
			make(format("x%c", c));
	}
	for (size_t i = 0; i < COUNT(classes); i++) {
		char want[4 * 0x100] = "";

		for (int c = 1; c <= 0xff; c++) {
			if (c != '/' && strchr(classes[i].has, c) != NULL)
				snprintf(want + strlen(want),
				    sizeof(want) - strlen(want), "x%c ", c);
		}
		finds(format("x[[:%s:]]", classes[i].name), want);
	}
}

/* A folder without wildcards need not be readable. */
TEST_CASE(what_has_no_wildcard_is_not_searched_for)
{
	static const char *const names[] = { "a", "\xff", "[x", "*" };

	for (size_t i = 0; i < COUNT(names); i++) {
		make(names[i]);
		fail_call("readdir", 1, EIO);
		finds(names[i][0] == '*' ? "\\*" : names[i],
		    format("%s ", names[i]));
		assert_false(call_has_failed());
		fail_call(NULL, 0, 0);
	}
}

TEST_CASE(a_folder_that_cannot_be_read_to_its_end_is_told)
{
	make("a");
	fail_call("readdir", 1, EIO);
	search(tmp_path("*"), KV_OK, "", EIO);
	/* Behind "a", "." and "..". */
	fail_call("readdir", 4, EIO);
	assert_ok(find_path(tmp_path("*")));
	assert_true(call_has_failed());
	assert_string_equal(found, "a ");
	assert_int_equal(error, EIO);
}

/* So many stars that pattern and all has this length. */
static const char *
stars(size_t len)
{
	char *pattern = test_alloc(len + 1);

	memset(pattern, '*', len);
	memcpy(pattern, tmp_dir(), strlen(tmp_dir()));
	pattern[strlen(tmp_dir())] = '/';
	return pattern;
}

TEST_CASE(a_pattern_is_shorter_than_a_path_may_be)
{
	make("a");
	assert_ok(find_path(stars(PATH_MAX - 1)));
	assert_string_equal(found, "a ");
	search(stars(PATH_MAX), KV_ERR_NO_SPACE, "", 0);
	search(stars(2 * PATH_MAX), KV_ERR_NO_SPACE, "", 0);
}

TEST_CASE(a_set_may_fill_the_pattern)
{
	char *pattern;

	make("a");
	make("b");
	pattern = test_alloc(PATH_MAX);
	memset(pattern, 'a', PATH_MAX - 1);
	memcpy(pattern, tmp_dir(), strlen(tmp_dir()));
	memcpy(pattern + strlen(tmp_dir()), "/[", 2);
	pattern[PATH_MAX - 2] = ']';
	search(pattern, KV_OK, "a ", 0);
}

#define DEEP 4000

/* The folder that go_deep left, or -1. */
static int start = -1;

/*
 * Makes folders in folders. The innermost one has a path of DEEP bytes, and is
 * the working directory then. No system call takes longer paths.
 */
static const char *
go_deep(void)
{
	char *path = test_alloc(PATH_MAX);
	size_t len = strlen(tmp_dir());

	start = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_done(start);
	memcpy(path, tmp_dir(), len);
	assert_done(chdir(path));
	while (len < DEEP) {
		char name[NAME_MAX + 1];
		size_t n = DEEP - len - 1;

		/* Not all but one: that needs a slash. */
		if (n > 200)
			n = n == 201 ? 100 : 200;
		memset(name, 'd', n);
		name[n] = '\0';
		assert_done(mkdir(name, 0755));
		assert_done(chdir(name));
		len += (size_t)snprintf(path + len, PATH_MAX - len, "/%s",
		    name);
	}
	assert_int_equal(len, DEEP);
	return path;
}

/* test_cleanup removes no path that is too long. */
static void
leave_deep(void)
{
	struct dirent *entry;
	DIR *dir;

	if (start == -1)
		return;
	dir = opendir(".");
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		(void)unlink(entry->d_name);
	closedir(dir);
	assert_done(fchdir(start));
	close(start);
	start = -1;
}

static void
make_named(char c, size_t len)
{
	char name[NAME_MAX + 1];
	int fd;

	memset(name, c, len);
	name[len] = '\0';
	fd = open(name, O_WRONLY | O_CREAT, 0644);
	assert_done(fd);
	close(fd);
}

static size_t paths;

static bool
count_path(const char *path, void *arg)
{
	(void)arg;
	assert_non_null(path);
	paths++;
	return true;
}

/* The search ends so, and has called back for so many paths. */
static void
finds_paths(const char *pattern, enum kv_err err, size_t n)
{
	paths = 0;
	error = -1;
	assert_err(kv_wildcards_find(pattern, count_path, NULL, &error), err);
	assert_int_equal(paths, n);
	assert_int_equal(error, 0);
}

/* The longest path that a system call takes is found, and none beyond it. */
TEST_CASE(paths_may_have_all_but_one_byte)
{
	const char *deep = go_deep();
	const size_t most = PATH_MAX - 1 - DEEP - 1;

	make_named('a', most);
	finds_paths(format("%s/a*", deep), KV_OK, 1);
	make_named('b', most + 1);
	finds_paths(format("%s/b*", deep), KV_ERR_NO_SPACE, 0);
	make_named('c', most + 100);
	finds_paths(format("%s/c*", deep), KV_ERR_NO_SPACE, 0);
}

/* The same for what stands behind a wildcard. */
TEST_CASE(names_behind_wildcards_end_within_a_path)
{
	const char *deep = go_deep();
	char rest[] = "/eeeeeeee";
	const size_t most = PATH_MAX - 1 - DEEP - 1 - (sizeof(rest) - 1);
	char name[NAME_MAX + 1] = "";

	memset(name, 'd', most);
	assert_done(mkdir(name, 0755));
	assert_done(chdir(name));
	make_named('e', sizeof(rest) - 2);
	finds_paths(format("%s/d*%s", deep, rest), KV_OK, 1);
	finds_paths(format("%s/d*%sx", deep, rest), KV_ERR_NO_SPACE, 0);
	finds_paths(format("%s/d*%sxx", deep, rest), KV_ERR_NO_SPACE, 0);
}

/* Whether the longest name in the working directory is between two others. */
static bool
longest_is_in_between(size_t longest)
{
	DIR *dir = opendir(".");
	struct dirent *entry;
	size_t before = 0, after = 0;
	bool seen = false;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (strlen(entry->d_name) == longest)
			seen = true;
		else if (seen)
			after++;
		else
			before++;
	}
	closedir(dir);
	return seen && before > 0 && after > 0;
}

/* kv_wildcards.h: found is not called then, whatever was found before. */
TEST_CASE(one_path_that_is_too_long_fails_the_search)
{
	const char *deep = go_deep();
	size_t n = 1;

	make_named('a', 1);
	make_named('b', 90);
	while (!longest_is_in_between(90)) {
		assert_between(++n, 2, 80);
		make_named('c', n);
	}
	finds_paths(format("%s/*/xxxxxxxxxxxx", deep), KV_ERR_NO_SPACE, 0);
	make_named('f', PATH_MAX - DEEP - 1);
	while (!longest_is_in_between(PATH_MAX - DEEP - 1)) {
		assert_between(++n, 2, 80);
		make_named('c', n);
	}
	finds_paths(format("%s/*", deep), KV_ERR_NO_SPACE, 0);
}

/* How often opendir(3) calls calloc: once in musl, never in glibc. */
static int
callocs_of_opendir(void)
{
	DIR *opened;

	fail_call("calloc", 1, ENOMEM);
	opened = opendir("/");
	if (opened != NULL)
		closedir(opened);
	return opened == NULL;
}

TEST_CASE(without_memory_nothing_is_found)
{
	const char *pattern = tmp_path("*");

	make("a");
	make("b");
	fail_call("realloc", 1, ENOMEM);
	assert_err(find_path(pattern), KV_ERR_MEMORY);
	assert_true(call_has_failed());
	assert_string_equal(found, "");
	/* Memory is no place that could not be searched. */
	assert_int_equal(error, 0);
	fail_call("calloc", callocs_of_opendir() + 1, ENOMEM);
	assert_err(find_path(pattern), KV_ERR_MEMORY);
	assert_true(call_has_failed());
	assert_string_equal(found, "");
	assert_int_equal(error, 0);
	fail_call(NULL, 0, 0);
	finds("*", "a b ");
}

static bool
stop_at_second(const char *path, void *arg)
{
	add_found(path, arg);
	return strchr(found, ' ') + 1 == found + strlen(found);
}

TEST_CASE(a_search_ends_when_found_says_so)
{
	make("a");
	make("b");
	make("c");
	found[0] = '\0';
	assert_ok(
	    kv_wildcards_find(tmp_path("*"), stop_at_second, found, &error));
	assert_string_equal(found, "a b ");
}

int
main(void)
{
	return run_all_tests(&(struct fixture){ .after_each = leave_deep });
}
