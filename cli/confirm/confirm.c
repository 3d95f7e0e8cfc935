/* SPDX-License-Identifier: ISC */
/*
 * keyveto confirm: asks a publisher about the keys that filters list and no
 * exact list does, keeps the proofs, and puts the confirmed ones into an exact
 * list.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounts/machine.h"
#include "accounts/named.h"
#include "command.h"
#include "confirm/keep.h"
#include "confirm/log.h"
#include "host/change.h"
#include "base/io.h"
#include "host/memory.h"
#include "sets/list_consulted.h"
#include "base/progress.h"
#include "reading/chosen.h"
#include "net/network.h"
#include "upkeep/settings.h"
#include "ways/asks.h"

#define RATE_DEFAULT 10
#define RATE_MAX 1000
#define TIMEOUT_DEFAULT 30
#define TIMEOUT_MAX 3600
/* So many fingerprints without a key are named. */
#define NAMED_MAX 10

struct options {
	struct cli_judge_options judge;
	const char *settings; /* the path of update.conf; NULL: the default */
	const char *url, *state;
	uint64_t rate, timeout;
	bool log, accounts, json, quiet, dry_run, again, yes;
};

struct confirm {
	const struct options *o;
	struct judging judging;
	struct hits hits;
	struct log_keys log;
	struct api api;
	struct keep keep;
	struct hit_output output;
	struct progress progress;
	struct list_batch batch; /* the confirmed keys */
	struct change_hold hold;
	int64_t now;
	uint64_t verdicts[API_NOT_CONFIRMED + 1];
	uint64_t not_asked, not_found;
	uint64_t allowed; /* confirmed keys that AllowKey names */
	bool failed;	  /* something was not kept or not read: printed */
	bool unprinted;	  /* standard output takes nothing: printed */
};

/* --- which keys --------------------------------------------------------- */

static void
judge_key(const struct input_key *key, void *arg)
{
	struct confirm *c = arg;

	hits_judge(&c->hits, &c->judging.judge, c->now, key);
}

static void
judge_logged_key(const struct input_key *key, void *arg)
{
	struct confirm *c = arg;
	uint8_t digest[KV_SHA256_BYTES];
	struct log_key *found;

	if (key->key.type == KV_KEY_NONE)
		return;
	kv_fingerprint_digest(&key->key, digest);
	if ((found = log_keys_find(&c->log, digest)) == NULL)
		return;
	found->found = true;
	judge_key(key, c);
}

/* Tells of the keys in the log that are not among those of this machine. */
static void
report_not_found(struct confirm *c)
{
	char fingerprint[KV_FINGERPRINT_BYTES];

	for (size_t i = 0; i < c->log.n; i++) {
		const struct log_key *key = c->log.v[i];

		/* A client offered it, and no account of here has it. */
		if (key->found || !key->accepted)
			continue;
		if (c->not_found++ >= NAMED_MAX)
			continue;
		kv_fingerprint_format(key->digest, fingerprint);
		cli_error("note: %s is in the log, but no account of this "
			  "machine has that key now: if it is a certificate's, "
			  "give the key itself",
		    fingerprint);
	}
	if (c->not_found > NAMED_MAX)
		cli_error("note: %" PRIu64 " more of the log are not here",
		    c->not_found - NAMED_MAX);
}

/* False after a message. */
static bool
find_logged_keys(struct confirm *c, char **paths)
{
	uint64_t problems = 0;
	bool ok = true;

	if (*paths == NULL)
		ok = log_keys_read_all(&c->log);
	for (; *paths != NULL; paths++)
		ok = log_keys_read(&c->log, *paths) && ok;
	if (c->log.failed)
		cli_error("out of memory");
	if (c->log.full)
		cli_error("the log has more than %d different keys; the others "
			  "are left out: confirm --accounts finds all",
		    LOG_KEYS_MAX);
	c->failed |= c->log.failed || c->log.full || !ok;
	if (c->log.n == 0) {
		if (!c->o->quiet)
			cli_error("note: the log has no line with "
				  "verdict=listed of a key that only filters "
				  "list");
		return ok;
	}
	ok = machine_each_key(&c->judging.judge, NULL, 0, judge_logged_key, c,
	    &problems);
	if (problems > 0)
		cli_error("note: not all files of this machine could be read: "
			  "see keyveto audit");
	if (ok)
		report_not_found(c);
	c->failed |= problems > 0 && c->not_found > 0;
	return ok;
}

