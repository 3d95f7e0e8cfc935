/* SPDX-License-Identifier: ISC */
/* update: the filter that logins consult, from its publisher. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curl/curl.h>

#include "command.h"
#include "fetch.h"
#include "filter.h"
#include "kv_trusted.h"
#include "signature.h"
#include "update_part.h"
#include "update_settings.h"
#include "update_state.h"
#include "update_target.h"

/* A new filter with less than this share of the old one's entries is odd. */
#define ENTRIES_SHARE_MIN 0.5
#define COMPARE_BYTES (256 * 1024)

enum { OPT_SETTINGS = 2000, OPT_FORCE, OPT_DRY_RUN, OPT_QUIET, OPT_ROLLBACK };

static const struct option options[] = {
	CLI_JUDGE_LONGOPTS,
	{ "settings", required_argument, NULL, OPT_SETTINGS },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "rollback", no_argument, NULL, OPT_ROLLBACK },
	{ NULL, 0, NULL, 0 }
};

struct update {
	struct cli_judge_options judge;
	const char *settings_path;	/* NULL: the default, if it exists */
	const char *url;
	bool force, dry_run, quiet, rollback;

	struct update_settings settings;
	struct kv_config config;
	int signers;			/* -1: no signature is asked for */
	struct fetch_place from, signature;
	struct fetch_limits limits;

	struct update_target target;
	struct update_part part;
	struct update_state state;
	char source[UPDATE_SOURCE_CHARS];
	bool unwanted;			/* what comes was rolled back from */
	bool keep_part;			/* the next run can go on from it */
	bool replaced;			/* the filter is the new one */
};

/* How it went; the zero value is the bad one. */
enum outcome { FAILED = 0, REPLACED, CURRENT, UNWANTED };

static volatile sig_atomic_t signal_caught;

static void
on_signal(int sig)
{
	signal_caught = sig;
}

static bool
stopped(void)
{
	return signal_caught != 0;
}

/* What is underway comes to its own end, which leaves nothing behind. */
static void
catch_signals(void)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGTERM };
	struct sigaction sa = { .sa_handler = on_signal,
		.sa_flags = (int)SA_RESETHAND }, was;

	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		if (sigaction(ending[i], NULL, &was) == 0 &&
		    was.sa_handler != SIG_IGN)
			sigaction(ending[i], &sa, NULL);
	}
	/* What is written in vain is to fail, not to kill. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* --- settings ----------------------------------------------------------- */

/* Opens a file that tells root what to do: nobody else may have written it. */
static int
open_trusted(const char *path)
{
	char absolute[PATH_MAX], why[KV_TRUSTED_WHY_BYTES];
	int fd = -1;

	if (realpath(path, absolute) == NULL) {
		cli_error("%s: %s", path, strerror(errno));
		return -1;
	}
	switch (kv_trusted_open(absolute, geteuid(), &fd, why)) {
	case KV_OK:
		return fd;
	case KV_ERR_SYSTEM:
		cli_error("%s", why);
		return -1;
	default:
		cli_error("%s; correct owner and mode, since it decides what "
		    "is installed", why);
		return -1;
	}
}

/* All of a file of at most cap bytes; the length, or -1 after a message. */
static ssize_t
read_file(const char *path, int fd, char *buf, size_t cap)
{
	size_t len = 0;
	ssize_t n;

	while (len < cap && (n = read(fd, buf + len, cap - len)) != 0) {
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1) {
			cli_error("%s: %s", path, strerror(errno));
			return -1;
		}
		len += (size_t)n;
	}
	return (ssize_t)len;
}

static bool
read_settings(struct update *u)
{
	static char text[UPDATE_SETTINGS_MAX_BYTES + 1];
	const char *path = u->settings_path;
	char why[UPDATE_SETTINGS_WHY_BYTES];
	ssize_t len;
	int fd;

	if (path == NULL && access(UPDATE_SETTINGS_PATH, F_OK) == -1 &&
	    errno == ENOENT)
		return true;
	if (path == NULL)
		path = UPDATE_SETTINGS_PATH;
	if ((fd = open_trusted(path)) == -1)
		return false;
	len = read_file(path, fd, text, sizeof(text));
	close(fd);
	if (len == -1)
		return false;
	if (update_settings_parse(text, (size_t)len, path, &u->settings, why))
		return true;
	cli_error("%s", why);
	return false;
}

