/* SPDX-License-Identifier: ISC */
#include "sshd/plan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kv_userfile.h"
#include "host/root_file.h"
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

/* The keywords of the guard's lines. sshd uses the first value of each. */
static const char *const guard_keywords[] = {
	"AuthorizedKeysFile",
	"AuthorizedKeysCommand",
	"AuthorizedKeysCommandUser",
	"AuthorizedPrincipalsCommand",
	"AuthorizedPrincipalsCommandUser",
};

#define GUARD_KEYWORDS (sizeof(guard_keywords) / sizeof(guard_keywords[0]))

static bool
is_guard_keyword(const char *keyword)
{
	for (size_t i = 0; i < GUARD_KEYWORDS; i++)
		if (strcasecmp(keyword, guard_keywords[i]) == 0)
			return true;
	return false;
}

static bool
has_keyword(const struct sshd_line *l, const char *keyword)
{
	return strcasecmp(l->keyword, keyword) == 0;
}

static bool
any_match_sets(const struct sshd_tree *t, const char *keyword)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (t->line[i].match != 0 && has_keyword(&t->line[i], keyword))
			return true;
	return false;
}

/* Whether a command has words after the program's name. */
static bool
has_arguments(const char *command)
{
	char *copy = strdup(command), *rest = copy;
	bool has = copy == NULL ||
	    (sshd_words_next(&rest) != NULL && sshd_words_next(&rest) != NULL);

	free(copy);
	return has;
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

static bool
match_sets(const struct sshd_tree *t, size_t match, const char *keyword)
{
	return find_in_match(t, match, keyword) != NULL;
}

/* The line that a Match block gets if it sets has, and does not set lacks. */
struct completion {
	const char *has, *lacks;
	const char *line;
};

static bool
needs_completion(const struct sshd_tree *t, size_t match,
    const struct completion *c)
{
	return match_sets(t, match, c->has) && !match_sets(t, match, c->lacks);
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
 * Writes c->line after the Match line of each block that needs it. With the
 * guard's lines, a block that sets AuthorizedKeysFile alone would get the guard
 * as well, which prints the files of AuthorizedKeysFile outside Match blocks; a
 * block that sets AuthorizedKeysCommand alone would lose the files. sshd 9.2
 * ignores an AuthorizedPrincipalsCommand after an AuthorizedKeysCommand, so
 * that the block's own one is repeated before the new line. The loop runs
 * backwards to keep line numbers valid. False after a message.
 */
static bool
complete_matches(struct sshd_files *fs, const struct sshd_tree *t,
    const struct completion *c)
{
	const bool is_command = strcmp(c->lacks, "AuthorizedKeysCommand") == 0;

	for (size_t i = t->n_lines; i > 0; i--) {
		const struct sshd_line *l = &t->line[i - 1], *again;
		struct sshd_file *f;
		char *text;
		bool ok;

		if (!has_keyword(l, "Match") || !needs_completion(t, i, c) ||
		    is_repeated(t, i))
			continue;
		again = is_command ?
		    find_in_match(t, i, "AuthorizedPrincipalsCommand") :
		    NULL;
		if (asprintf(&text, "%s%s%s%s",
			again != NULL ? "AuthorizedPrincipalsCommand " : "",
			again != NULL ? again->value : "",
			again != NULL ? "\n" : "", c->line) == -1) {
			cli_error("%s", strerror(errno));
			return false;
		}
		f = sshd_files_add(fs, t->file[l->file].path);
		ok = f != NULL && sshd_file_insert(f, l->number + 1, text);
		free(text);
		if (!ok)
			return false;
	}
	return true;
}

/*
 * Whether c->line hides no AuthorizedPrincipalsCommand of a later Match block:
 * sshd 9.2 ignores one that comes after an AuthorizedKeysCommand. If false,
 * plan->unfit says why.
 */
static bool
keeps_principals(const char *root, const struct sshd_tree *t,
    const struct completion *c, struct sshd_plan *plan)
{
	static const char command[] = "AuthorizedPrincipalsCommand";

	for (size_t i = 1; i <= t->n_lines; i++) {
		if (!has_keyword(&t->line[i - 1], "Match") ||
		    !needs_completion(t, i, c))
			continue;
		for (size_t k = i; k < t->n_lines; k++) {
			const struct sshd_line *l = &t->line[k];

			if (l->match == 0 || !has_keyword(l, command))
				continue;
			if (l->match == i)
				break;
			snprintf(plan->unfit, sizeof(plan->unfit),
			    "%s%s:%zu: "
			    "sshd would overlook this line, since a Match "
			    "block before it sets AuthorizedKeysFile",
			    root, t->file[l->file].path, l->number);
			return false;
		}
	}
	return true;
}

/* Counts Match blocks that set has and not lacks. *firstp: the first one. */
static size_t
count_matches(const struct sshd_tree *t, const char *has, const char *lacks,
    size_t *firstp)
{
	size_t n = 0;

	for (size_t i = t->n_lines; i > 0; i--) {
		if (!has_keyword(&t->line[i - 1], "Match") ||
		    !match_sets(t, i, has) || match_sets(t, i, lacks))
			continue;
		*firstp = i - 1;
		n++;
	}
	return n;
}

/*
 * Whether each Match block sets AuthorizedKeysCommand and
 * AuthorizedKeysCommandUser together. A block that sets the command alone would
 * get the user of the guard's lines: sshd skips such a command now, and would
 * run it as root. A block that sets the user alone would run the guard as that
 * user. If false, plan->unfit says why.
 */
static bool
keeps_command_users(const struct sshd_setup *p, struct sshd_plan *plan)
{
	const struct sshd_tree *t = &p->base.tree;

	for (size_t i = 1; i <= t->n_lines; i++) {
		const struct sshd_line *match = &t->line[i - 1], *command;
		bool user;

		if (!has_keyword(match, "Match"))
			continue;
		command = find_in_match(t, i, "AuthorizedKeysCommand");
		user = match_sets(t, i, "AuthorizedKeysCommandUser");
		if (command != NULL ? user || sshd_words_none(command->value) :
				      !user)
			continue;
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "%s%s:%zu: this "
		    "Match block sets %s alone",
		    p->files.root, t->file[match->file].path, match->number,
		    command != NULL ? "AuthorizedKeysCommand" :
				      "AuthorizedKeysCommandUser");
		return false;
	}
	return true;
}

/*
 * Completes the Match blocks. Two blocks may match the same account: if one
 * sets AuthorizedKeysFile alone, and one AuthorizedKeysCommand alone, a line
 * for either would override the other. False after a message, or with
 * plan->unfit.
 */
static bool
plan_matches(struct sshd_setup *p, struct sshd_plan *plan)
{
	const struct sshd_tree *t = &p->base.tree;
	static const char files[] = "AuthorizedKeysFile";
	static const char command[] = "AuthorizedKeysCommand";
	char line[SSHD_VALUE_BYTES + 64];
	struct completion c = { .line = line };
	size_t first = 0, n_files, n_commands;
	const struct sshd_line *l;

	n_files = count_matches(t, files, command, &first);
	n_commands = count_matches(t, command, files, &first);
	if ((n_files > 0 && any_match_sets(t, command)) ||
	    (n_commands > 0 && any_match_sets(t, files))) {
		l = &t->line[first];
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "%s%s:%zu: this "
		    "Match block and another one set one of AuthorizedKeysFile "
		    "and AuthorizedKeysCommand each",
		    p->files.root, t->file[l->file].path, l->number);
		return false;
	}
	if (n_files > 0) {
		c.has = files;
		c.lacks = command;
		snprintf(line, sizeof(line), "AuthorizedKeysCommand none\n");
		return keeps_principals(p->files.root, t, &c, plan) &&
		    complete_matches(&p->files, t, &c);
	}
	if (n_commands > 0) {
		c.has = command;
		c.lacks = files;
		snprintf(line, sizeof(line), "AuthorizedKeysFile %s\n",
		    plan->files);
		return complete_matches(&p->files, t, &c);
	}
	return true;
}

