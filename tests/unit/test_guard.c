/* SPDX-License-Identifier: ISC */
/*
 * Runs the guard's main in a child, as root, and reads what it prints, what it
 * logs and how it ends. syslog, execv and the look-up of the account are this
 * program's. The changes of identity are real, but can be made to fail.
 */
#include "options.h"
#include "testkeys.h"
#include "testlib.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <syslog.h>

/* Some 32-bit systems have calls of 16-bit ids, too. */
#ifdef SYS_getresuid32
#define ID_CALL(name) SYS_##name##32
#else
#define ID_CALL(name) SYS_##name
#endif

#define IDENT "keyveto-authorized-keys"
#define UID 4242
#define GID 4343
#define ARGS_MAX 32
#define ALL_IDS 6
#define LINES "the account's line\n"

int guard_main(int argc, char **argv);

/* What the child finds, and what goes wrong in it. */
static struct {
	const char *fails;  /* the call that fails with EIO */
	int lies;	    /* this ID, from 1, is told as 0 */
	int parent_ends_at; /* at this call of getppid */
	int lookup_errno;   /* the account is not found */
	bool root_comes_back_by_setuid, root_comes_back_by_seteuid;
	bool no_dev_null, closed, full;
	uid_t account_uid, start_uid;
	const char *syslogd;
	int connect_errno;
} plan;

/* How the child ended. */
static struct {
	int status;
	char out[4096], err[4096], log[16 * 1024];
} seen;

static int log_fd = -1, default_facility;
static const char *account_home, *config;
static struct {
	size_t len;
	uint8_t p[64 * 1024];
} filter;

static void
note(const char *text)
{
	if (write(log_fd, text, strlen(text)) == -1)
		abort();
}

static bool
fails(const char *call)
{
	if (plan.fails == NULL || strcmp(plan.fails, call) != 0)
		return false;
	errno = EIO;
	return true;
}

__attribute__((format(printf, 2, 0))) static void
note_syslog(int priority, const char *fmt, va_list ap)
{
	char text[12 * 1024], line[12 * 1024 + 64];

	if ((priority & LOG_FACMASK) == 0)
		priority |= default_facility;
	vsnprintf(text, sizeof(text), fmt, ap);
	snprintf(line, sizeof(line), "<%d.%d> %s\n",
	    (priority & LOG_FACMASK) >> 3, LOG_PRI(priority), text);
	note(line);
}

#include "own_syslog.h"

void
openlog(const char *ident, int option, int facility)
{
	char line[128];

	default_facility = facility;
	snprintf(line, sizeof(line), "openlog %s %d %d\n", ident,
	    option == LOG_PID, facility >> 3);
	note(line);
}

/* glibc declares connect(2) with a union of pointers. */
#ifdef __GLIBC__
typedef __CONST_SOCKADDR_ARG address_pointer;
#else
typedef const struct sockaddr *address_pointer;
#endif

/* syslogd is the socket of plan.syslogd, if there is one. */
int
connect(int fd, address_pointer to, socklen_t len)
{
	struct sockaddr_un ours = { .sun_family = AF_UNIX };
	const struct sockaddr_un *asked;

	memcpy(&asked, &to, sizeof(asked));
	if (strcmp(asked->sun_path, "/dev/log") != 0 || len != sizeof(ours))
		abort();
	note("connects\n");
	errno = plan.connect_errno != 0 ? plan.connect_errno : ENOENT;
	if (plan.syslogd == NULL)
		return -1;
	snprintf(ours.sun_path, sizeof(ours.sun_path), "%s", plan.syslogd);
	return (int)syscall(SYS_connect, fd, &ours, sizeof(ours));
}

struct passwd *
getpwnam(const char *name)
{
	static struct passwd pw;

	if (plan.lookup_errno != 0)
		errno = plan.lookup_errno;
	if (plan.lookup_errno != 0 || strcmp(name, "alice") != 0)
		return NULL;
	pw.pw_name = (char *)(uintptr_t) "alice";
	pw.pw_uid = plan.account_uid;
	pw.pw_gid = GID;
	return &pw;
}

pid_t
getppid(void)
{
	static int calls;

	if (plan.parent_ends_at != 0 && ++calls >= plan.parent_ends_at)
		return 1;
	return (pid_t)syscall(SYS_getppid);
}