/* Which filter: the one named, else the first of keyveto.conf. */
static const char *
find_target(struct update *u)
{
	const char *path = u->judge.config;
	char why[KV_CONFIG_WHY_BYTES];
	enum kv_err r;
	int fd;

	if (u->judge.n_filters > 0)
		return u->judge.filter[0];
	if (path == NULL && access(KV_CONFIG_PATH, F_OK) == -1 &&
	    errno == ENOENT)
		return KV_CONFIG_FILTER_PATH;
	if (path == NULL)
		path = KV_CONFIG_PATH;
	if ((fd = open_trusted(path)) == -1)
		return NULL;
	r = kv_config_read(fd, path, &u->config, why);
	close(fd);
	if (r == KV_OK)
		return u->config.filter[0];
	cli_error("%s; correct it, or name the filter with --filter", why);
	return NULL;
}

/* Where the filter and its signature come from. */
static bool
find_places(struct update *u)
{
	const char *url = u->url != NULL ? u->url : u->settings.url;

	if (url == NULL) {
		cli_error("no URL to fetch a filter from: give one, or set URL "
		    "in %s", u->settings_path != NULL ? u->settings_path :
		    UPDATE_SETTINGS_PATH);
		return false;
	}
	if (!fetch_place_parse(url, &u->from))
		return false;
	update_state_source(u->from.url != NULL ? u->from.url : u->from.path,
	    u->source);
	if (u->settings.allowed_signers == NULL)
		return true;
	u->signers = open_trusted(u->settings.allowed_signers);
	/* Of another file than usual the signature is another, too. */
	return u->signers != -1 && (u->settings.signature_url != NULL &&
	    u->url == NULL ?
	    fetch_place_parse(u->settings.signature_url, &u->signature) :
	    fetch_place_signature(&u->from, &u->signature));
}

/* --- what is installed -------------------------------------------------- */

/* Forgets what does not hold of this filter, this URL and these options. */
static void
load_state(struct update *u)
{
	struct update_state *s = &u->state;
	const struct update_target *t = &u->target;

	update_state_load(t->place.dir, t->place.name, s);
	if (!t->is_filter || !update_state_fits(s, &t->st))
		update_state_forget_installed(s);
	if (u->force)
		s->unwanted = -1;
	if (u->force || strcmp(s->source, u->source) != 0 ||
	    (u->signers != -1 && !s->is_signed))
		s->etag[0] = s->last_modified[0] = '\0';
}

static void
save_state(const struct update *u)
{
	update_state_save(u->target.place.dir, u->target.place.name,
	    &u->state);
}

/* The file is known by this name from now on; st is that of the filter. */
static void
note_installed(struct update *u, const struct fetch *f, const struct stat *st)
{
	struct update_state *s = &u->state;

	memcpy(s->source, u->source, sizeof(s->source));
	memcpy(s->etag, f->etag, sizeof(s->etag));
	memcpy(s->last_modified, f->last_modified, sizeof(s->last_modified));
	s->is_signed = u->signers != -1;
	update_state_fit(s, st);
	update_state_forget_part(s);
	save_state(u);
}

static void
print_filter(const struct filter_facts *f)
{
	printf(", %" PRIu32 " entries, %.3g%% of the bits set, false positives "
	    "%.3g\n", f->header.entries, f->share * 100,
	    filter_facts_rate_by_bits(f));
}

/* "PATH: " on standard output; false if nothing is to be said. */
static bool
print_path(const struct update *u)
{
	if (u->quiet)
		return false;
	cli_print_safe(stdout, u->target.path, strlen(u->target.path));
	fputs(": ", stdout);
	return true;
}

static void
print_replaced(const struct update *u, const struct filter_facts *f,
    const char *verb)
{
	const struct update_target *t = &u->target;

	if (!print_path(u))
		return;
	if (t->is_filter)
		printf("%s, revision %" PRIu32 " -> %" PRIu32, verb,
		    t->header.revision, f->header.revision);
	else
		printf("%s, revision %" PRIu32, verb, f->header.revision);
	print_filter(f);
}

