/* SPDX-License-Identifier: ISC */
#include "accounts/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/io.h"
#include "accounts/origin.h"
#include "base/room.h"
#include "host/system_file.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/running.h"
#include "sshd_config/words.h"

#define QUESTIONS_MAX 16 /* to sshd at a time */

struct finder {
	struct audit_policies *p;
	size_t first; /* the place in p of the first one by this sshd */
	const struct sshd *sshd;
	const struct accounts *accounts;
	const struct audit_policy **of_account;
	struct report *r;
	enum kv_wildcards sshd_wildcards;
	const struct sshd_overview *overview;
	struct sshd_settings *global; /* where no Match line matches */
};

void
audit_pattern_join(struct audit_pattern *p, const struct audit_pattern *other)
{
	/* The stricter one: a doubt is a no. */
	if (other->strictmodes < p->strictmodes)
		p->strictmodes = other->strictmodes;
}

/* Adds a pattern, unless it is there. False with errno. */
static bool
add_pattern(struct audit_policy *policy, const struct audit_pattern *new)
{
	struct audit_pattern *v;

	if (strcmp(new->text, "/dev/null") == 0)
		return policy->null = true;
	for (size_t i = 0; i < policy->n_patterns; i++) {
		v = &policy->pattern[i];
		if (v->wildcards != new->wildcards ||
		    strcmp(v->text, new->text) != 0)
			continue;
		audit_pattern_join(v, new);
		return true;
	}
	if (!room_for_one(&policy->pattern, policy->n_patterns, sizeof(*v)))
		return false;
	v = &policy->pattern[policy->n_patterns];
	*v = *new;
	if ((v->text = strdup(new->text)) == NULL)
		return false;
	policy->n_patterns++;
	return true;
}

static bool
add_patterns(struct audit_policy *policy, const char *const *text, size_t n,
    struct audit_pattern like)
{
	for (size_t i = 0; i < n; i++) {
		like.text = (char *)text[i];
		if (!add_pattern(policy, &like))
			return false;
	}
	return true;
}

/* Adds a TrustedUserCAKeys, unless it is none. False with errno. */
static bool
add_user_ca(struct audit_policy *policy, const char *path)
{
	return sshd_words_none(path) || texts_add_new(&policy->user_cas, path);
}

/* Adds a TrustedUserCAKeys as it is written in a file. False with errno. */
static bool
add_written_ca(struct audit_policy *policy, const char *value)
{
	char *copy = strdup(value), *rest = copy;
	const char *path = copy != NULL ? sshd_words_next(&rest) : NULL;
	const bool ok = copy != NULL &&
	    (path == NULL || add_user_ca(policy, path));

	free(copy);
	return ok;
}

/*
 * Adds the files that the guard prints: those that its arguments name, or else
 * those of the keyveto.conf that its arguments name, or of the default one. If
 * that file has a mistake, the guard uses the default files, and so does the
 * audit. False with errno.
 */
static bool
add_guarded(const struct finder *f, struct audit_policy *policy,
    const char *args)
{
	struct report *r = f->r;
	const struct kv_config *config = &r->judge->config;
	struct audit_pattern like = { .text = NULL };
	char path[4096], why[KV_CONFIG_WHY_BYTES];
	enum kv_err err = KV_ERR_SYSTEM;
	struct kv_config own;
	struct guard_files files;
	bool ok;
	int fd;

	kv_config_defaults(&own);
	if (guard_config(args, path, sizeof(path))) {
		config = &own;
		fd = system_file_open(path, O_RDONLY);
		if (fd != -1)
			err = kv_config_read(fd, path, &own, why);
		if (err == KV_ERR_SYSTEM)
			report_problem_at(r, path, 0, strerror(errno));
		else if (err != KV_OK)
			report_problem_at(r, GUARD_NAME, 0, why);
		io_close(fd);
	}
	like.strictmodes = policy->settings->strictmodes ?
	    config->strictmodes :
	    r->judge->config.strictmodes;
	like.wildcards = config->wildcards;
	if (!guard_files_read(args, &files))
		report_problem_at(r, GUARD_NAME, 0, strerror(errno));
	if (files.n > 0)
		like.wildcards = KV_WILDCARDS_NO;
	if (files.strictmodes != NULL)
		(void)kv_config_read_strictmodes(files.strictmodes,
		    &like.strictmodes);
	if (files.wildcards != NULL)
		(void)kv_config_read_wildcards(files.wildcards,
		    &like.wildcards);
	ok = files.n > 0 ?
	    add_patterns(policy, files.pattern, files.n, like) :
	    add_patterns(policy, config->pattern, config->n_patterns, like);
	guard_files_free(&files);
	kv_config_free(&own);
	return ok;
}

