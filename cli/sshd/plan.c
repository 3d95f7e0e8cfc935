/* SPDX-License-Identifier: ISC */
#include "sshd/plan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kv_userfile.h"
#include "host/root_file.h"
#include "sshd_config/block.h"
#include "sshd/usable.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"
#include "ways/pam_decision.h"
#include "ways/ways.h"

#define ARGUMENTS_FILES "--user %u --home %h --type %t --key %k"
#define ARGUMENTS_CHAIN "--user %u --type %t --key %k"
/* sshd 9.3 and earlier do not know %C, and then refuse every key. */
#define ARGUMENT_CONNECTION " --connection %C"
#define FIRST_LINE 1

static bool
has_keyword(const struct sshd_line *l, const char *keyword)
{
	return strcasecmp(l->keyword, keyword) == 0;
}

/* The first line with the keyword in Match block number match, or NULL. */
static const struct sshd_line *
find_in_match(const struct sshd_tree *t, size_t match, const char *keyword)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (t->line[i].match == match &&
		    has_keyword(&t->line[i], keyword))
			return &t->line[i];
	return NULL;
}

/* The first such line of any Match block from index i on, or NULL. */
static const struct sshd_line *
find_in_matches(const struct sshd_tree *t, size_t i, const char *keyword)
{
	for (; i < t->n_lines; i++)
		if (t->line[i].match != 0 && has_keyword(&t->line[i], keyword))
			return &t->line[i];
	return NULL;
}

/* Whether a Match line is in the tree before: its file is included twice. */
static bool
is_repeated(const struct sshd_tree *t, size_t match)
{
	const struct sshd_line *l = &t->line[match - 1];

	for (size_t i = 0; i + 1 < match; i++)
		if (t->line[i].number == l->number &&
		    strcmp(t->file[t->line[i].file].path,
			t->file[l->file].path) == 0)
			return true;
	return false;
}

/*
 * Completes each Match block that sets AuthorizedKeysFile by
 * "AuthorizedKeysCommand none", or, if files is false, each block that sets
 * AuthorizedKeysCommand by sshd's AuthorizedKeysFile. With the guard's lines, a
 * block of the first kind would get the guard as well, which prints the files
 * of AuthorizedKeysFile outside Match blocks; a block of the second kind would
 * lose the files. sshd 9.2 ignores an AuthorizedPrincipalsCommand after an
 * AuthorizedKeysCommand, so that the block's own one is repeated before the new
 * line. The loop runs backwards to keep line numbers valid. False after a
 * message.
 */
static bool
complete_matches(struct sshd_setup *p, bool files)
{
	const struct sshd_tree *t = &p->base.tree;

	for (size_t i = t->n_lines; i > 0; i--) {
		const struct sshd_line *l = &t->line[i - 1], *again = NULL;
		struct sshd_file *f;
		char *text;
		bool ok;

		if (!has_keyword(l, "Match") ||
		    find_in_match(t, i,
			files ? "AuthorizedKeysFile" :
				"AuthorizedKeysCommand") == NULL ||
		    is_repeated(t, i))
			continue;
		if (files)
			again = find_in_match(t, i,
			    "AuthorizedPrincipalsCommand");
		if (asprintf(&text, "%s%s%s%s %s\n",
			again != NULL ? "AuthorizedPrincipalsCommand " : "",
			again != NULL ? again->value : "",
			again != NULL ? "\n" : "",
			files ? "AuthorizedKeysCommand" : "AuthorizedKeysFile",
			files ? "none" : p->settings->keys_files) == -1) {
			cli_error("%s", strerror(errno));
			return false;
		}
		f = sshd_files_add(&p->files, t->file[l->file].path);
		ok = f != NULL && sshd_file_insert(f, l->number + 1, text);
		free(text);
		if (!ok)
			return false;
	}
	return true;
}

/*
 * Completes the Match blocks. False after a message, or with plan->unfit, for
 * three reasons:
 *
 * A block sets one of AuthorizedKeysCommand and AuthorizedKeysCommandUser
 * alone. With the command alone it would get the user of the guard's lines:
 * sshd skips such a command now, and would run it as root. With the user alone
 * it would run the guard as that user.
 *
 * One block sets AuthorizedKeysFile alone, and one AuthorizedKeysCommand. Both
 * may match the same account, and a line for either would override the other.
 *
 * A line for a block would hide the AuthorizedPrincipalsCommand of a later one:
 * sshd 9.2 ignores one that comes after an AuthorizedKeysCommand.
 */
