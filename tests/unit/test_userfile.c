/* SPDX-License-Identifier: ISC */
/*
 * This file defines getpwent and the like in place of libc's, so the tests have
 * a user database of their own.
 */
#include "kv_userfile.h"

#include "testlib.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOBODY 65534

static struct passwd users[4];
static size_t n_users, next_user;
static struct group the_group;
static char *members[3];

void
setpwent(void)
{
	next_user = 0;
}

struct passwd *
getpwent(void)
{
	return next_user < n_users ? &users[next_user++] : NULL;
}

void
endpwent(void)
{
	next_user = n_users;
}

struct passwd *
getpwuid(uid_t uid)
{
	for (size_t i = 0; i < n_users; i++) {
		if (users[i].pw_uid == uid)
			return &users[i];
	}
	return NULL;
}

struct group *
getgrgid(gid_t gid)
{
	return the_group.gr_name != NULL && the_group.gr_gid == gid ?
	    &the_group :
	    NULL;
}

static char alice_name[] = "alice", bob_name[] = "bob";
static struct kv_account alice;

static void
add_user(char *name, uid_t uid, gid_t gid)
{
	users[n_users++] = (struct passwd){
		.pw_name = name,
		.pw_uid = uid,
		.pw_gid = gid,
	};
}

/* Sets these supplementary members of the group of all files. */
static void
set_group(char *first, char *second)
{
	members[0] = first;
	members[1] = second;
	the_group = (struct group){
		.gr_name = alice_name,
		.gr_gid = getegid(),
		.gr_mem = members,
	};
}

/* Makes Alice's home with a file, and an empty user database. */
static const char *
set_up(void)
{
	alice = (struct kv_account){
		.name = "alice",
		.uid = geteuid(),
		.home = tmp_path("home"),
	};
	n_users = 0;
	the_group.gr_name = NULL;
	assert_return_code(mkdir(alice.home, 0755), errno);
	assert_return_code(mkdir(tmp_path("home/.ssh"), 0700), errno);
	return tmp_text("home/.ssh/authorized_keys", "hello");
}

static void
set_mode(const char *path, mode_t mode)
{
	assert_return_code(chmod(path, mode), errno);
}

static enum kv_err
open_file(const char *path, enum kv_strictmodes mode, int *fdp,
    char why[KV_USERFILE_WHY_BYTES])
{
	size_t before = count_descriptors();
	enum kv_err r;
	int saved;

	memset(why, 'x', KV_USERFILE_WHY_BYTES);
	*fdp = 99;
	errno = 0;
	alarm(PATIENCE);
	r = kv_userfile_open(path, &alice, mode, fdp, why);
	alarm(0);
	saved = errno;
	assert_non_null(memchr(why, '\0', KV_USERFILE_WHY_BYTES));
	assert_int_equal(count_descriptors() - before, r == KV_OK ? 1 : 0);
	errno = saved;
	return r;
}

static void
opens(const char *path, enum kv_strictmodes mode)
{
	char why[KV_USERFILE_WHY_BYTES], text[6] = "";
	enum kv_err r;
	int fd;

	r = open_file(path, mode, &fd, why);
	if (r != KV_OK)
		fail_msg("%s", why);
	assert_string_equal(why, "");
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(read(fd, text, 5), 5);
	close(fd);
}

static void
refuses(const char *path, enum kv_strictmodes mode, enum kv_err err,
    const char *words)
{
	char why[KV_USERFILE_WHY_BYTES];
	int fd;

	assert_err(open_file(path, mode, &fd, why), err);
	assert_int_equal(fd, -1);
	assert_contains(why, words);
}

/* Both StrictModes rules refuse this, and "no" accepts it. */
static void
insecure(const char *path, const char *words)
{
	refuses(path, KV_STRICTMODES_YES, KV_ERR_INSECURE, words);
	refuses(path, KV_STRICTMODES_PRIVATE_GROUP, KV_ERR_INSECURE, words);
	opens(path, KV_STRICTMODES_NO);
}

static void
secure(const char *path)
{
	opens(path, KV_STRICTMODES_YES);
	opens(path, KV_STRICTMODES_PRIVATE_GROUP);
	opens(path, KV_STRICTMODES_NO);
}

