/* SPDX-License-Identifier: ISC */
#include "config/doubts.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "sshd_config/block.h"

static bool
refuses_all(const struct config_findings *f)
{
	return config_findings_no_verdict(f) && f->on_error == KV_ACTION_DENY;
}

/* The lines between the marks of "keyveto sshd enable". */
struct marked {
	char *lines; /* NULL: the marks are not in pairs */
	size_t len, blocks;
	char why[256];
};

static bool
same_patterns(const struct kv_config *a, const struct kv_config *b)
{
	if (a->n_patterns != b->n_patterns)
		return false;
	for (size_t i = 0; i < a->n_patterns; i++)
		if (strcmp(a->pattern[i], b->pattern[i]) != 0)
			return false;
	return true;
}

/*
 * Returns 1 after a message if the lines between the marks changed. If the
 * marks were broken before, the change cannot make it worse.
 */
static size_t
doubt_marks(const struct config_subject *now, const struct marked *was,
    const struct marked *is)
{
	if (was->lines == NULL)
		return 0;
	if (is->lines == NULL)
		cli_error("%s:%s", now->name, is->why);
	else if (is->blocks < was->blocks)
		cli_error(
		    "%s: the lines between keyveto's marks are gone; type "
		    "\"keyveto sshd disable\" to remove them, together with "
		    "those of sshd and PAM",
		    now->name);
	else if (is->blocks != was->blocks || is->len != was->len ||
	    memcmp(is->lines, was->lines, is->len) != 0)
		cli_error(
		    "%s: lines between keyveto's marks were changed; \"keyveto "
		    "sshd enable\", with or without --warn, writes them, and "
		    "\"keyveto sshd disable\" removes all of them",
		    now->name);
	else
		return 0;
	return 1;
}

size_t
config_doubts(const struct config_subject *before,
    const struct config_findings *was, const struct config_subject *now,
    const struct config_findings *is)
{
	struct marked old, new;
	size_t n = 0;

	if (refuses_all(is) && !refuses_all(was)) {
		cli_error("%s: each login by key would be refused", now->name);
		n++;
	}
	old.lines = sshd_block_lines(before->text, before->len, &old.len,
	    &old.blocks, old.why, sizeof(old.why));
	new.lines = sshd_block_lines(now->text, now->len, &new.len, &new.blocks,
	    new.why, sizeof(new.why));
	n += doubt_marks(now, &old, &new);
	if (old.lines != NULL && old.blocks > 0 &&
	    !same_patterns(&was->config, &is->config)) {
		cli_error(
		    "%s: AuthorizedKeysFile differs from what sshd had when "
		    "keyveto was enabled: keys in the former files would no "
		    "longer be accepted",
		    now->name);
		n++;
	}
	free(old.lines);
	free(new.lines);
	return n;
}
