/* SPDX-License-Identifier: ISC */
/*
 * Compares the order of lines with the order in which libpam runs them: each
 * module is pam_echo, which says its own number in a conversation.
 */
#include "kv_config.h"
#include "ways/pam_stack.h"

#include "own_root.h"
#include "testlib.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <security/pam_appl.h>

#define WHY_BYTES 1024

static struct pam_stack stack;
static char why[WHY_BYTES];

static void
make_dirs(void)
{
	static const char *const dirs[] = { "etc", "etc/pam.d", "usr",
		"usr/lib", "usr/lib/pam.d" };

	for (size_t i = 0; i < COUNT(dirs); i++)
		if (mkdir(tmp_path("%s", dirs[i]), 0755) == -1)
			assert_int_equal(errno, EEXIST);
}

static void
put(const char *name, const char *text)
{
	make_dirs();
	tmp_text(format("etc/pam.d/%s", name), text);
}

static bool
read_stack(const char *service)
{
	why[0] = '\0';
	return pam_stack_read(service, &stack, why, sizeof(why));
}

/* All lines, as text: FILE:LINE depth type control module args. */
static const char *
shown(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	for (size_t i = 0; i < stack.n; i++) {
		const struct pam_line *l = &stack.line[i];

		fprintf(out, "%s:%u %u %s%s|%s|%s|%s\n", l->file, l->line,
		    l->depth, l->optional ? "-" : "", l->type, l->control,
		    l->module, l->args);
	}
	assert_int_equal(fclose(out), 0);
	return keep(text);
}

static void
expect(const char *service, const char *want)
{
	if (!read_stack(service))
		fail_msg("%s", why);
	assert_lines(shown(), want);
	pam_stack_free(&stack);
	assert_int_equal(stack.n, 0);
}

/* place is FILE:LINE, or FILE. */
static void
expect_refused(const char *place, const char *reason)
{
	if (read_stack("sshd"))
		fail_msg("taken:\n%s", shown());
	pam_stack_free(&stack);
	assert_contains(why, format("%s: ", place));
	assert_contains(why, reason);
}

/* Debian 12's openssh-server and libpam-runtime, as installed. */
static const char debian_sshd[] =
    "# PAM configuration for the Secure Shell service\n"
    "\n"
    "# Standard Un*x authentication.\n"
    "@include common-auth\n"
    "\n"
    "# Disallow non-root logins when /etc/nologin exists.\n"
    "account    required     pam_nologin.so\n"
    "\n"
    "# Uncomment and edit /etc/security/access.conf if you need to set complex\n"
    "# access limits that are hard to express in sshd_config.\n"
    "# account  required     pam_access.so\n"
    "\n"
    "# Standard Un*x authorization.\n"
    "@include common-account\n"
    "\n"
    "session [success=ok ignore=ignore module_unknown=ignore default=bad]"
    "        pam_selinux.so close\n"
    "\n"
    "# Set the loginuid process attribute.\n"
    "session    required     pam_loginuid.so\n"
    "\n"
    "# Create a new session keyring.\n"
    "session    optional     pam_keyinit.so force revoke\n"
    "\n"
    "# Standard Un*x session setup and teardown.\n"
    "@include common-session\n"
    "\n"
    "session    optional     pam_motd.so  motd=/run/motd.dynamic\n"
    "session    optional     pam_mail.so standard noenv # [1]\n"
    "session    required     pam_env.so # [1]\n"
    "session    required     pam_env.so user_readenv=1 "
    "envfile=/etc/default/locale\n"
    "\n"
    "# Standard Un*x password updating.\n"
    "@include common-password\n";