/* A group may write: upstream refuses, Debian depends on the group. */
static void
private_group_decides(const char *path, bool want)
{
	refuses(path, KV_STRICTMODES_YES, KV_ERR_INSECURE,
	    "bad ownership or modes for");
	opens(path, KV_STRICTMODES_NO);
	if (want)
		opens(path, KV_STRICTMODES_PRIVATE_GROUP);
	else
		refuses(path, KV_STRICTMODES_PRIVATE_GROUP, KV_ERR_INSECURE,
		    "bad ownership or modes for");
}

static void
expands_to(const char *pattern, const char *want)
{
	static const struct kv_account account = {
		.name = "alice",
		.uid = 1000,
		.home = "/home/alice",
	};
	char path[PATH_MAX];

	assert_err(kv_userfile_expand(pattern, &account, path, sizeof(path)),
	    KV_OK);
	assert_string_equal(path, want);
}

static void
patterns_are_expanded(void **state)
{
	(void)state;
	expands_to("/etc/keys", "/etc/keys");
	expands_to(".ssh/authorized_keys", "/home/alice/.ssh/authorized_keys");
	expands_to("%h/x", "/home/alice/x");
	expands_to("/keys/%u", "/keys/alice");
	expands_to("/keys/%U/%u.%u", "/keys/1000/alice.alice");
	expands_to("/keys/%%u", "/keys/%u");
	expands_to("/%%%u%%", "/%alice%");
	expands_to("%u", "/home/alice/alice");
	expands_to("%U", "/home/alice/1000");
	expands_to("%%", "/home/alice/%");
	expands_to("keys/%h", "/home/alice/keys//home/alice");
}

static void
values_are_not_expanded_again(void **state)
{
	static const struct kv_account account = { .name = "%h",
		.uid = 4294967294,
		.home = "/%u" };
	char path[100];

	(void)state;
	assert_err(kv_userfile_expand("%h/%u/%U", &account, path, sizeof(path)),
	    KV_OK);
	assert_string_equal(path, "/%u/%h/4294967294");
}

static void
account_without_a_home_has_its_files_at_the_root(void **state)
{
	static const struct kv_account account = { .name = "alice",
		.uid = 1000,
		.home = "" };
	char path[100];

	(void)state;
	assert_err(kv_userfile_expand("%h/x", &account, path, sizeof(path)),
	    KV_OK);
	assert_string_equal(path, "/x");
	assert_err(kv_userfile_expand("x", &account, path, sizeof(path)),
	    KV_OK);
	assert_string_equal(path, "/x");
	assert_err(kv_userfile_expand("%h", &account, path, sizeof(path)),
	    KV_ERR_CONFIG);
}

/* As auth.c:expand_authorized_keys of OpenSSH, in a process that runs in /. */
static void
home_is_taken_from_the_root(void **state)
{
	static const char *const rows[][4] = {
		{ "srv/app", "x", "/srv/app/x", "/srv/app/x" },
		{ "srv/app", "%h/x", "/srv/app/srv/app/x", "/srv/app/%h/x" },
		{ "srv/app", "/%h/x", "/srv/app/x", "/%h/x" },
		{ "srv/app", "%%", "/srv/app/%", "/srv/app/%%" },
		{ "~", "x", "/~/x", "/~/x" },
		{ ".", "x", "/./x", "/./x" },
		{ "../b", "x", "/../b/x", "/../b/x" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct kv_account account = { .name = "alice",
			.home = rows[i][0] };

		for (size_t k = 2; k < 4; k++) {
			const size_t need = strlen(rows[i][k]) + 1;

			for (size_t cap = 1; cap <= need + 1; cap++) {
				char *path = test_alloc(cap);

				assert_err(k == 2 ?
					kv_userfile_expand(rows[i][1], &account,
					    path, cap) :
					kv_userfile_place(rows[i][1], &account,
					    path, cap),
				    cap < need ? KV_ERR_NO_SPACE : KV_OK);
				if (cap >= need)
					assert_string_equal(path, rows[i][k]);
			}
		}
	}
}

static void
bad_patterns_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"%",
		"/keys/%",
		"%x",
		"/keys/%k",
		"%H",
		"% h",
		"/%h%",
	};
	char path[100];

	(void)state;
	set_up();
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_err(kv_userfile_expand(bad[i], &alice, path,
			       sizeof(path)),
		    KV_ERR_CONFIG);
}

