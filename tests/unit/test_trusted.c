/* SPDX-License-Identifier: ISC */
#include "kv_trusted.h"

#include "testlib.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOBODY 65534
#define LINKS_MAX 40

/* A good file two directories down. */
static const char *
good_file(void)
{
	assert_return_code(mkdir(tmp_path("a"), 0755), errno);
	assert_return_code(mkdir(tmp_path("a/b"), 0755), errno);
	return tmp_text("a/b/file", "hello");
}

static void
set_mode(const char *path, mode_t mode)
{
	assert_return_code(chmod(path, mode), errno);
}

static void
link_to(const char *target, const char *path)
{
	assert_return_code(symlink(target, path), errno);
}

/*
 * Opens with kv_trusted_open within PATIENCE, and checks that no descriptor
 * leaks.
 */
static enum kv_err
open_in_time(const char *path, uid_t owner, int *fdp,
    char why[KV_TRUSTED_WHY_BYTES])
{
	size_t before = count_descriptors();
	enum kv_err r;
	int saved;

	memset(why, 'x', KV_TRUSTED_WHY_BYTES);
	*fdp = 99;
	errno = 0;
	alarm(PATIENCE);
	r = kv_trusted_open(path, owner, fdp, why);
	alarm(0);
	saved = errno;
	assert_non_null(memchr(why, '\0', KV_TRUSTED_WHY_BYTES));
	assert_int_equal(count_descriptors() - before, r == KV_OK ? 1 : 0);
	errno = saved;
	return r;
}

/* kv_trusted_check judges the file in the same way. */
static void
check_agrees(const char *path, uid_t owner, enum kv_err want, const char *say)
{
	char why[KV_TRUSTED_WHY_BYTES];
	size_t before = count_descriptors();

	memset(why, 'x', sizeof(why));
	assert_err(kv_trusted_check(path, owner, why), want);
	assert_string_equal(why, say);
	assert_int_equal(count_descriptors(), before);
}

static void
opens_for(uid_t owner, const char *path)
{
	char why[KV_TRUSTED_WHY_BYTES], text[6] = "";
	enum kv_err r;
	int fd;

	r = open_in_time(path, owner, &fd, why);
	if (r != KV_OK)
		fail_msg("%s", why);
	assert_string_equal(why, "");
	check_agrees(path, owner, KV_OK, "");
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(read(fd, text, 5), 5);
	close(fd);
}

static void
opens(const char *path)
{
	opens_for(geteuid(), path);
}

/*
 * Is refused. The sentence starts with a place and contains words; errno is
 * preserved.
 */
static void
refuses(const char *path, enum kv_err err, const char *words)
{
	char why[KV_TRUSTED_WHY_BYTES];
	int fd, saved;
	enum kv_err r = open_in_time(path, geteuid(), &fd, why);

	saved = errno;
	assert_err(r, err);
	assert_int_equal(fd, -1);
	assert_contains(why, words);
	if (path[0] == '/' && strlen(path) < PATH_MAX)
		assert_true(why[0] == '/' && why[1] != '/');
	check_agrees(path, geteuid(), err, why);
	errno = saved;
}

static void
refuses_errno(const char *path, int error, const char *words)
{
	refuses(path, KV_ERR_SYSTEM, words);
	assert_int_equal(errno, error);
	refuses(path, KV_ERR_SYSTEM, strerror(error));
}

static void
good_file_is_opened(void **state)
{
	(void)state;
	opens(good_file());
}

static void
files_of_root_are_good_for_every_owner(void **state)
{
	(void)state;
	opens_for(12345, "/etc/passwd");
	opens_for(0, "/etc/passwd");
}

static void
file_writable_by_others_is_insecure(void **state)
{
	static const mode_t bad[] = { 0664, 0646, 0666, 0620, 0602, 0777 };
	static const mode_t good[] = { 0644, 0600, 0400, 0755, 04755, 0444 };
	const char *path = good_file();

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		set_mode(path, bad[i]);
		refuses(path, KV_ERR_INSECURE,
		    format("%s: writable by group or others", path));
	}
	for (size_t i = 0; i < COUNT(good); i++) {
		set_mode(path, good[i]);
		opens(path);
	}
}

static void
sticky_bit_of_a_file_excuses_nothing(void **state)
{
	const char *path = good_file();

	(void)state;
	set_mode(path, 01666);
	refuses(path, KV_ERR_INSECURE, "writable by group or others");
}