static bool
plan_matches(struct sshd_setup *p, struct sshd_plan *plan)
{
	static const char principals[] = "AuthorizedPrincipalsCommand";
	const struct sshd_tree *t = &p->base.tree;
	/* The first Match line of a block that sets the one without the other. */
	const struct sshd_line *files_alone = NULL, *command_alone = NULL;
	const struct sshd_line *l, *hidden = NULL;

	for (size_t i = 1; i <= t->n_lines; i++) {
		const struct sshd_line *match = &t->line[i - 1];
		const struct sshd_line *files, *command, *user;

		if (!has_keyword(match, "Match"))
			continue;
		files = find_in_match(t, i, "AuthorizedKeysFile");
		command = find_in_match(t, i, "AuthorizedKeysCommand");
		user = find_in_match(t, i, "AuthorizedKeysCommandUser");
		if ((command == NULL) != (user == NULL) &&
		    (command == NULL || !sshd_words_none(command->value))) {
			snprintf(plan->unfit, sizeof(plan->unfit),
			    "%s%s:%zu: this Match block sets %s alone",
			    p->files.root, t->file[match->file].path,
			    match->number,
			    command != NULL ? "AuthorizedKeysCommand" :
					      "AuthorizedKeysCommandUser");
			return false;
		}
		if (command != NULL && files == NULL && command_alone == NULL)
			command_alone = match;
		if (files == NULL || command != NULL)
			continue;
		if (files_alone == NULL)
			files_alone = match;
		l = find_in_matches(t, i, principals);
		if (hidden == NULL && l != NULL && l->match != i)
			hidden = l;
	}
	if ((files_alone != NULL &&
		find_in_matches(t, 0, "AuthorizedKeysCommand") != NULL) ||
	    (command_alone != NULL &&
		find_in_matches(t, 0, "AuthorizedKeysFile") != NULL)) {
		l = command_alone != NULL ? command_alone : files_alone;
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "%s%s:%zu: this Match block and another one set one of "
		    "AuthorizedKeysFile and AuthorizedKeysCommand each",
		    p->files.root, t->file[l->file].path, l->number);
		return false;
	}
	if (hidden != NULL) {
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "%s%s:%zu: sshd would overlook this line, since a Match "
		    "block before it sets AuthorizedKeysFile",
		    p->files.root, t->file[hidden->file].path, hidden->number);
		return false;
	}
	return (files_alone == NULL && command_alone == NULL) ||
	    complete_matches(p, files_alone != NULL);
}

/*
 * Whether the guard can stand in front of a command: the guard must accept the
 * program, and sshd must split the command into the same words behind "--". If
 * false, why says why. *alonep: the command is a program without arguments.
 */
static bool
can_stand_before(const struct sshd_options *o, const char *command,
    bool *alonep, char *why, size_t cap)
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
		ok = sshd_usable_program(o, program, why, cap);
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
write_principals(FILE *out, const struct sshd_setup *p, struct sshd_plan *plan)
{
	static const char keyword[] = "AuthorizedPrincipalsCommand";
	const char *command = p->settings->principals_command, *args;
	const char *user = p->settings->principals_user;
	char why[SSHD_WHY_BYTES];
	bool guard, alone;

	if (sshd_words_none(command))
		return;
	guard = guard_command(command, &args);
	if (!guard &&
	    can_stand_before(p->o, command, &alone, why, sizeof(why))) {
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
write_files_guard(FILE *out, struct sshd_setup *p, struct sshd_plan *plan)
{
	const struct kv_account account = { .name = "root", .home = "/" };
	const char *files = p->settings->keys_files, *word;
	char path[PATH_MAX], *copy = strdup(files), *rest = copy;
	size_t n = 0;

	if (copy == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	if (ways_any_user_ca(&p->base.tree))
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
		strlen(files) + n * sizeof(" --file") + 512 > SSHD_VALUE_BYTES))
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "AuthorizedKeysFile names too many files");
	if (*plan->unfit != '\0')
		return false;
	fprintf(out,
	    " --strictmodes %s --wildcards %s\n"
	    "AuthorizedKeysCommandUser root\n",
	    kv_config_strictmodes_word(p->settings->strictmodes ?
		    KV_STRICTMODES_DEFAULT :
		    KV_STRICTMODES_NO),
	    sshd_version_at_least(p->o->sshd, 10, 0) ? "yes" : "no");
	return plan_matches(p, plan);
}