static void
print_current(const struct update *u)
{
	if (u->state.unwanted > u->target.header.revision) {
		if (print_path(u))
			printf("stays at revision %" PRIu32 ": revision %"
			    PRId64 " was rolled back, and only a later one is "
			    "installed (or that one, by --force)\n",
			    u->target.header.revision, u->state.unwanted);
	} else if (print_path(u))
		printf("already current, revision %" PRIu32 "\n",
		    u->target.header.revision);
}

/* --- receiving ---------------------------------------------------------- */

/* By its header, before the rest is received. */
static bool
judge_header(const struct kv_pkbf_header *h, void *arg)
{
	struct update *u = arg;
	const struct update_target *t = &u->target;

	if (u->state.unwanted == h->revision) {
		u->unwanted = true;
		return false;
	}
	if (u->force || !t->is_filter || h->revision >= t->header.revision)
		return true;
	cli_error("%s: is revision %" PRIu32 ", older than the revision %"
	    PRIu32 " that is installed; somebody may want old keys to be "
	    "accepted again. If it is right, use --force",
	    u->from.shown, h->revision, t->header.revision);
	return false;
}

static bool
on_begin(const struct fetch *f, off_t at, void *arg)
{
	struct update *u = arg;
	struct update_state *s = &u->state;

	if (at == 0) {
		update_state_forget_part(s);
		if (u->from.url != NULL && fetch_is_strong(f->etag)) {
			memcpy(s->part_etag, f->etag, sizeof(s->part_etag));
			memcpy(s->part_source, u->source,
			    sizeof(s->part_source));
			update_state_boot(s->part_boot);
		}
		save_state(u);
	}
	u->keep_part = s->part_etag[0] != '\0' && s->part_boot[0] != '\0' &&
	    !u->dry_run;
	return update_part_begin(&u->part, at);
}

static bool
on_data(const void *p, size_t len, void *arg)
{
	struct update *u = arg;

	return update_part_add(&u->part, p, len);
}

/* Whether what an earlier run received can be gone on from. */
static bool
can_resume(const struct update *u)
{
	const struct update_state *s = &u->state;
	char boot[UPDATE_BOOT_CHARS];

	update_state_boot(boot);
	return u->part.len > 0 && boot[0] != '\0' &&
	    strcmp(s->part_boot, boot) == 0 &&
	    strcmp(s->part_source, u->source) == 0 &&
	    fetch_is_strong(s->part_etag);
}

static enum fetch_end
receive(struct update *u, struct fetch *f)
{
	char part_etag[FETCH_VALIDATOR_BYTES];
	enum fetch_end end;

	memcpy(part_etag, u->state.part_etag, sizeof(part_etag));
	*f = (struct fetch){ .place = &u->from, .limits = &u->limits,
		.if_none_match = u->state.etag,
		.if_modified_since = u->state.etag[0] != '\0' ? "" :
		    u->state.last_modified,
		.if_range = "", .begin = on_begin, .data = on_data, .arg = u };
	if (can_resume(u)) {
		u->keep_part = !u->dry_run;
		f->if_range = part_etag;
		/* A byte that is there already: a part may be complete. */
		f->from = u->part.len - 1;
	}
	end = fetch_run(f);
	if (end != FETCH_NO_RANGE)
		return end;
	f->if_range = "";
	f->from = 0;
	end = fetch_run(f);
	if (end == FETCH_NO_RANGE) {
		cli_error("%s: the server answers with a part of it that "
		    "nobody asked for; try again later", u->from.shown);
		end = FETCH_FAILED;
	}
	return end;
}

/* --- the signature ------------------------------------------------------ */

struct memory {
	const char *shown;
	size_t len;
	uint8_t bytes[SIGNATURE_MAX_BYTES];
};

static bool
on_signature_begin(const struct fetch *f, off_t at, void *arg)
{
	struct memory *m = arg;

	(void)f;
	(void)at;
	m->len = 0;
	return true;
}