TEST_CASE(debian_sshd_is_read_whole)
{
	put("sshd", debian_sshd);
	put("common-auth",
	    "auth\t[success=1 default=ignore]\tpam_unix.so "
	    "nullok\nauth\trequisite\t\t\tpam_deny.so\n"
	    "# and here are more per-package modules\n");
	put("common-account",
	    "account\t[success=1 new_authtok_reqd=done "
	    "default=ignore]\tpam_unix.so \n");
	put("common-session",
	    "session\trequired\tpam_unix.so \n"
	    "session\toptional\tpam_systemd.so \n");
	put("common-password",
	    "password\t[success=1 default=ignore]\t"
	    "pam_unix.so obscure yescrypt\n");
	expect("sshd",
	    "/etc/pam.d/common-auth:1 1 auth|[success=1 default=ignore]|"
	    "pam_unix.so|nullok\n"
	    "/etc/pam.d/common-auth:2 1 auth|requisite|pam_deny.so|\n"
	    "/etc/pam.d/sshd:7 0 account|required|pam_nologin.so|\n"
	    "/etc/pam.d/common-account:1 1 account|[success=1 "
	    "new_authtok_reqd=done default=ignore]|pam_unix.so|\n"
	    "/etc/pam.d/sshd:16 0 session|[success=ok ignore=ignore "
	    "module_unknown=ignore default=bad]|pam_selinux.so|close\n"
	    "/etc/pam.d/sshd:19 0 session|required|pam_loginuid.so|\n"
	    "/etc/pam.d/sshd:22 0 session|optional|pam_keyinit.so|"
	    "force revoke\n"
	    "/etc/pam.d/common-session:1 1 session|required|pam_unix.so|\n"
	    "/etc/pam.d/common-session:2 1 session|optional|pam_systemd.so|\n"
	    "/etc/pam.d/sshd:27 0 session|optional|pam_motd.so|"
	    "motd=/run/motd.dynamic\n"
	    "/etc/pam.d/sshd:28 0 session|optional|pam_mail.so|standard noenv\n"
	    "/etc/pam.d/sshd:29 0 session|required|pam_env.so|\n"
	    "/etc/pam.d/sshd:30 0 session|required|pam_env.so|"
	    "user_readenv=1 envfile=/etc/default/locale\n"
	    "/etc/pam.d/common-password:1 1 password|[success=1 "
	    "default=ignore]|pam_unix.so|obscure yescrypt\n");
}

TEST_CASE(words_are_cut_as_pam_does)
{
	put("sshd",
	    "\n  \t\n# comment\n   # another\n"
	    "-session optional pam_a.so\n"
	    "SESSION Required /lib/security/pam_b.so # said\n"
	    "auth [default=ok]pam_c.so [a b] [c \\] d] e\n"
	    "auth\trequisite\tpam_d.so\tx=y\t z  \n"
	    "\r\n \f\n\v# more\n"
	    "\r\f password sufficient pam_e.so");
	expect("sshd",
	    "/etc/pam.d/sshd:5 0 -session|optional|pam_a.so|\n"
	    "/etc/pam.d/sshd:6 0 session|required|/lib/security/pam_b.so|\n"
	    "/etc/pam.d/sshd:7 0 auth|[default=ok]|pam_c.so|[a b] [c \\] d] e\n"
	    "/etc/pam.d/sshd:8 0 auth|requisite|pam_d.so|x=y\t z\n"
	    "/etc/pam.d/sshd:12 0 password|sufficient|pam_e.so|\n");
}

TEST_CASE(lines_are_joined_at_a_backslash)
{
	put("sshd",
	    "# a comment \\\n\nauth \\\n  required\\\n"
	    "pam_a.so one \\  \n two\n"
	    "auth required pam_b.so one # \\\n"
	    "auth required pam_c.so\n");
	expect("sshd",
	    "/etc/pam.d/sshd:3 0 auth|required|pam_a.so|one  two\n"
	    "/etc/pam.d/sshd:7 0 auth|required|pam_b.so|one\n"
	    "/etc/pam.d/sshd:8 0 auth|required|pam_c.so|\n");
	/* Linux-PAM 1.5 joins these three lines, 1.7 reads two. */
	put("sshd", "auth required pam_a.so \\\n\nauth required pam_b.so\n");
	expect_refused("/etc/pam.d/sshd:1", "differently");
	put("sshd",
	    "auth required pam_a.so \\\n # b\nauth required pam_b.so\n");
	expect_refused("/etc/pam.d/sshd:1", "differently");
	put("sshd", "auth required pam_a.so\nauth required \\\n");
	expect_refused("/etc/pam.d/sshd:2", "goes on");
}