/*
 * Writes the lines for AuthorizedKeysCommand. Sets plan->guard to false, after
 * a note, if the guard has nothing to do. False after a message, or with
 * plan->unfit.
 */
static bool
write_keys(FILE *out, struct sshd_setup *p, struct sshd_plan *plan)
{
	const char *command = p->settings->keys_command, *args;
	const char *files = p->settings->keys_files;
	const bool no_files = sshd_words_none(files);
	char why[SSHD_WHY_BYTES];
	bool alone;

	if (sshd_words_none(command) && no_files) {
		cli_error("note: sshd takes keys from no file and no command: "
			  "there is nothing for the guard to do");
		plan->guard = false;
		return true;
	}
	if (sshd_words_none(command))
		return write_files_guard(out, p, plan);
	if (guard_command(command, &args)) {
		cli_error("note: AuthorizedKeysCommand is the guard already, "
			  "by a line that is not keyveto's own: left as it is");
		plan->guard = false;
		plan->foreign_guard = true;
		return true;
	}
	if (!can_stand_before(p->o, command, &alone, why, sizeof(why))) {
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "AuthorizedKeysCommand %s", why);
		return false;
	}
	if (!no_files && !plan->pam) {
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "sshd asks AuthorizedKeysCommand %.500s, and reads %.500s "
		    "too; the guard can stand in front of one of them only, "
		    "and only the PAM module sees both",
		    command, files);
		return false;
	}
	if (!no_files)
		cli_error("note: the guard stands in front of "
			  "AuthorizedKeysCommand %s; the keys in %s are left "
			  "to the PAM module",
		    command, files);
	plan->command_user = p->settings->keys_user;
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
			    !has_keyword(l, sshd_block_keywords[k]))
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
place_lines(struct sshd_setup *p, const char *lines, struct sshd_plan *plan)
{
	struct sshd_file *f = sshd_files_find(&p->files, SSHD_DROP_IN);
	char place[PATH_MAX];
	struct sshd_copy c;
	bool planned, opened, first;
	size_t had;

	plan->place = SSHD_DROP_IN;
	if (root_resolve(p->o->root, SSHD_DROP_IN, place)) {
		planned = f->next != NULL;
		had = planned ? f->next_len : f->base_len;
		if (!sshd_file_insert(f, FIRST_LINE, lines))
			return false;
		opened = sshd_open_copy(p->o, &c, &p->files, true);
		first = opened && drop_in_is_first(&c.tree);
		sshd_copy_close(&c);
		if (first || !opened)
			return opened;
		/* Remove the lines; keep what plan_matches put there. */
		memmove(f->next, f->next + f->next_len - had, had + 1);
		f->next_len = had;
		if (!planned) {
			free(f->next);
			f->next = NULL;
		}
	}
	plan->place = SSHD_TREE_TOP;
	f = sshd_files_add(&p->files, SSHD_TREE_TOP);
	return f != NULL && sshd_file_insert(f, FIRST_LINE, lines);
}

/*
 * Plans the guard's lines. False after a message, or with plan->unfit: also if
 * p->dump does not show sshd's values in full.
 */
static bool
plan_guard(struct sshd_setup *p, struct sshd_plan *plan)
{
	const struct sshd sshd = { .path = p->o->sshd, .config = p->base.top };
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
		(void)sshd_text_value(p->dump, sshd_block_keywords[i], value,
		    sizeof(value));
		if (strlen(value) + 1 == sizeof(value))
			snprintf(plan->unfit, sizeof(plan->unfit),
			    "%s is too long", sshd_block_keywords[i]);
	}
	if (*plan->unfit != '\0')
		return false;
	if ((out = open_memstream(&lines, &len)) == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	plan->connection = sshd_version_at_least(p->o->sshd, 9, 4);
	/* sshd 9.2 ignores a principals command after the keys command. */
	write_principals(out, p, plan);
	ok = write_keys(out, p, plan);
	if (fclose(out) != 0 || lines == NULL)
		ok = false;
	else if (ok && plan->guard)
		ok = place_lines(p, lines, plan);
	free(lines);
	return ok;
}