static bool
on_signature_data(const void *p, size_t len, void *arg)
{
	struct memory *m = arg;

	if (len > sizeof(m->bytes) - m->len) {
		cli_error("%s: too long for a signature; correct SignatureURL",
		    m->shown);
		return false;
	}
	memcpy(m->bytes + m->len, p, len);
	m->len += len;
	return true;
}

static bool
check_signature(struct update *u)
{
	static struct memory m;
	struct fetch f = { .place = &u->signature, .limits = &u->limits,
		.if_none_match = "", .if_modified_since = "", .if_range = "",
		.begin = on_signature_begin, .data = on_signature_data,
		.arg = &m };

	if (u->signers == -1)
		return true;
	m.shown = u->signature.shown;
	if (fetch_run(&f) != FETCH_DONE) {
		cli_error("%s: has no signature that could be checked, and "
		    "AllowedSigners asks for one", u->from.shown);
		return false;
	}
	/* What has no good signature is not gone on from either. */
	u->keep_part = false;
	return signature_verify(u->part.fd, m.bytes, m.len, u->signers,
	    u->settings.identity, u->signature.shown);
}

/* --- judging it --------------------------------------------------------- */

/* Whether two files of this size are equal: 1, 0, -1 after a message. */
static int
compare(const struct update *u, off_t size)
{
	static char a[COMPARE_BYTES], b[COMPARE_BYTES];

	for (off_t at = 0; at < size; at += COMPARE_BYTES) {
		size_t len = size - at < COMPARE_BYTES ? (size_t)(size - at) :
		    COMPARE_BYTES;

		if (!filter_read_at(u->target.path, u->target.fd, a, len, at) ||
		    !filter_read_at(u->from.shown, u->part.fd, b, len, at))
			return -1;
		if (memcmp(a, b, len) != 0)
			return 0;
	}
	return 1;
}

/* Whether it is the one that is installed: 1, 0, -1 after a message. */
static int
is_the_same(const struct update *u, const struct filter_facts *fresh)
{
	const struct update_target *t = &u->target;
	int same;

	if (!t->is_filter || t->header.revision != fresh->header.revision)
		return 0;
	same = t->st.st_size != u->part.len ? 0 : compare(u, u->part.len);
	if (same != 0 || u->force)
		return same;
	cli_error("%s: is revision %" PRIu32 ", as the one that is installed, "
	    "but differs from it. Either keys were added to that one here, "
	    "which would be lost (keep them in a filter of their own), or "
	    "somebody changed it without a new revision. If it is right, use "
	    "--force", u->from.shown, t->header.revision);
	return -1;
}

/* A filter that lists hardly anything any more protects nobody. */
static bool
holds_enough(const struct update *u, const struct filter_facts *fresh)
{
	const struct update_target *t = &u->target;
	struct filter_facts old;
	struct kv_pkbf f = { .fd = t->fd, .header = t->header };

	if (u->force || !t->is_filter)
		return true;
	if (!filter_facts_read(t->path, &f, &old))
		return false;
	/* One that is full beyond counting is no measure. */
	if (old.set == old.bits ||
	    fresh->entries >= ENTRIES_SHARE_MIN * old.entries)
		return true;
	cli_error("%s: its bits look like %.0f entries, those of the installed "
	    "one like %.0f: most keys would be accepted again. If it is "
	    "right, use --force", u->from.shown, fresh->entries, old.entries);
	return false;
}

static enum outcome
install(struct update *u, const struct fetch *f,
    const struct filter_facts *facts)
{
	int fd = u->part.fd;
	struct stat st;
	bool ok;

	if (u->dry_run) {
		print_replaced(u, facts, "would be updated");
		return REPLACED;
	}
	if (fstat(fd, &st) == -1) {
		cli_error("%s: %s", u->target.path, strerror(errno));
		return FAILED;
	}
	/* From here on a signal ends this by way of replace. */
	u->part.fd = -1;
	ok = update_target_replace(&u->target, fd, u->part.name,
	    &u->replaced);
	if (u->replaced) {
		u->state.unwanted = -1;
		note_installed(u, f, &st);
	}
	if (!ok)
		return FAILED;
	print_replaced(u, facts, u->target.is_filter ? "updated" :
	    "installed");
	return REPLACED;
}

