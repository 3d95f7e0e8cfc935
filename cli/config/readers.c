/* SPDX-License-Identifier: ISC */
#include "config/readers.h"

#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "command.h"
#include "host/accounts.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"

#define NOBODY 65534U

static void
add_reader(struct config_readers *r, const char *user)
{
	struct config_reader one = { .uid = NOBODY, .gid = NOBODY };
	struct accounts a = { 0 };

	snprintf(one.name, sizeof(one.name), "%s", user);
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i].name, one.name) == 0)
			return;
	if (r->n == CONFIG_READERS_MAX)
		return;
	if (strcmp(user, "%u") != 0) {
		/* sshd runs no command as a user that does not exist. */
		if (!accounts_add(&a, user))
			return;
		one.uid = a.v[0].uid;
		one.gid = a.v[0].gid;
		accounts_free(&a);
	}
	if (one.uid != 0)
		r->v[r->n++] = one;
}

/* Whether command is the guard, and reads the configuration at path. */
static bool
reads_path(const char *command, const char *path)
{
	char config[PATH_MAX];
	const char *args;

	if (!guard_command(command, &args))
		return false;
	if (!guard_config(args, config, sizeof(config)))
		snprintf(config, sizeof(config), "%s", KV_CONFIG_PATH);
	return strcmp(config, path) == 0;
}

/* Adds user, as whom sshd runs command, if that reads path. */
static void
add_commands_user(struct config_readers *r, const char *command,
    const char *user, const char *path)
{
	if (reads_path(command, path) && !sshd_words_none(user))
		add_reader(r, user);
}

static bool
is_one_of(const struct sshd_line *line, const char *a, const char *b)
{
	return line->match != 0 &&
	    (strcasecmp(line->keyword, a) == 0 ||
		strcasecmp(line->keyword, b) == 0);
}

void
config_readers_find(struct config_readers *r, const char *path)
{
	const struct sshd sshd = { .path = SSHD_PATH };
	struct sshd_overview overview;
	const struct sshd_tree *t = &overview.tree;
	struct sshd_settings *settings;
	struct sshd_question q;
	char why[1024];
	bool guard;

	*r = (struct config_readers){ 0 };
	if (access(SSHD_PATH, X_OK) == -1)
		return;
	if (geteuid() != 0) {
		cli_error(
		    "note: only root can ask sshd which user runs the guard: "
		    "not checked");
		return;
	}
	sshd_ask(&sshd, "root", &q);
	if ((settings = sshd_answer(&q, why, sizeof(why))) == NULL) {
		cli_error(
		    "note: sshd does not say which user runs the guard: %s",
		    why);
		return;
	}
	add_commands_user(r, settings->keys_command, settings->keys_user, path);
	add_commands_user(r, settings->principals_command,
	    settings->principals_user, path);
	sshd_settings_free(settings);
	/*
	 * Add the users that Match blocks name, if the guard is in a Match
	 * block or in the global part: the user may stand in another block than
	 * the command.
	 */
	sshd_overview(&sshd, &overview);
	guard = r->n > 0;
	for (size_t i = 0; i < t->n_lines; i++)
		guard |= is_one_of(&t->line[i], "AuthorizedKeysCommand",
			     "AuthorizedPrincipalsCommand") &&
		    reads_path(t->line[i].value, path);
	for (size_t i = 0; guard && i < t->n_lines; i++)
		if (is_one_of(&t->line[i], "AuthorizedKeysCommandUser",
			"AuthorizedPrincipalsCommandUser") &&
		    !sshd_words_none(t->line[i].value))
			add_reader(r, t->line[i].value);
	sshd_overview_free(&overview);
}