/* False after a message. */
static bool
find_keys(struct confirm *c, char **words)
{
	struct named_keys named = {
		.judge = &c->judging.judge,
		.key = judge_key,
		.arg = c,
	};
	const char *first = *words;
	uint64_t problems = 0;
	bool ok;

	if (c->o->log)
		ok = find_logged_keys(c, words);
	else if (c->o->accounts) {
		ok = machine_each_key(&c->judging.judge, NULL, 0, judge_key, c,
		    &problems);
		if (problems > 0)
			cli_error("not all files of this machine could be "
				  "read: see keyveto audit");
		c->failed |= problems > 0;
	} else {
		ok = named_keys_read(&named, words);
		c->failed |= named.problems > 0 && !named.by_fingerprint;
		if (ok && named.problems == 0 && c->hits.n == 0 &&
		    c->hits.clean + c->hits.exact + c->hits.problems == 0) {
			cli_error("%s: no key%s", first,
			    named.by_fingerprint ?
				" with this fingerprint was found; name the "
				"file that has it, or give the key itself" :
				" in it");
			c->failed = true;
		}
	}
	return ok && !c->hits.failed;
}

/* --- asking ------------------------------------------------------------- */

/* Sets what is known without a question. A proof is one for ever. */
static void
look_up_kept(struct confirm *c, struct hit *hit)
{
	if (keep_has_proof(&c->keep, hit)) {
		hit->verdict = API_CONFIRMED;
		hit->has_proof = true;
	} else if (!c->o->again && keep_was_absent(&c->keep, hit))
		hit->verdict = API_NOT_CONFIRMED;
}

static void
set_reason(struct hit *hit, const char *why)
{
	free(hit->why);
	hit->why = strdup(why);
}

/* Asks about the key, and keeps the answer. */
static void
ask_about(struct confirm *c, struct hit *hit)
{
	const struct kv_span spki = { hit->spki, hit->spki_len };

	hit->verdict = api_ask(&c->api, hit->id, spki);
	if (hit->verdict == API_NO_ANSWER) {
		set_reason(hit, c->api.why);
		return;
	}
	if (hit->verdict == API_NOT_CONFIRMED)
		c->failed |= !keep_absent(&c->keep, hit, c->api.shown, c->now);
	else if (keep_proof(&c->keep, hit, c->api.body, c->api.len))
		hit->has_proof = c->keep.folder != NULL;
	else
		c->failed = true;
	cli_note_signals();
}

/* Adds a confirmed key to those of the list. */
static void
note_confirmed(struct confirm *c, const struct hit *hit)
{
	if (hit->allowed) {
		c->allowed++;
		cli_error("warning: %s is compromised, and AllowKey lets it in "
			  "all the same: have it replaced, then type keyveto "
			  "allow --remove %s",
		    hit->fingerprint, hit->fingerprint);
	}
	/* The list has no key of which nobody can see the proof. */
	if (!hit->has_proof)
		return;
	if (!hit->has_hash)
		cli_error("note: %s: exact lists have no keys of type %s",
		    hit->id, hit->type);
	else
		c->failed |= !list_batch_add(&c->batch, &hit->hash,
		    KEEP_SOURCE_ID);
}

static void
settle(struct confirm *c, struct hit *hit)
{
	c->verdicts[hit->verdict]++;
	progress_clear(&c->progress);
	if (!c->unprinted)
		c->unprinted = !hits_print(&c->output, hit);
	if (hit->verdict == API_CONFIRMED)
		note_confirmed(c, hit);
}

/* Says who learns what, before the first question. */
static void
announce(const struct confirm *c, uint64_t n)
{
	if (n > 0 && !c->o->quiet)
		cli_error("note: asking %s about %" PRIu64
			  " %s: it learns the SHA-256 of each public key, and "
			  "the address of this machine",
		    c->api.shown, n, cli_plural(n, "key", "keys"));
}