/* Adds a command that is no guard, unless it is there. False with errno. */
static bool
add_other_command(struct audit_policy *policy, const char *text,
    const char *user, const char *unasked)
{
	struct audit_command *c;

	for (size_t i = 0; i < policy->n_commands; i++)
		if (strcmp(policy->command[i].as.text, text) == 0 &&
		    strcmp(policy->command[i].as.user, user) == 0)
			return true;
	if (!room_for_one(&policy->command, policy->n_commands, sizeof(*c)))
		return false;
	c = &policy->command[policy->n_commands++];
	*c = (struct audit_command){
		.as = { .text = strdup(text), .user = strdup(user) },
		.unasked = unasked != NULL ? strdup(unasked) : NULL,
	};
	return c->as.text != NULL && c->as.user != NULL &&
	    (c->unasked != NULL) == (unasked != NULL);
}

/*
 * Adds the files of the guard, or the command that is none. by_origin: only for
 * some clients. False with errno.
 */
static bool
add_command(const struct finder *f, struct audit_policy *policy,
    const char *command, bool by_origin)
{
	char text[SSHD_VALUE_BYTES], why[ASK_WHY_BYTES];
	const char *user = policy->settings->keys_user, *args;
	const struct ask_command c = { text, (char *)user };

	if (sshd_words_none(command))
		return true;
	if (ask_find(command, text, sizeof(text))) {
		if (by_origin)
			return add_other_command(policy, text, user,
			    "sshd asks it for some clients alone");
		return add_other_command(policy, text, user,
		    ask_is_possible(&c, why) ? NULL : why);
	}
	if (!guard_command(command, &args))
		return true;
	if (policy->reads_files)
		cli_error(
		    "warning: AuthorizedKeysFile is not none: sshd lets "
		    "in the keys of those files without asking the guard %s",
		    command);
	return add_guarded(f, policy, args);
}

/* The text of a value; of a global one what sshd prints. */
static const char *
value_text(const struct finder *f, size_t line, const char *global)
{
	return line == 0 ? global : f->overview->tree.line[line - 1].value;
}

/* Adds the files of an AuthorizedKeysFile line. False with errno. */
static bool
add_written(struct audit_policy *policy, const char *value,
    struct audit_pattern like)
{
	char *copy = strdup(value), *rest = copy;
	const char *word;
	bool ok = copy != NULL;

	while (ok && (word = sshd_words_next(&rest)) != NULL)
		if (strcasecmp(word, "none") != 0)
			ok = add_patterns(policy, &word, 1, like);
	free(copy);
	return ok;
}

/* How sshd itself reads its files. */
static struct audit_pattern
sshds_pattern(const struct finder *f, const struct sshd_settings *s)
{
	return (struct audit_pattern){
		.strictmodes = s->strictmodes ?
		    f->r->judge->config.strictmodes :
		    KV_STRICTMODES_NO,
		.wildcards = f->sshd_wildcards,
	};
}

/*
 * Adds the files that AuthorizedKeysFile names for some clients. False with
 * errno.
 */
static bool
add_files_by_origin(struct finder *f, struct audit_policy *policy,
    const struct origin_values *files)
{
	const struct audit_pattern like = sshds_pattern(f, policy->settings);
	bool ok = true;

	for (size_t i = 0; ok && files->by_origin && i < files->n; i++)
		ok = files->line[i] == 0 ?
		    add_patterns(policy, f->global->pattern,
			f->global->n_patterns, like) :
		    add_written(policy, value_text(f, files->line[i], NULL),
			like);
	return ok;
}

/* Adds the files of AuthorizedKeysCommand, for all clients. */
static bool
add_commands(struct finder *f, struct audit_policy *policy,
    const struct origin_values *command)
{
	const char *const usual = policy->settings->keys_command;
	bool ok = add_command(f, policy, usual, false);

	for (size_t i = 0; ok && command->by_origin && i < command->n; i++) {
		const char *text = value_text(f, command->line[i],
		    f->global->keys_command);
		bool had = strcmp(text, usual) == 0;

		for (size_t j = 0; j < i; j++)
			had |= strcmp(text,
				   value_text(f, command->line[j],
				       f->global->keys_command)) == 0;
		ok = had || add_command(f, policy, text, true);
	}
	return ok;
}

