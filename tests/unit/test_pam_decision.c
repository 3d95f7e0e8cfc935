/* SPDX-License-Identifier: ISC */
/*
 * If pam_decision_judge says that a stack decides by itself, libpam gives the
 * same answer with pam_keyveto.so in front, for a clean key. The stacks are
 * random. pam_debug.so returns what its line says.
 */
#include "ways/pam_decision.h"

#include "own_root.h"
#include "testlib.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <security/pam_appl.h>

#define DRAWS 600
#define KEYVETO "pam_keyveto.so"

static char module[PATH_MAX];

static const char *
draw_word(const char *const *words, size_t n)
{
	return words[rng_below(n)];
}

static const char *
draw_control(void)
{
	static const char *const controls[] = { "required", "required",
		"requisite", "requisite", "sufficient", "sufficient",
		"optional", "optional", "[success=1]", "[default=1]",
		"[success=2 default=ignore]", "[success=3 default=ignore]",
		"[default=2 ignore=1]", "[success=ok default=ignore]",
		"[success=ok default=bad]",
		"[success=ok ignore=ignore default=die]", "[default=reset]",
		"[success=ok default=reset]", "[success=done default=die]",
		"[success=reset default=ignore]", "[default=ok]",
		"[ignore=bad default=ignore]", "[default=ignore]",
		"[success = ok default = ignore]", "[ ]", "[nothing=1]",
		"[ignore=ok success=done]", "[success=oknothing]",
		"[default=18446744073709551615]" };

	return draw_word(controls, COUNT(controls));
}

static const char *
draw_module(void)
{
	static const char *const answers[] = { "success", "success", "ignore",
		"ignore", "session_err", "perm_denied", "new_authtok_reqd",
		"abort", "user_unknown" };
	static const char *const modules[] = { "pam_permit.so", "pam_permit.so",
		"pam_deny.so", "pam_not_there.so",
		"pam_succeed_if.so user = nobody",
		"pam_succeed_if.so user = somebody", "pam_warn.so" };

	if (rng_below(2) == 0)
		return format("pam_debug.so open_session=%s",
		    draw_word(answers, COUNT(answers)));
	return draw_word(modules, COUNT(modules));
}

/* Random lines of a file, which may include others. */
static const char *
draw_lines(size_t n, bool includes)
{
	static const char *const ways[] = { "include", "substack" };
	static const char *const files[] = { "one", "two" };
	const char *text = "";

	while (n-- > 0) {
		if (includes && rng_below(5) == 0)
			text = format("%ssession %s %s\n", text,
			    draw_word(ways, 2), draw_word(files, 2));
		else
			text = format("%s%ssession %s %s\n", text,
			    rng_below(5) == 0 ? "-" : "", draw_control(),
			    draw_module());
	}
	return text;
}

static void
put(const char *name, const char *text)
{
	tmp_text(format("etc/pam.d/%s", name), text);
}

static int
converse(int n, const struct pam_message **message,
    struct pam_response **response, void *arg)
{
	(void)message;
	(void)arg;
	*response = calloc((size_t)n, sizeof(**response));
	return *response != NULL ? PAM_SUCCESS : PAM_BUF_ERR;
}

/* libpam's answer for the files as they are. */
static int
open_session(void)
{
	const struct pam_conv conv = { converse, NULL };
	pam_handle_t *pamh;
	int answer;

	assert_int_equal(pam_start_confdir("sshd", "nobody", &conv,
			     tmp_path("etc/pam.d"), &pamh),
	    PAM_SUCCESS);
	answer = pam_open_session(pamh, 0);
	pam_end(pamh, answer);
	return answer;
}

static int
open_session_with_line(const char *lines)
{
	int answer;

	put("sshd",
	    format("session requisite %s config=%s\n%s", module,
		tmp_path("keyveto.conf"), lines));
	answer = open_session();
	put("sshd", lines);
	return answer;
}

static enum pam_decision
judge(void)
{
	char why[1024] = "";
	struct pam_stack stack;
	enum pam_decision found;

	if (!pam_stack_read("sshd", &stack, why, sizeof(why)))
		fail_msg("%s", why);
	found = pam_decision_judge(&stack, KEYVETO);
	pam_stack_free(&stack);
	return found;
}