static void
path_that_does_not_fit_is_refused(void **state)
{
	static const char *const patterns[] = { "x/y", "%h/%u", "/%u/%U/%%" };
	static const char *const want[] = {
		"/home/x/y",
		"/home/alice",
		"/alice/7/%",
	};
	static const struct kv_account account = { .name = "alice",
		.uid = 7,
		.home = "/home" };
	static const struct kv_account nowhere = { .home = "" };
	char longest[12];

	(void)state;
	assert_err(kv_userfile_expand("/%U",
		       &(struct kv_account){ .uid = (uid_t)-2, .home = "/" },
		       longest, sizeof(longest)),
	    KV_OK);
	assert_string_equal(longest, "/4294967294");
	/* With an empty home the smallest place for "x" has three bytes. */
	for (size_t cap = 1; cap <= 3; cap++)
		assert_err(kv_userfile_expand("x", &nowhere,
			       (char *)exact_copy("...", cap), cap),
		    cap < 3 ? KV_ERR_NO_SPACE : KV_OK);
	for (size_t i = 0; i < COUNT(patterns); i++) {
		size_t need = strlen(want[i]) + 1;

		for (size_t cap = 1; cap <= need; cap++) {
			char *path = (char *)exact_copy(want[i], cap);

			assert_err(kv_userfile_expand(patterns[i], &account,
				       path, cap),
			    cap < need ? KV_ERR_NO_SPACE : KV_OK);
			if (cap == need)
				assert_string_equal(path, want[i]);
		}
	}
}

/* sshd has expanded the tokens of these. */
static void
expanded_names_have_their_place(void **state)
{
	static const char *const names[][2] = { { "x/%y", "/home/x/%y" },
		{ "/%u", "/%u" }, { "%h", "/home/%h" } };
	static const struct kv_account account = { .name = "alice",
		.home = "/home" };

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		size_t need = strlen(names[i][1]) + 1;

		for (size_t cap = 1; cap <= need + 1; cap++) {
			char *path = test_alloc(cap);

			assert_err(kv_userfile_place(names[i][0], &account,
				       path, cap),
			    cap < need ? KV_ERR_NO_SPACE : KV_OK);
			if (cap >= need)
				assert_string_equal(path, names[i][1]);
		}
	}
	assert_err(kv_userfile_place("", &account, test_alloc(10), 10),
	    KV_ERR_CONFIG);
}

/* Whatever call fails: the sentence says why, and nothing stays open. */
static void
failing_calls_are_told(void **state)
{
	char why[KV_USERFILE_WHY_BYTES];
	const char *path = set_up();
	size_t before = count_descriptors();
	int fd;

	(void)state;
	fail_call("fstat", 1, EIO);
	assert_err(kv_userfile_open(path, &alice, KV_STRICTMODES_YES, &fd, why),
	    KV_ERR_SYSTEM);
	assert_true(call_has_failed());
	assert_int_equal(errno, EIO);
	assert_int_equal(fd, -1);
	assert_contains(why, strerror(EIO));
	fail_call("open", 1, EACCES);
	assert_err(kv_userfile_open(path, &alice, KV_STRICTMODES_YES, &fd, why),
	    KV_ERR_SYSTEM);
	assert_true(call_has_failed());
	assert_int_equal(errno, EACCES);
	assert_contains(why, strerror(EACCES));
	fail_call("stat", 1, EIO);
	refuses(path, KV_STRICTMODES_YES, KV_ERR_INSECURE,
	    format("directory %s", tmp_path("home/.ssh")));
	assert_true(call_has_failed());
	/* What is known of the directory before must not count. */
	fail_call("stat", 2, EIO);
	refuses(path, KV_STRICTMODES_YES, KV_ERR_INSECURE,
	    format("directory %s", alice.home));
	assert_true(call_has_failed());
	assert_int_equal(count_descriptors(), before);
}

/* sshd opens it, but its directories cannot be judged. */
static void
file_without_a_place_is_refused(void **state)
{
	const char *path = set_up();
	int open_still = open_read(path);
	const char *other = format("/proc/self/fd/%d", open_still);

	(void)state;
	opens(other, KV_STRICTMODES_YES);
	assert_return_code(unlink(path), errno);
	opens(other, KV_STRICTMODES_NO);
	refuses(other, KV_STRICTMODES_YES, KV_ERR_SYSTEM,
	    format("%s: %s", other, strerror(ENOENT)));
	close(open_still);
}