static bool
fill_policy(struct finder *f, struct audit_policy *policy,
    const struct origin *o)
{
	const struct sshd_settings *s = policy->settings;
	bool ok = add_patterns(policy, s->pattern, s->n_patterns,
		      sshds_pattern(f, s)) &&
	    add_user_ca(policy, s->user_ca) &&
	    add_files_by_origin(f, policy, &o->files);

	policy->reads_files = policy->n_patterns > 0;
	for (size_t i = 0; ok && o->user_ca.by_origin && i < o->user_ca.n;
	     i++) {
		const size_t line = o->user_ca.line[i];

		ok = line == 0 ?
		    add_user_ca(policy, f->global->user_ca) :
		    add_written_ca(policy, value_text(f, line, NULL));
	}
	if (o->files.too_many || o->command.too_many || o->user_ca.too_many)
		report_problem_at(f->r, f->sshd->path, 0,
		    "too many Match blocks that look at where a client "
		    "connects from set where keys come from");
	return ok && add_commands(f, policy, &o->command);
}

static void
free_policy(struct audit_policy *policy)
{
	for (size_t i = 0; i < policy->n_patterns; i++)
		free(policy->pattern[i].text);
	for (size_t i = 0; i < policy->n_commands; i++) {
		free(policy->command[i].as.text);
		free(policy->command[i].as.user);
		free(policy->command[i].unasked);
	}
	free(policy->command);
	free(policy->pattern);
	texts_free(&policy->user_cas);
	free(policy->origin);
	sshd_settings_free(policy->settings);
	free(policy);
}

/* Adds to p a policy, which owns settings. NULL with errno. */
static struct audit_policy *
add_policy(struct audit_policies *p, struct sshd_settings *settings)
{
	struct audit_policy *policy = calloc(1, sizeof(*policy));

	if (policy == NULL ||
	    !room_for_one(&p->v, p->n, sizeof(struct audit_policy *))) {
		sshd_settings_free(settings);
		free(policy);
		return NULL;
	}
	policy->settings = settings;
	p->v[p->n++] = policy;
	return policy;
}

static bool
is_policy_for(const struct audit_policy *policy,
    const struct sshd_settings *settings, const char *origin)
{
	if (settings == NULL || policy->settings == NULL)
		return settings == policy->settings;
	return sshd_settings_same_keys(settings, policy->settings) &&
	    strcmp(policy->origin, origin) == 0;
}

/*
 * Returns the policy for settings and what depends on the origin, and owns
 * settings from now on. NULL settings: the policy of keyveto.conf. Returns NULL
 * if out of memory.
 */
static struct audit_policy *
find_policy(struct finder *f, struct sshd_settings *settings,
    const struct origin *o)
{
	const struct kv_config *config = &f->r->judge->config;
	char *origin = origin_name(o);
	struct audit_policy *policy;
	bool ok;

	for (size_t i = f->first; origin != NULL && i < f->p->n; i++)
		if (is_policy_for(f->p->v[i], settings, origin)) {
			sshd_settings_free(settings);
			free(origin);
			return f->p->v[i];
		}
	if (origin == NULL || (policy = add_policy(f->p, settings)) == NULL) {
		if (origin == NULL)
			sshd_settings_free(settings);
		free(origin);
		return NULL;
	}
	policy->origin = origin;
	ok = settings != NULL ?
	    fill_policy(f, policy, o) :
	    add_patterns(policy, config->pattern, config->n_patterns,
		(struct audit_pattern){
		    .strictmodes = config->strictmodes,
		    .wildcards = config->wildcards,
		});
	return ok ? policy : NULL;
}

static bool
set_policy_of_all(struct finder *f, struct sshd_settings *settings)
{
	const struct origin everywhere = { .files = { .n = 0 } };
	struct audit_policy *policy = find_policy(f, settings, &everywhere);

	for (size_t i = 0; i < f->accounts->n; i++)
		f->of_account[i] = policy;
	return policy != NULL;
}

/*
 * Asks sshd about each account that Match lines may tell from the ones before.
 * Takes about ten milliseconds a question, but only sshd itself knows. False if
 * out of memory.
 */
