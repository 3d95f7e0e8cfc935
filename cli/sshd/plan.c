/* SPDX-License-Identifier: ISC */
#include "sshd/plan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "kv_userfile.h"
#include "config/config.h"
#include "host/system_file.h"
#include "sets/list_consulted.h"
#include "sshd_config/block.h"
#include "sshd/matches.h"
#include "sshd/usable.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"
#include "upkeep/settings.h"
#include "ways/configurations.h"
#include "ways/pam_decision.h"
#include "ways/ways.h"

#define ARGUMENTS_FILES "--user %u --home %h --type %t --key %k"
#define ARGUMENTS_CHAIN "--user %u --type %t --key %k"
/* sshd 9.3 and earlier do not know %C, and then refuse every key. */
#define ARGUMENT_CONNECTION " --connection %C"
#define FIRST_LINE 1

/*
 * Whether the guard can stand in front of a command: the guard must accept the
 * program, and sshd must split the command into the same words behind "--". If
 * false, why says why. *alonep: the command is a program without arguments.
 */
static bool
can_stand_before(const char *command, bool *alonep, char *why, size_t cap)
{
	char *copy = strdup(command), *rest = copy;
	const char *program = copy != NULL ? sshd_words_next(&rest) : NULL;
	bool ok = false;

	*alonep = program != NULL && sshd_words_next(&rest) == NULL;
	if (program == NULL)
		snprintf(why, cap, "%s: names no program", command);
	else if (strpbrk(program, "%#") != NULL || strchr(command, '#') != NULL)
		snprintf(why, cap, "%s: has a %% in the program's name, or a #",
		    command);
	else
		ok = sshd_usable_program(program, why, cap);
	free(copy);
	return ok;
}

/* Writes the lines that put the guard in front of a command. */
static void
write_chain(FILE *out, const struct sshd_plan *plan, const char *keyword,
    const char *command, const char *argument, const char *user)
{
	fprintf(out, "%s %s %s%s -- %s%s\n%sUser %s\n", keyword,
	    SSHD_GUARD_PATH, ARGUMENTS_CHAIN,
	    plan->connection ? ARGUMENT_CONNECTION : "", command, argument,
	    keyword, user);
}

/*
 * Writes the lines for an AuthorizedPrincipalsCommand. Without one, writes
 * none: no command can do for every name what sshd does by itself. sshd 9.2
 * ignores the line after an AuthorizedKeysCommand, so that it is repeated here
 * even if it does not change.
 */
static void
write_principals(FILE *out, const struct sshd_settings *settings,
    struct sshd_plan *plan)
{
	static const char keyword[] = "AuthorizedPrincipalsCommand";
	const char *command = settings->principals_command, *args;
	const char *user = settings->principals_user;
	char why[SSHD_WHY_BYTES];
	bool guard, alone;

	if (sshd_words_none(command))
		return;
	guard = guard_command(command, &args);
	if (!guard && can_stand_before(command, &alone, why, sizeof(why))) {
		write_chain(out, plan, keyword, command, "", user);
		plan->principals_user = user;
		return;
	}
	if (!guard)
		cli_error("note: the guard is not put in front of %s: %s",
		    keyword, why);
	fprintf(out, "%s %s\n%sUser %s\n", keyword, command, keyword, user);
}

/*
 * Writes the lines for a guard that prints the accounts' files. The guard gets
 * sshd's AuthorizedKeysFile as arguments: in keyveto.conf it would also count
 * for an sshd that has not been reloaded. sshd expands the tokens. False after
 * a message, or with plan->unfit.
 */