/*
 * Prints the line that puts the guard in front of a command. sshd adds the
 * account's name to an AuthorizedKeysCommand without arguments
 * (auth2-pubkey.c:user_key_command_allowed2), but not behind "--": if implicit
 * is true, the line adds it.
 */
static void
print_chain(FILE *out, const struct sshd_plan *plan, const char *keyword,
    const char *command, bool implicit)
{
	fprintf(out, "%s %s %s%s -- %s%s\n", keyword, SSHD_GUARD_PATH,
	    ARGUMENTS_CHAIN, plan->connection ? ARGUMENT_CONNECTION : "",
	    command, implicit && !has_arguments(command) ? " %u" : "");
}

/*
 * Whether the guard can stand in front of a command: the guard must accept the
 * program, and sshd must split the command into the same words behind "--". If
 * false, why says why.
 */
static bool
can_stand_before(const struct sshd_options *o, const char *command, char *why,
    size_t cap)
{
	char *copy = strdup(command), *rest = copy;
	const char *program = copy != NULL ? sshd_words_next(&rest) : NULL;
	bool ok = false;

	if (program == NULL)
		snprintf(why, cap, "%s: names no program", command);
	else if (strpbrk(program, "%#") != NULL || strchr(command, '#') != NULL)
		snprintf(why, cap,
		    "%s: has a %% in the program's name, or "
		    "a #",
		    command);
	else
		ok = sshd_usable_program(o, program, why, cap);
	free(copy);
	return ok;
}