static void
directory_writable_by_others_is_insecure(void **state)
{
	static const char *const dirs[] = { "", "/a", "/a/b" };
	static const mode_t bad[] = { 0775, 0757, 0777, 0773 };
	const char *path = good_file();

	(void)state;
	for (size_t i = 0; i < COUNT(dirs); i++) {
		const char *dir = format("%s%s", tmp_dir(), dirs[i]);

		for (size_t j = 0; j < COUNT(bad); j++) {
			set_mode(dir, bad[j]);
			refuses(path, KV_ERR_INSECURE,
			    format("%s: directory "
				   "is writable by group or others",
				dir));
		}
		set_mode(dir, 0755);
	}
	opens(path);
}

static void
sticky_directories_may_be_writable(void **state)
{
	const char *path = good_file();

	(void)state;
	set_mode(tmp_path("a"), 01777);
	opens(path);
	set_mode(tmp_path("a"), 01775);
	opens(path);
	/* The directory does not excuse a writable file. */
	set_mode(path, 0666);
	refuses(path, KV_ERR_INSECURE, "writable by group or others");
}

static void
directories_need_not_be_readable(void **state)
{
	const char *path = good_file();

	(void)state;
	set_mode(tmp_path("a"), 0711);
	set_mode(tmp_path("a/b"), 0111);
	opens(path);
	set_mode(tmp_path("a/b"), 0755);
}

static void
missing_files_and_directories_are_named(void **state)
{
	const char *path = good_file();

	(void)state;
	refuses_errno(tmp_path("a/b/none"), ENOENT, tmp_path("a/b/none: "));
	refuses_errno(tmp_path("a/none/file"), ENOENT, tmp_path("a/none: "));
	refuses_errno(format("%s/deeper", path), ENOTDIR, path);
	refuses_errno("/nonexistent-keyveto", ENOENT, "/nonexistent-keyveto: ");
}

static void
fifos_and_devices_are_not_waited_for(void **state)
{
	(void)state;
	good_file();
	assert_return_code(mkfifo(tmp_path("a/fifo"), 0600), errno);
	refuses(tmp_path("a/fifo"), KV_ERR_NOT_REGULAR,
	    tmp_path("a/fifo: not a regular file"));
	refuses_errno(tmp_path("a/fifo/file"), ENOTDIR, "a/fifo");
	refuses("/dev/null", KV_ERR_NOT_REGULAR, "not a regular file");
}

static void
sockets_are_refused(void **state)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	char why[KV_TRUSTED_WHY_BYTES];
	int s = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	(void)state;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/socket", tmp_dir());
	assert_return_code(bind(s, (struct sockaddr *)&sun, sizeof(sun)),
	    errno);
	assert_int_not_equal(open_in_time(sun.sun_path, geteuid(), &fd, why),
	    KV_OK);
	assert_int_equal(fd, -1);
	close(s);
}

static void
file_to_be_executed_need_not_be_readable(void **state)
{
	const char *path = good_file();
	char why[KV_TRUSTED_WHY_BYTES];

	(void)state;
	set_mode(path, 0111);
	check_agrees(path, geteuid(), KV_OK, "");
	if (geteuid() != 0) {
		int fd;

		assert_err(open_in_time(path, geteuid(), &fd, why),
		    KV_ERR_SYSTEM);
		assert_int_equal(errno, EACCES);
	}
	set_mode(path, 0133);
	assert_err(kv_trusted_check(path, geteuid(), why), KV_ERR_INSECURE);
}

static void
directories_are_no_files(void **state)
{
	(void)state;
	good_file();
	refuses(tmp_path("a/b"), KV_ERR_NOT_REGULAR, "not a regular file");
	refuses(tmp_path("a/b/"), KV_ERR_NOT_REGULAR, "not a regular file");
	refuses(tmp_path("a/b/."), KV_ERR_NOT_REGULAR, "not a regular file");
	refuses(tmp_path("a/b/.."), KV_ERR_NOT_REGULAR, "not a regular file");
	/* Who may write it does not matter: nothing in it is used. */
	set_mode(tmp_path("a/b"), 0777);
	refuses(tmp_path("a/b"), KV_ERR_NOT_REGULAR, "not a regular file");
	refuses("/", KV_ERR_NOT_REGULAR, "/: not a regular file");
	refuses("//", KV_ERR_NOT_REGULAR, "/: not a regular file");
	refuses("/.", KV_ERR_NOT_REGULAR, "not a regular file");
}

static void
relative_paths_are_refused(void **state)
{
	static const char *const paths[] = { "", "file", "./file", "../x" };

	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++)
		refuses(paths[i], KV_ERR_INSECURE,
		    format("%s: not an absolute path", paths[i]));
}

