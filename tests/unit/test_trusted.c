/* SPDX-License-Identifier: ISC */
#include "kv_trusted.h"

#include "testlib.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fcntl.h>
#include <limits.h>

#define NOBODY 65534
#define LINKS_MAX 40

/* A good file two directories down, with which each test begins. */
static const char *file;

static void
make_file(void)
{
	assert_done(mkdir(tmp_path("a"), 0755));
	assert_done(mkdir(tmp_path("a/b"), 0755));
	file = tmp_text("a/b/file", "hello");
}

static void
set_mode(const char *path, mode_t mode)
{
	assert_done(chmod(path, mode));
}

static void
link_to(const char *target, const char *path)
{
	assert_done(symlink(target, path));
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

TEST_CASE(good_file_is_opened)
{
	opens(file);
}

TEST_CASE(files_of_root_are_good_for_every_owner)
{
	opens_for(12345, "/etc/passwd");
	opens_for(0, "/etc/passwd");
}

TEST_CASE(file_writable_by_others_is_insecure)
{
	static const mode_t bad[] = { 0664, 0646, 0666, 0620, 0602, 0777 };
	static const mode_t good[] = { 0644, 0600, 0400, 0755, 04755, 0444 };

	for (size_t i = 0; i < COUNT(bad); i++) {
		set_mode(file, bad[i]);
		refuses(file, KV_ERR_INSECURE,
		    format("%s: writable by group or others", file));
	}
	for (size_t i = 0; i < COUNT(good); i++) {
		set_mode(file, good[i]);
		opens(file);
	}
}

TEST_CASE(sticky_bit_of_a_file_excuses_nothing)
{
	set_mode(file, 01666);
	refuses(file, KV_ERR_INSECURE, "writable by group or others");
}

TEST_CASE(directory_writable_by_others_is_insecure)
{
	static const char *const dirs[] = { "", "/a", "/a/b" };
	static const mode_t bad[] = { 0775, 0757, 0777, 0773 };

	for (size_t i = 0; i < COUNT(dirs); i++) {
		const char *dir = format("%s%s", tmp_dir(), dirs[i]);

		for (size_t j = 0; j < COUNT(bad); j++) {
			set_mode(dir, bad[j]);
			refuses(file, KV_ERR_INSECURE,
			    format("%s: directory "
				   "is writable by group or others",
				dir));
		}
		set_mode(dir, 0755);
	}
	opens(file);
}

TEST_CASE(sticky_directories_may_be_writable)
{
	set_mode(tmp_path("a"), 01777);
	opens(file);
	set_mode(tmp_path("a"), 01775);
	opens(file);
	/* The directory does not excuse a writable file. */
	set_mode(file, 0666);
	refuses(file, KV_ERR_INSECURE, "writable by group or others");
}

TEST_CASE(directories_need_not_be_readable)
{
	set_mode(tmp_path("a"), 0711);
	set_mode(tmp_path("a/b"), 0111);
	opens(file);
	set_mode(tmp_path("a/b"), 0755);
}

TEST_CASE(missing_files_and_directories_are_named)
{
	refuses_errno(tmp_path("a/b/none"), ENOENT, tmp_path("a/b/none: "));
	refuses_errno(tmp_path("a/none/file"), ENOENT, tmp_path("a/none: "));
	refuses_errno(format("%s/deeper", file), ENOTDIR, file);
	refuses_errno("/nonexistent-keyveto", ENOENT, "/nonexistent-keyveto: ");
}

TEST_CASE(fifos_and_devices_are_not_waited_for)
{
	assert_done(mkfifo(tmp_path("a/fifo"), 0600));
	refuses(tmp_path("a/fifo"), KV_ERR_NOT_REGULAR,
	    tmp_path("a/fifo: not a regular file"));
	refuses_errno(tmp_path("a/fifo/file"), ENOTDIR, "a/fifo");
	refuses("/dev/null", KV_ERR_NOT_REGULAR, "not a regular file");
}

TEST_CASE(sockets_are_refused)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	char why[KV_TRUSTED_WHY_BYTES];
	int s = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/socket", tmp_dir());
	assert_done(bind(s, (struct sockaddr *)&sun, sizeof(sun)));
	assert_int_not_equal(open_in_time(sun.sun_path, geteuid(), &fd, why),
	    KV_OK);
	assert_int_equal(fd, -1);
	close(s);
}

TEST_CASE(file_to_be_executed_need_not_be_readable)
{
	char why[KV_TRUSTED_WHY_BYTES];

	set_mode(file, 0111);
	check_agrees(file, geteuid(), KV_OK, "");
	if (geteuid() != 0) {
		int fd;

		assert_err(open_in_time(file, geteuid(), &fd, why),
		    KV_ERR_SYSTEM);
		assert_int_equal(errno, EACCES);
	}
	set_mode(file, 0133);
	assert_err(kv_trusted_check(file, geteuid(), why), KV_ERR_INSECURE);
}