/*
 * Writes the lines for an AuthorizedPrincipalsCommand. Without one, writes
 * none: no command can do for every name what sshd does by itself. sshd 9.2
 * ignores the line after an AuthorizedKeysCommand, so that it is repeated here
 * even if it does not change.
 */
static void
write_principals(FILE *out, const struct sshd_options *o,
    const struct sshd_setup *p, struct sshd_plan *plan)
{
	static const char keyword[] = "AuthorizedPrincipalsCommand";
	char command[SSHD_VALUE_BYTES], user[SSHD_VALUE_BYTES];
	char why[SSHD_WHY_BYTES];
	const char *args;

	sshd_text_value(p->dump, keyword, command, sizeof(command));
	sshd_text_value(p->dump, "AuthorizedPrincipalsCommandUser", user,
	    sizeof(user));
	if (sshd_words_none(command))
		return;
	if (guard_command(command, &args))
		fprintf(out, "%s %s\n", keyword, command);
	else if (can_stand_before(o, command, why, sizeof(why))) {
		print_chain(out, plan, keyword, command, false);
		snprintf(plan->principals_user, sizeof(plan->principals_user),
		    "%s", user);
	} else {
		cli_error("note: the guard is not put in front of %s: %s",
		    keyword, why);
		fprintf(out, "%s %s\n", keyword, command);
	}
	fprintf(out, "%sUser %s\n", keyword, user);
}

/*
 * Whether sshd can expand the name of an authorized keys file. If it cannot, it
 * ends every login with a key (misc.c:vdollar_percent_expand,
 * auth.c:expand_authorized_keys), which the guard would let in; then
 * plan->unfit says so.
 */
static bool
can_expand(const char *pattern, struct sshd_plan *plan)
{
	const struct kv_account account = { .name = "root", .home = "/" };
	char path[PATH_MAX];

	if (kv_userfile_expand(pattern, &account, path, sizeof(path)) == KV_OK)
		return true;
	snprintf(plan->unfit, sizeof(plan->unfit),
	    "AuthorizedKeysFile names "
	    "%.500s, which has a token that sshd does not know there, or is "
	    "too long: sshd ends each login with a key",
	    pattern);
	return false;
}

/*
 * Prints sshd's AuthorizedKeysFile as arguments of the guard. In keyveto.conf
 * it would also count for an sshd that has not been reloaded. sshd expands the
 * tokens. False after a message, or with plan->unfit.
 */
static bool
print_file_arguments(FILE *out, const struct sshd_options *o,
    struct sshd_plan *plan)
{
	char *copy = strdup(plan->files), *rest = copy;
	size_t n = 0, len = strlen(plan->files);
	const char *word;
	bool ok = true;

	if (copy == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	while (ok && (word = sshd_words_next(&rest)) != NULL) {
		/* auth2-pubkey.c:user_key_allowed2 skips the word. */
		if (strcasecmp(word, "none") == 0)
			continue;
		ok = can_expand(word, plan);
		fprintf(out, " --file %s", word);
		n++;
	}
	free(copy);
	if (!ok)
		return false;
	if (n > KV_CONFIG_MAX_PATTERNS ||
	    len + n * sizeof(" --file") + 512 > SSHD_VALUE_BYTES) {
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "AuthorizedKeysFile names too many files");
		return false;
	}
	fprintf(out, " --strictmodes %s --wildcards %s",
	    kv_config_strictmodes_word(plan->strictmodes_no ?
		    KV_STRICTMODES_NO :
		    KV_STRICTMODES_DEFAULT),
	    sshd_version_at_least(o->sshd, 10, 0) ? "yes" : "no");
	return true;
}

