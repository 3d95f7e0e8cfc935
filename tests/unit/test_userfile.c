/* SPDX-License-Identifier: ISC */
/*
 * This file defines getpwent and the like in place of libc's, so the tests have
 * a user database of their own.
 */
#include "kv_userfile.h"

#include "testlib.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>

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
	users[n_users++] = (struct passwd){ .pw_name = name,
		.pw_uid = uid,
		.pw_gid = gid };
}

/* Sets these supplementary members of the group of all files. */
static void
set_group(char *first, char *second)
{
	members[0] = first;
	members[1] = second;
	the_group = (struct group){ .gr_name = alice_name,
		.gr_gid = getegid(),
		.gr_mem = members };
}

/* The file of Alice that each test begins with. */
static const char *file;

/* Makes Alice's home with the file, and an empty user database. */
static void
set_up(void)
{
	alice = (struct kv_account){ .name = "alice",
		.uid = geteuid(),
		.home = tmp_path("home") };
	n_users = 0;
	the_group.gr_name = NULL;
	assert_done(mkdir(alice.home, 0755));
	assert_done(mkdir(tmp_path("home/.ssh"), 0700));
	file = tmp_text("home/.ssh/authorized_keys", "hello");
}

static void
set_mode(const char *path, mode_t mode)
{
	assert_done(chmod(path, mode));
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

typedef enum kv_err (*place_fn)(const char *pattern,
    const struct kv_account *account, char *to, size_t cap);

/* The pattern has this place in any room that is large enough for it. */
static void
leads_to(place_fn place, const char *pattern, const struct kv_account *account,
    const char *want)
{
	const size_t need = strlen(want) + 1;

	for (size_t cap = 1; cap <= need + 1; cap++) {
		char *path = test_alloc(cap);

		assert_err(place(pattern, account, path, cap),
		    cap < need ? KV_ERR_NO_SPACE : KV_OK);
		if (cap >= need)
			assert_string_equal(path, want);
	}
}

static void
expands_to(const char *pattern, const char *want)
{
	static const struct kv_account account = { .name = "alice",
		.uid = 1000,
		.home = "/home/alice" };

	leads_to(kv_userfile_expand, pattern, &account, want);
}

TEST_CASE(patterns_are_expanded)
{
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

TEST_CASE(values_are_not_expanded_again)
{
	static const struct kv_account account = { .name = "%h",
		.uid = 4294967294,
		.home = "/%u" };

	leads_to(kv_userfile_expand, "%h/%u/%U", &account, "/%u/%h/4294967294");
}

TEST_CASE(account_without_a_home_has_its_files_at_the_root)
{
	static const struct kv_account account = { .name = "alice",
		.uid = 1000,
		.home = "" };
	char path[100];

	leads_to(kv_userfile_expand, "%h/x", &account, "/x");
	assert_ok(kv_userfile_expand("x", &account, path, sizeof(path)));
	assert_string_equal(path, "/x");
	assert_err(kv_userfile_expand("%h", &account, path, sizeof(path)),
	    KV_ERR_CONFIG);
}

/* As auth.c:expand_authorized_keys of OpenSSH, in a process that runs in /. */
TEST_CASE(home_is_taken_from_the_root)
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

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct kv_account account = { .name = "alice",
			.home = rows[i][0] };

		leads_to(kv_userfile_expand, rows[i][1], &account, rows[i][2]);
		leads_to(kv_userfile_place, rows[i][1], &account, rows[i][3]);
	}
}

TEST_CASE(bad_patterns_are_refused)
{
	static const char *const bad[] = { "", "%", "/keys/%", "%x", "/keys/%k",
		"%H", "% h", "/%h%" };
	char path[100];

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_err(kv_userfile_expand(bad[i], &alice, path,
			       sizeof(path)),
		    KV_ERR_CONFIG);
}