/* Returns why no more questions are asked, or NULL. */
static const char *
find_end(const struct confirm *c)
{
	return cli_was_signalled() ? "interrupted" :
	    c->unprinted	   ? "the answers cannot be printed" :
	    c->api.given_up	   ? "the server gives no answer" :
				     NULL;
}

/* A program gets an object for each key; people get the number of these. */
static void
skip(struct confirm *c, struct hit *hit)
{
	char why[128];

	c->not_asked++;
	snprintf(why, sizeof(why), "not asked about: %s", find_end(c));
	set_reason(hit, why);
	if (c->o->json)
		settle(c, hit);
	else
		c->verdicts[API_NO_ANSWER]++;
}

static void
ask_about_all(struct confirm *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->hits.n; i++) {
		struct hit *hit = c->hits.v[i];

		if (hit->spki_len == 0)
			set_reason(hit,
			    "there are no proofs of keys of this type");
		else
			look_up_kept(c, hit);
		n += hit->verdict == API_NO_ANSWER && hit->why == NULL;
	}
	announce(c, n);
	progress_start_things(&c->progress, "asking", n);
	for (size_t i = 0; i < c->hits.n; i++) {
		struct hit *hit = c->hits.v[i];
		const bool ask = hit->verdict == API_NO_ANSWER &&
		    hit->why == NULL;

		if (ask && find_end(c) != NULL) {
			skip(c, hit);
			continue;
		}
		if (ask)
			ask_about(c, hit);
		settle(c, hit);
		if (ask)
			progress_add(&c->progress, 1);
	}
	progress_clear(&c->progress);
}

/* --- afterwards --------------------------------------------------------- */

/*
 * Whether the list may get the confirmed keys; false after a message. Sets
 * *consultedp to whether logins consult it, or may do so soon.
 */
static bool
may_change_list(struct confirm *c, bool *consultedp)
{
	struct change change = {
		.kind = CHANGE_LIST,
		.path = c->keep.list,
		.fd = memory_file("confirmed"),
		.what = "the list with the confirmed keys",
		.config = c->o->judge.config,
		.hold = &c->hold,
		.yes = c->o->yes,
		.silent = true,
	};
	struct change_effect e;
	bool may;

	/* The keys alone: the others are in the list already. */
	list_batch_sort(&c->batch);
	if (change.fd == -1 ||
	    !io_write(change.fd, c->batch.record,
		c->batch.n * sizeof(list_record))) {
		io_close(change.fd);
		return cli_failed(c->keep.list,
		    "cannot be compared with the accounts");
	}
	may = change_may_take_effect(&change, &e);
	*consultedp = e.consulted;
	close(change.fd);
	return may;
}

/* Says what becomes of logins with the keys that were added. */
static void
note_logins(const struct confirm *c)
{
	const char *config = c->o->judge.config;
	const struct asks *asks = asks_sshd(
	    config != NULL ? config : KV_CONFIG_PATH);

	cli_error("note: %slogins with %s are %s%s%s", asks->where,
	    cli_plural(c->batch.added, "it", "them"),
	    c->judging.judge.config.on_hit == KV_ACTION_DENY ?
		"refused" :
		"still only logged, by OnHit",
	    asks->when, c->allowed > 0 ? ", but for AllowKey" : "");
	if (*asks->note != '\0')
		cli_error("note: %s", asks->note);
}

static void
write_list(struct confirm *c)
{
	const bool quiet = c->o->quiet;
	bool changed, consulted = false;

	if (c->keep.folder == NULL || c->batch.n == 0)
		return;
	if (!may_change_list(c, &consulted)) {
		cli_error("%s: stays as it is. Have those keys replaced, and "
			  "type the same command again; if this is right, give "
			  "--yes",
		    c->keep.list);
		c->failed = true;
		return;
	}
	if (!keep_list(&c->keep, &c->batch, consulted, &changed)) {
		c->failed = true;
		return;
	}
	if (changed && !quiet)
		cli_error("%s: %" PRIu64 " %s added", c->keep.list,
		    c->batch.added, cli_plural(c->batch.added, "key", "keys"));
	if (!list_is_consulted(&c->judging.judge.config, c->keep.list))
		list_advise_line(&c->judging.judge.config, c->o->judge.config,
		    c->keep.list);
	else if (changed && !quiet)
		note_logins(c);
}

