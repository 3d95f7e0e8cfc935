/* SPDX-License-Identifier: ISC */
/*
 * The tests give the output of sshd -T as text: in lower case, as OpenSSH up to
 * 10.4 prints it, and in the mixed case of 10.5. They compare with libpam which
 * module PAM asks first, and whether its refusal ends the session.
 */
#include "ways/ways.h"

#include "own_root.h"
#include "testlib.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <security/pam_appl.h>

#define GUARD \
	"/usr/libexec/keyveto-authorized-keys --user %u --home %h " \
	"--type %t --key %k"
#define SSSD "/usr/bin/sss_ssh_authorizedkeys %u"
#define CHAINED GUARD " -- " SSSD
#define CA "TrustedUserCAKeys /etc/ssh/ca.pub\n"

/* Ways by their letters: Files, command (K), CA line, User CA, Hostbased. */
static const char letters[WAYS + 1] = "FKCUH";

static const char *
lower_keywords(const char *text)
{
	char *copy = format("%s", text);
	bool keyword = true;

	for (char *c = copy; *c != '\0'; c++) {
		if (*c == ' ')
			keyword = false;
		else if (*c == '\n')
			keyword = true;
		else if (keyword)
			*c = (char)tolower((unsigned char)*c);
	}
	return copy;
}

static const char *
ways_shown(const bool way[WAYS])
{
	char *text = format("%s", letters), *end = text;

	for (int i = 0; i < WAYS; i++)
		if (way[i])
			*end++ = letters[i];
	*end = '\0';
	return text;
}

static void
expect_ways(const char *dump, const struct ways_context *c, const char *open,
    const char *guard, bool pam)
{
	struct sshd_settings *s = sshd_settings_parse(dump);
	struct ways w;

	assert_non_null(s);
	memset(&w, 0xa5, sizeof(w));
	ways_read(s, c, &w);
	sshd_settings_free(s);
	/* The guard's answer counts only for an open way. */
	for (int i = 0; i < WAYS; i++)
		w.guard[i] = w.guard[i] && w.open[i];
	if (strcmp(ways_shown(w.open), open) != 0 ||
	    strcmp(ways_shown(w.guard), guard) != 0)
		fail_msg("open %s, guard %s, instead of %s, %s for\n%s",
		    ways_shown(w.open), ways_shown(w.guard), open, guard, dump);
	for (int i = 0; i < WAYS; i++) {
		assert_int_equal(w.pam, pam);
		assert_int_equal(ways_is_guarded(&w, (enum way)i),
		    strchr(open, letters[i]) == NULL ||
			strchr(guard, letters[i]) != NULL || pam);
	}
}

/* Checks both spellings of the keywords, with and without the module. */
static void
expect_open(const char *text, const char *open, const char *guard)
{
	static const struct {
		bool module, usepam;
	} pam[] = {
		{ false, false },
		{ true, false },
		{ false, true },
		{ true, true },
	};

	for (size_t i = 0; i < COUNT(pam); i++) {
		const struct ways_context c = { .pam = pam[i].module };
		const char *dump = format("Port 22\nUsePAM %s\n%s",
		    pam[i].usepam ? "yes" : "no", text);
		bool judges = pam[i].module && pam[i].usepam;

		expect_ways(dump, &c, open, guard, judges);
		expect_ways(lower_keywords(dump), &c, open, guard, judges);
	}
}