static bool
write_files_guard(FILE *out, const struct sshd_options *o,
    const struct sshd_base *base, struct sshd_plan *plan)
{
	const struct kv_account account = { .name = "root", .home = "/" };
	const struct sshd_settings *settings = base->settings;
	const char *word;
	char path[PATH_MAX], *copy = strdup(settings->keys_files), *rest = copy;
	size_t n = 0;

	if (copy == NULL)
		return cli_error("%s", strerror(errno));
	if (ways_any_user_ca(&base->copy.tree))
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "TrustedUserCAKeys is set: behind the guard, sshd asks the "
		    "accounts' files after it, and a certificate that both "
		    "accept loses the restrictions of its cert-authority line");
	plan->takes_files = true;
	plan->command_user = "root";
	fprintf(out, "AuthorizedKeysFile none\nAuthorizedKeysCommand %s %s%s",
	    SSHD_GUARD_PATH, ARGUMENTS_FILES,
	    plan->connection ? ARGUMENT_CONNECTION : "");
	while (
	    *plan->unfit == '\0' && (word = sshd_words_next(&rest)) != NULL) {
		/* auth2-pubkey.c:user_key_allowed2 skips the word. */
		if (strcasecmp(word, "none") == 0)
			continue;
		/*
		 * If sshd cannot expand a name, it ends every login with a key
		 * (misc.c:vdollar_percent_expand,
		 * auth.c:expand_authorized_keys). The guard would let it in.
		 */
		if (kv_userfile_expand(word, &account, path, sizeof(path)) !=
		    KV_OK)
			snprintf(plan->unfit, sizeof(plan->unfit),
			    "AuthorizedKeysFile names %.500s, which has a "
			    "token that sshd does not know there, or is too "
			    "long: sshd ends each login with a key",
			    word);
		fprintf(out, " --file %s", word);
		n++;
	}
	free(copy);
	if (*plan->unfit == '\0' &&
	    (n > KV_CONFIG_MAX_PATTERNS ||
		strlen(settings->keys_files) + n * sizeof(" --file") + 512 >
		    SSHD_VALUE_BYTES))
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "AuthorizedKeysFile names too many files");
	if (*plan->unfit != '\0')
		return false;
	fprintf(out,
	    " --strictmodes %s --wildcards %s\n"
	    "AuthorizedKeysCommandUser root\n",
	    kv_config_strictmodes_word(settings->strictmodes ?
		    KV_STRICTMODES_DEFAULT :
		    KV_STRICTMODES_NO),
	    sshd_version_at_least(o->sshd, 10, 0) ? "yes" : "no");
	return true;
}

/*
 * Writes the lines for AuthorizedKeysCommand. Sets plan->guard to false, after
 * a note, if the guard has nothing to do. False after a message, or with
 * plan->unfit.
 */
static bool
write_keys(FILE *out, const struct sshd_options *o,
    const struct sshd_base *base, struct sshd_plan *plan)
{
	const char *command = base->settings->keys_command, *args;
	const char *keys_files = base->settings->keys_files;
	const bool no_files = sshd_words_none(keys_files);
	char why[SSHD_WHY_BYTES];
	bool alone;

	if (sshd_words_none(command) && no_files) {
		cli_error("note: sshd takes keys from no file and no command: "
			  "there is nothing for the guard to do");
		plan->guard = false;
		return true;
	}
	if (sshd_words_none(command))
		return write_files_guard(out, o, base, plan);
	if (guard_command(command, &args)) {
		cli_error("note: AuthorizedKeysCommand is the guard already, "
			  "by a line that is not keyveto's own: left as it is");
		plan->guard = false;
		plan->foreign_guard = true;
		return true;
	}
	if (!can_stand_before(command, &alone, why, sizeof(why))) {
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "AuthorizedKeysCommand %s", why);
		return false;
	}
	if (!no_files && !plan->pam) {
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "sshd asks AuthorizedKeysCommand %.500s, and reads %.500s "
		    "too; the guard can stand in front of one of them only, "
		    "and only the PAM module sees both",
		    command, keys_files);
		return false;
	}
	if (!no_files)
		cli_error("note: the guard stands in front of "
			  "AuthorizedKeysCommand %s; the keys in %s are left "
			  "to the PAM module",
		    command, keys_files);
	plan->command_user = base->settings->keys_user;
	/*
	 * sshd adds the account's name to a command without arguments
	 * (auth2-pubkey.c:user_key_command_allowed2), but not behind "--".
	 */
	write_chain(out, plan, "AuthorizedKeysCommand", command,
	    alone ? " %u" : "", plan->command_user);
	return true;
}

/*
 * Whether sshd uses the values in the drop-in: no earlier line may set one of
 * its keywords, and none of its lines may be in a Match block.
 */
static bool
drop_in_is_first(const struct sshd_tree *t)
{
	bool seen[SSHD_BLOCK_KEYWORDS] = { false };
	bool any = false;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		bool ours = strcmp(t->file[l->file].path, SSHD_DROP_IN) == 0;

		if (ours && l->match != 0)
			return false;
		any |= ours;
		for (size_t k = 0; k < SSHD_BLOCK_KEYWORDS; k++) {
			if (l->match != 0 ||
			    strcasecmp(l->keyword, sshd_block_keywords[k]) != 0)
				continue;
			if (ours && seen[k])
				return false;
			seen[k] |= !ours;
		}
	}
	return any;
}

/*
 * Puts the lines into SSHD_DROP_IN, or, if they would have no effect there, at
 * the top of sshd_config. Sets plan->place. False after a message.
 */