static void
odd_spellings_of_a_path_are_walked(void **state)
{
	const char *dir = tmp_dir();

	(void)state;
	good_file();
	opens(format("/%s/a//b/file", dir));
	opens(format("%s/./a/././b/file", dir));
	opens(format("%s/a/../a/b/../b/file", dir));
	opens(format("/../..%s/a/b/file", dir));
	/* A directory that is only passed through counts too. */
	assert_return_code(mkdir(tmp_path("bad"), 0755), errno);
	set_mode(tmp_path("bad"), 0777);
	refuses(format("%s/bad/../a/b/file", dir), KV_ERR_INSECURE, "/bad");
}

static void
links_are_followed(void **state)
{
	const char *path = good_file();

	(void)state;
	link_to(path, tmp_path("absolute"));
	opens(tmp_path("absolute"));
	link_to("a/b/file", tmp_path("relative"));
	opens(tmp_path("relative"));
	link_to("../../a/b/file", tmp_path("a/b/up"));
	opens(tmp_path("a/b/up"));
	link_to("a/b", tmp_path("dir"));
	opens(tmp_path("dir/file"));
	link_to("dir/", tmp_path("slash"));
	opens(tmp_path("slash/file"));
	link_to("slash/../b/up", tmp_path("all"));
	opens(tmp_path("all"));
	link_to("/", tmp_path("root"));
	opens(format("%s/root%s", tmp_dir(), path));
}

static void
what_links_lead_through_is_judged(void **state)
{
	const char *path = good_file();

	(void)state;
	assert_return_code(mkdir(tmp_path("c"), 0755), errno);
	link_to(path, tmp_path("c/link"));
	link_to("../a", tmp_path("c/dir"));
	opens(tmp_path("c/link"));
	opens(tmp_path("c/dir/b/file"));
	/* The directory that the link leads to is bad. */
	set_mode(tmp_path("a"), 0777);
	refuses(tmp_path("c/link"), KV_ERR_INSECURE, tmp_path("a: directory"));
	refuses(tmp_path("c/dir/b/file"), KV_ERR_INSECURE, "directory is");
	set_mode(tmp_path("a"), 0755);
	/* The directory that has the link is bad. */
	set_mode(tmp_path("c"), 0777);
	refuses(tmp_path("c/link"), KV_ERR_INSECURE, tmp_path("c: directory"));
	set_mode(tmp_path("c"), 0755);
	set_mode(path, 0666);
	refuses(tmp_path("c/link"), KV_ERR_INSECURE, path);
}

static void
dangling_links_and_loops_are_refused(void **state)
{
	(void)state;
	link_to("nowhere", tmp_path("dangling"));
	refuses_errno(tmp_path("dangling"), ENOENT, "nowhere");
	link_to("self", tmp_path("self"));
	refuses_errno(tmp_path("self"), ELOOP, "self");
	link_to("two", tmp_path("one"));
	link_to("one", tmp_path("two"));
	refuses_errno(tmp_path("one"), ELOOP, "");
	refuses_errno(tmp_path("one/file"), ELOOP, "");
	link_to("grow/x", tmp_path("grow"));
	refuses_errno(tmp_path("grow"), ELOOP, "");
}

static void
chains_of_links_end_where_the_kernel_ends_them(void **state)
{
	const char *last = tmp_path("0");

	(void)state;
	tmp_text("0", "hello");
	for (int i = 1; i <= LINKS_MAX + 1; i++) {
		const char *next = tmp_path("%d", i);

		link_to(last, next);
		last = next;
	}
	opens(tmp_path("%d", LINKS_MAX));
	refuses_errno(last, ELOOP, "");
	assert_int_equal(open(last, O_RDONLY), -1);
}