/* Then no directory is a home, and all up to / must be secure. */
static void
home_that_is_nowhere_ends_no_check(void **state)
{
	const char *path = set_up(), *loop = tmp_path("loop");
	char why[KV_USERFILE_WHY_BYTES];
	int fd, none;
	enum kv_err r, again;

	(void)state;
	assert_return_code(symlink("loop", loop), errno);
	set_mode(tmp_dir(), 0777);
	/* Nothing between the calls: the first one's home must not count. */
	r = kv_userfile_open(path, &alice, KV_STRICTMODES_YES, &fd, why);
	alice.home = loop;
	again = kv_userfile_open(path, &alice, KV_STRICTMODES_YES, &none, why);
	assert_err(r, KV_OK);
	assert_return_code(close(fd), errno);
	assert_err(again, KV_ERR_INSECURE);
	insecure(path, format("directory %s", tmp_dir()));
	alice.home = tmp_path("home/none");
	insecure(path, format("directory %s", tmp_dir()));
}

static void
good_file_is_opened(void **state)
{
	(void)state;
	secure(set_up());
}

static void
missing_file_is_told_by_errno(void **state)
{
	(void)state;
	set_up();
	refuses(tmp_path("home/none"), KV_STRICTMODES_YES, KV_ERR_SYSTEM,
	    tmp_path("home/none: No such file or directory"));
	assert_int_equal(errno, ENOENT);
	refuses(tmp_path("home/none/x"), KV_STRICTMODES_NO, KV_ERR_SYSTEM,
	    "No such file or directory");
	assert_int_equal(errno, ENOENT);
}

static void
refuses_kind(const char *path)
{
	refuses(path, KV_STRICTMODES_YES, KV_ERR_NOT_REGULAR,
	    format("%s is not a regular file", path));
	refuses(path, KV_STRICTMODES_PRIVATE_GROUP, KV_ERR_NOT_REGULAR, path);
	refuses(path, KV_STRICTMODES_NO, KV_ERR_NOT_REGULAR, path);
}

static void
other_kinds_of_file_are_refused_at_once(void **state)
{
	(void)state;
	set_up();
	assert_return_code(mkfifo(tmp_path("home/fifo"), 0600), errno);
	refuses_kind(tmp_path("home/fifo"));
	refuses_kind(tmp_path("home"));
	refuses_kind("/dev/null");
	refuses_kind("/dev/zero");
}

static void
file_writable_by_others_is_insecure(void **state)
{
	const char *path = set_up();

	(void)state;
	add_user(alice_name, geteuid(), getegid());
	set_group(NULL, NULL);
	set_mode(path, 0646);
	insecure(path, format("bad ownership or modes for file %s", path));
	set_mode(path, 0666);
	insecure(path, format("bad ownership or modes for file %s", path));
	set_mode(path, 0444);
	secure(path);
	set_mode(path, 0777 & ~022);
	secure(path);
}

static void
directory_writable_by_others_is_insecure(void **state)
{
	const char *path = set_up();

	(void)state;
	add_user(alice_name, geteuid(), getegid());
	set_group(NULL, NULL);
	set_mode(tmp_path("home/.ssh"), 0707);
	insecure(path, format("for directory %s/.ssh", alice.home));
	/* A sticky bit makes no difference here. */
	set_mode(tmp_path("home/.ssh"), 01707);
	insecure(path, format("for directory %s/.ssh", alice.home));
	set_mode(tmp_path("home/.ssh"), 0700);
	set_mode(alice.home, 0757);
	insecure(path, format("for directory %s", alice.home));
}

static void
directories_above_the_home_do_not_count(void **state)
{
	const char *path = set_up();

	(void)state;
	set_mode(tmp_dir(), 0777);
	secure(path);
}

static void
files_elsewhere_are_checked_up_to_the_root(void **state)
{
	(void)state;
	set_up();
	secure("/etc/passwd");
	/* /tmp is writable by everybody. */
	tmp_text("elsewhere", "hello");
	insecure(tmp_path("elsewhere"), "for directory /tmp");
	alice.home = "/nonexistent";
	insecure(tmp_path("elsewhere"), "for directory /tmp");
	secure("/etc/passwd");
}