static bool
place_lines(struct sshd_files *files, const char *lines, struct sshd_plan *plan)
{
	struct sshd_file *f = sshd_files_find(files, SSHD_DROP_IN);
	char place[PATH_MAX];
	struct sshd_copy c;
	bool planned, opened, first;
	size_t had;

	plan->place = SSHD_DROP_IN;
	if (system_file_resolve(SSHD_DROP_IN, place)) {
		planned = f->next != NULL;
		had = planned ? f->next_len : f->base_len;
		if (!sshd_file_insert(f, FIRST_LINE, lines))
			return false;
		opened = sshd_open_copy(&c, files, true);
		first = opened && drop_in_is_first(&c.tree);
		sshd_copy_close(&c);
		if (first || !opened)
			return opened;
		/* Remove the lines; keep what sshd_matches_complete put there. */
		memmove(f->next, f->next + f->next_len - had, had + 1);
		f->next_len = had;
		if (!planned) {
			free(f->next);
			f->next = NULL;
		}
	}
	plan->place = SSHD_TREE_TOP;
	f = sshd_files_add(files, SSHD_TREE_TOP);
	return f != NULL && sshd_file_insert(f, FIRST_LINE, lines);
}

/*
 * Plans the guard's lines. False after a message, or with plan->unfit: also if
 * base->dump does not show sshd's values in full.
 */
static bool
plan_guard(const struct sshd_options *o, const struct sshd_base *base,
    struct sshd_files *files, struct sshd_plan *plan)
{
	const struct sshd sshd = { .path = o->sshd, .config = base->copy.top };
	struct sshd_overview overview;
	char value[SSHD_VALUE_BYTES];
	char *lines = NULL;
	size_t len;
	FILE *out;
	bool ok;

	sshd_overview(&sshd, &overview);
	if (overview.odd_pattern)
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "AuthorizedKeysFile names a file with a blank, quote, "
		    "backslash or #, which sshd -T does not show as one");
	sshd_overview_free(&overview);
	for (size_t i = 0; i < SSHD_BLOCK_KEYWORDS; i++) {
		(void)sshd_text_value(base->dump, sshd_block_keywords[i], value,
		    sizeof(value));
		if (strlen(value) + 1 == sizeof(value))
			snprintf(plan->unfit, sizeof(plan->unfit),
			    "%s is too long", sshd_block_keywords[i]);
	}
	if (*plan->unfit != '\0')
		return false;
	if ((out = open_memstream(&lines, &len)) == NULL)
		return cli_error("%s", strerror(errno));
	plan->connection = sshd_version_at_least(o->sshd, 9, 4);
	/* sshd 9.2 ignores a principals command after the keys command. */
	write_principals(out, base->settings, plan);
	ok = write_keys(out, o, base, plan) &&
	    (!plan->takes_files ||
		sshd_matches_complete(&base->copy.tree,
		    base->settings->keys_files, files, plan->unfit,
		    sizeof(plan->unfit)));
	if (fclose(out) != 0 || lines == NULL)
		ok = false;
	else if (ok && plan->guard)
		ok = place_lines(files, lines, plan);
	free(lines);
	return ok;
}

static void
report_unfit(const struct sshd_plan *plan, bool use_pam)
{
	if (*plan->pam_unfit != '\0')
		cli_error("the guard cannot be put in here: %s; nor can the "
			  "PAM module: %s",
		    plan->unfit, plan->pam_unfit);
	else if (!use_pam)
		cli_error("the guard cannot be put in here: %s; UsePAM is no, "
			  "so the PAM module cannot do the work either. With "
			  "UsePAM yes it can; read first what else that "
			  "changes: sshd_config(5), and 'UsePAM no' in "
			  "keyveto-enable(8)",
		    plan->unfit);
	else
		cli_error("the guard cannot be put in here: %s; use --pam, or "
			  "leave out --guard: the PAM module then does the "
			  "work alone",
		    plan->unfit);
}

/*
 * Plans the guard. If the guard would change more than who is refused, leaves
 * it out, so that the module works alone; with --guard, or without the module,
 * that is an error. False after a message.
 */
static bool
plan_guard_or_none(const struct sshd_options *o, const struct sshd_base *base,
    struct sshd_files *files, struct sshd_plan *plan)
{
	bool ok = plan_guard(o, base, files, plan);

	if (*plan->unfit == '\0')
		return ok;
	for (size_t i = 0; i < files->n; i++) {
		free(files->v[i]->next);
		files->v[i]->next = NULL;
	}
	plan->guard = plan->takes_files = false;
	plan->command_user = plan->principals_user = "";
	if (!o->guard && plan->pam) {
		cli_error("note: the guard is left out: %s", plan->unfit);
		return true;
	}
	report_unfit(plan, base->settings->use_pam);
	return false;
}