static bool
ask_for_each(struct finder *f, const struct sshd_match *match)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	const size_t ring = processors < 2 ? 2 :
	    processors > QUESTIONS_MAX	   ? QUESTIONS_MAX :
					     (size_t)processors;
	const size_t n = f->accounts->n;
	/* Account i has the settings of account like[i]. */
	size_t *like = sshd_match_alike(f->accounts, match);
	struct sshd_question q[QUESTIONS_MAX];
	size_t asked = 0, answered = 0, ahead = 0;
	bool ok = like != NULL;
	char why[1024];

	for (size_t i = 0; ok && i < n; i++) {
		struct origin o = { .files = { .n = 0 } };
		struct sshd_settings *s;

		if (like[i] != i) {
			f->of_account[i] = f->of_account[like[i]];
			continue;
		}
		for (; ahead < n && asked - answered < ring; ahead++)
			if (like[ahead] == ahead)
				sshd_ask(f->sshd, f->accounts->v[ahead].name,
				    &q[asked++ % ring]);
		s = sshd_answer(&q[answered++ % ring], why, sizeof(why));
		if (s == NULL)
			report_problem_at(f->r, f->accounts->v[i].name, 0, why);
		if (f->global != NULL &&
		    !origin_find(&o, f->overview, &f->accounts->v[i])) {
			sshd_settings_free(s);
			ok = false;
			continue;
		}
		f->of_account[i] = find_policy(f, s, &o);
		ok = f->of_account[i] != NULL;
	}
	free(like);
	return ok;
}

/*
 * Prepares for origin_find, if a Match block looks at more than the account and
 * sets what matters here.
 */
static void
prepare_origins(struct finder *f)
{
	struct sshd_question q;
	char why[1024];

	if (!f->overview->keys_by_origin)
		return;
	if (!f->r->quiet)
		cli_error(
		    "note: Match blocks of sshd's configuration test where a "
		    "client connects from: the audit reads what they name, and "
		    "shows all else as it holds for 127.0.0.1");
	sshd_ask(f->sshd, NULL, &q);
	if ((f->global = sshd_answer(&q, why, sizeof(why))) == NULL)
		report_problem_at(f->r, f->sshd->path, 0, why);
}

/* Notes the line that has /dev/null for a file, and for whom it counts. */
static void
note_null(const struct finder *f)
{
	const struct sshd_tree *t = &f->overview->tree;
	char *names = NULL;
	size_t len = 0, i = 0;
	FILE *out = open_memstream(&names, &len);

	for (size_t k = 0; out != NULL && k < f->accounts->n; k++)
		if (f->of_account[k]->null)
			fprintf(out, " %s", f->accounts->v[k].name);
	while (i < t->n_lines &&
	    (strcasecmp(t->line[i].keyword, "AuthorizedKeysFile") != 0 ||
		strstr(t->line[i].value, "/dev/null") == NULL))
		i++;
	if (out != NULL && fclose(out) == 0 && len > 0 && i < t->n_lines)
		cli_error(
		    "note: %s:%zu: AuthorizedKeysFile /dev/null holds no key for:%s",
		    t->file[t->line[i].file].path, t->line[i].number, names);
	free(names);
}

/* Finds the policies by sshd, which has answered. s are root's settings. */
static bool
find_by_sshd(struct finder *f, struct sshd_settings *s)
{
	struct sshd named = *f->sshd;
	struct sshd_overview overview;
	bool ok;

	/* Older versions know no wildcards. */
	if (sshd_version_at_least(f->sshd->path, 10, 0))
		f->sshd_wildcards = KV_WILDCARDS_YES;
	if (named.config == NULL && *sshd_subject(f->sshd)->file != '\0')
		named.config = sshd_subject(f->sshd)->file;
	sshd_overview(&named, &overview);
	f->overview = &overview;
	if (*overview.unread != '\0')
		report_problem_at(f->r, f->sshd->path, 0, overview.unread);
	if (overview.odd_pattern)
		report_problem_at(f->r, f->sshd->path, 0,
		    "AuthorizedKeysFile names a file with a blank, quote, "
		    "backslash or #, which sshd -T does not show as one: run "
		    "keyveto check on it");
	if (overview.varies) {
		sshd_settings_free(s);
		prepare_origins(f);
		ok = ask_for_each(f, &overview.match);
	} else
		ok = set_policy_of_all(f, s);
	if (ok && !f->r->quiet)
		note_null(f);
	f->overview = NULL;
	sshd_settings_free(f->global);
	f->global = NULL;
	sshd_overview_free(&overview);
	return ok;
}

/* Adds b's patterns and commands to a's. False with errno. */
static bool
add_all_of(struct audit_policy *a, const struct audit_policy *b)
{
	for (size_t i = 0; i < b->n_commands; i++)
		if (!add_other_command(a, b->command[i].as.text,
			b->command[i].as.user, b->command[i].unasked))
			return false;
	for (size_t i = 0; i < b->n_patterns; i++)
		if (!add_pattern(a, &b->pattern[i]))
			return false;
	return true;
}

/*
 * Returns the policy of an account that comes in by a, and by b. NULL if out of
 * memory.
 */