static void
links_are_judged_by_where_they_lead(void **state)
{
	const char *path = set_up();

	(void)state;
	assert_return_code(symlink(path, tmp_path("home/link")), errno);
	secure(tmp_path("home/link"));
	tmp_text("elsewhere", "hello");
	assert_return_code(symlink("../elsewhere", tmp_path("home/out")),
	    errno);
	insecure(tmp_path("home/out"), "for directory /tmp");
	set_mode(path, 0666);
	insecure(tmp_path("home/link"), format("for file %s", path));
}

static void
home_may_be_a_link(void **state)
{
	const char *path = set_up();

	(void)state;
	assert_return_code(symlink("home", tmp_path("alias")), errno);
	alice.home = tmp_path("alias");
	secure(path);
	secure(tmp_path("alias/.ssh/authorized_keys"));
	set_mode(tmp_path("home"), 0777);
	insecure(path, "for directory");
}

static void
home_may_begin_with_the_name_of_its_link(void **state)
{
	/* What follows in the home's name: a letter, and both sides of '/'. */
	static const char *const homes[] = { "home", "ho0", "ho." };
	const char *last = "home";

	(void)state;
	set_up();
	for (size_t i = 0; i < COUNT(homes); i++) {
		assert_return_code(rename(tmp_path("%s", last),
				       tmp_path("%s", homes[i])),
		    errno);
		last = homes[i];
		unlink(tmp_path("ho"));
		assert_return_code(symlink(last, tmp_path("ho")), errno);
		alice.home = tmp_path("ho");
		secure(format("%s%s/.ssh/authorized_keys", tmp_path("ho"),
		    last + 2));
	}
}

/* Its folder is the last that counts, whoever may write above it. */
static void
home_may_begin_without_a_slash(void **state)
{
	const char *path = set_up();

	(void)state;
	alice.home += 1;
	set_mode(tmp_dir(), 0777);
	secure(path);
	alice.home = format("%s/../home", alice.home);
	secure(path);
	set_mode(tmp_path("home"), 0777);
	insecure(path, "for directory");
	/* Longer than any path: then it is no folder's name. */
	alice.home = format("%0*d", PATH_MAX - 1, 0);
	set_mode(tmp_path("home"), 0755);
	insecure(path, "for directory");
}

static void
folder_beside_the_home_is_not_the_home(void **state)
{
	const char *path = set_up();

	(void)state;
	alice.home = tmp_path("homd");
	insecure(path, "for directory /tmp");
	alice.home = tmp_path("homf");
	insecure(path, "for directory /tmp");
}

static void
group_of_one_primary_member_is_private(void **state)
{
	const char *path = set_up();

	(void)state;
	add_user(bob_name, geteuid() + 1, getegid() + 1);
	add_user(alice_name, geteuid(), getegid());
	set_group(NULL, NULL);
	set_mode(path, 0664);
	private_group_decides(path, true);
	set_mode(tmp_path("home/.ssh"), 0770);
	set_mode(alice.home, 0775);
	private_group_decides(path, true);
	set_group(alice_name, NULL);
	private_group_decides(path, true);
}

static void
group_of_one_supplementary_member_is_private(void **state)
{
	const char *path = set_up();

	(void)state;
	add_user(alice_name, geteuid(), getegid() + 1);
	set_group(alice_name, NULL);
	set_mode(path, 0664);
	private_group_decides(path, true);
}

static void
group_with_a_stranger_is_not_private(void **state)
{
	const char *path = set_up();

	(void)state;
	set_mode(path, 0664);
	/* Another supplementary member: last, first or alone. */
	add_user(alice_name, geteuid(), getegid());
	set_group(alice_name, bob_name);
	private_group_decides(path, false);
	set_group(bob_name, alice_name);
	private_group_decides(path, false);
	set_group(bob_name, NULL);
	private_group_decides(path, false);
	/* Another primary member. */
	set_group(NULL, NULL);
	private_group_decides(path, true);
	add_user(bob_name, geteuid() + 1, getegid());
	private_group_decides(path, false);
	set_group(alice_name, NULL);
	private_group_decides(path, false);
}