/* It is all there: the rest is to find out whether it is good. */
static enum outcome
take(struct update *u, const struct fetch *f)
{
	struct filter_facts facts;
	int same;

	if (!update_part_end(&u->part))
		return FAILED;
	if (!check_signature(u))
		return FAILED;
	u->keep_part = false;
	if (!update_target_judge(u->from.shown, u->part.fd,
	    u->settings.max_rate, &facts) ||
	    (same = is_the_same(u, &facts)) == -1)
		return FAILED;
	if (same == 1) {
		if (!u->dry_run)
			note_installed(u, f, &u->target.st);
		print_current(u);
		return CURRENT;
	}
	if (!holds_enough(u, &facts))
		return FAILED;
	if (stopped()) {
		cli_error("%s: interrupted", u->from.shown);
		return FAILED;
	}
	return install(u, f, &facts);
}

static enum outcome
fetch_and_take(struct update *u)
{
	struct fetch f;

	switch (receive(u, &f)) {
	case FETCH_DONE:
		return take(u, &f);
	case FETCH_NOT_MODIFIED:
		u->keep_part = false;
		print_current(u);
		return CURRENT;
	default:
		/* Neither is what cannot become the filter. */
		if (u->unwanted || u->part.no_room)
			u->keep_part = false;
		if (!u->unwanted)
			return FAILED;
		print_current(u);
		return UNWANTED;
	}
}

/* --- going back --------------------------------------------------------- */

static enum outcome
roll_back(struct update *u, int previous)
{
	const struct update_target *t = &u->target;
	struct filter_facts facts;
	struct stat st;

	u->keep_part = true;
	if (!update_target_judge(t->previous, previous, u->settings.max_rate,
	    &facts) || fstat(previous, &st) == -1)
		return FAILED;
	if (u->dry_run) {
		print_replaced(u, &facts, "would be rolled back");
		return REPLACED;
	}
	if (!update_target_exchange(t))
		return FAILED;
	/* The next update is not to bring back what was rolled back from. */
	u->state.unwanted = -1;
	if (t->is_filter && t->header.revision > facts.header.revision)
		u->state.unwanted = t->header.revision;
	if (!t->is_filter)
		update_state_forget_installed(&u->state);
	update_state_fit(&u->state, &st);
	save_state(u);
	print_replaced(u, &facts, "rolled back");
	return REPLACED;
}

static enum outcome
find_and_roll_back(struct update *u)
{
	int previous = update_target_open_previous(&u->target);
	enum outcome outcome = FAILED;

	if (previous != -1) {
		outcome = roll_back(u, previous);
		close(previous);
	}
	return outcome;
}

/* --- the command -------------------------------------------------------- */

static void
warn_if_distrusted(const char *path)
{
	char absolute[PATH_MAX], why[KV_TRUSTED_WHY_BYTES];
	int fd;

	/* Anybody else has filters that are not for logins. */
	if (geteuid() != 0 || realpath(path, absolute) == NULL)
		return;
	if (kv_trusted_open(absolute, 0, &fd, why) == KV_OK)
		close(fd);
	else
		cli_error("warning: %s: a login would not trust this file",
		    why);
}

static void
say_unchanged(const struct update *u)
{
	const struct update_target *t = &u->target;

	if (t->is_filter)
		cli_error("%s: stays as it is, revision %" PRIu32, t->path,
		    t->header.revision);
	else if (t->fd == -1)
		cli_error("%s: there still is no filter", t->path);
}

static enum outcome
update_with_target(struct update *u)
{
	enum outcome outcome;

	if (!update_target_open(&u->target, u->target.path) ||
	    !update_part_open(&u->part, u->target.place.dir,
	    u->target.place.name))
		return FAILED;
	load_state(u);
	outcome = u->rollback ? find_and_roll_back(u) : fetch_and_take(u);
	update_part_close(&u->part, u->keep_part && outcome == FAILED);
	if (outcome == REPLACED && !u->dry_run)
		warn_if_distrusted(u->target.path);
	else if (outcome == FAILED && !u->replaced)
		say_unchanged(u);
	return outcome;
}