TEST_CASE(files_are_followed)
{
	put("sshd",
	    "@include both\n"
	    "session include both\n"
	    "auth substack more\n"
	    "session required pam_last.so\n");
	put("both",
	    "auth required pam_a.so\nsession required pam_s.so\n"
	    "@include more\n");
	tmp_text("usr/lib/pam.d/more",
	    "auth required pam_m.so\n"
	    "session optional pam_n.so\n");
	expect("SSHD",
	    "/etc/pam.d/both:1 1 auth|required|pam_a.so|\n"
	    "/etc/pam.d/both:2 1 session|required|pam_s.so|\n"
	    "/usr/lib/pam.d/more:1 2 auth|required|pam_m.so|\n"
	    "/usr/lib/pam.d/more:2 2 session|optional|pam_n.so|\n"
	    "/etc/pam.d/both:2 1 session|required|pam_s.so|\n"
	    "/usr/lib/pam.d/more:2 2 session|optional|pam_n.so|\n"
	    "/usr/lib/pam.d/more:1 1 auth|required|pam_m.so|\n"
	    "/etc/pam.d/sshd:4 0 session|required|pam_last.so|\n");
	/* /etc takes precedence over /usr/lib. */
	put("more", "");
	expect("more", "");
}

TEST_CASE(absolute_paths_and_links_stay_below_root)
{
	put("real", "session required pam_r.so\n");
	put("sshd", "session include /etc/pam.d/link\n");
	assert_done(symlink("/etc/pam.d/real", tmp_path("etc/pam.d/link")));
	expect("sshd", "/etc/pam.d/link:1 1 session|required|pam_r.so|\n");
	put("sshd", "session include ../../../../../../../etc/pam.d/real\n");
	assert_true(read_stack("sshd"));
	assert_int_equal(stack.n, 1);
	pam_stack_free(&stack);
}

TEST_CASE(malformed_lines_are_refused_with_their_place)
{
	static const struct {
		const char *line, *reason;
	} bad[] = {
		{ "sesion required pam_a.so", "unknown type sesion" },
		{ "session", "no control" },
		{ "session requird pam_a.so", "unknown control flag requird" },
		{ "session [default=ok pam_a.so", "bracket" },
		{ "session required", "no module" },
		{ "session required [pam_a.so", "bracket" },
		{ "[session required pam_a.so", "bracket" },
		{ "session include", "no module" },
		{ "@include", "names no file" },
		{ "@include missing", "/etc/pam.d/missing: No such file" },
		{ "session substack missing", "No such file" },
		{ "- required pam_a.so", "unknown type" },
		{ "@Include sshd", "includes itself" },
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		put("sshd",
		    format("auth required pam_x.so\n\n%s\n", bad[i].line));
		expect_refused("/etc/pam.d/sshd:3", bad[i].reason);
	}
	put("sshd", "@include other\n");
	put("other", "\nbogus\n");
	expect_refused("/etc/pam.d/other:2", "unknown type bogus");
}

TEST_CASE(services_that_are_no_files_are_refused)
{
	static const char *const names[] = { "", ".", "..", "../x", "a/b" };

	make_dirs();
	expect_refused("/etc/pam.d/sshd", "No such file");
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_false(read_stack(names[i]));
		assert_contains(why, "not the name of a PAM service");
		pam_stack_free(&stack);
	}
	assert_false(read_stack(format("%0300d", 0)));
	assert_done(symlink("/dev/zero", tmp_path("etc/pam.d/sshd")));
	expect_refused("/etc/pam.d/sshd", "No such file");
	assert_done(unlink(tmp_path("etc/pam.d/sshd")));
	/* libpam reads nothing there. */
	assert_done(mkdir(tmp_path("etc/pam.d/sshd"), 0755));
	expect("sshd", "");
	assert_done(rmdir(tmp_path("etc/pam.d/sshd")));
	assert_done(mkfifo(tmp_path("etc/pam.d/sshd"), 0644));
	expect_refused("/etc/pam.d/sshd", "not a regular file");
}