TEST_CASE(path_that_does_not_fit_is_refused)
{
	static const struct kv_account account = { .name = "alice",
		.uid = 7,
		.home = "/home" };
	static const struct kv_account nowhere = { .home = "" };
	char longest[12];

	assert_ok(kv_userfile_expand("/%U",
	    &(struct kv_account){ .uid = (uid_t)-2, .home = "/" }, longest,
	    sizeof(longest)));
	assert_string_equal(longest, "/4294967294");
	/* With an empty home the smallest place for "x" has three bytes. */
	for (size_t cap = 1; cap <= 3; cap++)
		assert_err(kv_userfile_expand("x", &nowhere,
			       (char *)exact_copy("...", cap), cap),
		    cap < 3 ? KV_ERR_NO_SPACE : KV_OK);
	leads_to(kv_userfile_expand, "x/y", &account, "/home/x/y");
	leads_to(kv_userfile_expand, "%h/%u", &account, "/home/alice");
	leads_to(kv_userfile_expand, "/%u/%U/%%", &account, "/alice/7/%");
}

/* sshd has expanded the tokens of these. */
TEST_CASE(expanded_names_have_their_place)
{
	static const struct kv_account account = { .name = "alice",
		.home = "/home" };

	leads_to(kv_userfile_place, "x/%y", &account, "/home/x/%y");
	leads_to(kv_userfile_place, "/%u", &account, "/%u");
	leads_to(kv_userfile_place, "%h", &account, "/home/%h");
	assert_err(kv_userfile_place("", &account, test_alloc(10), 10),
	    KV_ERR_CONFIG);
}

/* Whatever call fails: the sentence says why, and nothing stays open. */
TEST_CASE(failing_calls_are_told)
{
	char why[KV_USERFILE_WHY_BYTES];
	size_t before = count_descriptors();
	int fd;

	fail_call("fstat", 1, EIO);
	assert_err(kv_userfile_open(file, &alice, KV_STRICTMODES_YES, &fd, why),
	    KV_ERR_SYSTEM);
	assert_true(call_has_failed());
	assert_int_equal(errno, EIO);
	assert_int_equal(fd, -1);
	assert_contains(why, strerror(EIO));
	fail_call("open", 1, EACCES);
	assert_err(kv_userfile_open(file, &alice, KV_STRICTMODES_YES, &fd, why),
	    KV_ERR_SYSTEM);
	assert_true(call_has_failed());
	assert_int_equal(errno, EACCES);
	assert_contains(why, strerror(EACCES));
	fail_call("stat", 1, EIO);
	refuses(file, KV_STRICTMODES_YES, KV_ERR_INSECURE,
	    format("directory %s", tmp_path("home/.ssh")));
	assert_true(call_has_failed());
	/* What is known of the directory before must not count. */
	fail_call("stat", 2, EIO);
	refuses(file, KV_STRICTMODES_YES, KV_ERR_INSECURE,
	    format("directory %s", alice.home));
	assert_true(call_has_failed());
	assert_int_equal(count_descriptors(), before);
}

/* sshd opens it, but its directories cannot be judged. */
TEST_CASE(file_without_a_place_is_refused)
{
	int open_still = open_read(file);
	const char *other = format("/proc/self/fd/%d", open_still);

	opens(other, KV_STRICTMODES_YES);
	assert_done(unlink(file));
	opens(other, KV_STRICTMODES_NO);
	refuses(other, KV_STRICTMODES_YES, KV_ERR_SYSTEM,
	    format("%s: %s", other, strerror(ENOENT)));
	close(open_still);
}

