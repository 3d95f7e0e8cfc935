/* SPDX-License-Identifier: ISC */
/* keyveto sessions: which keys did the connections that are open come in by? */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/room.h"
#include "command.h"
#include "host/accounts.h"
#include "logs/login_logs.h"
#include "reading/chosen.h"
#include "reading/keys.h"
#include "sessions/end.h"
#include "sessions/judged.h"
#include "sessions/processes.h"
#include "sessions/table.h"

struct options {
	struct cli_judge_options judge;
	bool json, listed, end, own, yes;
	const char **key; /* of --key */
	size_t n_keys;
	const char **log; /* none: those of this machine */
	size_t n_logs;
};

/* The keys of --key, by their SHA-256. */
struct named {
	struct digest {
		uint8_t sha256[KV_SHA256_BYTES];
	} * v;
	size_t n;
	bool failed;
};

static void
add_digest(struct named *n, const uint8_t digest[static KV_SHA256_BYTES])
{
	n->failed |= !room_for_one(&n->v, n->n, sizeof(*n->v));
	if (!n->failed)
		memcpy(n->v[n->n++].sha256, digest, KV_SHA256_BYTES);
}

static void
on_named_key(const struct input_key *key, void *arg)
{
	uint8_t digest[KV_SHA256_BYTES];

	/* Of a certificate only the key inside counts. */
	if (key->key.type == KV_KEY_NONE || key->part == KV_PART_CA)
		return;
	kv_fingerprint_digest(&key->key, digest);
	add_digest(arg, digest);
}

static void
on_named_problem(const struct input_problem *problem, void *arg)
{
	struct named *n = arg;

	n->failed = true;
	cli_error_at(problem->path, problem->line, problem->reason);
}

/* Adds what a word of --key names. False after a message. */
static bool
read_named(struct named *n, const char *word)
{
	const struct input_sink sink = {
		.key = on_named_key,
		.problem = on_named_problem,
		.arg = n,
	};
	const struct kv_span text = { (const uint8_t *)word, strlen(word) };
	uint8_t digest[KV_SHA256_BYTES];
	const size_t before = n->n;

	if (kv_fingerprint_parse(text, digest) == KV_OK)
		add_digest(n, digest);
	else
		reading_keys(word, &sink);
	if (n->n == before && !n->failed)
		return cli_error("%s: there is no key in it", word);
	return !n->failed;
}

static void
find_named(struct sessions *s, const struct named *n)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = 0; j < s->v[i].n_keys; j++)
			for (size_t k = 0; k < n->n; k++)
				s->v[i].key[j].named |=
				    memcmp(n->v[k].sha256,
					s->v[i].key[j].digest,
					KV_SHA256_BYTES) == 0;
}

/*
 * Whether the account of this name is the session's. If it was removed meanwhile,
 * a line that sshd sent need not be compared.
 */
static bool
is_account(const struct session *s, const char *name, bool sent)
{
	struct accounts found = { .n = 0 };
	bool is;

	if (!accounts_add(&found, name))
		return sent && errno == ENOENT;
	is = found.v[0].uid == s->uid;
	accounts_free(&found);
	return is;
}

/* Is login of struct login_taker. */
static void
on_login(const struct reading_login *l, bool sent, void *arg)
{
	struct sessions *all = arg;
	const int64_t now = time(NULL);

	for (size_t i = 0; i < all->n; i++) {
		struct session *s = &all->v[i];

		if (session_fits(s, l, now) && is_account(s, l->a.user, sent))
			session_add_login(s, l, sent);
	}
}

/* Reads what the logs say of the sessions. False after a message. */
static bool
read_logs(struct sessions *all, const struct options *o, struct report *r)
{
	struct login_logs logs = { .n = 0 };
	struct login_taker taker = {
		.since = INT64_MAX,
		.login = on_login,
		.arg = all,
	};
	bool ok;

	if (all->n == 0)
		return true;
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].started < taker.since)
			taker.since = all->v[i].started;
	taker.since -= SESSION_SLACK_SECONDS;
	ok = login_logs_give(&logs, &taker, r, o->log, o->n_logs);
	login_logs_free(&logs);
	return ok;
}

