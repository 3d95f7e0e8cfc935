/* SPDX-License-Identifier: ISC */
#include "config/doubts.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "sshd/block.h"

static bool
refuses_all(const struct config_findings *f)
{
	return config_findings_no_verdict(f) && f->on_error == KV_ACTION_DENY;
}

/* What "keyveto sshd enable" wrote, and "keyveto sshd disable" takes out. */
struct marked {
	char *lines; /* NULL: a mark lacks its other one */
	size_t len, blocks;
	char why[256];
};

static void
find_marked(const struct config_subject *s, struct marked *m)
{
	m->lines = sshd_block_lines(s->text, s->len, &m->len, &m->blocks,
	    m->why, sizeof(m->why));
}

static bool
same_marked(const struct marked *a, const struct marked *b)
{
	return a->blocks == b->blocks && a->len == b->len &&
	    memcmp(a->lines, b->lines, a->len) == 0;
}

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

/* Where the marks were broken before, a change can only mend them. */
static size_t
doubt_marks(const struct config_subject *now, const struct marked *was,
    const struct marked *is)
{
	if (was->lines == NULL)
		return 0;
	if (is->lines == NULL)
		cli_error("%s:%s", now->name, is->why);
	else if (is->blocks < was->blocks)
		cli_error("%s: the lines between keyveto's marks are gone; "
			  "\"keyveto sshd disable\" is what takes them out, "
			  "together with those of sshd and PAM",
		    now->name);
	else if (!same_marked(was, is))
		cli_error(
		    "%s: lines between keyveto's marks were changed; "
		    "\"keyveto sshd enable\", with or without --warn, writes "
		    "them, and \"keyveto sshd disable\" takes all of them out",
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
	find_marked(before, &old);
	find_marked(now, &new);
	n += doubt_marks(now, &old, &new);
	if (old.lines != NULL && old.blocks > 0 &&
	    !same_patterns(&was->config, &is->config)) {
		cli_error(
		    "%s: AuthorizedKeysFile is another one than sshd had "
		    "when keyveto was enabled: keys in the files of before "
		    "would not be taken any more",
		    now->name);
		n++;
	}
	free(old.lines);
	free(new.lines);
	return n;
}