static void
links_that_grow_too_long_are_refused(void **state)
{
	char target[PATH_MAX - 1], longest[PATH_MAX];

	(void)state;
	memset(longest, '/', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	memset(target, '/', sizeof(target));
	target[sizeof(target) - 1] = '\0';
	link_to(target, tmp_path("slashes"));
	refuses_errno(tmp_path("slashes/and/more"), ENAMETOOLONG, "slashes");
	/* One byte too long, and the longest link there can be. */
	refuses_errno(tmp_path("slashes/m"), ENAMETOOLONG, "slashes");
	link_to(longest, tmp_path("longest"));
	refuses_errno(tmp_path("longest"), ENAMETOOLONG, "longest");
	refuses(tmp_path("slashes"), KV_ERR_NOT_REGULAR, "/");
}

static void
overlong_paths_are_refused(void **state)
{
	char *path = test_alloc(PATH_MAX + 2);

	(void)state;
	memset(path, '/', PATH_MAX);
	refuses(path, KV_ERR_INSECURE, "not an absolute path of a file");
	path[PATH_MAX - 1] = '\0';
	refuses(path, KV_ERR_NOT_REGULAR, "/");
	memset(path + 1, 'n', NAME_MAX + 1);
	refuses_errno(path, ENAMETOOLONG, "/");
	path[NAME_MAX + 1] = '\0';
	refuses_errno(path, ENOENT, "/nnn");
}

/* The sentence is cut, and ends with a NUL. */
/* Whatever call fails: the sentence says why, and nothing is opened. */
static void
failing_calls_are_told(void **state)
{
	static const char *const calls[] = { "open", "openat", "fstat",
		"fstatat", "readlinkat" };
	char why[KV_TRUSTED_WHY_BYTES];
	unsigned int tries = 0;
	int fd;

	(void)state;
	good_file();
	link_to("a", tmp_path("link"));
	for (size_t i = 0; i < COUNT(calls); i++) {
		for (int n = 1;; n++, tries++) {
			enum kv_err r;

			fail_call(calls[i], n, EIO);
			r = open_in_time(tmp_path("link/b/file"), geteuid(),
			    &fd, why);
			if (!call_has_failed())
				break;
			assert_err(r, KV_ERR_SYSTEM);
			assert_int_equal(errno, EIO);
			assert_int_equal(fd, -1);
			assert_contains(why, strerror(EIO));
		}
		close(fd);
	}
	/* Each of them was called. */
	assert_between(tries, 12, 100);
}

static void
long_names_in_messages_are_cut(void **state)
{
	const char *path = tmp_dir();
	char name[201];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 10; i++) {
		path = format("%s/%s", path, name);
		assert_return_code(mkdir(path, 0755), errno);
	}
	refuses(path, KV_ERR_NOT_REGULAR, ": not a regular file");
	refuses(format("%s/%s", path, name), KV_ERR_SYSTEM,
	    ": No such file or directory");
}

static void
files_of_other_owners_are_insecure(void **state)
{
	const char *path = good_file();

	(void)state;
	if (!have_root())
		return;
	assert_return_code(chown(path, NOBODY, 0), errno);
	refuses(path, KV_ERR_INSECURE, format("%s: not owned by root", path));
	opens_for(NOBODY, path);
	/* The group does not matter. */
	assert_return_code(chown(path, 0, NOBODY), errno);
	opens(path);
}

static void
directories_of_other_owners_are_insecure(void **state)
{
	const char *path = good_file();

	(void)state;
	if (!have_root())
		return;
	assert_return_code(chown(tmp_path("a"), NOBODY, 0), errno);
	refuses(path, KV_ERR_INSECURE,
	    tmp_path("a: directory is not owned by root"));
	opens_for(NOBODY, path);
	/* A sticky bit does not help here. */
	set_mode(tmp_path("a"), 01777);
	refuses(path, KV_ERR_INSECURE, "directory is not owned by root");
}

static void
links_of_other_owners_are_insecure(void **state)
{
	const char *path = good_file(), *link = tmp_path("link");

	(void)state;
	if (!have_root())
		return;
	link_to(path, link);
	assert_return_code(lchown(link, NOBODY, NOBODY), errno);
	refuses(link, KV_ERR_INSECURE,
	    format("%s: symbolic link is not owned by root", link));
	opens_for(NOBODY, link);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(good_file_is_opened),
		TEST(files_of_root_are_good_for_every_owner),
		TEST(file_writable_by_others_is_insecure),
		TEST(sticky_bit_of_a_file_excuses_nothing),
		TEST(directory_writable_by_others_is_insecure),
		TEST(sticky_directories_may_be_writable),
		TEST(directories_need_not_be_readable),
		TEST(missing_files_and_directories_are_named),
		TEST(fifos_and_devices_are_not_waited_for),
		TEST(sockets_are_refused),
		TEST(file_to_be_executed_need_not_be_readable),
		TEST(directories_are_no_files),
		TEST(relative_paths_are_refused),
		TEST(odd_spellings_of_a_path_are_walked),
		TEST(links_are_followed),
		TEST(what_links_lead_through_is_judged),
		TEST(dangling_links_and_loops_are_refused),
		TEST(chains_of_links_end_where_the_kernel_ends_them),
		TEST(links_that_grow_too_long_are_refused),
		TEST(overlong_paths_are_refused),
		TEST(failing_calls_are_told),
		TEST(long_names_in_messages_are_cut),
		TEST(files_of_other_owners_are_insecure),
		TEST(directories_of_other_owners_are_insecure),
		TEST(links_of_other_owners_are_insecure),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