/*
 * Writes the lines for a guard that prints the accounts' files. False after a
 * message, or with plan->unfit.
 */
static bool
write_files_guard(FILE *out, const struct sshd_options *o, struct sshd_setup *p,
    struct sshd_plan *plan)
{
	plan->takes_files = true;
	plan->changes_order = ways_any_user_ca(&p->base.tree);
	snprintf(plan->command_user, sizeof(plan->command_user), "root");
	fprintf(out,
	    "AuthorizedKeysFile none\n"
	    "AuthorizedKeysCommand %s %s%s",
	    SSHD_GUARD_PATH, ARGUMENTS_FILES,
	    plan->connection ? ARGUMENT_CONNECTION : "");
	if (!print_file_arguments(out, o, plan))
		return false;
	fputs("\nAuthorizedKeysCommandUser root\n", out);
	return keeps_command_users(p, plan) && plan_matches(p, plan);
}

/*
 * Writes the lines for AuthorizedKeysCommand. Sets plan->guard to false, after
 * a note, if the guard has nothing to do. False after a message, or with
 * plan->unfit.
 */
static bool
write_keys(FILE *out, const struct sshd_options *o, struct sshd_setup *p,
    struct sshd_plan *plan)
{
	const char *dump = p->dump;
	char command[SSHD_VALUE_BYTES], user[SSHD_VALUE_BYTES];
	char why[SSHD_WHY_BYTES];
	const char *args;

	sshd_text_value(dump, "authorizedkeyscommand", command,
	    sizeof(command));
	sshd_text_value(dump, "authorizedkeyscommanduser", user, sizeof(user));
	sshd_text_value(dump, "authorizedkeysfile", plan->files,
	    sizeof(plan->files));
	plan->strictmodes_no = sshd_text_is(dump, "strictmodes", "no");
	if (sshd_words_none(command) && sshd_words_none(plan->files)) {
		cli_error("note: sshd takes keys from no file and no command: "
			  "there is nothing for the guard to do");
		plan->guard = false;
		return true;
	}
	if (sshd_words_none(command))
		return write_files_guard(out, o, p, plan);
	if (guard_command(command, &args)) {
		cli_error("note: AuthorizedKeysCommand is the guard already, "
			  "by a line that is not keyveto's own: left as it is");
		plan->guard = false;
		plan->foreign_guard = true;
		return true;
	}
	if (!can_stand_before(o, command, why, sizeof(why))) {
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "AuthorizedKeysCommand %s", why);
		return false;
	}
	if (!sshd_words_none(plan->files) && !plan->pam) {
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "sshd asks "
		    "AuthorizedKeysCommand %.500s, and reads %.500s too; the guard can "
		    "stand in front of one of them only, and only the PAM "
		    "module sees both",
		    command, plan->files);
		return false;
	}
	if (!sshd_words_none(plan->files))
		cli_error(
		    "note: the guard stands in front of "
		    "AuthorizedKeysCommand %s; the keys in %s are left to "
		    "the PAM module",
		    command, plan->files);
	snprintf(plan->command_user, sizeof(plan->command_user), "%s", user);
	print_chain(out, plan, "AuthorizedKeysCommand", command, true);
	fprintf(out, "AuthorizedKeysCommandUser %s\n", user);
	return true;
}

/*
 * Whether sshd uses the values in the drop-in: no earlier line may set one of
 * its keywords, and none of its lines may be in a Match block.
 */