/* Prints why there is no guard, and what to type. */
static void
tell_unfit(const struct sshd_setup *p, const struct sshd_plan *plan)
{
	if (*plan->pam_unfit != '\0')
		cli_error("the guard cannot be put in here: %s; nor can the "
			  "PAM module: %s",
		    plan->unfit, plan->pam_unfit);
	else if (!p->settings->use_pam)
		cli_error("the guard cannot be put in here: %s; UsePAM is no, "
			  "so the PAM module cannot do the work either. With "
			  "UsePAM yes it can; read first what else that "
			  "changes: sshd_config(5), and 'UsePAM no' in "
			  "keyveto(1)",
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
plan_guard_or_none(struct sshd_setup *p, struct sshd_plan *plan)
{
	bool ok = plan_guard(p, plan);

	if (*plan->unfit == '\0')
		return ok;
	for (size_t i = 0; i < p->files.n; i++) {
		free(p->files.v[i]->next);
		p->files.v[i]->next = NULL;
	}
	plan->guard = plan->takes_files = false;
	plan->command_user = plan->principals_user = "";
	if (!p->o->guard && plan->pam) {
		cli_error("note: the guard is left out: %s", plan->unfit);
		return true;
	}
	tell_unfit(p, plan);
	return false;
}

/*
 * Reads PAM's stack for sshd, and sets plan->pam_there and plan->pam_unfit.
 * Sets plan->pam to false if the module would change PAM's answer; with --pam
 * that is an error. False after a message.
 */
static bool
judge_pam(const struct sshd_setup *p, struct sshd_plan *plan)
{
	const char *root = p->o->root;
	const struct sshd_file *f = p->pam;
	bool readable, missing, first = false;
	enum pam_decision decision = PAM_DECISION_SURE;
	struct pam_stack stack;
	char why[SSHD_WHY_BYTES];

	if (!p->settings->use_pam) {
		cli_error("UsePAM is no: sshd asks no PAM module; set UsePAM "
			  "yes, or use --guard alone");
		return false;
	}
	readable = pam_stack_read(root, p->service, &stack, why, sizeof(why));
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
		    "%.1000s%.200s: "
		    "%s, so that PAM opens sessions by " SSHD_PAM_DIR "other, "
		    "and would not with keyveto's line (with the line 'session "
		    "include other' in that file, PAM's answer stays the same)",
		    root, f->path,
		    f->there ? "has no session line" : "not there");
	else if (decision == PAM_DECISION_OPEN)
		snprintf(plan->pam_unfit, sizeof(plan->pam_unfit),
		    "%.1000s%.200s: "
		    "no session line is sure to decide, so that keyveto's line "
		    "would decide, and PAM would let in somebody whom it "
		    "refuses now (a line is sure to decide if it is required "
		    "or requisite, names pam_unix.so, pam_limits.so, "
		    "pam_permit.so or pam_deny.so, and is neither in a "
		    "substack nor jumped over)",
		    root, f->path);
	if (!missing && !f->there)
		cli_error("%s%s: not there; PAM's lines for sshd are "
			  "elsewhere, copy them to this file first",
		    root, f->path);
	else if (!missing && !readable)
		cli_error("%s", why);
	else if (*plan->pam_unfit != '\0' && p->o->pam)
		cli_error("%s; nothing was changed: use --guard alone",
		    plan->pam_unfit);
	else {
		plan->pam = *plan->pam_unfit == '\0';
		return true;
	}
	return false;
}

/*
 * Plans the module's line after the guard's, or notes why there is none. False
 * after a message, also if neither the module nor the guard is put in.
 */
static bool
plan_pam(struct sshd_setup *p, struct sshd_plan *plan)
{
	const bool guard = plan->guard || plan->foreign_guard;

	if (*plan->pam_unfit != '\0' && !guard) {
		cli_error("%s; nothing was changed", plan->pam_unfit);
		return false;
	}
	if (*plan->pam_unfit != '\0')
		cli_error("note: the PAM module is left out: %s",
		    plan->pam_unfit);
	if (plan->pam && plan->pam_there) {
		cli_error("note: %s%s: pam_keyveto.so is its first session "
			  "line already, by a line that is not keyveto's: "
			  "left as it is",
		    p->o->root, p->pam->path);
		plan->pam = false;
	}
	if (!plan->pam)
		return true;
	/* The first line of the file is the first session line, too. */
	plan->pam_alone = !guard;
	return sshd_file_insert(p->pam, FIRST_LINE,
	    guard ? "session requisite " SSHD_MODULE "\n" :
		    "session requisite " SSHD_MODULE " disconnect=always\n");
}

/*
 * Plans keyveto.conf, which --warn changes: each keyword that can refuse a key
 * gets a line that refuses none. The first line of a keyword counts, so that no
 * later one can still refuse. False after a message.
 */
static bool
plan_config(struct sshd_setup *p)
{
	struct sshd_file *f = sshd_files_find(&p->files, KV_CONFIG_PATH);

	if (f->made) {
		cli_error("%s" KV_CONFIG_PATH ": not there; make install makes "
			  "it",
		    p->o->root);
		return false;
	}
	return !p->o->warn ||
	    sshd_file_insert(f, FIRST_LINE,
		"OnHit warn\nOnProbable warn\nOnError allow\n"
		"OnUnsupported allow\n");
}

bool
sshd_plan_make(struct sshd_setup *p, const struct accounts *accounts,
    struct sshd_plan *plan)
{
	const struct sshd_options *o = p->o;
	bool ok;

	plan->command_user = plan->principals_user = "";
	ok = (!plan->pam || judge_pam(p, plan)) &&
	    (!plan->guard || plan_guard_or_none(p, plan)) &&
	    plan_pam(p, plan) && plan_config(p) &&
	    (!plan->guard || sshd_usable_guard(o, SSHD_GUARD_PATH)) &&
	    (!plan->pam || sshd_usable_module(o, SSHD_MODULE)) &&
	    sshd_usable_filters(o, KV_CONFIG_PATH, "", accounts);
	if (ok && *plan->command_user != '\0')
		ok = sshd_usable_filters(o, KV_CONFIG_PATH, plan->command_user,
		    accounts);
	if (ok && *plan->principals_user != '\0')
		ok = sshd_usable_filters(o, KV_CONFIG_PATH,
		    plan->principals_user, accounts);
	return ok;
}

bool
sshd_plan_holds(const struct sshd_plan *plan, const struct sshd_tree *t,
    const struct sshd_settings *base, const struct sshd_settings *next)
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
		/* sshd_plan_tell_matches reports Match blocks. */
		if (!plan->guard || watched[i].good ||
		    find_in_matches(t, 0, watched[i].keyword) != NULL)
			continue;
		cli_error("keyveto's lines have no effect: sshd would still "
			  "use %s %s; nothing was changed",
		    watched[i].keyword, watched[i].value);
		return false;
	}
	return true;
}

