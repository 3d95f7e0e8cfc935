/* SPDX-License-Identifier: ISC */
/*
 * Tests what pam_keyveto.so returns in each phase, through libpam and a service
 * file of the test. The module is alone, or stacked with pam_permit, which
 * tells PAM_IGNORE from PAM_SUCCESS. The module is build/pam_keyveto.so, or the
 * one that KEYVETO_PAM_MODULE names.
 */
#include "testkeys.h"
#include "testlib.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>

#include <security/pam_appl.h>

#define MODULE "build/pam_keyveto.so"
#define ENTRY_POINTS 6

/* What the module returns from each entry point. */
struct answers {
	int auth, setcred, account, open_session, close_session, password;
};

/* A login without a key, or with a clean one. */
static const struct answers clean = { PAM_IGNORE, PAM_IGNORE, PAM_IGNORE,
	PAM_SUCCESS, PAM_SUCCESS, PAM_IGNORE };
static const struct answers refused = { PAM_PERM_DENIED, PAM_IGNORE,
	PAM_PERM_DENIED, PAM_PERM_DENIED, PAM_SUCCESS, PAM_IGNORE };
static const struct answers no_verdict = { PAM_AUTHINFO_UNAVAIL, PAM_IGNORE,
	PAM_AUTHINFO_UNAVAIL, PAM_SESSION_ERR, PAM_SUCCESS, PAM_IGNORE };

static char module[PATH_MAX];
static struct testkey listed, key, ca;
static struct blob cert;
/* A filter that lists the listed key, made by the oracle. */
static struct {
	size_t len;
	uint8_t p[64 * 1024];
} filter;

/* What the conversation function was given, and what it returns. */
static struct {
	char text[4096];
	int messages, style, answer;
} said;

/* What the module logged last. The linker shows it these functions. */
static char logged[16 * 1024];

__attribute__((format(printf, 2, 0))) static void
note_syslog(int priority, const char *fmt, va_list ap)
{
	char line[sizeof(logged)];

	(void)priority;
	vsnprintf(line, sizeof(line), fmt, ap);
	/* libpam logs, too. */
	if (strncmp(line, "pam_keyveto(", 12) == 0)
		strcpy(logged, line);
}

#include "own_syslog.h"

static int
converse(int n, const struct pam_message **msg, struct pam_response **resp,
    void *arg)
{
	(void)arg;
	*resp = NULL;
	said.messages += n;
	for (int i = 0; i < n; i++) {
		size_t len = strlen(said.text);

		said.style = msg[i]->msg_style;
		snprintf(said.text + len, sizeof(said.text) - len, "%s\n",
		    msg[i]->msg);
	}
	if (said.answer == PAM_SUCCESS)
		*resp = calloc((size_t)n, sizeof(**resp));
	return said.answer;
}

static void
make_filter(void)
{
	const uint8_t *p;

	tmp_text("keys", rsa_line);
	output_of(ORACLE "create %s/f --hashes 12 --length 18 %s/keys",
	    tmp_dir(), tmp_dir());
	p = read_whole(tmp_path("f"), &filter.len);
	assert_true(filter.len <= sizeof(filter.p));
	memcpy(filter.p, p, filter.len);
}

static void
set_up(void)
{
	const char *path = getenv("KEYVETO_PAM_MODULE");

	path = path != NULL ? path : MODULE;
	if (realpath(path, module) == NULL)
		fail_msg("%s: %s", path, strerror(errno));
	listed.type = KV_KEY_RSA;
	blob_of_line(rsa_line, &listed.blob);
	put(&listed.fields, listed.blob.p + 11, listed.blob.len - 11);
	testkey_new(&key, KV_KEY_ED25519);
	testkey_new(&ca, KV_KEY_ECDSA_P384);
	make_filter();
}

static const char *
conf(void)
{
	return tmp_path("keyveto.conf");
}