static bool
drop_in_is_first(const struct sshd_tree *t)
{
	bool seen[GUARD_KEYWORDS] = { false };
	bool any = false;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		bool ours = strcmp(t->file[l->file].path, SSHD_DROP_IN) == 0;

		if (ours && l->match != 0)
			return false;
		any |= ours;
		for (size_t k = 0; k < GUARD_KEYWORDS; k++) {
			if (l->match != 0 || !has_keyword(l, guard_keywords[k]))
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
place_lines(const struct sshd_options *o, struct sshd_setup *p,
    const char *lines, struct sshd_plan *plan)
{
	struct sshd_file *f = sshd_files_add(&p->files, SSHD_DROP_IN);
	char place[PATH_MAX];
	struct sshd_copy c;
	bool first = false, planned;
	size_t had;

	plan->place = SSHD_DROP_IN;
	if (f != NULL && root_resolve(o->root, SSHD_DROP_IN, place)) {
		planned = f->next != NULL;
		had = planned ? f->next_len : f->base_len;
		if (!sshd_file_insert(f, FIRST_LINE, lines))
			return false;
		if (!sshd_open_changed(o, &p->files, true, &c)) {
			sshd_copy_close(&c);
			return false;
		}
		first = drop_in_is_first(&c.tree);
		sshd_copy_close(&c);
		if (first)
			return true;
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

/* Whether p->dump shows sshd's values in full. If not, plan->unfit says why. */
static bool
values_are_complete(const struct sshd_options *o, struct sshd_setup *p,
    struct sshd_plan *plan)
{
	struct sshd sshd = { .path = o->sshd, .config = p->base.top };
	struct sshd_overview overview;
	char value[SSHD_VALUE_BYTES];

	sshd_overview(&sshd, &overview);
	if (overview.odd_pattern)
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "AuthorizedKeysFile names a file with a blank, quote, "
		    "backslash or #, which sshd -T does not show as one");
	sshd_overview_free(&overview);
	for (size_t i = 0; i < GUARD_KEYWORDS; i++) {
		(void)sshd_text_value(p->dump, guard_keywords[i], value,
		    sizeof(value));
		if (strlen(value) + 1 == sizeof(value))
			snprintf(plan->unfit, sizeof(plan->unfit),
			    "%s is too long", guard_keywords[i]);
	}
	return *plan->unfit == '\0';
}

static bool
plan_guard(const struct sshd_options *o, struct sshd_setup *p,
    struct sshd_plan *plan)
{
	char *lines = NULL;
	size_t len;
	FILE *out;
	bool ok;

	if (!values_are_complete(o, p, plan))
		return false;
	if ((out = open_memstream(&lines, &len)) == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	plan->connection = sshd_version_at_least(o->sshd, 9, 4);
	/* sshd 9.2 ignores a principals command after the keys command. */
	write_principals(out, o, p, plan);
	ok = write_keys(out, o, p, plan);
	if (fclose(out) != 0 || lines == NULL)
		ok = false;
	else if (ok && plan->guard)
		ok = place_lines(o, p, lines, plan);
	free(lines);
	return ok;
}

/*
 * Sets plan->pam_unfit if PAM would open a session that it refuses now, because
 * the module returns PAM_SUCCESS for a clean key.
 */
static void
find_pam_unfit(const char *root, const struct sshd_file *f,
    const struct pam_stack *stack, struct sshd_plan *plan)
{
	switch (pam_decision_judge(stack, SSHD_MODULE)) {
	case PAM_DECISION_OTHER:
		snprintf(plan->pam_unfit, sizeof(plan->pam_unfit),
		    "%.1000s%.200s: "
		    "%s, so that PAM opens sessions by " SSHD_PAM_DIR "other, "
		    "and would not with keyveto's line (with the line 'session "
		    "include other' in that file, PAM's answer stays the same)",
		    root, f->path,
		    f->there ? "has no session line" : "not there");
		break;
	case PAM_DECISION_OPEN:
		snprintf(plan->pam_unfit, sizeof(plan->pam_unfit),
		    "%.1000s%.200s: "
		    "no session line is sure to decide, so that keyveto's line "
		    "would decide, and PAM would let in somebody whom it "
		    "refuses now (a line is sure to decide if it is required "
		    "or requisite, names pam_unix.so, pam_limits.so, "
		    "pam_permit.so or pam_deny.so, and is neither in a "
		    "substack nor jumped over)",
		    root, f->path);
		break;
	case PAM_DECISION_SURE:
		break;
	}
}

/*
 * Reads PAM's stack for sshd, and sets plan->pam_there and plan->pam_unfit.
 * False after a message.
 */
static bool
read_pam_stack(const struct sshd_options *o, struct sshd_setup *p,
    struct sshd_plan *plan)
{
	char path[SSHD_VALUE_BYTES + 16], why[SSHD_WHY_BYTES];
	struct pam_stack stack;
	struct sshd_file *f;
	bool readable, missing, first = false;

	if (!sshd_text_is(p->dump, "usepam", "yes")) {
		cli_error("UsePAM is no: sshd asks no PAM module; set UsePAM "
			  "yes, or use --guard alone");
		return false;
	}
	snprintf(path, sizeof(path), SSHD_PAM_DIR "%s", plan->service);
	if ((f = sshd_files_add(&p->files, path)) == NULL)
		return false;
	readable = pam_stack_read(o->root, plan->service, &stack, why,
	    sizeof(why));
	missing = !f->there && stack.n == 0;
	if (readable)
		(void)ways_find_module(&stack, &first);
	plan->pam_there = first && f->blocks == 0;
	if (missing || (readable && f->there && !plan->pam_there))
		find_pam_unfit(o->root, f, &stack, plan);
	pam_stack_free(&stack);
	if (missing)
		return true;
	if (!f->there)
		cli_error(
		    "%s%s: not there; PAM's lines for sshd are elsewhere, "
		    "copy them to this file first",
		    o->root, path);
	else if (!readable)
		cli_error("%s", why);
	return f->there && readable;
}

/*
 * Sets plan->pam to false if the module would change PAM's answer; with --pam
 * that is an error. False after a message.
 */
static bool
plan_pam_or_none(const struct sshd_options *o, struct sshd_setup *p,
    struct sshd_plan *plan)
{
	if (!read_pam_stack(o, p, plan))
		return false;
	if (*plan->pam_unfit == '\0')
		return true;
	if (o->pam) {
		cli_error("%s; nothing was changed: use --guard alone",
		    plan->pam_unfit);
		return false;
	}
	plan->pam = false;
	return true;
}

/* False, after a message, if both the module and the guard are left out. */
static bool
has_guard_or_module(const struct sshd_plan *plan)
{
	if (*plan->pam_unfit == '\0')
		return true;
	if (plan->guard || plan->foreign_guard) {
		cli_error("note: the PAM module is left out: %s",
		    plan->pam_unfit);
		return true;
	}
	cli_error("%s; nothing was changed", plan->pam_unfit);
	return false;
}

static bool
plan_pam(const struct sshd_options *o, struct sshd_setup *p,
    struct sshd_plan *plan)
{
	char path[SSHD_VALUE_BYTES + 16];
	struct sshd_file *f;

	snprintf(path, sizeof(path), SSHD_PAM_DIR "%s", plan->service);
	if ((f = sshd_files_add(&p->files, path)) == NULL)
		return false;
	if (plan->pam_there) {
		cli_error("note: %s%s: pam_keyveto.so is its first session "
			  "line already, by a line that is not keyveto's: "
			  "left as it is",
		    o->root, path);
		plan->pam = false;
		return true;
	}
	/* The first line of the file is the first session line, too. */
	plan->pam_alone = !plan->guard && !plan->foreign_guard;
	return sshd_file_insert(f, FIRST_LINE,
	    plan->pam_alone ?
		"session requisite " SSHD_MODULE " disconnect=always\n" :
		"session requisite " SSHD_MODULE "\n");
}

/* Plans keyveto.conf, which --warn changes. False after a message. */
static bool
plan_config(const struct sshd_options *o, struct sshd_setup *p)
{
	struct sshd_file *f = sshd_files_add(&p->files, KV_CONFIG_PATH);

	if (f == NULL)
		return false;
	if (f->made) {
		cli_error("%s" KV_CONFIG_PATH ": not there; make install makes "
			  "it",
		    o->root);
		return false;
	}
	return !o->warn ||
	    sshd_file_insert(f, FIRST_LINE,
		"OnHit warn\nOnError allow\nOnUnsupported allow\n");
}

static void
forget_guard(struct sshd_setup *p, struct sshd_plan *plan)
{
	for (size_t i = 0; i < p->files.n; i++) {
		free(p->files.v[i]->next);
		p->files.v[i]->next = NULL;
	}
	plan->guard = plan->takes_files = plan->changes_order = false;
	*plan->command_user = *plan->principals_user = '\0';
}

/*
 * Plans the guard. If the guard would change more than who is refused, leaves
 * it out, so that the module works alone; with --guard, or without the module,
 * that is an error. False after a message.
 */
static bool
plan_guard_or_none(const struct sshd_options *o, struct sshd_setup *p,
    struct sshd_plan *plan)
{
	bool ok = plan_guard(o, p, plan);

	if (ok && plan->changes_order && !o->guard)
		snprintf(plan->unfit, sizeof(plan->unfit),
		    "TrustedUserCAKeys "
		    "is set: behind the guard, sshd asks the accounts' files "
		    "after it, and a certificate that both accept loses the "
		    "restrictions of its cert-authority line");
	if (ok && *plan->unfit == '\0')
		return true;
	if (*plan->unfit == '\0')
		return false;
	forget_guard(p, plan);
	if (!o->guard && plan->pam) {
		cli_error("note: the guard is left out: %s", plan->unfit);
		return true;
	}
	cli_error("the guard cannot be put in here: %s; %s%s", plan->unfit,
	    *plan->pam_unfit != '\0' ? "nor can the PAM "
				       "module: " :
		o->guard	     ? "use --pam" :
				       "UsePAM is no, so the "
				       "PAM module cannot do the work either",
	    plan->pam_unfit);
	return false;
}

bool
sshd_plan_make(const struct sshd_options *o, struct sshd_setup *p,
    const struct accounts *accounts, struct sshd_plan *plan)
{
	bool ok;

	sshd_pam_service(p->dump, plan->service);
	ok = (!plan->pam || plan_pam_or_none(o, p, plan)) &&
	    (!plan->guard || plan_guard_or_none(o, p, plan)) &&
	    has_guard_or_module(plan) && (!plan->pam || plan_pam(o, p, plan)) &&
	    plan_config(o, p) &&
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
    const char *base, const char *next)
{
	static const char *const watched[] = {
		"AuthorizedPrincipalsCommand",
		"AuthorizedKeysFile",
		"AuthorizedKeysCommand",
	};
	char was[SSHD_VALUE_BYTES], value[SSHD_VALUE_BYTES];
	const char *args;

	if (!plan->guard)
		return true;
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
		bool good;

		sshd_text_value(base, watched[i], was, sizeof(was));
		sshd_text_value(next, watched[i], value, sizeof(value));
		if (i == 1)
			good = plan->takes_files ? sshd_words_none(value) :
						   strcmp(was, value) == 0;
		else
			good = guard_command(value, &args) ||
			    (i == 0 && sshd_words_none(was) &&
				sshd_words_none(value)) ||
			    (i == 0 && strcmp(was, value) == 0);
		/* sshd_plan_tell_matches reports Match blocks. */
		if (good || any_match_sets(t, watched[i]))
			continue;
		cli_error("keyveto's lines have no effect: sshd would still "
			  "use %s %s; nothing was changed",
		    watched[i], value);
		return false;
	}
	return true;
}

size_t
sshd_plan_tell_matches(const char *root, const struct sshd_tree *t)
{
	const bool user_ca = ways_any_user_ca(t);
	size_t n = 0;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		const struct sshd_line *m;

		if (l->match == 0 ||
		    !ways_line_opens(l->keyword, l->value, user_ca))
			continue;
		m = &t->line[l->match - 1];
		cli_error("note: %s%s:%zu: Match %s sets %s again, which "
			  "bypasses the guard",
		    root, t->file[l->file].path, l->number, m->value,
		    l->keyword);
		n++;
	}
	return n;
}

/* Whether a Match block sets where keys come from, or whether they count. */
static bool
match_is_relevant(const struct sshd_tree *t, size_t match)
{
	static const char *const others[] = {
		"TrustedUserCAKeys",
		"AuthorizedPrincipalsFile",
		"HostbasedAuthentication",
		"PubkeyAuthentication",
	};

	for (size_t i = 0; i < t->n_lines; i++)
		if (t->line[i].match == match &&
		    is_guard_keyword(t->line[i].keyword))
			return true;
	for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
		if (match_sets(t, match, others[k]))
			return true;
	return false;
}

size_t
sshd_plan_tell_groups(const struct sshd_options *o, const struct sshd_tree *t)
{
	size_t n = 0;

	for (size_t i = 0; *o->root != '\0' && i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];

		if (!has_keyword(l, "Match") ||
		    strcasestr(l->value, "group") == NULL ||
		    !match_is_relevant(t, i + 1))
			continue;
		cli_error("%s%s:%zu: Match Group is answered by the groups of "
			  "this machine, not by those below %s",
		    o->root, t->file[l->file].path, l->number, o->root);
		n++;
	}
	return n;
}