TEST_CASE(recursion_ends)
{
	put("sshd", "auth required pam_a.so\nauth include sshd\n");
	expect_refused("/etc/pam.d/sshd:2", "includes itself");
	put("sshd", "@include other\n");
	put("other", "\nsession substack sshd\n");
	expect_refused("/etc/pam.d/other:2", "includes itself");
	put("sshd", "@include d1\n");
	for (int i = 1; i < 20; i++)
		put(format("d%d", i), format("@include d%d\n", i + 1));
	put("d20", "auth required pam_a.so\n");
	expect_refused("/etc/pam.d/d15:1", "16 files deep");
	put("d15", "auth required pam_a.so\n");
	expect("sshd", "/etc/pam.d/d15:1 15 auth|required|pam_a.so|\n");
	/* Without the bound these would be 2^15 files. */
	for (int i = 1; i < 15; i++)
		put(format("d%d", i),
		    format("@include d%d\n@include d%d\n", i + 1, i + 1));
	expect_refused("/etc/pam.d/d12:2", "more than 256 files");
}

TEST_CASE(sizes_are_bounded)
{
	char *many = test_alloc(3 * 1024 * 1024);
	size_t len = 0;

	put("sshd", format("auth required pam_a.so %01100d\n", 0));
	expect_refused("/etc/pam.d/sshd:1", "long");
	put("sshd",
	    format("\nauth required pam_a.so %0500d \\\n %0600d\n", 0, 0));
	expect_refused("/etc/pam.d/sshd:2", "longer than");
	put("sshd", format("auth required pam_a.so %0900d\n", 0));
	expect("sshd",
	    format("/etc/pam.d/sshd:1 0 auth|required|pam_a.so|%0900d\n", 0));
	for (int i = 0; i < 4097; i++)
		len += (size_t)sprintf(many + len, "auth required a.so\n");
	put("sshd", many);
	expect_refused("/etc/pam.d/sshd:4097", "more than 4096 lines");
	memset(many, '\n', 2 * 1024 * 1024);
	many[2 * 1024 * 1024] = '\0';
	put("sshd", many);
	expect_refused("/etc/pam.d/sshd", "larger than");
	make_dirs();
	tmp_file("etc/pam.d/sshd", "auth required a.so\nauth\0x\n", 26);
	expect_refused("/etc/pam.d/sshd:2", "NUL");
}

TEST_CASE(lines_are_found_by_module)
{
	const struct pam_line *l;

	put("sshd",
	    "auth required pam_k.so\nsession required pam_a.so\n"
	    "session requisite /x/pam_k.so one\nsession optional pam_k.so\n"
	    "session optional xpam_k.so\n");
	assert_true(read_stack("sshd"));
	assert_non_null(l = pam_stack_find(&stack, "session", "pam_k.so"));
	assert_int_equal(l - stack.line, 2);
	assert_string_equal(l->args, "one");
	assert_non_null(l = pam_stack_find(&stack, "session", NULL));
	assert_int_equal(l - stack.line, 1);
	assert_null(pam_stack_find(&stack, "account", "pam_k.so"));
	assert_null(pam_stack_find(&stack, "account", NULL));
	assert_null(pam_stack_find(&stack, "session", "am_k.so"));
	pam_stack_free(&stack);
}