static void
print_summary(const struct confirm *c)
{
	const uint64_t *v = c->verdicts;

	if (c->not_asked > 0)
		cli_error("%" PRIu64 " %s not asked about: %s; the same "
			  "command goes on where this one ended",
		    c->not_asked,
		    cli_plural(c->not_asked, "key was", "keys were"),
		    find_end(c));
	if (c->o->quiet)
		return;
	fprintf(stderr,
	    "keyveto: %zu %s listed by filters only: %" PRIu64
	    " confirmed, %" PRIu64 " not confirmed, %" PRIu64 " no answer",
	    c->hits.n, cli_plural(c->hits.n, "key", "keys"), v[API_CONFIRMED],
	    v[API_NOT_CONFIRMED], v[API_NO_ANSWER]);
	if (c->hits.exact > 0)
		fprintf(stderr, "; %" PRIu64 " in an exact list already",
		    c->hits.exact);
	if (c->hits.clean > 0)
		fprintf(stderr, "; %" PRIu64 " in no filter and no list",
		    c->hits.clean);
	putc('\n', stderr);
}

static int
conclude(const struct confirm *c)
{
	if (c->unprinted || !cli_stdout_ok())
		return CLI_UNCHECKED;
	if (c->verdicts[API_CONFIRMED] > 0 || c->hits.exact > 0)
		return CLI_LISTED;
	return c->verdicts[API_NO_ANSWER] > 0 || c->hits.problems > 0 ||
		c->failed ?
	    CLI_UNCHECKED :
	    CLI_NOTHING_LISTED;
}

/* --- the command -------------------------------------------------------- */

/* Sets up the questions. False after a message. */
static bool
open_api(struct confirm *c, const struct update_conf *conf)
{
	const struct update_settings *s = &conf->source[0];
	const char *url = c->o->url != NULL ? c->o->url : conf->confirm;
	const struct https_limits limits = {
		.ca_file = s->ca_file,
		.proxy = s->proxy,
		.timeout = c->o->timeout,
		.stall_timeout = c->o->timeout,
		.stopped = cli_was_signalled,
	};
	int ca;

	if (url == NULL)
		return cli_error(
		    "nobody to ask: add a line such as \"Confirm "
		    "https://v1.pwnedkeys.com\" to %s, or give --url; "
		    "whoever is asked learns the fingerprint of each key",
		    update_conf_path(c->o->settings));
	if (s->ca_file != NULL) {
		if ((ca = update_open_trusted(s->ca_file)) == -1)
			return false;
		close(ca);
	}
	return api_open(&c->api, url, &limits, c->o->rate);
}

/* Opens what is kept. False after a message. */
static bool
open_keep(struct confirm *c)
{
	static char absolute[PATH_MAX];
	const char *folder = c->o->state;

	/* Its path stands in keyveto.conf, and in what programs read. */
	if (folder != NULL && *folder != '/' &&
	    realpath(folder, absolute) != NULL)
		folder = absolute;
	if (folder == NULL && geteuid() == 0)
		folder = KV_STATEDIR;
	else if (folder == NULL && !c->o->dry_run)
		cli_error("note: only root keeps proofs in " KV_STATEDIR
			  ": nothing is kept; --state DIRECTORY keeps them "
			  "there");
	return keep_open(&c->keep, c->o->dry_run ? NULL : folder, c->api.shown,
	    c->now);
}

static int
run(const struct options *o, const struct update_conf *conf, char **words)
{
	struct confirm c = { .o = o,
		.hold = conf->source[0].hold,
		.api.body = -1,
		.keep.absent_fd = -1,
		.now = (int64_t)time(NULL) };
	int status = CLI_UNCHECKED;

	if ((o->log || o->accounts) && geteuid() != 0) {
		cli_error("only root can read the keys of this machine; name "
			  "a key or a file");
		return status;
	}
	if (!open_api(&c, conf) || !chosen_open(&c.judging, &o->judge)) {
		api_close(&c.api);
		return status;
	}
	if (open_keep(&c) && find_keys(&c, words)) {
		c.output = (struct hit_output){ .json = o->json,
			.quiet = o->quiet,
			.asked = c.api.shown,
			.keep = &c.keep,
			.now = c.now };
		cli_note_signals();
		ask_about_all(&c);
		write_list(&c);
		print_summary(&c);
		status = conclude(&c);
	}
	keep_close(&c.keep);
	list_batch_free(&c.batch);
	log_keys_free(&c.log);
	hits_free(&c.hits);
	if (!chosen_close(&c.judging))
		status = CLI_UNCHECKED;
	api_close(&c.api);
	return status;
}