static void
group_without_members_or_name_is_not_private(void **state)
{
	const char *path = set_up();

	(void)state;
	set_mode(path, 0664);
	private_group_decides(path, false);
	add_user(alice_name, geteuid(), getegid() + 1);
	set_group(NULL, NULL);
	private_group_decides(path, false);
	/* The file's owner is not in the user database. */
	n_users = 0;
	set_group(alice_name, NULL);
	private_group_decides(path, false);
}

static void
directory_of_a_shared_group_is_insecure(void **state)
{
	const char *path = set_up();

	(void)state;
	add_user(alice_name, geteuid(), getegid());
	set_group(alice_name, bob_name);
	set_mode(alice.home, 0775);
	private_group_decides(path, false);
}

static void
callers_answer_comes_before_that_of_libc(void **state)
{
	const char *path = set_up();

	(void)state;
	set_mode(path, 0664);
	alice.gid = getegid();
	alice.private_group = KV_PRIVATE_GROUP_YES;
	private_group_decides(path, true);
	alice.private_group = KV_PRIVATE_GROUP_UNKNOWN;
	private_group_decides(path, false);
	add_user(alice_name, geteuid(), getegid());
	set_group(NULL, NULL);
	private_group_decides(path, true);
	alice.private_group = KV_PRIVATE_GROUP_NO;
	private_group_decides(path, false);
	/* It is about another group. */
	alice.gid = getegid() + 1;
	private_group_decides(path, true);
	/* A group that has no name is nobody's. */
	the_group.gr_name = NULL;
	private_group_decides(path, false);
	/* It is about the account's own files, not about those of root. */
	if (geteuid() != 0)
		return;
	n_users = 0;
	alice.uid = 4242;
	alice.gid = getegid();
	alice.private_group = KV_PRIVATE_GROUP_YES;
	private_group_decides(path, false);
}

static void
files_of_root_and_the_account_are_secure(void **state)
{
	const char *path = set_up();

	(void)state;
	if (!have_root())
		return;
	alice.uid = NOBODY;
	secure(path);
	assert_return_code(chown(path, NOBODY, NOBODY), errno);
	secure(path);
	assert_return_code(chown(alice.home, NOBODY, NOBODY), errno);
	secure(path);
}

static void
files_of_other_accounts_are_insecure(void **state)
{
	const char *path = set_up();

	(void)state;
	if (!have_root())
		return;
	assert_return_code(chown(path, NOBODY, 0), errno);
	insecure(path, format("for file %s", path));
	assert_return_code(chown(path, 0, 0), errno);
	assert_return_code(chown(tmp_path("home/.ssh"), NOBODY, 0), errno);
	insecure(path, format("for directory %s/.ssh", alice.home));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(patterns_are_expanded),
		TEST(values_are_not_expanded_again),
		TEST(account_without_a_home_has_its_files_at_the_root),
		TEST(home_is_taken_from_the_root),
		TEST(bad_patterns_are_refused),
		TEST(path_that_does_not_fit_is_refused),
		TEST(expanded_names_have_their_place),
		TEST(failing_calls_are_told),
		TEST(file_without_a_place_is_refused),
		TEST(home_that_is_nowhere_ends_no_check),
		TEST(good_file_is_opened),
		TEST(missing_file_is_told_by_errno),
		TEST(other_kinds_of_file_are_refused_at_once),
		TEST(file_writable_by_others_is_insecure),
		TEST(directory_writable_by_others_is_insecure),
		TEST(directories_above_the_home_do_not_count),
		TEST(files_elsewhere_are_checked_up_to_the_root),
		TEST(links_are_judged_by_where_they_lead),
		TEST(home_may_be_a_link),
		TEST(home_may_begin_with_the_name_of_its_link),
		TEST(home_may_begin_without_a_slash),
		TEST(folder_beside_the_home_is_not_the_home),
		TEST(group_of_one_primary_member_is_private),
		TEST(group_of_one_supplementary_member_is_private),
		TEST(group_with_a_stranger_is_not_private),
		TEST(group_without_members_or_name_is_not_private),
		TEST(callers_answer_comes_before_that_of_libc),
		TEST(directory_of_a_shared_group_is_insecure),
		TEST(files_of_root_and_the_account_are_secure),
		TEST(files_of_other_accounts_are_insecure),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