static enum outcome
update(struct update *u)
{
	if (!read_settings(u) ||
	    (u->target.path = find_target(u)) == NULL ||
	    (!u->rollback && !find_places(u)))
		return FAILED;
	u->limits = (struct fetch_limits){ .ca_file = u->settings.ca_file,
		.proxy = u->settings.proxy, .timeout = u->settings.timeout,
		.stall_timeout = u->settings.stall_timeout,
		.stopped = stopped };
	u->part.shown = u->from.shown;
	u->part.max_bytes = u->settings.max_bytes;
	u->part.judge = judge_header;
	u->part.arg = u;
	return update_with_target(u);
}

static void
free_update(struct update *u)
{
	update_target_close(&u->target);
	update_settings_free(&u->settings);
	kv_config_free(&u->config);
	fetch_place_free(&u->from);
	fetch_place_free(&u->signature);
	if (u->signers != -1)
		close(u->signers);
}

static bool
read_options(const struct cli_command *cmd, struct update *u, int argc,
    char **argv, int *statusp)
{
	int opt;

	*statusp = CLI_UNCHECKED;
	while ((opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		switch (opt) {
		case CLI_OPT_HELP:
			*statusp = cli_help(cmd);
			return false;
		case CLI_OPT_CONFIG:
		case CLI_OPT_FILTER:
			if (!cli_judge_option(&u->judge, opt, optarg))
				return false;
			break;
		case OPT_SETTINGS:
			u->settings_path = optarg;
			break;
		case OPT_FORCE:
			u->force = true;
			break;
		case OPT_DRY_RUN:
			u->dry_run = true;
			break;
		case OPT_QUIET:
			u->quiet = true;
			break;
		case OPT_ROLLBACK:
			u->rollback = true;
			break;
		default:
			return false;
		}
	}
	if (optind < argc)
		u->url = argv[optind++];
	if (optind < argc)
		cli_error("give one URL");
	else if (u->judge.n_filters > 1)
		cli_error("give one filter");
	else if (u->rollback && (u->url != NULL || u->force))
		cli_error("--rollback takes no URL and no --force");
	else
		return true;
	cli_usage_error(cmd);
	return false;
}

static int
run_update(const struct cli_command *cmd, int argc, char **argv)
{
	struct update u = { .signers = -1, .part = { .fd = -1 },
		.target = { .fd = -1, .place = { .dir = -1, .lock = -1,
		.old = -1, .fd = -1 } } };
	enum outcome outcome;
	int status;

	if (!read_options(cmd, &u, argc, argv, &status))
		return status;
	update_settings_defaults(&u.settings);
	kv_config_defaults(&u.config);
	catch_signals();
	(void)umask(022);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		cli_error("libcurl cannot be started");
		return CLI_UNCHECKED;
	}
	outcome = update(&u);
	free_update(&u);
	curl_global_cleanup();
	if (signal_caught != 0 && outcome == FAILED)
		raise(signal_caught);
	return cli_stdout_ok() && outcome != FAILED ? 0 : CLI_UNCHECKED;
}

const struct cli_command cli_update = {
	.name = "update",
	.synopsis = "[--force] [--dry-run] [--quiet] [--settings FILE] "
	    "[--config FILE] "
	    "[--filter FILE] [URL | --rollback]",
	.help = "Fetch a newer filter, verify it, and install it",
	.details =
	    "URL is https://..., or the path of a file; without one it is that "
	    "of the\nsettings.\n\n"
	    "  --force          also an older revision, or one with far fewer "
	    "entries\n"
	    "  --dry-run        fetch and verify, but change nothing\n"
	    "  --quiet          say nothing but what went wrong\n"
	    "  --settings FILE  keyveto-update.conf(5) (default "
	    UPDATE_SETTINGS_PATH ")\n"
	    "  --config FILE    the configuration whose first filter this is "
	    "about\n                   (default " KV_CONFIG_PATH ")\n"
	    "  --filter FILE    the filter, in the place of that one\n"
	    "  --rollback       exchange the filter and the one before it\n\n"
	    "Exit status: 0 if the filter is the new one or was current "
	    "already, else 2;\nthe filter is as it was then.\n",
	.run = run_update,
};