/*
 * Reads PAM's stack for sshd, and sets plan->pam_there and plan->pam_unfit.
 * Sets plan->pam to false if the module would change PAM's answer; with --pam
 * that is an error. False after a message.
 */
static bool
judge_pam(const struct sshd_options *o, const struct sshd_base *base,
    struct sshd_plan *plan)
{
	const struct sshd_file *f = base->pam;
	bool readable, missing, first = false;
	enum pam_decision decision = PAM_DECISION_SURE;
	struct pam_stack stack;
	char why[SSHD_WHY_BYTES];

	if (!base->settings->use_pam)
		return cli_error(
		    "UsePAM is no: sshd asks no PAM module; set UsePAM yes, or "
		    "use --guard alone");
	readable = pam_stack_read(sshd_service(base->settings), &stack, why,
	    sizeof(why));
	missing = !f->there && stack.n == 0;
	if (readable)
		(void)ways_find_module(&stack, &first);
	plan->pam_there = first && f->blocks == 0;
	/*
	 * The module returns PAM_SUCCESS for a clean key: PAM must not open a
	 * session by that if it refuses one now.
	 */
	if (missing || (readable && f->there && !plan->pam_there))
		decision = pam_decision_judge(&stack, SSHD_MODULE);
	pam_stack_free(&stack);
	if (decision == PAM_DECISION_OTHER)
		snprintf(plan->pam_unfit, sizeof(plan->pam_unfit),
		    "%.200s: %s, so that PAM opens sessions by " SSHD_PAM_DIR
		    "other, "
		    "and would not with keyveto's line (with the line 'session "
		    "include other' in that file, PAM's answer stays the same)",
		    f->path, f->there ? "has no session line" : "not there");
	else if (decision == PAM_DECISION_OPEN)
		snprintf(plan->pam_unfit, sizeof(plan->pam_unfit),
		    "%.200s: no session line is sure to decide, so that "
		    "keyveto's line would decide, and PAM would let in "
		    "somebody whom it refuses now (a line is sure to decide if "
		    "it is required or requisite, names pam_unix.so, "
		    "pam_limits.so, pam_permit.so or pam_deny.so, and is "
		    "neither in a substack nor jumped over)",
		    f->path);
	if (!missing && !f->there)
		cli_error("%s: not there; PAM's lines for sshd are "
			  "elsewhere, copy them to this file first",
		    f->path);
	else if (!missing && !readable)
		cli_error("%s", why);
	else if (*plan->pam_unfit != '\0' && o->pam)
		cli_error("%s; nothing was changed: use --guard alone",
		    plan->pam_unfit);
	else {
		plan->pam = plan->module = *plan->pam_unfit == '\0';
		return true;
	}
	return false;
}

/*
 * Plans the module's line after the guard's, or notes why there is none. False
 * after a message, also if neither the module nor the guard is put in.
 */
static bool
plan_pam(struct sshd_file *file, struct sshd_plan *plan)
{
	const bool guard = plan->guard || plan->foreign_guard;

	if (*plan->pam_unfit != '\0' && !guard)
		return cli_error("%s; nothing was changed", plan->pam_unfit);
	if (*plan->pam_unfit != '\0')
		cli_error("note: the PAM module is left out: %s",
		    plan->pam_unfit);
	if (plan->pam && plan->pam_there) {
		cli_error("note: %s: pam_keyveto.so is its first session "
			  "line already, by a line that is not keyveto's: "
			  "left as it is",
		    file->path);
		plan->pam = false;
	}
	if (!plan->pam)
		return true;
	/* The first line of the file is the first session line, too. */
	plan->pam_alone = !guard;
	return sshd_file_insert(file, FIRST_LINE,
	    guard ? "session requisite " SSHD_MODULE "\n" :
		    "session requisite " SSHD_MODULE " disconnect=always\n");
}

/*
 * Names the free list in a keyveto.conf that names no list, and the default
 * filter, which that line would take away, where they are there and no login is
 * judged by it: by then a list that is missing must be missed. disable leaves
 * the lines: a guard that still runs needs them. False after a message.
 */