TEST_CASE(directories_are_no_files)
{
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

TEST_CASE(relative_paths_are_refused)
{
	static const char *const paths[] = { "", "file", "./file", "../x" };

	for (size_t i = 0; i < COUNT(paths); i++)
		refuses(paths[i], KV_ERR_INSECURE,
		    format("%s: not an absolute path", paths[i]));
}

TEST_CASE(odd_spellings_of_a_path_are_walked)
{
	const char *dir = tmp_dir();

	opens(format("/%s/a//b/file", dir));
	opens(format("%s/./a/././b/file", dir));
	opens(format("%s/a/../a/b/../b/file", dir));
	opens(format("/../..%s/a/b/file", dir));
	/* A directory that is only passed through counts too. */
	assert_done(mkdir(tmp_path("bad"), 0755));
	set_mode(tmp_path("bad"), 0777);
	refuses(format("%s/bad/../a/b/file", dir), KV_ERR_INSECURE, "/bad");
}

TEST_CASE(links_are_followed)
{
	link_to(file, tmp_path("absolute"));
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
	opens(format("%s/root%s", tmp_dir(), file));
}

TEST_CASE(what_links_lead_through_is_judged)
{
	assert_done(mkdir(tmp_path("c"), 0755));
	link_to(file, tmp_path("c/link"));
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
	set_mode(file, 0666);
	refuses(tmp_path("c/link"), KV_ERR_INSECURE, file);
}

TEST_CASE(dangling_links_and_loops_are_refused)
{
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

TEST_CASE(chains_of_links_end_where_the_kernel_ends_them)
{
	const char *last = tmp_path("0");

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

TEST_CASE(links_that_grow_too_long_are_refused)
{
	char target[PATH_MAX - 1], longest[PATH_MAX];

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

TEST_CASE(overlong_paths_are_refused)
{
	char *path = test_alloc(PATH_MAX + 2);

	memset(path, '/', PATH_MAX);
	refuses(path, KV_ERR_INSECURE, "not an absolute path of a file");
	path[PATH_MAX - 1] = '\0';
	refuses(path, KV_ERR_NOT_REGULAR, "/");
	memset(path + 1, 'n', NAME_MAX + 1);
	refuses_errno(path, ENAMETOOLONG, "/");
	path[NAME_MAX + 1] = '\0';
	refuses_errno(path, ENOENT, "/nnn");
}

/* Whatever call fails: the sentence says why, and nothing is opened. */
TEST_CASE(failing_calls_are_told)
{
	static const char *const calls[] = { "open", "openat", "fstat",
		"fstatat", "readlinkat" };
	char why[KV_TRUSTED_WHY_BYTES];
	unsigned int tries = 0;
	int fd;

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

TEST_CASE(long_names_in_messages_are_cut)
{
	const char *path = tmp_dir();
	char name[201];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 10; i++) {
		path = format("%s/%s", path, name);
		assert_done(mkdir(path, 0755));
	}
	refuses(path, KV_ERR_NOT_REGULAR, ": not a regular file");
	refuses(format("%s/%s", path, name), KV_ERR_SYSTEM,
	    ": No such file or directory");
}

TEST_CASE_AS_ROOT(files_of_other_owners_are_insecure)
{
	assert_done(chown(file, NOBODY, 0));
	refuses(file, KV_ERR_INSECURE, format("%s: not owned by root", file));
	opens_for(NOBODY, file);
	/* The group does not matter. */
	assert_done(chown(file, 0, NOBODY));
	opens(file);
}

TEST_CASE_AS_ROOT(directories_of_other_owners_are_insecure)
{
	assert_done(chown(tmp_path("a"), NOBODY, 0));
	refuses(file, KV_ERR_INSECURE,
	    tmp_path("a: directory is not owned by root"));
	opens_for(NOBODY, file);
	/* A sticky bit does not help here. */
	set_mode(tmp_path("a"), 01777);
	refuses(file, KV_ERR_INSECURE, "directory is not owned by root");
}

TEST_CASE_AS_ROOT(links_of_other_owners_are_insecure)
{
	const char *link = tmp_path("link");

	link_to(file, link);
	assert_done(lchown(link, NOBODY, NOBODY));
	refuses(link, KV_ERR_INSECURE,
	    format("%s: symbolic link is not owned by root", link));
	opens_for(NOBODY, link);
}

int
main(void)
{
	return run_all_tests(&(struct fixture){ .before_each = make_file });
}
