/* SPDX-License-Identifier: ISC */
/*
 * keyveto-authorized-keys: the guard, which sshd runs as AuthorizedKeysCommand
 * (or AuthorizedPrincipalsCommand) for every key that is offered. The guard
 * judges the key. Only if the key may pass, it prints the account's authorized
 * keys files, or executes the command behind --.
 *
 * sshd uses the output only if the exit status is 0 (auth2-pubkey.c:
 * user_key_command_allowed2), and may discard standard error.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "kv_line.h"
#include "kv_log.h"
#include "logger.h"
#include "options.h"
#include "privilege.h"
#include "userfiles.h"

enum exit_status {
	EXIT_DECIDED = 0, /* let in or refused, by what was printed */
	EXIT_NO_VERDICT = 1,
	EXIT_USAGE = 2,
};

/* The offered key, decoded. */
static uint8_t blob[KV_BLOB_MAX_BYTES];

struct guard {
	struct guard_options options;
	pid_t parent; /* sshd, while it lives */
	struct kv_judge judge;
	struct kv_account account;
	struct userfiles files;
	struct kv_log_context context;
	char rhost[128];
};

static struct kv_span
span_of(const char *s)
{
	return (struct kv_span){ (const uint8_t *)s, strlen(s) };
}

static void
log_decision(const struct guard *g, const struct kv_decision *d)
{
	char line[KV_LOG_LINE_BYTES];

	kv_log_format(&g->context, d, line);
	guard_log(g->judge.config.syslog_facility |
		kv_log_priority(&g->context, d),
	    line);
}

/* Logs why a file is left out. This is no verdict on the key. */
static void
log_refused_file(const char *why, void *arg)
{
	struct kv_decision d = { .verdict = KV_VERDICT_ERROR };

	snprintf(d.reason, sizeof(d.reason), "%s", why);
	log_decision(arg, &d);
}

static int
usage_error(const char *why)
{
	struct kv_log_context context = { .via = "guard" };
	struct kv_decision d = { .verdict = KV_VERDICT_ERROR };
	char line[KV_LOG_LINE_BYTES];

	snprintf(d.reason, sizeof(d.reason), "bad usage: %s", why);
	kv_log_format(&context, &d, line);
	guard_log_init(LOG_AUTHPRIV);
	guard_log(LOG_AUTHPRIV | LOG_ERR, line);
	fprintf(stderr, "%s: ", GUARD_IDENT);
	/* why holds words of the command line, and may go to a terminal. */
	for (; *why != '\0'; why++)
		putc(*why >= 0x20 && *why < 0x7f ? *why : '?', stderr);
	fprintf(stderr, "\n%s", GUARD_USAGE);
	return EXIT_USAGE;
}

/*
 * Returns the client's address from --connection. sshd expands %C to local
 * address, local port, remote address, remote port, separated by blanks
 * (auth2-pubkey.c:user_key_allowed). Empty if there is no third word.
 */
static struct kv_span
client_address(const char *connection)
{
	for (int i = 0; i < 2; i++) {
		connection += strcspn(connection, " ");
		connection += strspn(connection, " ");
	}
	return (struct kv_span){ (const uint8_t *)connection,
		strcspn(connection, " ") };
}

static void
set_context(struct guard *g)
{
	struct kv_span client = { NULL, 0 };

	g->context.user = g->options.user;
	if (g->options.connection != NULL)
		client = client_address(g->options.connection);
	/* Without a third word, log no address: a wrong one may get banned. */
	if (client.len > 0) {
		snprintf(g->rhost, sizeof(g->rhost), "%.*s", (int)client.len,
		    (const char *)client.p);
		g->context.rhost = g->rhost;
	}
}

/*
 * The command line overrules keyveto.conf. It belongs to the sshd that runs
 * this guard, and that sshd may have read its configuration long ago.
 */
static void
choose_files(struct guard *g)
{
	const struct guard_options *o = &g->options;

	userfiles_of_config(&g->judge.config, &g->files);
	if (o->n_files > 0) {
		g->files.pattern = o->file;
		g->files.n = o->n_files;
		g->files.expanded = true;
		/* A home may have characters that would be wildcards. */
		g->files.wildcards = KV_WILDCARDS_NO;
	}
	if (o->have_strictmodes)
		g->files.strictmodes = o->strictmodes;
	if (o->have_wildcards)
		g->files.wildcards = o->wildcards;
}