static const struct audit_policy *
join_policies(struct finder *f, const struct audit_policy *a,
    const struct audit_policy *b)
{
	struct audit_policy *joined;

	for (size_t i = 0; i < f->p->n; i++)
		if (f->p->v[i]->joined[0] == a && f->p->v[i]->joined[1] == b)
			return f->p->v[i];
	if ((joined = add_policy(f->p, NULL)) == NULL)
		return NULL;
	joined->joined[0] = a;
	joined->joined[1] = b;
	return add_all_of(joined, a) && add_all_of(joined, b) ? joined : NULL;
}

/* Adds the policies by another sshd. False if out of memory. */
static bool
add_sshd(struct finder *f, const struct sshd_running_one *one)
{
	const size_t n = f->accounts->n;
	struct finder other = *f;
	struct sshd_settings *s;
	struct sshd_question q;
	char why[1024];
	bool ok;

	sshd_ask(&one->sshd, "root", &q);
	if ((s = sshd_answer(&q, why, sizeof(why))) == NULL) {
		report_problem_at(f->r, one->place, 0, why);
		return true;
	}
	other.sshd = &one->sshd;
	other.first = f->p->n;
	other.sshd_wildcards = KV_WILDCARDS_WRITTEN;
	other.of_account = calloc(n + 1, sizeof(struct audit_policy *));
	if (other.of_account == NULL) {
		sshd_settings_free(s);
		return false;
	}
	ok = find_by_sshd(&other, s);
	for (size_t i = 0; ok && i < n; i++) {
		f->of_account[i] = join_policies(f, f->of_account[i],
		    other.of_account[i]);
		ok = f->of_account[i] != NULL;
	}
	free(other.of_account);
	return ok;
}

static void
report_unseen(void *report, const char *place, const char *why)
{
	report_problem_at(report, place, 0, why);
}

/* Adds the policies by each other sshd that runs. False if out of memory. */
static bool
add_running(struct finder *f)
{
	struct sshd_running running;
	bool ok = sshd_running_find(&running, report_unseen, f->r);

	for (size_t i = 0; ok && i < running.n; i++)
		ok = add_sshd(f, &running.v[i]);
	sshd_running_free(&running);
	return ok;
}

/* Finds the policies by f->sshd, or by keyveto.conf. False without memory. */
static bool
find_by_usual(struct finder *f)
{
	struct sshd_settings *s;
	struct sshd_question q;
	char why[1024];

	if (f->sshd == NULL)
		return set_policy_of_all(f, NULL);
	if (access(f->sshd->path, X_OK) == -1) {
		cli_error("warning: %s: %s: the accounts' files are taken from "
			  "keyveto.conf (--sshd names another sshd)",
		    f->sshd->path, strerror(errno));
		return set_policy_of_all(f, NULL);
	}
	/* Ask about root, to find out whether sshd answers at all. */
	sshd_ask(f->sshd, "root", &q);
	if ((s = sshd_answer(&q, why, sizeof(why))) != NULL)
		return find_by_sshd(f, s);
	report_problem_at(f->r, f->sshd->path, 0, why);
	cli_error("the accounts' files are taken from keyveto.conf "
		  "until 'sshd -T' works here");
	return set_policy_of_all(f, NULL);
}

/* Whether sshd stands for all of this machine, not for one that was named. */
static bool
is_usual(const struct sshd *sshd)
{
	return sshd == NULL ||
	    (strcmp(sshd->path, SSHD_PATH) == 0 && sshd->config == NULL &&
		sshd->n_options == 0);
}

bool
audit_policies_find(struct audit_policies *p, const struct sshd *sshd,
    const struct accounts *accounts, const struct audit_policy **of_account,
    struct report *r)
{
	struct finder f = {
		.p = p,
		.sshd = sshd,
		.accounts = accounts,
		.of_account = of_account,
		.r = r,
	};

	*p = (struct audit_policies){ 0 };
	return find_by_usual(&f) &&
	    (geteuid() != 0 || !is_usual(sshd) || add_running(&f));
}

void
audit_policies_note_commands(const struct audit_policies *p)
{
	struct texts noted = { .n = 0 };

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->v[i]->n_commands; k++) {
			const char *text = p->v[i]->command[k].as.text;

			if (texts_has(&noted, text))
				continue;
			(void)texts_add(&noted, text);
			cli_error("note: sshd also asks AuthorizedKeysCommand "
				  "%s: the keys it prints are not audited",
			    text);
		}
	texts_free(&noted);
}

void
audit_policies_free(struct audit_policies *p)
{
	for (size_t i = 0; i < p->n; i++)
		free_policy(p->v[i]);
	free(p->v);
	*p = (struct audit_policies){ 0 };
}