int
prctl(int what, ...)
{
	unsigned long arg[4];
	va_list ap;

	va_start(ap, what);
	for (size_t i = 0; i < COUNT(arg); i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	/* Only noted: this program could not look at what comes of it. */
	if (what == PR_SET_SECCOMP) {
		note("refuses calls\n");
		return fails("seccomp") ? -1 : 0;
	}
	/* These calls have one argument. The others are for later kernels. */
	if ((arg[1] | arg[2] | arg[3]) != 0)
		note("prctl with more than one argument\n");
	if (what == PR_SET_PDEATHSIG && fails("prctl"))
		return -1;
	return (int)syscall(SYS_prctl, what, arg[0], arg[1], arg[2], arg[3]);
}

int
setgroups(size_t n, const gid_t *groups)
{
	return fails("setgroups") ? -1 :
				    (int)syscall(ID_CALL(setgroups), n, groups);
}

/* Where it fails, the account has more groups than there is room for. */
int
getgrouplist(const char *name, gid_t gid, gid_t *groups, int *np)
{
	if (fails("getgrouplist") || fails("initgroups") || *np < 2 ||
	    strcmp(name, "alice") != 0)
		return -1;
	groups[0] = gid;
	groups[1] = GID + 1;
	return *np = 2;
}

int
initgroups(const char *name, gid_t gid)
{
	const gid_t groups[] = { gid, GID + 1 };

	note("initgroups\n");
	if (fails("initgroups") || strcmp(name, "alice") != 0)
		return -1;
	return (int)syscall(ID_CALL(setgroups), COUNT(groups), groups);
}

int
setresgid(gid_t r, gid_t e, gid_t s)
{
	return fails("setresgid") ? -1 :
				    (int)syscall(ID_CALL(setresgid), r, e, s);
}

int
setresuid(uid_t r, uid_t e, uid_t s)
{
	uid_t now, effective, saved;

	if (r == (uid_t)-1 ? fails("first setresuid") :
			     fails("second setresuid"))
		return -1;
	/* Until the second call the account can do nothing to the guard. */
	syscall(ID_CALL(getresuid), &now, &effective, &saved);
	if (now != 0 || saved != 0)
		note("too early\n");
	return (int)syscall(ID_CALL(setresuid), r, e, s);
}

int
getresgid(gid_t *r, gid_t *e, gid_t *s)
{
	gid_t *const ids[] = { r, e, s };

	if (fails("getresgid"))
		return -1;
	if (syscall(ID_CALL(getresgid), r, e, s) == -1)
		return -1;
	if (plan.lies >= 1 && plan.lies <= 3)
		*ids[plan.lies - 1] = 0;
	return 0;
}

int
getresuid(uid_t *r, uid_t *e, uid_t *s)
{
	uid_t *const ids[] = { r, e, s };

	if (fails("getresuid"))
		return -1;
	if (syscall(ID_CALL(getresuid), r, e, s) == -1)
		return -1;
	if (plan.lies >= 4)
		*ids[plan.lies - 4] = 0;
	return 0;
}

int
setuid(uid_t uid)
{
	return uid == 0 && plan.root_comes_back_by_setuid ?
	    0 :
	    (int)syscall(ID_CALL(setuid), uid);
}

int
seteuid(uid_t uid)
{
	return uid == 0 && plan.root_comes_back_by_seteuid ?
	    0 :
	    (int)syscall(ID_CALL(setresuid), -1, uid, -1);
}

/* Notes the call, and what the command would inherit. */
int
execv(const char *path, char *const argv[])
{
	int signal_at_end = -1;
	char line[256];

	syscall(SYS_prctl, PR_GET_PDEATHSIG, &signal_at_end, 0, 0, 0);
	snprintf(line, sizeof(line), "execv %s %s %s, dies by %d\n", path,
	    argv[0], argv[1] != NULL ? argv[1] : "-", signal_at_end);
	note(line);
	errno = ENOEXEC;
	return -1;
}

/* Notes as whom the guard printed, and what may be done to it. */
static void
note_state(void)
{
	int signal_at_end = -1;
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid, groups[8] = { 0 };
	long n;
	char line[256];

	syscall(ID_CALL(getresuid), &ruid, &euid, &suid);
	syscall(ID_CALL(getresgid), &rgid, &egid, &sgid);
	n = syscall(ID_CALL(getgroups), (int)COUNT(groups), groups);
	syscall(SYS_prctl, PR_GET_PDEATHSIG, &signal_at_end, 0, 0, 0);
	snprintf(line, sizeof(line),
	    "uid %d %d %d gid %d %d %d groups %d %d dumpable %d dies by %d\n",
	    (int)ruid, (int)euid, (int)suid, (int)rgid, (int)egid, (int)sgid,
	    n == 2 ? (int)groups[0] : -1, n == 2 ? (int)groups[1] : -1,
	    (int)syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0),
	    signal_at_end);
	note(line);
}