static const struct session *
find_same(const struct sessions *all, const struct session *s)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].pid == s->pid && all->v[i].start == s->start)
			return &all->v[i];
	return NULL;
}

/*
 * Takes out those without a line that have ended since. One that PAM had just
 * opened may be of another account now: it stays. False with errno.
 */
static bool
remove_ended(struct sessions *all)
{
	struct sessions now = { .n = 0 };
	const bool ok = processes_find_sessions(&now);
	const struct session *same;
	size_t n = 0;

	for (size_t i = 0; ok && i < all->n; i++) {
		same = find_same(&now, &all->v[i]);
		if (same == NULL && !all->v[i].accepted) {
			free(all->v[i].peer);
			continue;
		}
		if (same != NULL && !all->v[i].accepted)
			all->v[i].uid = same->uid;
		all->v[n++] = all->v[i];
	}
	if (ok)
		all->n = n;
	sessions_free(&now);
	return ok;
}

/* Finds the sessions, and what is known of their keys. False after a message. */
static bool
find_sessions(struct sessions *all, const struct options *o,
    const struct named *named, struct report *r)
{
	struct judging judging;
	bool ok;

	if (!processes_find_sessions(all))
		return cli_error("the processes: %s", strerror(errno));
	if (!read_logs(all, o, r))
		return false;
	if (!remove_ended(all))
		return cli_error("the processes: %s", strerror(errno));
	if (o->n_keys > 0) {
		find_named(all, named);
		return true;
	}
	if (!chosen_open(&judging, &o->judge))
		return false;
	ok = judged_find(all, &judging);
	return chosen_close(&judging) && ok;
}

/* Asks whether to end so many. */
static bool
ask(size_t n)
{
	char answer[8] = "";

	fprintf(stderr, "End %s? (y/n) ",
	    n == 1 ? "this session" : "these sessions");
	fflush(stderr);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
	    (*answer == 'y' || *answer == 'Y');
}

static void
print_end(const struct session *s)
{
	if (s->end == SESSION_FAILED) {
		fputs("keyveto: not ended: ", stderr);
		session_print_name(stderr, s);
		fputc('\n', stderr);
		return;
	}
	fputs(s->end == SESSION_LEFT ? "left: " : "ended: ", stdout);
	session_print_name(stdout, s);
	if (s->end == SESSION_LEFT)
		fputs(": it is your own session; --own ends it, too", stdout);
	else if (s->still_run > 0)
		printf("; %zu process%s that it had started still run%s",
		    s->still_run, cli_plural(s->still_run, "", "es"),
		    cli_plural(s->still_run, "s", ""));
	putchar('\n');
}

/* Ends those that are listed or named, the own one at last. */
static void
end_sessions(struct sessions *all, const struct options *o)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += session_is_hit(&all->v[i]);
	if (n == 0 || (!o->yes && !ask(n)))
		return;
	for (int own = 0; own <= 1; own++) {
		for (size_t i = 0; i < all->n; i++) {
			struct session *s = &all->v[i];

			if (!session_is_hit(s) || s->own != (own == 1))
				continue;
			if (s->own && !o->own)
				s->end = SESSION_LEFT;
			else
				session_end(s);
			if (!o->json)
				print_end(s);
		}
	}
}

/* What was found, in one line. */
static int
conclude(const struct sessions *all, const struct options *o, uint64_t problems)
{
	size_t keys = 0, hits = 0, unchecked = 0, open = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct session *s = &all->v[i];

		keys += s->n_keys > 0;
		hits += session_is_hit(s);
		unchecked += !session_is_hit(s) &&
		    session_is_unchecked(s, o->n_keys == 0);
		open += session_is_hit(s) && s->end != SESSION_ENDED;
	}
	cli_error("%zu connection%s, %zu by a key: %zu %s, %zu not checked",
	    all->n, cli_plural(all->n, "", "s"), keys, hits,
	    o->n_keys > 0 ? "named" : "listed", unchecked);
	if (o->end && open > 0)
		return CLI_UNCHECKED;
	if (hits > 0)
		return CLI_LISTED;
	return unchecked > 0 || problems > 0 ?
	    CLI_UNCHECKED :
	    CLI_NOTHING_LISTED;
}

