/* SPDX-License-Identifier: ISC */
#include "sshd/matches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "command.h"
#include "sshd_config/block.h"
#include "sshd_config/words.h"
#include "ways/ways.h"

static bool
has_keyword(const struct sshd_line *l, const char *keyword)
{
	return strcasecmp(l->keyword, keyword) == 0;
}

/* The first line of any Match block with it, from index i on, or NULL. */
static const struct sshd_line *
find_in_matches(const struct sshd_tree *t, size_t i, const char *keyword)
{
	for (; i < t->n_lines; i++)
		if (t->line[i].match != 0 && has_keyword(&t->line[i], keyword))
			return &t->line[i];
	return NULL;
}

bool
sshd_matches_set(const struct sshd_tree *t, const char *keyword)
{
	return find_in_matches(t, 0, keyword) != NULL;
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
 * Puts a line with keyword and value into each Match block that has a line with
 * the keyword present. If the block has an AuthorizedPrincipalsCommand that
 * sshd would ignore behind the new line, repeats it before. The loop runs
 * backwards to keep line numbers valid. False after a message.
 */
static bool
complete_blocks(const struct sshd_tree *t, struct sshd_files *files,
    const char *present, const char *keyword, const char *value)
{
	static const char principals[] = "AuthorizedPrincipalsCommand";
	/* sshd 9.2 ignores one that comes after an AuthorizedKeysCommand. */
	const bool hides = strcmp(keyword, "AuthorizedKeysCommand") == 0;

	for (size_t i = t->n_lines; i > 0; i--) {
		const struct sshd_line *l = &t->line[i - 1], *again = NULL;
		struct sshd_file *f;
		char *text;
		int n;

		if (!has_keyword(l, "Match") ||
		    sshd_tree_find(t, i, present) == NULL || is_repeated(t, i))
			continue;
		if (hides)
			again = sshd_tree_find(t, i, principals);
		n = again != NULL ?
		    asprintf(&text, "%s %s\n%s %s\n", principals, again->value,
			keyword, value) :
		    asprintf(&text, "%s %s\n", keyword, value);
		if (n == -1)
			return cli_error("%s", strerror(errno));
		f = sshd_files_add(files, t->file[l->file].path);
		n = f != NULL && sshd_file_insert(f, l->number + 1, text);
		free(text);
		if (n == 0)
			return false;
	}
	return true;
}

/*
 * There are three reasons for unfit:
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
 *
 * Otherwise blocks of one of two kinds are completed. One that sets
 * AuthorizedKeysFile would get the guard as well, which prints the files of
 * AuthorizedKeysFile outside Match blocks. One that sets AuthorizedKeysCommand
 * would lose the files.
 */
bool
sshd_matches_complete(const struct sshd_tree *t, const char *keys_files,
    struct sshd_files *files, char *unfit, size_t cap)
{
	/* The first Match line of a block that sets the one without the other. */
	const struct sshd_line *files_alone = NULL, *command_alone = NULL;
	const struct sshd_line *l, *hidden = NULL;

	for (size_t i = 1; i <= t->n_lines; i++) {
		const struct sshd_line *match = &t->line[i - 1];
		const struct sshd_line *file, *command, *user;

		if (!has_keyword(match, "Match"))
			continue;
		file = sshd_tree_find(t, i, "AuthorizedKeysFile");
		command = sshd_tree_find(t, i, "AuthorizedKeysCommand");
		user = sshd_tree_find(t, i, "AuthorizedKeysCommandUser");
		if ((command == NULL) != (user == NULL) &&
		    (command == NULL || !sshd_words_none(command->value))) {
			snprintf(unfit, cap,
			    "%s:%zu: this Match block sets %s alone",
			    t->file[match->file].path, match->number,
			    command != NULL ? "AuthorizedKeysCommand" :
					      "AuthorizedKeysCommandUser");
			return false;
		}
		if (command != NULL && file == NULL && command_alone == NULL)
			command_alone = match;
		if (file == NULL || command != NULL)
			continue;
		if (files_alone == NULL)
			files_alone = match;
		l = find_in_matches(t, i, "AuthorizedPrincipalsCommand");
		if (hidden == NULL && l != NULL && l->match != i)
			hidden = l;
	}
	if ((files_alone != NULL &&
		sshd_matches_set(t, "AuthorizedKeysCommand")) ||
	    (command_alone != NULL &&
		sshd_matches_set(t, "AuthorizedKeysFile"))) {
		l = command_alone != NULL ? command_alone : files_alone;
		snprintf(unfit, cap,
		    "%s:%zu: this Match block and another one set one of "
		    "AuthorizedKeysFile and AuthorizedKeysCommand each",
		    t->file[l->file].path, l->number);
		return false;
	}
	if (hidden != NULL) {
		snprintf(unfit, cap,
		    "%s:%zu: sshd would overlook this line, since a Match "
		    "block before it sets AuthorizedKeysFile",
		    t->file[hidden->file].path, hidden->number);
		return false;
	}
	if (files_alone != NULL)
		return complete_blocks(t, files, "AuthorizedKeysFile",
		    "AuthorizedKeysCommand", "none");
	return command_alone == NULL ||
	    complete_blocks(t, files, "AuthorizedKeysCommand",
		"AuthorizedKeysFile", keys_files);
}

void
sshd_matches_note_bypasses(const struct sshd_tree *t)
{
	const bool user_ca = ways_any_user_ca(t);

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];

		if (l->match == 0 ||
		    !ways_line_opens(l->keyword, l->value, user_ca))
			continue;
		cli_error("note: %s:%zu: Match %s sets %s again, which "
			  "bypasses the guard",
		    t->file[l->file].path, l->number,
		    t->line[l->match - 1].value, l->keyword);
	}
}