/* Whether descriptor fd is /dev/null, open for both reading and writing. */
static void
note_null(int fd)
{
	struct stat st, null;
	bool is = stat("/dev/null", &null) == 0 && fstat(fd, &st) == 0 &&
	    st.st_rdev == null.st_rdev &&
	    (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;

	note(is ? "null " : "open ");
}

static _Noreturn void
be_guard(int out, int err, int argc, char **argv)
{
	int status;

	if (plan.closed) {
		for (int fd = 0; fd <= 2; fd++)
			close(fd);
	} else {
		dup2(plan.full ? open("/dev/full", O_WRONLY) : out,
		    STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
	}
	if (plan.no_dev_null) {
		close(STDIN_FILENO);
		fail_call("open", 1, EMFILE);
	}
	if (plan.start_uid != 0 &&
	    (syscall(ID_CALL(setgroups), 0, NULL) != 0 ||
		syscall(ID_CALL(setresuid), plan.start_uid, plan.start_uid,
		    plan.start_uid) != 0))
		abort();
	syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
	status = guard_main(argc, argv);
	fflush(stdout);
	note_state();
	if (plan.closed)
		for (int fd = 0; fd <= 2; fd++)
			note_null(fd);
	_exit(status);
}

static int
temporary(void)
{
	int fd = open(tmp_dir(), O_TMPFILE | O_RDWR, 0600), high;

	assert_done(fd);
	/* Beyond what the guard may open as standard output. */
	assert_done(high = fcntl(fd, F_DUPFD, 20));
	close(fd);
	return high;
}

static void
read_back(int fd, char *text, size_t cap)
{
	ssize_t n = pread(fd, text, cap - 1, 0);

	assert_done(n);
	text[n] = '\0';
	close(fd);
}

/* Runs the guard with these words, up to a NULL. */
static void
guard(const char *const *words)
{
	char *argv[ARGS_MAX + 1] = { (char *)(uintptr_t)IDENT };
	int argc = 1, out = temporary(), err = temporary(), status;
	pid_t pid;

	for (; words[argc - 1] != NULL; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
	argv[argc] = NULL;
	log_fd = temporary();
	assert_done(pid = fork());
	if (pid == 0)
		be_guard(out, err, argc, argv);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	seen.status = WEXITSTATUS(status);
	read_back(out, seen.out, sizeof(seen.out));
	read_back(err, seen.err, sizeof(seen.err));
	read_back(log_fd, seen.log, sizeof(seen.log));
	memset(&plan, 0, sizeof(plan));
	plan.account_uid = UID;
}

static const char *const none[] = { NULL };

/* Offers the key of this line for alice, with more words after the others. */
static void
offer(const char *line, const char *const *more)
{
	const char *words[ARGS_MAX] = { "--config", config, "--user", "alice",
		"--home", account_home };
	char *type = keep(strdup(line)), *key;
	size_t n = 6;

	key = strchr(type, ' ');
	*key++ = '\0';
	words[n++] = "--type";
	words[n++] = type;
	words[n++] = "--key";
	words[n++] = key;
	while (*more != NULL)
		words[n++] = *more++;
	guard(words);
}

#define WITH(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
assert_no_verdict(const char *reason)
{
	assert_int_equal(seen.status, 1);
	assert_string_equal(seen.out, "");
	assert_contains(seen.log, "<10.3> verdict=error action=deny");
	assert_contains(seen.log, reason);
}

/* The guard has printed this, and has succeeded. */
static void
assert_prints(const char *text)
{
	assert_int_equal(seen.status, 0);
	assert_string_equal(seen.out, text);
}

/* The key that is not listed: there is no verdict on it, or it comes in. */
static void
no_verdict_on_ec(const char *reason)
{
	offer(ec_line, none);
	assert_no_verdict(reason);
}

static void
ec_is_let_in(void)
{
	offer(ec_line, none);
	assert_prints(LINES);
}

static void
make_filter(void)
{
	uint8_t *p;

	output_of(ORACLE "create %s/f --hashes 12 --length 18 %s", tmp_dir(),
	    tmp_text("keys", rsa_line));
	p = read_whole(tmp_path("f"), &filter.len);
	assert_true(filter.len <= sizeof(filter.p));
	memcpy(filter.p, p, filter.len);
}

/* A home with one file of keys, and a configuration that ends with more. */
static void
configure(const char *more)
{
	config = tmp_text("keyveto.conf",
	    format("Filter %s\n%s", tmp_file("list.pkbf", filter.p, filter.len),
		more));
}

static void
write_keys(const char *name, const char *text)
{
	const char *path = tmp_text(name, text);

	assert_done(chown(path, UID, GID));
}

static void
set_up(void)
{
	memset(&plan, 0, sizeof(plan));
	plan.account_uid = UID;
	account_home = tmp_path("home");
	assert_done(mkdir(account_home, 0755));
	assert_done(chown(account_home, UID, GID));
	assert_done(mkdir(tmp_path("home/.ssh"), 0755));
	assert_done(chown(tmp_path("home/.ssh"), UID, GID));
	write_keys("home/.ssh/authorized_keys", LINES);
	configure("");
}

/* A build with ASan has no wall: see sshd-helper/calls.c. */
#ifdef __SANITIZE_ADDRESS__
#define REFUSES_CALLS ""
#else
#define REFUSES_CALLS "refuses calls\n"
#endif

TEST_CASE(a_clean_key_gets_the_files_of_the_account)
{
	ec_is_let_in();
	assert_string_equal(seen.err, "");
	assert_string_equal(seen.log,
	    "openlog " IDENT " 1 10\n"
	    "connects\n" REFUSES_CALLS
	    "uid 4242 4242 4242 gid 4343 4343 4343 groups 4343 4344 "
	    "dumpable 0 dies by 9\n");
}

TEST_CASE(a_listed_key_gets_nothing_and_is_logged)
{
	write_keys("home/.ssh/authorized_keys", rsa_line);
	offer(rsa_line, none);
	assert_prints("");
	assert_contains(seen.log,
	    "<10.4> verdict=listed action=deny user=alice via=guard "
	    "key_type=ssh-rsa");
	assert_contains(seen.log, " authorized=yes ");
}

TEST_CASE(a_listed_key_that_the_account_does_not_list_is_a_notice)
{
	offer(rsa_line, none);
	assert_string_equal(seen.out, "");
	assert_contains(seen.log, "<10.5> verdict=listed action=deny");
	assert_contains(seen.log, " authorized=no ");
}

/* What is logged of a file later is not about the key. */
TEST_CASE(only_the_line_of_the_key_says_whether_it_is_listed)
{
	configure("OnHit warn\n");
	write_keys("home/.ssh/authorized_keys2", LINES);
	assert_done(chmod(tmp_path("home/.ssh/authorized_keys2"), 0666));
	offer(rsa_line, none);
	assert_prints(LINES);
	assert_contains(seen.log, "verdict=listed action=warn");
	assert_contains(seen.log, "verdict=error");
	assert_null(strstr(strstr(seen.log, "verdict=error"), "authorized="));
}

TEST_CASE(facility_is_the_configured_one)
{
	configure("SyslogFacility LOCAL3\n");
	offer(rsa_line, none);
	assert_contains(seen.log, "openlog " IDENT " 1 19\n");
	assert_contains(seen.log, "\n<19.5> verdict");
}

TEST_CASE(without_a_filter_on_error_decides)
{
	assert_done(unlink(tmp_path("list.pkbf")));
	no_verdict_on_ec("list.pkbf");
	assert_null(strstr(seen.log, "authorized="));
	config = tmp_text("keyveto.conf",
	    format("Filter %s\nOnError allow\n", tmp_path("list.pkbf")));
	ec_is_let_in();
	assert_contains(seen.log, "<10.3> verdict=error action=allow");
}

TEST_CASE(client_is_the_third_word_of_the_connection)
{
	static const char *const cases[][2] = {
		{ "192.0.2.1 22 198.51.100.7 4711", " rhost=198.51.100.7 " },
		{ "a  b  2001:db8::1", " rhost=2001:db8::1 " },
		{ "a b c", " rhost=c " },
		{ "192.0.2.1", NULL },
		{ "192.0.2.1 22", NULL },
		{ "192.0.2.1 22 ", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		offer(rsa_line, WITH("--connection", cases[i][0]));
		if (cases[i][1] != NULL)
			assert_contains(seen.log, cases[i][1]);
		else
			assert_null(strstr(seen.log, "rhost"));
	}
	offer(rsa_line, none);
	assert_null(strstr(seen.log, "rhost"));
}

TEST_CASE(bad_usage_is_refused_and_told_without_control_bytes)
{
	/* Whatever the configuration says. */
	configure("OnError allow\n");
	guard(WITH("--config", config, "--\x1f \x7e\x7f\xff"));
	assert_int_equal(seen.status, 2);
	assert_string_equal(seen.out, "");
	assert_string_equal(seen.err,
	    IDENT ": unknown option --? ~??\n" GUARD_USAGE);
	assert_contains(seen.log,
	    "openlog " IDENT " 1 10\n<10.3> verdict=error "
	    "action=deny via=guard reason=\"bad usage: unknown option --");
}

TEST_CASE(help_and_version_are_printed)
{
	guard(WITH("--help"));
	assert_prints(GUARD_USAGE);
	guard(WITH("--version"));
	assert_prints(IDENT " " KEYVETO_VERSION "\n");
}

TEST_CASE(command_line_overrules_the_files_of_the_configuration)
{
	write_keys("home/other", "other\n");
	write_keys("home/[x]", "brackets\n");
	write_keys("home/x", "x\n");
	offer(ec_line, WITH("--file", "other"));
	assert_string_equal(seen.out, "other\n");
	offer(ec_line, WITH("--file", "other", "--file", "x"));
	assert_string_equal(seen.out, "other\nx\n");
	/* sshd has expanded it: %h and wildcards mean themselves. */
	configure("AuthorizedKeysFileWildcards yes\n");
	offer(ec_line, WITH("--file", "[x]"));
	assert_string_equal(seen.out, "brackets\n");
	offer(ec_line, WITH("--file", "[x]", "--wildcards", "yes"));
	assert_string_equal(seen.out, "x\n");
	write_keys("home/%u", "percent\n");
	offer(ec_line, WITH("--file", "%u"));
	assert_string_equal(seen.out, "percent\n");
}

TEST_CASE(command_line_overrules_strictmodes_and_wildcards)
{
	assert_done(chmod(tmp_path("home/.ssh/authorized_keys"), 0666));
	offer(ec_line, none);
	assert_prints("");
	assert_contains(seen.log,
	    "<10.3> verdict=error action=deny user=alice");
	assert_contains(seen.log, "authorized_keys");
	offer(ec_line, WITH("--strictmodes", "no"));
	assert_string_equal(seen.out, LINES);
	configure("StrictModes no\n");
	offer(ec_line, none);
	assert_string_equal(seen.out, LINES);
	offer(ec_line, WITH("--strictmodes", "yes"));
	assert_string_equal(seen.out, "");
	configure("StrictModes no\nAuthorizedKeysFile .ssh/*_keys\n"
		  "AuthorizedKeysFileWildcards yes\n");
	offer(ec_line, none);
	assert_string_equal(seen.out, LINES);
	offer(ec_line, WITH("--wildcards", "no"));
	assert_string_equal(seen.out, "");
}

TEST_CASE(closed_standard_descriptors_become_dev_null)
{
	plan.closed = true;
	offer(ec_line, none);
	assert_int_equal(seen.status, 0);
	assert_contains(seen.log, "null null null ");
}

TEST_CASE(output_that_cannot_be_written_is_no_verdict)
{
	plan.full = true;
	no_verdict_on_ec("reason=\"authorized keys files: No space left");
}

/* Only root's files are read as root. */
TEST_CASE(files_of_others_decide_nothing)
{
	const char *path = tmp_text("command", "#!/bin/sh\n");

	assert_done(chmod(path, 0755));
	assert_done(chown(path, 1, 0));
	offer(ec_line, WITH("--", path));
	assert_no_verdict("not owned by root");
	assert_null(strstr(seen.log, "execv"));
	configure("OnError allow\n");
	assert_done(chown(config, 1, 0));
	no_verdict_on_ec("keyveto.conf: not owned by root");
}

TEST_CASE(without_dev_null_nothing_is_printed)
{
	plan.no_dev_null = true;
	no_verdict_on_ec(format("reason=\"/dev/null: %s\"", strerror(EMFILE)));
	assert_contains(seen.log, "openlog " IDENT " 1 10\n");
	assert_contains(seen.log, "user=alice");
}

TEST_CASE(a_guard_without_its_sshd_ends)
{
	plan.parent_ends_at = 2;
	no_verdict_on_ec("reason=\"sshd has ended\"");
	assert_contains(seen.log, "openlog " IDENT " 1 10\n");
	/* In the middle of the change of identity. */
	plan.parent_ends_at = 3;
	no_verdict_on_ec("reason=\"cannot become alice: sshd has ended\"");
}

TEST_CASE(account_must_exist)
{
	plan.lookup_errno = EIO;
	no_verdict_on_ec(
	    format("reason=\"no account alice: %s\"", strerror(EIO)));
	guard(WITH("--config", config, "--user", "bob", "--home", "/", "--type",
	    "ssh-rsa", "--key", "AAAA"));
	assert_no_verdict("reason=\"no account bob\"");
}

TEST_CASE(account_must_have_the_uid_of_the_command_line)
{
	offer(ec_line, WITH("--uid", "4242"));
	assert_prints(LINES);
	offer(ec_line, WITH("--uid", "4243"));
	assert_no_verdict("account alice has another uid than --uid says");
}

TEST_CASE(a_failed_change_of_identity_is_no_verdict)
{
	static const char *const calls[] = { "setgroups", "initgroups",
		"setresgid", "first setresuid", "second setresuid" };

	for (size_t i = 0; i < COUNT(calls); i++) {
		plan.fails = calls[i];
		no_verdict_on_ec(format("reason=\"cannot become alice: %s\"",
		    strerror(EIO)));
	}
	plan.fails = "prctl";
	no_verdict_on_ec("reason=\"sshd has ended\"");
}

TEST_CASE(an_account_may_have_many_groups)
{
	plan.fails = "getgrouplist";
	ec_is_let_in();
	assert_contains(seen.log, "initgroups\n");
}

TEST_CASE(a_change_of_identity_that_was_not_made_is_no_verdict)
{
	for (int i = 1; i <= ALL_IDS; i++) {
		plan.lies = i;
		no_verdict_on_ec("cannot become alice: Operation not");
	}
	plan.fails = "getresgid";
	no_verdict_on_ec("cannot become alice: ");
	plan.fails = "getresuid";
	no_verdict_on_ec("cannot become alice: ");
}

TEST_CASE(who_can_become_root_again_is_no_account)
{
	plan.root_comes_back_by_setuid = true;
	no_verdict_on_ec("cannot become alice: ");
	plan.root_comes_back_by_seteuid = true;
	no_verdict_on_ec("cannot become alice: ");
}

TEST_CASE(the_account_may_be_root)
{
	plan.account_uid = 0;
	assert_done(chown(account_home, 0, 0));
	assert_done(chown(tmp_path("home/.ssh"), 0, 0));
	assert_done(chown(tmp_path("home/.ssh/authorized_keys"), 0, 0));
	ec_is_let_in();
	assert_contains(seen.log, "uid 0 0 0 gid 4343 4343 4343 groups 4343");
}

TEST_CASE(whoever_is_not_root_stays_who_it_is)
{
	plan.start_uid = UID;
	ec_is_let_in();
	assert_contains(seen.log,
	    REFUSES_CALLS "uid 4242 4242 4242 gid 0 0 0 ");
	assert_contains(seen.log, " dumpable 0 dies by 9\n");
}

/* The key is looked at only afterwards. */
TEST_CASE(calls_are_refused_before_a_key_is_judged)
{
	offer(rsa_line, none);
	assert_contains(seen.log,
	    "openlog " IDENT " 1 10\nconnects\n" REFUSES_CALLS "<10.5> ");
	/* If the kernel does not do it, all is as it would be without. */
	plan.fails = "seccomp";
	ec_is_let_in();
	/* The command would inherit it. */
	offer(ec_line, WITH("--", "/bin/true"));
	assert_null(strstr(seen.log, "refuses calls"));
	/* Nor can files be opened one by one. */
	configure("AuthorizedKeysFile .ssh/many*\n");
	for (int i = 0; i < 100; i++)
		write_keys(format("home/.ssh/many%02d", i), "x\n");
	offer(ec_line, none);
	assert_int_equal(strlen(seen.out), 200);
	assert_null(strstr(seen.log, "refuses calls"));
}

TEST_CASE(lines_go_to_the_socket_that_was_connected_before)
{
	struct sockaddr_un ours = { .sun_family = AF_UNIX };
	char datagram[16 * 1024];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	ssize_t n;

	assert_true(snprintf(ours.sun_path, sizeof(ours.sun_path), "%s",
			tmp_path("log")) < (int)sizeof(ours.sun_path));
	assert_done(bind(fd, (const struct sockaddr *)&ours, sizeof(ours)));
	assert_done(chmod(ours.sun_path, 0666));
	configure("SyslogFacility LOCAL3\n");
	plan.syslogd = ours.sun_path;
	offer(rsa_line, none);
	assert_null(strstr(seen.log, "verdict="));
	n = recv(fd, datagram, sizeof(datagram) - 1, MSG_DONTWAIT);
	assert_done(n);
	datagram[n] = '\0';
	/* LOG_LOCAL3 | LOG_NOTICE */
	assert_memory_equal(datagram, "<157>" IDENT "[", 29);
	assert_int_equal(strspn(datagram + 29, "0123456789"),
	    strcspn(datagram + 29, "]"));
	assert_memory_equal(strchr(datagram, ']'), "]: verdict=listed ", 18);
	assert_int_equal(recv(fd, datagram, 1, MSG_DONTWAIT), -1);
	close(fd);
}

/* libc knows how to write to a stream; it is connected ahead, too. */
TEST_CASE(a_syslogd_that_has_a_stream_gets_the_lines_by_libc)
{
	plan.connect_errno = EPROTOTYPE;
	offer(rsa_line, none);
	assert_contains(seen.log,
	    "connects\nopenlog " IDENT " 0 10\n" REFUSES_CALLS "<10.5> ");
}

TEST_CASE(command_gets_the_place_of_the_guard)
{
	offer(ec_line, WITH("--", "/bin/true", "word"));
	assert_string_equal(seen.out, "");
	assert_contains(seen.log,
	    "openlog " IDENT " 1 10\n"
	    "execv /bin/true /bin/true word, dies by 0\n");
	/* It failed here. */
	assert_no_verdict("reason=\"command: /bin/true: Exec format error\"");
	/* The guard stays root: the command is not the account's. */
	assert_contains(seen.log, "uid 0 0 0 gid 0 0 0");
	assert_contains(seen.log, " dumpable 0 ");
}

TEST_CASE(command_is_not_run_for_a_listed_key)
{
	write_keys("home/.ssh/authorized_keys", rsa_line);
	offer(rsa_line, WITH("--", "/bin/true"));
	assert_prints("");
	assert_null(strstr(seen.log, "execv"));
	/* The files of the account are not read. */
	assert_contains(seen.log, "<10.4> verdict=listed action=deny");
	assert_null(strstr(seen.log, "authorized="));
}

TEST_CASE(command_that_others_may_write_is_not_run)
{
	const char *path = tmp_text("command", "#!/bin/sh\n");

	assert_done(chmod(path, 0777));
	offer(ec_line, WITH("--", path));
	assert_no_verdict("reason=\"command: ");
	assert_null(strstr(seen.log, "execv"));
}

int
main(void)
{
	if (!have_root())
		return 0;
	return run_all_tests(&(struct fixture){ .before_all = make_filter,
	    .before_each = set_up });
}