static bool
name_lists(struct sshd_file *f, struct sshd_plan *plan)
{
	const bool filter = access(KV_CONFIG_FILTER_PATH, F_OK) == 0;
	char why[KV_CONFIG_WHY_BYTES], *text;
	struct kv_config config;
	bool none;
	int len;

	none = kv_config_parse(f->base, f->base_len, f->path, &config, why) ==
		KV_OK &&
	    list_replaces_default(&config);
	kv_config_free(&config);
	if (!none || access(UPDATE_BADKEYS_TARGET, F_OK) == -1 ||
	    configurations_name(f->path))
		return true;
	len = asprintf(&text, "%s%s%sBlocklist " UPDATE_BADKEYS_TARGET "\n",
	    f->base,
	    f->base_len > 0 && f->base[f->base_len - 1] != '\n' ? "\n" : "",
	    filter ? "Filter " KV_CONFIG_FILTER_PATH "\n" : "");
	if (len == -1)
		return cli_error("%s", strerror(errno));
	free(f->base);
	f->base = text;
	f->base_len = (size_t)len;
	plan->names_lists = true;
	cli_error("note: %s names no list: it gets the line Blocklist "
		  "" UPDATE_BADKEYS_TARGET "%s",
	    f->path, filter ? ", and Filter " KV_CONFIG_FILTER_PATH : "");
	return true;
}

/*
 * Plans keyveto.conf, which --warn changes: each keyword that can refuse a key
 * gets a line that refuses none. The first line of a keyword counts, so that no
 * later one can still refuse. One that is not there is made. False after a
 * message.
 */
static bool
plan_config(const struct sshd_options *o, const struct sshd_files *files,
    struct sshd_plan *plan)
{
	struct sshd_file *f = sshd_files_find(files, KV_CONFIG_PATH);

	if (!f->there && !plan->no_verdict && !config_may_be_made(f->path))
		return false;
	if (!name_lists(f, plan))
		return false;
	return (!o->warn && (!f->made || f->base_len > 0)) ||
	    sshd_file_insert(f, FIRST_LINE,
		o->warn ? "OnHit warn\nOnProbable warn\nOnError allow\n"
			  "OnUnsupported allow\n" :
			  "# The defaults hold: keyveto.conf(5).\n");
}

bool
sshd_plan_reads_config(const struct sshd_plan *plan,
    const struct sshd_files *files, const struct accounts *accounts)
{
	const struct sshd_file *f = sshd_files_find(files, KV_CONFIG_PATH);
	const char *const users[] = { "", plan->command_user,
		plan->principals_user };

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		if ((i == 0 || *users[i] != '\0') &&
		    !sshd_usable_filters(f->there ? f->path : NULL, users[i],
			accounts, plan->no_verdict))
			return false;
	return true;
}

bool
sshd_plan_make(struct sshd_plan *plan, const struct sshd_options *o,
    const struct sshd_base *base, struct sshd_files *files,
    const struct accounts *accounts)
{
	plan->command_user = plan->principals_user = "";
	return (!plan->pam || judge_pam(o, base, plan)) &&
	    (!plan->guard || plan_guard_or_none(o, base, files, plan)) &&
	    plan_pam(base->pam, plan) && plan_config(o, files, plan) &&
	    (!plan->guard || sshd_usable_guard(SSHD_GUARD_PATH)) &&
	    (!plan->pam || sshd_usable_module(SSHD_MODULE)) &&
	    (plan->no_verdict || plan->names_lists ||
		sshd_plan_reads_config(plan, files, accounts)) &&
	    sshd_open_copy(&plan->next, files, true);
}

bool
sshd_plan_holds(const struct sshd_plan *plan, const struct sshd_settings *base,
    const struct sshd_settings *next)
{
	const char *args;
	const struct {
		const char *keyword, *value;
		bool good;
	} watched[] = {
		{ "AuthorizedPrincipalsCommand", next->principals_command,
		    guard_command(next->principals_command, &args) ||
			strcmp(base->principals_command,
			    next->principals_command) == 0 ||
			(sshd_words_none(base->principals_command) &&
			    sshd_words_none(next->principals_command)) },
		{ "AuthorizedKeysFile", next->keys_files,
		    plan->takes_files ?
			sshd_words_none(next->keys_files) :
			strcmp(base->keys_files, next->keys_files) == 0 },
		{ "AuthorizedKeysCommand", next->keys_command,
		    guard_command(next->keys_command, &args) },
	};

	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
		/* sshd_matches_note_bypasses reports Match blocks. */
		if (!plan->guard || watched[i].good ||
		    sshd_matches_set(&plan->next.tree, watched[i].keyword))
			continue;
		return cli_error(
		    "keyveto's lines have no effect: sshd would still use %s "
		    "%s; nothing was changed",
		    watched[i].keyword, watched[i].value);
	}
	return true;
}