/* Writes both services, with these arguments of the module. */
__attribute__((format(printf, 1, 2))) static void
write_services(const char *fmt, ...)
{
	static const char *const types[] = { "auth", "account", "session",
		"password" };
	FILE *alone = fopen(tmp_path("alone"), "w");
	FILE *stacked = fopen(tmp_path("stacked"), "w");
	char *arguments;
	va_list ap;

	va_start(ap, fmt);
	assert_true(vasprintf(&arguments, fmt, ap) >= 0);
	va_end(ap);
	for (size_t i = 0; i < COUNT(types); i++) {
		fprintf(alone, "%s required %s %s\n", types[i], module,
		    arguments);
		fprintf(stacked,
		    "%s required %s %s\n"
		    "%s required pam_permit.so\n",
		    types[i], module, arguments, types[i]);
	}
	free(arguments);
	fclose(alone);
	fclose(stacked);
}

/* Writes a filter that lists the RSA example key, and this configuration. */
static void
configure(const char *text)
{
	tmp_file("f", filter.p, filter.len);
	tmp_text("keyveto.conf", format("Filter %s/f\n%s", tmp_dir(), text));
	write_services("config=%s", conf());
}

static pam_handle_t *
start(const char *service, const char *info)
{
	static const struct pam_conv conv = { converse, NULL };
	pam_handle_t *pamh;

	assert_int_equal(pam_start_confdir(service, "alice", &conv, tmp_dir(),
			     &pamh),
	    PAM_SUCCESS);
	if (info != NULL)
		assert_int_equal(pam_putenv(pamh,
				     format("SSH_AUTH_INFO_0=%s", info)),
		    PAM_SUCCESS);
	said.messages = 0;
	said.text[0] = '\0';
	return pamh;
}

static int
call(pam_handle_t *pamh, size_t entry_point, int flags)
{
	switch (entry_point) {
	case 0:
		return pam_authenticate(pamh, flags);
	case 1:
		return pam_setcred(pamh, flags);
	case 2:
		return pam_acct_mgmt(pamh, flags);
	case 3:
		return pam_open_session(pamh, flags);
	case 4:
		return pam_close_session(pamh, flags);
	default:
		return pam_chauthtok(pamh, flags);
	}
}

/* What libpam returns if the module returns answer. */
static int
through_libpam(const char *service, int answer)
{
	if (answer != PAM_IGNORE)
		return answer;
	return strcmp(service, "alone") == 0 ? PAM_PERM_DENIED : PAM_SUCCESS;
}

static void
expect_for_service(const char *service, const struct answers *want,
    const char *info, int flags)
{
	const int answers[ENTRY_POINTS] = { want->auth, want->setcred,
		want->account, want->open_session, want->close_session,
		want->password };

	for (size_t i = 0; i < ENTRY_POINTS; i++) {
		pam_handle_t *pamh = start(service, info);
		int r = call(pamh, i, flags);
		int w = through_libpam(service, answers[i]);

		pam_end(pamh, r);
		if (r != w)
			fail_msg("%s, entry point %zu: %d instead of %d",
			    service, i, r, w);
	}
}

static void
expect_with_flags(const struct answers *want, const char *info, int flags)
{
	expect_for_service("alone", want, info, flags);
	expect_for_service("stacked", want, info, flags);
}

static void
expect(const struct answers *want, const char *info)
{
	expect_with_flags(want, info, 0);
}

static char *
info_of(const char *method, const struct testkey *k)
{
	return format("%s %s\n", method, testkey_line(k));
}

static char *
cert_info_of(const struct testkey *k, const struct testkey *signer)
{
	testcert_new(&cert, k, signer);
	return format("publickey %s\n",
	    line_of(cert_name_of(kv_keytype_name(k->type)), &cert));
}

/* The message to the person when a session is opened. */
static const char *
said_at_open_session(const char *info, int flags)
{
	pam_handle_t *pamh = start("alone", info);

	pam_end(pamh, pam_open_session(pamh, flags));
	return said.text;
}

TEST_CASE(login_without_a_key_passes)
{
	configure("");
	expect(&clean, NULL);
	expect(&clean, "");
	expect(&clean, "password\n");
	expect(&clean, "keyboard-interactive/pam\npassword\n");
	assert_string_equal(said_at_open_session("password\n", 0), "");
}

/* A password must be enough without a filter and without a configuration. */
TEST_CASE(login_without_a_key_needs_no_configuration)
{
	write_services("config=/nonexistent bogus");
	expect(&clean, NULL);
	expect(&clean, "password\n");
}