/* Returns what is wrong with the operands, or NULL. */
static const char *
find_mistake(const struct options *o, int n)
{
	if (o->log && o->accounts)
		return "give --log or --accounts, not both";
	if (o->accounts && n > 0)
		return "--accounts takes no key and no file";
	if (!o->log && !o->accounts && n == 0)
		return "give a key, its fingerprint, a file, --log or "
		       "--accounts";
	return NULL;
}

static int
run_confirm(const struct cli_command *cmd, int argc, char **argv)
{
	static struct update_conf conf;
	struct options o = { .rate = RATE_DEFAULT, .timeout = TIMEOUT_DEFAULT };
	const struct cli_option options[] = {
		{ .name = "url", .text = &o.url },
		{ .name = "settings", .text = &o.settings },
		{ .name = "state", .text = &o.state },
		{ .name = "rate",
		    .number = &o.rate,
		    .min = 1,
		    .max = RATE_MAX },
		{ .name = "timeout",
		    .number = &o.timeout,
		    .min = 1,
		    .max = TIMEOUT_MAX },
		{ .name = "log", .flag = &o.log },
		{ .name = "accounts", .flag = &o.accounts },
		{ .name = "json", .flag = &o.json },
		{ .name = "quiet", .flag = &o.quiet },
		{ .name = "dry-run", .flag = &o.dry_run },
		{ .name = "again", .flag = &o.again },
		{ .name = "yes", .flag = &o.yes },
		{ .name = NULL },
	};
	int status = cli_read_options(cmd, argc, argv, options, &o.judge);
	const char *mistake;

	if (status != -1)
		return status;
	if ((mistake = find_mistake(&o, argc - optind)) != NULL)
		return cli_wrong_usage(cmd, mistake);
	(void)umask(022);
	/*
	 * A server or a reader of standard output that goes away must not keep
	 * the list from being written.
	 */
	signal(SIGPIPE, SIG_IGN);
	status = update_conf_read(o.settings, &conf) ?
	    run(&o, &conf, argv + optind) :
	    CLI_UNCHECKED;
	update_conf_free(&conf);
	network_stop();
	if (cli_was_signalled()) {
		signal(cli_noted_signal(), SIG_DFL);
		raise(cli_noted_signal());
	}
	return status;
}

const struct cli_command cli_confirm = {
	.name = "confirm",
	.synopsis = "[--url URL] [--rate N] [--timeout S] [--json] [--quiet] "
		    "[--dry-run] [--again] [--yes] [--state DIRECTORY] "
		    "[--settings FILE] [--config FILE] [--filter FILE]... "
		    "[--blocklist FILE]... "
		    "(KEY | FILE... | FINGERPRINT | --log [FILE]... | "
		    "--accounts)",
	.help = "Ask a publisher whether probably listed keys are compromised",
	.details =
	    "  --log            keys that the FILEs, or this machine's log, "
	    "call listed\n"
	    "  --accounts       all keys of this machine (root)\n"
	    "  --url URL        ask URL, https://... (default: Confirm in the "
	    "settings)\n"
	    "  --rate N         at most N questions a second (default 10)\n"
	    "  --timeout S      seconds that an answer may take (default 30)\n"
	    "  --json           one JSON object a line\n"
	    "  --quiet          print only errors\n"
	    "  --dry-run        keep nothing\n"
	    "  --again          also keys that the publisher did not have a "
	    "short while ago\n"
	    "  --yes            refuse confirmed keys of administrators, too\n"
	    "  --state DIRECTORY keep proofs and the list there (default "
	    "" KV_STATEDIR ")\n"
	    "  --settings FILE  keyveto-update.conf(5) (default "
	    "" UPDATE_SETTINGS_PATH ")\n" CLI_JUDGE_HELP "\n" CLI_PROOFS_HELP,
	.run = run_confirm,
};
