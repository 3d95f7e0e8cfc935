/* SPDX-License-Identifier: ISC */
#include "sshd/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sshd_config/words.h"

bool
sshd_base_read(struct sshd_base *b, const struct sshd_options *o,
    struct sshd_files *files, bool needs_answer)
{
	char path[SSHD_VALUE_BYTES + 16], why[SSHD_WHY_BYTES];

	if (!sshd_try_copy(&b->copy, files, false, why, sizeof(why))) {
		if (needs_answer)
			return cli_error("%s", why);
		cli_error("warning: %s: sshd cannot be asked what it would do "
			  "without keyveto's lines",
		    why);
	}
	b->dump = sshd_copy_ask(o->sshd, &b->copy, NULL, why, sizeof(why));
	if (b->dump == NULL && needs_answer)
		return cli_error("%s", why);
	if (b->dump != NULL &&
	    (b->settings = sshd_settings_parse(b->dump)) == NULL)
		return cli_error("%s", strerror(errno));
	snprintf(path, sizeof(path), SSHD_PAM_DIR "%s",
	    sshd_service(b->settings));
	b->pam = sshd_files_add(files, path);
	return b->pam != NULL;
}

void
sshd_base_close(struct sshd_base *b)
{
	sshd_settings_free(b->settings);
	free(b->dump);
	sshd_copy_close(&b->copy);
}

static bool
takes_no_keys(const struct sshd_settings *s)
{
	return sshd_words_none(s->keys_files) &&
	    sshd_words_none(s->keys_command);
}

/*
 * As takes_no_keys, by the lines outside Match blocks. Without
 * AuthorizedKeysFile sshd reads files.
 */
static bool
lines_take_no_keys(const struct sshd_tree *t)
{
	const struct sshd_line *files = sshd_tree_find(t, 0,
	    "AuthorizedKeysFile");
	const struct sshd_line *command = sshd_tree_find(t, 0,
	    "AuthorizedKeysCommand");

	return files != NULL && *files->value != '\0' &&
	    sshd_words_none(files->value) &&
	    (command == NULL || sshd_words_none(command->value));
}

/* As sshd_base_keeps_keys, without a message. */
static bool
keeps_keys(const struct sshd_base *b, const struct sshd_options *o,
    struct sshd_copy *now)
{
	struct sshd_settings *settings;
	char *dump, why[SSHD_WHY_BYTES];
	bool keeps;

	if (b->dump == NULL || now->top == NULL)
		return !lines_take_no_keys(&b->copy.tree) ||
		    lines_take_no_keys(&now->tree);
	if (!takes_no_keys(b->settings))
		return true;
	dump = sshd_copy_ask(o->sshd, now, NULL, why, sizeof(why));
	settings = dump != NULL ? sshd_settings_parse(dump) : NULL;
	/* Without memory for the settings, the answer is no. */
	keeps = dump == NULL || (settings != NULL && takes_no_keys(settings));
	sshd_settings_free(settings);
	free(dump);
	return keeps;
}

bool
sshd_base_keeps_keys(const struct sshd_base *b, const struct sshd_options *o,
    struct sshd_copy *now)
{
	const struct sshd_tree *t = &b->copy.tree;
	const struct sshd_line *l = sshd_tree_find(t, 0, "AuthorizedKeysFile");

	if (keeps_keys(b, o, now))
		return true;
	return cli_error(
	    "%s: AuthorizedKeysFile is none here, outside keyveto's marks: "
	    "without keyveto's lines nobody would get in by key; nothing was "
	    "changed: delete that line, and run this again",
	    l != NULL ? t->file[l->file].path : SSHD_TREE_TOP);
}