TEST_CASE(each_way_is_open_or_guarded_as_sshd_says)
{
	static const struct {
		const char *dump, *open, *guard;
	} rows[] = {
		{ "", "", "" },
		{ "AuthorizedKeysFile .ssh/authorized_keys\n", "FC", "" },
		{ "AuthorizedKeysFile none\n", "", "" },
		{ "AuthorizedKeysFile NONE\nAuthorizedKeysCommand None\n", "",
		    "" },
		{ "AuthorizedKeysFile .ssh/authorized_keys\n"
		  "AuthorizedKeysCommand " SSSD "\n",
		    "FKC", "" },
		{ "AuthorizedKeysFile none\nAuthorizedKeysCommand " SSSD "\n",
		    "KC", "" },
		/* The guard prints the files, and sshd does not read them. */
		{ "AuthorizedKeysFile none\nAuthorizedKeysCommand " GUARD "\n",
		    "FC", "FC" },
		{ "AuthorizedKeysFile none\nAuthorizedKeysCommand " CHAINED
		  "\n",
		    "KC", "KC" },
		/* sshd itself reads the files before it asks the guard. */
		{ "AuthorizedKeysFile .ssh/authorized_keys\n"
		  "AuthorizedKeysCommand " GUARD "\n",
		    "FC", "" },
		{ "AuthorizedKeysFile .ssh/authorized_keys\n"
		  "AuthorizedKeysCommand " CHAINED "\n",
		    "FKC", "K" },
		/* This is not the guard, but has its name as an argument. */
		{ "AuthorizedKeysFile none\nAuthorizedKeysCommand " SSSD
		  " keyveto-authorized-keys\n",
		    "KC", "" },
		{ "AuthorizedKeysFile none\nAuthorizedKeysCommand "
		  "/usr/libexec/keyveto-authorized-keys.old %u\n",
		    "KC", "" },
		{ "AuthorizedKeysFile none\nAuthorizedKeysCommand "
		  "/usr/libexec/my-keyveto-authorized-keys %u\n",
		    "KC", "" },
		/*
		 * Here "--" is the value of an option, so no command follows.
		 */
		{ "AuthorizedKeysFile none\nAuthorizedKeysCommand "
		  "/usr/libexec/keyveto-authorized-keys --user -- --home %h\n",
		    "FC", "FC" },
		/* sshd does not ask the guard of keys about a certificate. */
		{ CA, "U", "" },
		{ "AuthorizedKeysFile none\nAuthorizedKeysCommand " GUARD
		  "\n" CA,
		    "FCU", "FC" },
		{ CA "AuthorizedPrincipalsCommand " CHAINED "\n", "U", "U" },
		{ CA "AuthorizedPrincipalsCommand " GUARD "\n", "U", "" },
		{ CA "AuthorizedPrincipalsCommand " SSSD "\n", "U", "" },
		{ CA "AuthorizedPrincipalsCommand none\n", "U", "" },
		/* sshd reads the principals file first. */
		{ CA "AuthorizedPrincipalsCommand " CHAINED "\n"
		     "AuthorizedPrincipalsFile .ssh/principals\n",
		    "U", "" },
		{ CA "AuthorizedPrincipalsCommand " CHAINED "\n"
		     "AuthorizedPrincipalsFile none\n",
		    "U", "U" },
		/* Without a CA principals open no way. */
		{ "AuthorizedPrincipalsCommand " CHAINED "\n", "", "" },
		{ "AuthorizedPrincipalsFile .ssh/principals\n", "", "" },
		{ "TrustedUserCAKeys none\n", "", "" },
		{ "PubkeyAuthentication no\n"
		  "AuthorizedKeysFile .ssh/authorized_keys\n"
		  "AuthorizedKeysCommand " SSSD "\n" CA,
		    "", "" },
		{ "PubkeyAuthentication yes\n"
		  "AuthorizedKeysFile .ssh/authorized_keys\n",
		    "FC", "" },
		{ "HostbasedAuthentication yes\n", "H", "" },
		{ "HostbasedAuthentication no\n", "", "" },
		/* The guard is not asked about a host key. */
		{ "HostbasedAuthentication yes\nPubkeyAuthentication no\n"
		  "AuthorizedKeysFile none\nAuthorizedKeysCommand " GUARD "\n",
		    "H", "" },
		{ "HostbasedAuthentication yes\nAuthorizedKeysFile none\n"
		  "AuthorizedKeysCommand " GUARD "\n" CA
		  "AuthorizedPrincipalsCommand " CHAINED "\n",
		    "FCUH", "FCU" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		expect_open(rows[i].dump, rows[i].open, rows[i].guard);
}

TEST_CASE(other_clients_may_come_by_key)
{
	const struct ways_context c = { .keys_elsewhere = true };
	const char *dump =
	    "PubkeyAuthentication no\n"
	    "AuthorizedKeysFile .ssh/authorized_keys\nUsePAM yes\n";

	expect_ways(dump, &c, "FC", "", false);
	expect_ways(lower_keywords(dump), &c, "FC", "", false);
}

/* A line of a Match block may open a way that bypasses the guard. */
TEST_CASE(lines_of_match_blocks_open_ways)
{
	static const struct {
		const char *keyword, *value;
		bool without_ca, with_ca;
		enum way way;
	} rows[] = {
		{ "AuthorizedKeysFile", "/etc/keys/%u", true, true, WAY_FILES },
		{ "AuthorizedKeysFile", "none", false, false, WAY_FILES },
		{ "AuthorizedKeysCommand", SSSD, true, true, WAY_COMMAND },
		{ "AuthorizedKeysCommand", "none", false, false, WAY_COMMAND },
		{ "AuthorizedKeysCommand", GUARD, false, false, WAY_COMMAND },
		{ "AuthorizedKeysCommand", CHAINED, false, false, WAY_COMMAND },
		{ "TrustedUserCAKeys", "/etc/ca", true, true, WAY_USER_CA },
		{ "TrustedUserCAKeys", "none", false, false, WAY_USER_CA },
		{ "AuthorizedPrincipalsCommand", SSSD, false, true,
		    WAY_USER_CA },
		{ "AuthorizedPrincipalsCommand", "none", false, true,
		    WAY_USER_CA },
		{ "AuthorizedPrincipalsCommand", CHAINED, false, false,
		    WAY_USER_CA },
		{ "AuthorizedPrincipalsFile", ".ssh/p", false, true,
		    WAY_USER_CA },
		{ "AuthorizedPrincipalsFile", "none", false, false,
		    WAY_USER_CA },
		{ "HostbasedAuthentication", "yes", true, true, WAY_HOSTBASED },
		{ "HostbasedAuthentication", "no", false, false,
		    WAY_HOSTBASED },
		{ "PasswordAuthentication", "yes", false, false, WAYS },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *keyword = rows[i].keyword;

		for (int j = 0; j < 2; j++) {
			assert_int_equal(ways_line_opens(keyword, rows[i].value,
					     false),
			    rows[i].without_ca);
			assert_int_equal(ways_line_opens(keyword, rows[i].value,
					     true),
			    rows[i].with_ca);
			assert_int_equal(ways_of_keyword(keyword), rows[i].way);
			keyword = lower_keywords(keyword);
		}
	}
}

TEST_CASE(ways_have_names)
{
	static const char *const names[WAYS] = { "authorized_keys",
		"AuthorizedKeysCommand", "cert-authority line",
		"TrustedUserCAKeys", "hostbased" };

	for (int i = 0; i < WAYS; i++)
		assert_string_equal(ways_name((enum way)i), names[i]);
}

#define KEYVETO "pam_keyveto.so"

static int messages;

/* Counts the messages of pam_echo. */
static int
count_messages(int n, const struct pam_message **msg,
    struct pam_response **resp, void *arg)
{
	messages += n;
	(void)msg;
	(void)resp;
	(void)arg;
	return PAM_CONV_ERR;
}

/* What libpam returns for the session phase of etc/pam.d/sshd. */
static int
libpam_says(void)
{
	const struct pam_conv conv = { count_messages, NULL };
	pam_handle_t *pamh;
	int r;

	messages = 0;
	assert_int_equal(pam_start_confdir("sshd", "alice", &conv,
			     tmp_path("etc/pam.d"), &pamh),
	    PAM_SUCCESS);
	r = pam_open_session(pamh, 0);
	pam_end(pamh, r);
	return r;
}

static void
put_stack(const char *text)
{
	static const char *const dirs[] = { "etc", "etc/pam.d" };

	for (size_t i = 0; i < COUNT(dirs); i++)
		if (mkdir(tmp_path("%s", dirs[i]), 0755) == -1)
			assert_int_equal(errno, EEXIST);
	tmp_text("etc/pam.d/common", "session required pam_permit.so\n");
	tmp_text("etc/pam.d/keyveto", "session requisite " KEYVETO "\n");
	tmp_text("etc/pam.d/nested", "session include keyveto\n");
	tmp_text("etc/pam.d/deny", "session requisite pam_deny.so\n");
	tmp_text("etc/pam.d/sshd", text);
}

#define REST "\nsession required pam_permit.so\n"

static const struct {
	const char *text;
	bool found, judges;
} stacks[] = {
	{ "session requisite " KEYVETO REST, true, true },
	{ "session requisite " KEYVETO " disconnect=always" REST, true, true },
	{ "session\trequisite\t/usr/lib/security/" KEYVETO REST, true, true },
	{ "SESSION Requisite " KEYVETO REST, true, true },
	{ "auth required pam_permit.so\naccount required pam_permit.so\n"
	  "session requisite " KEYVETO REST,
	    true, true },
	{ "auth include common\nsession requisite " KEYVETO REST, true, true },
	{ "session include keyveto" REST, true, true },
	{ "@include keyveto" REST, true, true },
	/* A refusal ends only the substack, so the following lines run. */
	{ "session substack keyveto" REST, true, false },
	{ "session substack nested" REST, true, false },
	{ "session substack common\nsession requisite " KEYVETO REST, true,
	    false },
	/* This refusal does not end the stack, so the following lines run. */
	{ "session required " KEYVETO REST, true, false },
	{ "session optional " KEYVETO REST, true, false },
	{ "session sufficient " KEYVETO REST, true, false },
	{ "session [success=ok default=die] " KEYVETO REST, true, false },
	{ "session [default=ignore] " KEYVETO REST, true, false },
	/* The lines before may have hidden the key. */
	{ "session required pam_permit.so\nsession requisite " KEYVETO REST,
	    true, false },
	{ "session include common\nsession requisite " KEYVETO REST, true,
	    false },
	{ "@include common\nsession requisite " KEYVETO REST, true, false },
	{ "-session optional pam_none.so\nsession requisite " KEYVETO REST,
	    true, false },
	{ "session required pam_permit.so\n", false, false },
	{ "auth requisite " KEYVETO "\naccount requisite " KEYVETO REST, false,
	    false },
	{ "session requisite my" KEYVETO REST, false, false },
	{ "session requisite " KEYVETO ".old" REST, false, false },
	{ "#session requisite " KEYVETO REST, false, false },
	/* The "-" only stops PAM from logging that a module is missing. */
	{ "-session requisite " KEYVETO REST, true, true },
};

TEST_CASE(module_judges_only_as_first_requisite_line)
{
	struct pam_stack s;
	char why[512];

	for (size_t i = 0; i < COUNT(stacks); i++) {
		const struct pam_line *l;
		bool judges = !stacks[i].judges;

		put_stack(stacks[i].text);
		if (!pam_stack_read("sshd", &s, why, sizeof(why)))
			fail_msg("%s", why);
		l = ways_find_module(&s, &judges);
		if ((l != NULL) != stacks[i].found ||
		    judges != stacks[i].judges)
			fail_msg("found %d, judges %d:\n%s", l != NULL, judges,
			    stacks[i].text);
		pam_stack_free(&s);
	}
}

/*
 * If keyveto's module is missing from a stack that it guards, libpam must
 * refuse.
 */
TEST_CASE(libpam_refuses_where_the_module_is_missing)
{
	for (size_t i = 0; i < COUNT(stacks); i++) {
		const char *name = strstr(stacks[i].text, KEYVETO);

		if (!stacks[i].judges)
			continue;
		/* Only stacks in a single file are tested here. */
		if (name == NULL || strstr(stacks[i].text, "include"))
			continue;
		/* No such module anywhere. */
		put_stack(format("%.*s%s", (int)(name - stacks[i].text),
		    stacks[i].text,
		    format("pam_gone.so%s", name + strlen(KEYVETO))));
		assert_int_not_equal(libpam_says(), PAM_SUCCESS);
	}
}

/* The line after the refusal runs if ways_find_module says "no". */
TEST_CASE(libpam_runs_what_follows_a_refusal_in_a_substack)
{
	static const struct {
		const char *line;
		int messages;
	} rows[] = {
		{ "session requisite pam_deny.so", 0 },
		{ "session include ", 0 },
		{ "@include ", 0 },
		{ "session substack ", 1 },
		{ "session required pam_deny.so", 1 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		bool module = strstr(rows[i].line, ".so") != NULL;

		/* Linux-PAM 1.5 finds other names in /etc/pam.d only. */
		put_stack(format("%s%s\nsession optional pam_echo.so runs\n",
		    rows[i].line, module ? "" : tmp_path("etc/pam.d/deny")));
		assert_int_equal(libpam_says(), PAM_SESSION_ERR);
		if (messages != rows[i].messages)
			fail_msg("%d messages after %s", messages,
			    rows[i].line);
	}
}