static int
run_sessions(const struct options *o)
{
	const struct session_table table = {
		.json = o->json,
		.judged = o->n_keys == 0,
		.hits = o->listed || o->n_keys > 0,
	};
	struct report r = { .json = o->json, .out = stdout, .err = stderr };
	struct sessions all = { .n = 0 };
	struct named named = { .n = 0 };
	bool ok = true;
	int status = CLI_UNCHECKED;

	for (size_t i = 0; ok && i < o->n_keys; i++)
		ok = read_named(&named, o->key[i]);
	ok = ok && find_sessions(&all, o, &named, &r);
	if (ok && !o->json)
		ok = session_table_print(&table, &all);
	if (ok && o->end)
		end_sessions(&all, o);
	if (ok && o->json)
		ok = session_table_print(&table, &all);
	if (ok)
		status = conclude(&all, o, r.problems);
	if (!cli_stdout_ok())
		status = CLI_UNCHECKED;
	sessions_free(&all);
	free(named.v);
	return status;
}

/* Returns -1, or the exit status. */
static int
read_options(const struct cli_command *cmd, int argc, char **argv,
    struct options *o)
{
	const struct cli_option options[] = {
		{ .name = "json", .flag = &o->json },
		{ .name = "listed", .flag = &o->listed },
		{ .name = "key", .text = o->key, .n = &o->n_keys },
		{ .name = "log", .text = o->log, .n = &o->n_logs },
		{ .name = "end", .flag = &o->end },
		{ .name = "own", .flag = &o->own },
		{ .name = "yes", .flag = &o->yes },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options,
	    &o->judge);

	if (status != -1)
		return status;
	if (optind < argc)
		return cli_wrong_usage(cmd, "sessions takes no argument");
	if (o->listed && o->n_keys > 0)
		return cli_wrong_usage(cmd,
		    "--key asks whatever the lists say: leave out --listed");
	if ((o->own || o->yes) && !o->end)
		return cli_wrong_usage(cmd, "--own and --yes go with --end");
	if (o->end && !o->yes && (o->json || isatty(STDIN_FILENO) != 1))
		return cli_wrong_usage(cmd,
		    "--end asks on a terminal; without one, or with --json, "
		    "it needs --yes");
	if (geteuid() == 0)
		return -1;
	cli_error("only root can tell whose connections are open");
	return CLI_UNCHECKED;
}

static int
run_command(const struct cli_command *cmd, int argc, char **argv)
{
	struct options o = { .json = false };
	int status = CLI_UNCHECKED;

	o.key = calloc((size_t)argc, sizeof(*o.key));
	o.log = calloc((size_t)argc, sizeof(*o.log));
	if (o.key == NULL || o.log == NULL)
		cli_error("%s", strerror(errno));
	else if ((status = read_options(cmd, argc, argv, &o)) == -1)
		status = run_sessions(&o);
	free(o.key);
	free(o.log);
	return status;
}

const struct cli_command cli_sessions = {
	.name = "sessions",
	.section = 8,
	.synopsis = "[--listed] [--key KEY]... [--json] [--log FILE]... "
		    "[--end [--own] [--yes]] "
		    "[--config FILE] [--filter FILE]... [--blocklist FILE]...",
	.help = "Tell which open connections came in by a listed key",
	.details =
	    "  --listed         only those whose key is listed\n"
	    "  --key KEY        only those of this file or fingerprint; may "
	    "repeat\n"
	    "  --json           one JSON object a line\n"
	    "  --log FILE       read sshd's messages in FILE; may repeat\n"
	    "  --end            end those that are listed, or named by --key\n"
	    "  --own            also the session in which keyveto runs\n"
	    "  --yes            do not ask\n" CLI_JUDGE_HELP REPORT_STATUS_HELP,
	.run = run_command,
};