TEST_CASE_AS_ROOT(clean_key_passes)
{
	configure("");
	expect(&clean, info_of("publickey", &key));
	expect(&clean, info_of("hostbased", &key));
	expect(&clean, cert_info_of(&key, &ca));
	assert_string_equal(said_at_open_session(info_of("publickey", &key), 0),
	    "");
}

TEST_CASE_AS_ROOT(listed_key_is_refused)
{
	configure("");
	expect(&refused, info_of("publickey", &listed));
	expect(&refused, info_of("hostbased", &listed));
	expect(&refused, format("publickey %s", rsa_line));
}

TEST_CASE_AS_ROOT(keys_in_a_certificate_are_judged)
{
	configure("");
	expect(&refused, cert_info_of(&listed, &ca));
	expect(&refused, cert_info_of(&key, &listed));
}

TEST_CASE_AS_ROOT(every_key_of_a_login_is_judged)
{
	const char *bad = info_of("publickey", &listed);
	const char *good = info_of("publickey", &key);

	configure("");
	expect(&refused, format("%s%s", bad, good));
	expect(&refused, format("%s%s", good, bad));
	expect(&refused,
	    format("password\n%skeyboard-interactive/pam\n%s", good, bad));
	expect(&clean, format("%spassword\n%s", good, good));
}

TEST_CASE_AS_ROOT(on_hit_warn_lets_a_listed_key_in)
{
	configure("OnHit warn\n");
	expect(&clean, info_of("publickey", &listed));
	assert_string_equal(
	    said_at_open_session(info_of("publickey", &listed), 0), "");
}

TEST_CASE_AS_ROOT(allowed_key_passes)
{
	configure("AllowKey " RSA_FP " for a week\n");
	expect(&clean, info_of("publickey", &listed));
	configure("AllowKey " RSA_FP " until=2020-01-01\n");
	expect(&refused, info_of("publickey", &listed));
}

TEST_CASE_AS_ROOT(missing_filter_is_no_verdict)
{
	const char *info = info_of("publickey", &key);

	configure("");
	assert_done(unlink(tmp_path("f")));
	expect(&no_verdict, info);
	assert_contains(said_at_open_session(info, 0), "could not");
	tmp_text("keyveto.conf",
	    format("Filter %s\nOnError allow\n", tmp_path("f")));
	expect(&clean, info);
	assert_string_equal(said_at_open_session(info, 0), "");
}

TEST_CASE(insecure_or_missing_configuration_is_no_verdict)
{
	const char *info = info_of("publickey", &key);

	configure("OnError allow\n");
	assert_done(chmod(tmp_path("keyveto.conf"), 0666));
	expect(&no_verdict, info);
	write_services("config=/nonexistent");
	expect(&no_verdict, info);
	if (!have_root())
		return;
	configure("OnError allow\n");
	assert_done(chmod(tmp_path("keyveto.conf"), 0644));
	expect(&clean, info);
	assert_done(chown(tmp_path("keyveto.conf"), 1, 0));
	expect(&no_verdict, info);
}

TEST_CASE_AS_ROOT(mistake_in_the_configuration_is_no_verdict)
{
	const char *info = info_of("publickey", &key);

	configure("Bogus\n");
	expect(&no_verdict, info);
	configure("Bogus\nOnError allow\n");
	expect(&clean, info);
}

TEST_CASE_AS_ROOT(unknown_option_is_no_verdict)
{
	static const char *const options[] = { "bogus", "Debug", "config",
		"config=", "config=relative", "debug=1", "disconnect",
		"disconnect=", "disconnect=yes", "disconnect=Always",
		"disconnect=root,always" };
	const char *info = info_of("publickey", &key);

	for (size_t i = 0; i < COUNT(options); i++) {
		configure("");
		write_services("config=%s %s", conf(), options[i]);
		expect(&no_verdict, info);
		write_services("%s config=%s", options[i], conf());
		expect(&no_verdict, info);
	}
	/* OnError decides, as about other errors. */
	configure("OnError allow\n");
	write_services("config=%s bogus", conf());
	expect(&clean, info);
}

/*
 * Added to the answer of a child that the module did not end. The module never
 * exits with such a status.
 */
#define LIVES_ON 100

/*
 * Calls an entry point in a child, for a user at a terminal (NULL for none).
 * Returns the child's exit status: LIVES_ON plus the module's answer, or the
 * status with which the module ended the child.
 */
