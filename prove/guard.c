/* SPDX-License-Identifier: ISC */
/*
 * The guard's main: what it writes to standard output, and when. The key, the
 * configuration and every call may answer anything; each text has up to TEXT
 * characters.
 *
 * shrink lib/kv_config.h: KV_CONFIG_MAX_FILTERS 64 -> KV_CONFIG_MAX_FILTERS 2
 * shrink lib/kv_config.h: KV_CONFIG_MAX_BLOCKLISTS 64 -> KV_CONFIG_MAX_BLOCKLISTS 2
 * shrink lib/kv_config.h: KV_CONFIG_MAX_PATTERNS 256 -> KV_CONFIG_MAX_PATTERNS 2
 * shrink lib/kv_config.h: KV_CONFIG_WHY_BYTES 1024 -> KV_CONFIG_WHY_BYTES 8
 * shrink lib/kv_verdict.h: KV_REASON_BYTES 1024 -> KV_REASON_BYTES 8
 * shrink lib/kv_trusted.h: KV_TRUSTED_WHY_BYTES 512 -> KV_TRUSTED_WHY_BYTES 8
 * shrink lib/kv_log.h: KV_LOG_LINE_BYTES 10240 -> KV_LOG_LINE_BYTES 8
 * shrink lib/kv_line.h: KV_BLOB_MAX_BYTES (256 * 1024) -> KV_BLOB_MAX_BYTES 8
 * proof answer [quick] --unwind 10: every decision, every answer of every call
 */
#define TEXT 4

#define main guard_main
#include "sshd-helper/keyveto-authorized-keys.c"
#undef main

#include "libc.h"
#include "prove.h"

static char *command[] = { "/command", NULL };
static struct guard_options given;
static bool usable, opened, became, opened_files, connected, refusing;
static bool judged, checked, wrote_usage;
static bool printed, print_failed, executed;
static struct kv_decision decision;

/* --- the parts of the guard, which may answer anything --- */

bool
guard_options_read(int argc, char **argv, struct guard_options *o, char *why,
    size_t cap)
{
	given.user = any_text(TEXT);
	given.home = any_text(TEXT);
	given.type = any_text(TEXT);
	given.key = any_text(TEXT);
	given.config = any_text(TEXT);
	given.connection = nondet_bool() ? any_text(TEXT) : NULL;
	given.command = nondet_bool() ? command : NULL;
	given.n_files = any_size_up_to(1);
	given.help = nondet_bool();
	given.version = nondet_bool();
	given.walls = nondet_bool();
	given.have_strictmodes = nondet_bool();
	given.have_wildcards = nondet_bool();
	*o = given;
	why[any_size_up_to(TEXT)] = '\0';
	usable = nondet_bool();
	return usable;
}

bool
guard_harden(void)
{
	errno = nondet_int();
	return nondet_bool();
}

bool
guard_die_with_parent(pid_t parent)
{
	return nondet_bool();
}

void
guard_outlive_parent(void)
{
}

bool
guard_become_user(const struct guard_options *o, pid_t parent,
    struct kv_account *account, char *why, size_t cap)
{
	PROVE(opened, "root's files are read as root");
	why[any_size_up_to(TEXT)] = '\0';
	became = nondet_bool();
	return became;
}

void
kv_judge_open(struct kv_judge *j, const char *config_path, uid_t owner)
{
	PROVE(config_path == given.config && owner == 0, "root's files");
	j->config.syslog_facility = nondet_int();
	opened = true;
}

void
kv_judge_offered(const struct kv_judge *j, struct kv_span type,
    struct kv_span text, uint8_t *to, size_t cap, int64_t now,
    struct kv_sshkey *key, struct kv_decision *d)
{
	PROVE(opened, "by the configuration");
	PROVE(became || given.command != NULL, "as the account");
	PROVE(!judged, "once");
	PROVE(refusing == opened_files, "no call is left that opens more");
	PROVE(text.p == (const uint8_t *)given.key && given.key[text.len] == 0,
	    "the key of --key, to its end");
	PROVE(type.p == (const uint8_t *)given.type &&
		given.type[type.len] == 0,
	    "the type of --type");
	PROVE(to == blob && cap == KV_BLOB_MAX_BYTES, "room for any key");
	decision.verdict = (enum kv_verdict)any_size_up_to(KV_VERDICT_CLEAN);
	decision.action = (enum kv_action)any_size_up_to(KV_ACTION_ALLOW);
	*d = decision;
	judged = true;
}