void
sshd_plan_tell_matches(const char *root, const struct sshd_tree *t)
{
	const bool user_ca = ways_any_user_ca(t);

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];

		if (l->match == 0 ||
		    !ways_line_opens(l->keyword, l->value, user_ca))
			continue;
		cli_error("note: %s%s:%zu: Match %s sets %s again, which "
			  "bypasses the guard",
		    root, t->file[l->file].path, l->number,
		    t->line[l->match - 1].value, l->keyword);
	}
}

size_t
sshd_plan_tell_groups(const struct sshd_options *o, const struct sshd_tree *t)
{
	static const char *const others[] = {
		"TrustedUserCAKeys",
		"AuthorizedPrincipalsFile",
		"HostbasedAuthentication",
		"PubkeyAuthentication",
	};
	size_t n = 0;

	for (size_t i = 0; *o->root != '\0' && i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		bool counts = false;

		if (!has_keyword(l, "Match") ||
		    strcasestr(l->value, "group") == NULL)
			continue;
		for (size_t k = 0; k < SSHD_BLOCK_KEYWORDS; k++)
			counts |= find_in_match(t, i + 1,
				      sshd_block_keywords[k]) != NULL;
		for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
			counts |= find_in_match(t, i + 1, others[k]) != NULL;
		if (!counts)
			continue;
		cli_error("%s%s:%zu: Match Group is answered by the groups of "
			  "this machine, not by those below %s",
		    o->root, t->file[l->file].path, l->number, o->root);
		n++;
	}
	return n;
}