/* pam_echo of libpam 1.5 and 1.7 shows the same arguments. */
TEST_CASE(module_reads_its_last_config)
{
	static const struct {
		const char *args, *want;
	} cases[] = {
		{ "", KV_CONFIG_PATH },
		{ "debug", KV_CONFIG_PATH },
		{ "config=x", KV_CONFIG_PATH },
		{ "xconfig=/a", KV_CONFIG_PATH },
		{ "[debug config=/a]", KV_CONFIG_PATH },
		{ "x[config=/a]", KV_CONFIG_PATH },
		{ "config=/a", "/a" },
		{ "debug\tconfig=/a x", "/a" },
		{ "[config=/a b] x", "/a b" },
		{ "[config=/a b", "/a b" },
		{ "config=/a config=/b", "/b" },
		{ "[] config=/a config=b", "/a" },
		{ "[config=/b][config=/a]", "/a" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct pam_line l = { .args = (char *)cases[i].args };
		char path[64];

		pam_stack_config(&l, path, sizeof(path));
		assert_string_equal(path, cases[i].want);
	}
}

/* What libpam said in a session, one message on each line. */
static char heard[4096];

static int
converse(int n, const struct pam_message **message,
    struct pam_response **response, void *arg)
{
	(void)arg;
	for (int i = 0; i < n; i++) {
		size_t len = strlen(heard);

		snprintf(heard + len, sizeof(heard) - len, "%s\n",
		    message[i]->msg);
	}
	*response = calloc((size_t)n, sizeof(**response));
	return *response != NULL ? PAM_SUCCESS : PAM_BUF_ERR;
}

/* The numbers that pam_echo says when libpam reads the files. */
static const char *
run_by_libpam(void)
{
	const struct pam_conv conv = { converse, NULL };
	const char *dir = tmp_path("etc/pam.d");
	pam_handle_t *pamh;

	heard[0] = '\0';
	assert_int_equal(pam_start_confdir("sshd", "nobody", &conv, dir, &pamh),
	    PAM_SUCCESS);
	assert_int_equal(pam_open_session(pamh, 0), PAM_SUCCESS);
	pam_end(pamh, PAM_SUCCESS);
	return heard;
}

/* The numbers that pam_stack_read finds in the same files. */
static const char *
arguments_of_echoes(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	if (!read_stack("sshd"))
		fail_msg("%s", why);
	for (size_t i = 0; i < stack.n; i++)
		if (strcmp(stack.line[i].type, "session") == 0 &&
		    strcmp(pam_line_module(&stack.line[i]), "pam_echo.so") == 0)
			fprintf(out, "%s\n", stack.line[i].args);
	pam_stack_free(&stack);
	assert_int_equal(fclose(out), 0);
	return keep(text);
}

/*
 * dir is the folder of the included files, as libpam or pam_stack_read sees it.
 */
static void
put_service(const char *dir)
{
	put("sshd",
	    format(
		"auth required pam_echo.so auth\n"
		"session required pam_permit.so\n"
		"session required pam_echo.so 1\n"
		"@include %s/any\n@include %s/null\n"
		"session include %s/any\nsession include %s/folder\n"
		"# not this \\\n\nsession \\\n optional \\  \n pam_echo.so 2 # two\n"
		"session substack %s/deep\n\r\n\f# x\n"
		"\vauth include %s/any\n"
		"Session [default=ignore]pam_echo.so 3\n"
		"-session optional pam_not_there.so\n"
		"session required pam_echo.so 4 # \\\n"
		"session required pam_echo.so 5",
		dir, dir, dir, dir, dir, dir));
	put("any",
	    format("session optional pam_echo.so 6\n"
		   "auth required pam_permit.so\n@INCLUDE %s/deep\n"
		   "session optional pam_echo.so 7\n",
		dir));
	put("deep",
	    "account required pam_echo.so no\n"
	    "session optional pam_echo.so 8\n");
}

TEST_CASE(order_is_that_of_libpam)
{
	const char *want;

	put_service("/etc/pam.d");
	assert_done(symlink("/dev/null", tmp_path("etc/pam.d/null")));
	assert_done(mkdir(tmp_path("etc/pam.d/folder"), 0755));
	want = arguments_of_echoes();
	assert_string_equal(want, "1\n6\n8\n7\n6\n8\n7\n2\n8\n3\n4\n5\n");
	put_service(tmp_path("etc/pam.d"));
	assert_string_equal(run_by_libpam(), want);
}

static void
read_mutant(const uint8_t *p, size_t len, void *arg)
{
	(void)arg;
	tmp_file("etc/pam.d/sshd", p, len);
	(void)read_stack("sshd");
	pam_stack_free(&stack);
}

TEST_CASE(mutants_do_no_harm)
{
	static const char text[] = "@include a\n-auth [x=1]b.so [c\\]]\\\nd#\n";

	put("a", "session include /etc/pam.d/a\n");
	for_each_mutant(text, sizeof(text) - 1, read_mutant, NULL);
}