/* Judges the key and logs the decision. Returns whether the key may pass. */
static bool
judge_key(struct guard *g, struct kv_decision *d)
{
	struct kv_sshkey offered;

	kv_judge_offered(&g->judge, span_of(g->options.type),
	    span_of(g->options.key), blob, sizeof(blob), time(NULL), &offered,
	    d);
	/* With -- COMMAND the account's files are not used, so not read. */
	if (d->verdict == KV_VERDICT_LISTED && g->options.command == NULL)
		g->context.authorized = userfiles_list_key(&g->files,
		    &g->account, &offered);
	if (d->verdict != KV_VERDICT_CLEAN)
		log_decision(g, d);
	g->context.authorized = KV_AUTHORIZED_UNKNOWN;
	return d->action != KV_ACTION_DENY;
}

static int
log_no_verdict(struct guard *g, const char *why)
{
	struct kv_decision d = { .verdict = KV_VERDICT_ERROR };

	snprintf(d.reason, sizeof(d.reason), "%s", why);
	log_decision(g, &d);
	return EXIT_NO_VERDICT;
}

/*
 * Executes the command, if only root could have written it. Returns only after
 * a failure.
 */
static int
become_command(struct guard *g)
{
	char why[KV_TRUSTED_WHY_BYTES];
	char reason[KV_TRUSTED_WHY_BYTES + 32];

	if (kv_trusted_check(g->options.command[0], 0, why) != KV_OK) {
		snprintf(reason, sizeof(reason), "command: %s", why);
		return log_no_verdict(g, reason);
	}
	guard_outlive_parent();
	execv(g->options.command[0], g->options.command);
	snprintf(reason, sizeof(reason), "command: %.256s: %s",
	    g->options.command[0], strerror(errno));
	return log_no_verdict(g, reason);
}

static int
print_files(struct guard *g)
{
	if (!userfiles_print(&g->files, &g->account, STDOUT_FILENO,
		log_refused_file, g)) {
		char why[256];

		snprintf(why, sizeof(why), "authorized keys files: %s",
		    strerror(errno));
		return log_no_verdict(g, why);
	}
	return EXIT_DECIDED;
}

/*
 * Before it looks at the key, which anybody may have sent, the guard opens what
 * it will need, and gives up the calls that would open or start anything else.
 * If that cannot be, it goes on as it is.
 */
static void
give_up_powers(struct guard *g)
{
	if (!userfiles_open(&g->files, &g->account))
		return;
	guard_log_connect(g->judge.config.syslog_facility);
	(void)guard_refuse_calls();
}

/* For keyveto status. */
static int
print_walls(void)
{
	puts(guard_refuse_calls() ? "seccomp" : "none");
	return EXIT_DECIDED;
}

static int
answer_sshd(struct guard *g)
{
	struct kv_decision d;
	char why[256];

	/* As root read root's files; then as the account the account's. */
	kv_judge_open(&g->judge, g->options.config, 0);
	guard_log_init(g->judge.config.syslog_facility);
	choose_files(g);
	if (g->options.command == NULL &&
	    !guard_become_user(&g->options, g->parent, &g->account, why,
		sizeof(why)))
		return log_no_verdict(g, why);
	/* What the command executes would inherit the refusal. */
	if (g->options.command == NULL)
		give_up_powers(g);
	if (!judge_key(g, &d))
		return d.verdict == KV_VERDICT_ERROR ?
		    EXIT_NO_VERDICT :
		    EXIT_DECIDED;
	if (g->options.command != NULL)
		return become_command(g);
	return print_files(g);
}

int
main(int argc, char **argv)
{
	static struct guard g;
	char why[256], what[256];
	bool usable;

	g.parent = getppid();
	/* Read the options first: every log line needs the account's name. */
	usable = guard_options_read(argc, argv, &g.options, why, sizeof(why));
	g.context.via = "guard";
	set_context(&g);
	if (!guard_harden()) {
		snprintf(what, sizeof(what), "/dev/null: %s", strerror(errno));
		guard_log_init(LOG_AUTHPRIV);
		return log_no_verdict(&g, what);
	}
	if (!guard_die_with_parent(g.parent)) {
		guard_log_init(LOG_AUTHPRIV);
		return log_no_verdict(&g, "sshd has ended");
	}
	if (!usable)
		return usage_error(why);
	if (g.options.help) {
		fputs(GUARD_USAGE, stdout);
		return EXIT_DECIDED;
	}
	if (g.options.version) {
		puts(GUARD_IDENT " " KEYVETO_VERSION);
		return EXIT_DECIDED;
	}
	if (g.options.walls)
		return print_walls();
	return answer_sshd(&g);
}