static void
set_up(void)
{
	static const char *const dirs[] = { "etc", "etc/pam.d" };
	const char *path = getenv("KEYVETO_PAM_MODULE");

	path = path != NULL ? path : "build/" KEYVETO;
	if (realpath(path, module) == NULL)
		fail_msg("%s: %s", path, strerror(errno));
	for (size_t i = 0; i < COUNT(dirs); i++)
		assert_int_equal(mkdir(tmp_path("%s", dirs[i]), 0755), 0);
	tmp_text("keys", "");
	output_of(ORACLE "create %s/f --hashes 12 --length 18 %s/keys",
	    tmp_dir(), tmp_dir());
	tmp_text("keyveto.conf", format("Filter %s/f\n", tmp_dir()));
}

TEST_CASE(drawn_stacks_keep_their_answer)
{
	size_t sure = 0, changed = 0, equal = 0;

	for (unsigned int i = 0; i < DRAWS; i++) {
		const char *lines, *other, *one, *two;
		int with, without;

		rng_seed(i + 1);
		lines = draw_lines(rng_below(6), true);
		put("sshd", lines);
		put("other", other = draw_lines(rng_below(2), false));
		put("one", one = draw_lines(rng_below(3), false));
		put("two", two = draw_lines(rng_below(4), false));
		without = open_session();
		with = open_session_with_line(lines);
		if (judge() != PAM_DECISION_SURE) {
			changed += with != without;
			equal += with == without;
			continue;
		}
		sure++;
		if (with != without)
			fail_msg("draw %u: %d becomes %d:\n%sone:\n%stwo:\n%s"
				 "other:\n%s",
			    i, without, with, lines, one, two, other);
	}
	printf("%zu draws decide, %zu others change their answer, %zu do not\n",
	    sure, changed, equal);
	/* The random stacks have enough of each kind. */
	assert_true(sure > DRAWS / 10);
	assert_true(changed > DRAWS / 10);
}

static void
expect(const char *lines, enum pam_decision want)
{
	put("sshd", lines);
	put("one", "session required pam_permit.so\n");
	put("empty", "auth required pam_permit.so\n");
	if (judge() != want)
		fail_msg("%d, not %d:\n%s", (int)judge(), (int)want, lines);
}

#define PERMIT "session required pam_permit.so\n"

TEST_CASE(known_stacks)
{
	/* Debian's common-session. */
	expect("session [default=1] pam_permit.so\n"
	       "session requisite pam_deny.so\n" PERMIT
	       "session optional pam_umask.so\n",
	    PAM_DECISION_SURE);
	/* Fedora's password-auth. */
	expect(
	    "session optional pam_keyinit.so revoke\n"
	    "session required pam_limits.so\n"
	    "-session optional pam_systemd.so\n"
	    "session [success=1 default=ignore] pam_succeed_if.so service in "
	    "crond quiet use_uid\nsession required pam_unix.so\n",
	    PAM_DECISION_SURE);
	expect("session include one\n", PAM_DECISION_SURE);
	expect("session [success=ok ignore=ignore default=bad] pam_unix.so\n",
	    PAM_DECISION_SURE);
	expect("session sufficient pam_x.so\nsession requisite pam_deny.so\n",
	    PAM_DECISION_SURE);
	expect("session substack one\n", PAM_DECISION_OPEN);
	expect("session sufficient pam_succeed_if.so user = alice\n",
	    PAM_DECISION_OPEN);
	expect("session optional pam_permit.so\n", PAM_DECISION_OPEN);
	/* In a container pam_loginuid answers PAM_IGNORE. */
	expect("session required pam_loginuid.so\n", PAM_DECISION_OPEN);
	expect("session [success=1 default=ignore] pam_x.so\n" PERMIT,
	    PAM_DECISION_OPEN);
	/* A jump counts a substack as one line. */
	expect("session [default=2] pam_x.so\nsession substack one\n" PERMIT
	       "session optional pam_permit.so\n",
	    PAM_DECISION_OPEN);
	expect("auth required pam_permit.so\n", PAM_DECISION_OTHER);
	expect("session include empty\n", PAM_DECISION_OTHER);
	/* keyveto's own line does not decide. */
	expect("session requisite pam_keyveto.so\n", PAM_DECISION_OTHER);
	expect("session requisite pam_keyveto.so\n" PERMIT, PAM_DECISION_SURE);
	expect("session requisite /x/pam_keyveto.so\n"
	       "session optional pam_permit.so\n",
	    PAM_DECISION_OPEN);
}

int
main(void)
{
	return run_all_tests(&(struct fixture){ .before_each = set_up });
}