/* Then no directory is a home, and all up to / must be secure. */
TEST_CASE(home_that_is_nowhere_ends_no_check)
{
	const char *loop = tmp_path("loop");
	char why[KV_USERFILE_WHY_BYTES];
	int fd, none;
	enum kv_err r, again;

	assert_done(symlink("loop", loop));
	set_mode(tmp_dir(), 0777);
	/* Nothing between the calls: the first one's home must not count. */
	r = kv_userfile_open(file, &alice, KV_STRICTMODES_YES, &fd, why);
	alice.home = loop;
	again = kv_userfile_open(file, &alice, KV_STRICTMODES_YES, &none, why);
	assert_ok(r);
	assert_done(close(fd));
	assert_err(again, KV_ERR_INSECURE);
	insecure(file, format("directory %s", tmp_dir()));
	alice.home = tmp_path("home/none");
	insecure(file, format("directory %s", tmp_dir()));
}

TEST_CASE(good_file_is_opened)
{
	secure(file);
}

TEST_CASE(missing_file_is_told_by_errno)
{
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

TEST_CASE(other_kinds_of_file_are_refused_at_once)
{
	assert_done(mkfifo(tmp_path("home/fifo"), 0600));
	refuses_kind(tmp_path("home/fifo"));
	refuses_kind(tmp_path("home"));
	refuses_kind("/dev/null");
	refuses_kind("/dev/zero");
}

TEST_CASE(file_writable_by_others_is_insecure)
{
	add_user(alice_name, geteuid(), getegid());
	set_group(NULL, NULL);
	set_mode(file, 0646);
	insecure(file, format("bad ownership or modes for file %s", file));
	set_mode(file, 0666);
	insecure(file, format("bad ownership or modes for file %s", file));
	set_mode(file, 0444);
	secure(file);
	set_mode(file, 0777 & ~022);
	secure(file);
}

TEST_CASE(directory_writable_by_others_is_insecure)
{
	add_user(alice_name, geteuid(), getegid());
	set_group(NULL, NULL);
	set_mode(tmp_path("home/.ssh"), 0707);
	insecure(file, format("for directory %s/.ssh", alice.home));
	/* A sticky bit makes no difference here. */
	set_mode(tmp_path("home/.ssh"), 01707);
	insecure(file, format("for directory %s/.ssh", alice.home));
	set_mode(tmp_path("home/.ssh"), 0700);
	set_mode(alice.home, 0757);
	insecure(file, format("for directory %s", alice.home));
}

TEST_CASE(directories_above_the_home_do_not_count)
{
	set_mode(tmp_dir(), 0777);
	secure(file);
}

TEST_CASE(files_elsewhere_are_checked_up_to_the_root)
{
	secure("/etc/passwd");
	/* /tmp is writable by everybody. */
	tmp_text("elsewhere", "hello");
	insecure(tmp_path("elsewhere"), "for directory /tmp");
	alice.home = "/nonexistent";
	insecure(tmp_path("elsewhere"), "for directory /tmp");
	secure("/etc/passwd");
}

TEST_CASE(links_are_judged_by_where_they_lead)
{
	assert_done(symlink(file, tmp_path("home/link")));
	secure(tmp_path("home/link"));
	tmp_text("elsewhere", "hello");
	assert_done(symlink("../elsewhere", tmp_path("home/out")));
	insecure(tmp_path("home/out"), "for directory /tmp");
	set_mode(file, 0666);
	insecure(tmp_path("home/link"), format("for file %s", file));
}

TEST_CASE(home_may_be_a_link)
{
	assert_done(symlink("home", tmp_path("alias")));
	alice.home = tmp_path("alias");
	secure(file);
	secure(tmp_path("alias/.ssh/authorized_keys"));
	set_mode(tmp_path("home"), 0777);
	insecure(file, "for directory");
}

TEST_CASE(home_may_begin_with_the_name_of_its_link)
{
	/* What follows in the home's name: a letter, and both sides of '/'. */
	static const char *const homes[] = { "home", "ho0", "ho." };
	const char *last = "home";

	for (size_t i = 0; i < COUNT(homes); i++) {
		assert_done(
		    rename(tmp_path("%s", last), tmp_path("%s", homes[i])));
		last = homes[i];
		unlink(tmp_path("ho"));
		assert_done(symlink(last, tmp_path("ho")));
		alice.home = tmp_path("ho");
		secure(format("%s%s/.ssh/authorized_keys", tmp_path("ho"),
		    last + 2));
	}
}

/* Its folder is the last that counts, whoever may write above it. */
TEST_CASE(home_may_begin_without_a_slash)
{
	alice.home += 1;
	set_mode(tmp_dir(), 0777);
	secure(file);
	alice.home = format("%s/../home", alice.home);
	secure(file);
	set_mode(tmp_path("home"), 0777);
	insecure(file, "for directory");
	/* Longer than any file: then it is no folder's name. */
	alice.home = format("%0*d", PATH_MAX - 1, 0);
	set_mode(tmp_path("home"), 0755);
	insecure(file, "for directory");
}

TEST_CASE(folder_beside_the_home_is_not_the_home)
{
	alice.home = tmp_path("homd");
	insecure(file, "for directory /tmp");
	alice.home = tmp_path("homf");
	insecure(file, "for directory /tmp");
}

TEST_CASE(group_of_one_primary_member_is_private)
{
	add_user(bob_name, geteuid() + 1, getegid() + 1);
	add_user(alice_name, geteuid(), getegid());
	set_group(NULL, NULL);
	set_mode(file, 0664);
	private_group_decides(file, true);
	set_mode(tmp_path("home/.ssh"), 0770);
	set_mode(alice.home, 0775);
	private_group_decides(file, true);
	set_group(alice_name, NULL);
	private_group_decides(file, true);
}

TEST_CASE(group_of_one_supplementary_member_is_private)
{
	add_user(alice_name, geteuid(), getegid() + 1);
	set_group(alice_name, NULL);
	set_mode(file, 0664);
	private_group_decides(file, true);
}

TEST_CASE(group_with_a_stranger_is_not_private)
{
	set_mode(file, 0664);
	/* Another supplementary member: last, first or alone. */
	add_user(alice_name, geteuid(), getegid());
	set_group(alice_name, bob_name);
	private_group_decides(file, false);
	set_group(bob_name, alice_name);
	private_group_decides(file, false);
	set_group(bob_name, NULL);
	private_group_decides(file, false);
	/* Another primary member. */
	set_group(NULL, NULL);
	private_group_decides(file, true);
	add_user(bob_name, geteuid() + 1, getegid());
	private_group_decides(file, false);
	set_group(alice_name, NULL);
	private_group_decides(file, false);
}

TEST_CASE(group_without_members_or_name_is_not_private)
{
	set_mode(file, 0664);
	private_group_decides(file, false);
	add_user(alice_name, geteuid(), getegid() + 1);
	set_group(NULL, NULL);
	private_group_decides(file, false);
	/* The file's owner is not in the user database. */
	n_users = 0;
	set_group(alice_name, NULL);
	private_group_decides(file, false);
}

TEST_CASE(directory_of_a_shared_group_is_insecure)
{
	add_user(alice_name, geteuid(), getegid());
	set_group(alice_name, bob_name);
	set_mode(alice.home, 0775);
	private_group_decides(file, false);
}

TEST_CASE_AS_ROOT(files_of_root_and_the_account_are_secure)
{
	alice.uid = NOBODY;
	secure(file);
	assert_done(chown(file, NOBODY, NOBODY));
	secure(file);
	assert_done(chown(alice.home, NOBODY, NOBODY));
	secure(file);
}

TEST_CASE_AS_ROOT(files_of_other_accounts_are_insecure)
{
	assert_done(chown(file, NOBODY, 0));
	insecure(file, format("for file %s", file));
	assert_done(chown(file, 0, 0));
	assert_done(chown(tmp_path("home/.ssh"), NOBODY, 0));
	insecure(file, format("for directory %s/.ssh", alice.home));
}

int
main(void)
{
	return run_all_tests(&(struct fixture){ .before_each = set_up });
}