void
userfiles_of_config(const struct kv_config *config, struct userfiles *files)
{
}

bool
userfiles_open(struct userfiles *files, const struct kv_account *account)
{
	PROVE(became, "files are read as the account");
	opened_files = nondet_bool();
	return opened_files;
}

void
guard_log_connect(int facility)
{
	connected = true;
}

bool
guard_refuse_calls(void)
{
	PROVE(given.command == NULL || given.walls,
	    "a command would inherit it");
	PROVE((opened_files && connected) || (given.walls && !opened),
	    "what is needed is open");
	refusing = true;
	return nondet_bool();
}

enum kv_authorized
userfiles_list_key(const struct userfiles *files,
    const struct kv_account *account, const struct kv_sshkey *offered)
{
	PROVE(became, "files are read as the account");
	return (enum kv_authorized)nondet_int();
}

static bool
lets_in(void)
{
	return judged && decision.action != KV_ACTION_DENY;
}

bool
userfiles_print(const struct userfiles *files, const struct kv_account *account,
    int out, userfiles_refused refused, void *arg)
{
	PROVE(lets_in(), "only the action lets files be printed");
	PROVE(became, "files are read as the account");
	PROVE(given.command == NULL, "not besides a command");
	PROVE(!printed && out == STDOUT_FILENO, "once, to sshd");
	if (nondet_bool())
		refused("a file", arg);
	printed = true;
	print_failed = nondet_bool();
	errno = nondet_int();
	return !print_failed;
}

enum kv_err
kv_trusted_check(const char *path, uid_t owner,
    char why[static KV_TRUSTED_WHY_BYTES])
{
	PROVE(path == command[0] && owner == 0, "the command, as root's");
	why[any_size_up_to(TEXT)] = '\0';
	checked = nondet_bool();
	return checked ? KV_OK : KV_ERR_INSECURE;
}

int
execv(const char *path, char *const argv[])
{
	PROVE(lets_in(), "only the action lets the command be executed");
	PROVE(checked && path == command[0] && argv == command,
	    "the command that was checked");
	executed = true;
	errno = nondet_int();
	return -1;
}

void
kv_log_format(const struct kv_log_context *ctx, const struct kv_decision *d,
    char line[static KV_LOG_LINE_BYTES])
{
	line[any_size_up_to(TEXT)] = '\0';
}

int
kv_log_priority(const struct kv_log_context *ctx, const struct kv_decision *d)
{
	return nondet_int();
}

/* --- the system --- */

void
guard_log_init(int facility)
{
}

void
guard_log(int priority, const char *line)
{
}

time_t
time(time_t *t)
{
	return nondet_i64();
}

pid_t
getppid(void)
{
	return nondet_int();
}

char *
strerror(int error)
{
	return any_text(TEXT);
}

int
snprintf(char *to, size_t cap, const char *format, ...)
{
	PROVE(cap > TEXT, "room for a text");
	to[any_size_up_to(TEXT)] = '\0';
	return nondet_int();
}

/* Whatever writes by a stream. */
static void
write_stream(FILE *to)
{
	if (to != stdout)
		return;
	PROVE(usable && (given.help || given.version || given.walls) && !opened,
	    "only --help, --version and --walls write to standard output");
	wrote_usage = true;
}

int
fprintf(FILE *to, const char *format, ...)
{
	write_stream(to);
	return nondet_int();
}

int
fputs(const char *s, FILE *to)
{
	write_stream(to);
	return nondet_int();
}

int
puts(const char *s)
{
	write_stream(stdout);
	return nondet_int();
}

int
putc(int c, FILE *to)
{
	write_stream(to);
	return nondet_int();
}

void
answer(void)
{
	static int streams[2];
	static char *argv[] = { "guard", NULL };
	int status;

	stdout = (FILE *)&streams[0];
	stderr = (FILE *)&streams[1];
	status = guard_main(1, argv);
	PROVE(status != 0 || wrote_usage || printed ||
		(judged && !lets_in() && decision.verdict != KV_VERDICT_ERROR),
	    "status 0 is a decision");
	PROVE(!print_failed || status != 0, "sshd reads no half of a file");
	PROVE(!lets_in() || printed || executed ||
		(given.command != NULL && !checked),
	    "whom the action lets in gets the files or the command");
	PROVE(!executed || status != 0, "a command that did not start");
	PROVE(!printed || print_failed || status == 0, "printed is let in");
}