static int
status_after(size_t entry_point, const char *service, const char *user,
    const char *tty, const char *info)
{
	pam_handle_t *pamh = start(service, info);
	pid_t pid;
	int status;

	assert_int_equal(pam_set_item(pamh, PAM_USER, user), PAM_SUCCESS);
	if (tty != NULL)
		assert_int_equal(pam_set_item(pamh, PAM_TTY, tty), PAM_SUCCESS);
	assert_done(pid = fork());
	if (pid == 0)
		_exit(LIVES_ON + call(pamh, entry_point, 0));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	pam_end(pamh, PAM_SUCCESS);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const char *const services[] = { "alone", "stacked" };

/*
 * The module gives this answer. If it disconnects, it ends the process instead,
 * but only if the caller is sshd.
 */
static void
expect_end(const char *user, const char *info, int answer, bool disconnects)
{
	static const char *const others[] = { NULL, "pts/1", "/dev/ssh", "" };

	for (size_t i = 0; i < COUNT(services); i++) {
		assert_int_equal(status_after(3, services[i], user, "ssh",
				     info),
		    disconnects ? 0 : LIVES_ON + answer);
		for (size_t j = 0; j < COUNT(others); j++)
			assert_int_equal(status_after(3, services[i], user,
					     others[j], info),
			    LIVES_ON + answer);
	}
}

/* root has the uid 0, nobody another uid; the third account does not exist. */
static void
expect_ends(bool root, bool other, bool unknown)
{
	static const char broken[] = "publickey ssh-rsa AAAA\n";
	const struct {
		const char *user;
		bool disconnects;
	} users[] = {
		{ "root", root },
		{ "nobody", other },
		{ "kvt-no-such-account", unknown },
	};

	for (size_t i = 0; i < COUNT(users); i++) {
		const char *user = users[i].user;

		expect_end(user, info_of("publickey", &listed), PAM_PERM_DENIED,
		    users[i].disconnects);
		expect_end(user, broken, PAM_SESSION_ERR, users[i].disconnects);
		expect_end(user,
		    format("%s%s", info_of("publickey", &key),
			info_of("publickey", &listed)),
		    PAM_PERM_DENIED, users[i].disconnects);
		expect_end(user,
		    format("%s%s", info_of("publickey", &listed),
			info_of("publickey", &key)),
		    PAM_PERM_DENIED, users[i].disconnects);
		/* A login that is let in, or has no key, is not ended. */
		expect_end(user, info_of("publickey", &key), PAM_SUCCESS,
		    false);
		expect_end(user, "password\n", PAM_SUCCESS, false);
	}
}

TEST_CASE_AS_ROOT(refused_session_of_root_ends_the_connection)
{
	configure("");
	expect_ends(true, false, true);
	write_services("config=%s disconnect=root", conf());
	expect_ends(true, false, true);
}

TEST_CASE_AS_ROOT(refused_session_ends_the_connection_as_the_option_says)
{
	configure("");
	write_services("config=%s disconnect=always", conf());
	expect_ends(true, true, true);
	write_services("config=%s disconnect=never", conf());
	expect_ends(false, false, false);
}

TEST_CASE_AS_ROOT(session_that_may_go_on_is_not_ended)
{
	const char *info = info_of("publickey", &listed);

	configure("OnHit warn\nOnError allow\n");
	write_services("disconnect=always config=%s", conf());
	expect_end("root", info, PAM_SUCCESS, false);
	expect_end("root", "publickey ssh-rsa AAAA\n", PAM_SUCCESS, false);
	configure("AllowKey " RSA_FP "\n");
	write_services("disconnect=always config=%s", conf());
	expect_end("root", info, PAM_SUCCESS, false);
}

TEST_CASE_AS_ROOT(other_phases_end_no_connection)
{
	const char *info = info_of("publickey", &listed);

	configure("");
	write_services("disconnect=always config=%s", conf());
	for (size_t i = 0; i < COUNT(services); i++) {
		assert_int_equal(status_after(0, services[i], "root", "ssh",
				     info),
		    LIVES_ON + PAM_PERM_DENIED);
		assert_int_equal(status_after(2, services[i], "root", "ssh",
				     info),
		    LIVES_ON + PAM_PERM_DENIED);
	}
}

TEST_CASE_AS_ROOT(debug_changes_no_answer)
{
	configure("");
	write_services("debug config=%s", conf());
	expect(&clean, info_of("publickey", &key));
	expect(&refused, info_of("publickey", &listed));
}

TEST_CASE_AS_ROOT(key_that_cannot_be_read_is_no_verdict)
{
	static const char *const infos[] = { "publickey\n",
		"publickey ssh-rsa\n", "publickey ssh-rsa \n",
		"publickey ssh-rsa AAA\n", "publickey ssh-rsa AAAA\n",
		"hostbased ssh-ed25519 ====\n" };

	configure("");
	for (size_t i = 0; i < COUNT(infos); i++)
		expect(&no_verdict, infos[i]);
	expect(&no_verdict,
	    format("publickey ssh-ed25519 %s\n", rsa_line + 8 + 100));
	/* A key that can be read must not hide one that cannot. */
	expect(&no_verdict,
	    format("publickey ssh-rsa AAAA\n%s", info_of("publickey", &key)));
	expect(&no_verdict,
	    format("%spublickey ssh-rsa AAAA\n", info_of("publickey", &key)));
}

TEST_CASE_AS_ROOT(listed_key_outweighs_one_without_a_verdict)
{
	const char *bad = info_of("publickey", &listed);

	configure("");
	expect(&refused, format("publickey ssh-rsa AAAA\n%s", bad));
	expect(&refused, format("%spublickey ssh-rsa AAAA\n", bad));
}

TEST_CASE_AS_ROOT(unsupported_key_is_what_the_configuration_says)
{
	static const char info[] = "publickey ssh-foo AAAAB3NzaC1mb28=\n";

	configure("");
	expect(&clean, info);
	configure("OnUnsupported deny\n");
	expect(&refused, info);
	assert_contains(said_at_open_session(info, 0), "ssh-foo");
	/* The administrator's message is about listed keys. */
	configure("OnUnsupported deny\nMessage listed\n");
	assert_contains(said_at_open_session(info, 0), "ssh-foo cannot");
}

TEST_CASE_AS_ROOT(log_names_service_phase_and_login)
{
	const char *info = info_of("publickey", &listed);
	pam_handle_t *pamh;

	configure("");
	pamh = start("alone", info);
	pam_set_item(pamh, PAM_RHOST, "192.0.2.7");
	pam_end(pamh, pam_authenticate(pamh, 0));
	assert_memory_equal(logged,
	    "pam_keyveto(alone:auth): verdict=listed action=deny user=alice "
	    "rhost=192.0.2.7 via=pam ",
	    86);
	/* What is empty is not known. */
	pamh = start("alone", info);
	pam_set_item(pamh, PAM_RHOST, "");
	pam_end(pamh, pam_acct_mgmt(pamh, 0));
	assert_contains(logged, "(alone:account): verdict=listed ");
	assert_null(strstr(logged, "rhost="));
	/* A clean key is logged for whoever debugs, and nothing else is. */
	logged[0] = '\0';
	expect(&clean, info_of("publickey", &key));
	assert_string_equal(logged, "");
	write_services("config=%s debug", conf());
	pamh = start("alone", info_of("publickey", &key));
	pam_end(pamh, pam_open_session(pamh, 0));
	assert_contains(logged, "(alone:session): verdict=clean action=allow");
	/* Of two unknown options the first is named. */
	write_services("config=%s bogus other", conf());
	expect(&no_verdict, info);
	assert_contains(logged, "unknown module option \\x22bogus\\x22");
}

/* Whoever that is may be root. */
TEST_CASE_AS_ROOT(refused_session_of_nobody_known_ends_the_connection)
{
	configure("");
	expect_end("", info_of("publickey", &listed), PAM_PERM_DENIED, true);
}

TEST_CASE_AS_ROOT(person_is_told_of_a_listed_key)
{
	const char *info = info_of("publickey", &listed);
	char long_text[1100];

	memset(long_text, 'm', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	configure("");
	assert_contains(said_at_open_session(info, 0),
	    "ssh-rsa " RSA_FP " is publicly known to be compromised.");
	assert_null(strchr(said.text, '%'));
	assert_int_equal(said.messages, 1);
	assert_int_equal(said.style, PAM_ERROR_MSG);
	configure("Message \"Ask %t about %f, 100%%\"\n");
	assert_string_equal(said_at_open_session(info, 0),
	    "Ask ssh-rsa about " RSA_FP ", 100%\n");
	/* Longer ones are cut. */
	configure(format("Message %s\n", long_text));
	assert_string_equal(said_at_open_session(info, 0),
	    format("%.1023s\n", long_text));
}

/* Nobody knows whether such a key is compromised: an administrator refused it. */
TEST_CASE_AS_ROOT(person_is_told_of_a_denied_key)
{
	const char *info = info_of("publickey", &listed);

	configure("DenyKey " RSA_FP " left the company\n");
	assert_contains(said_at_open_session(info, 0),
	    "this server does not accept ssh-rsa " RSA_FP ".");
	assert_null(strstr(said.text, "compromised"));
	assert_null(strstr(said.text, "company"));
	assert_null(strchr(said.text, '%'));
	assert_int_equal(said.messages, 1);
	configure("Message \"Ask about %f\"\nDenyKey " RSA_FP "\n");
	assert_string_equal(said_at_open_session(info, 0),
	    "Ask about " RSA_FP "\n");
}

TEST_CASE_AS_ROOT(person_is_told_in_each_phase)
{
	static const size_t phases[] = { 0, 2, 3 };
	const char *info = info_of("publickey", &listed);

	configure("");
	for (size_t i = 0; i < COUNT(phases); i++) {
		pam_handle_t *pamh = start("stacked", info);

		pam_end(pamh, call(pamh, phases[i], 0));
		assert_int_equal(said.messages, 1);
		assert_contains(said.text, RSA_FP);
	}
}

TEST_CASE_AS_ROOT(silent_call_says_nothing)
{
	const char *info = info_of("publickey", &listed);

	configure("");
	expect_with_flags(&refused, info, PAM_SILENT);
	said_at_open_session(info, PAM_SILENT);
	assert_int_equal(said.messages, 0);
	/* Other flags do not silence the message. */
	said_at_open_session(info, PAM_DISALLOW_NULL_AUTHTOK);
	assert_int_equal(said.messages, 1);
}

TEST_CASE_AS_ROOT(conversation_that_fails_changes_no_answer)
{
	configure("");
	said.answer = PAM_CONV_ERR;
	expect(&refused, info_of("publickey", &listed));
	expect(&no_verdict, "publickey ssh-rsa AAAA\n");
	said.answer = PAM_SUCCESS;
}

TEST_CASE_AS_ROOT(every_call_reads_the_configuration_anew)
{
	pam_handle_t *pamh;

	configure("OnHit warn\n");
	pamh = start("stacked", info_of("publickey", &listed));
	assert_int_equal(pam_open_session(pamh, 0), PAM_SUCCESS);
	tmp_text("keyveto.conf", format("Filter %s\n", tmp_path("f")));
	assert_int_equal(pam_open_session(pamh, 0), PAM_PERM_DENIED);
	pam_end(pamh, PAM_PERM_DENIED);
}

TEST_CASE_AS_ROOT(no_descriptor_is_left_open)
{
	size_t before;
	pam_handle_t *pamh;

	configure("");
	pamh = start("stacked", info_of("publickey", &listed));
	(void)pam_open_session(pamh, 0);
	before = count_descriptors();
	(void)pam_open_session(pamh, 0);
	(void)pam_authenticate(pamh, 0);
	assert_int_equal(count_descriptors(), before);
	pam_end(pamh, PAM_SUCCESS);
}

int
main(int argc, char **argv)
{
	bool *finished = mmap(NULL, sizeof(*finished), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int status;

	if (argc > 1)
		setenv("KEYVETO_PAM_MODULE", argv[1], 1);
	if (finished == MAP_FAILED || (pid = fork()) == -1)
		return 1;
	if (pid == 0) {
		status = run_all_tests(
		    &(struct fixture){ .before_all = set_up });
		*finished = true;
		return status;
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	/* A module that wrongly ends the connection ends it with status 0. */
	if (!*finished)
		fprintf(stderr, "the module has ended the tests\n");
	return *finished && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
