/* SPDX-License-Identifier: ISC */
/*
 * sshd/faithful: whether keyveto's copy of sshd's configuration means to sshd
 * what the files themselves mean.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/system_file.h"
#include "sshd/sshd.h"
#include "sshd_config/words.h"

/* Skips the lines of "sshd -T" that do not count for sshd_find_change. */
static const char *
skip_lines(const char *text, unsigned int spared)
{
	while ((sshd_keyword(text) & spared) ||
	    strncasecmp(text, "hostkey ", 8) == 0) {
		text += strcspn(text, "\n");
		text += *text != '\0';
	}
	return text;
}

const char *
sshd_find_change(const char *from, const char *to, unsigned int spared)
{
	for (;;) {
		size_t n;

		from = skip_lines(from, spared);
		to = skip_lines(to, spared);
		n = strcspn(from, "\n");
		if (n != strcspn(to, "\n") || memcmp(from, to, n) != 0)
			return from;
		if (*from == '\0')
			return NULL;
		from += n + (from[n] != '\0');
		to += n + (to[n] != '\0');
	}
}

/* Whether sshd reads SSHD_TREE_TOP, as keyveto does. False after a message. */
static bool
reads_our_file(const struct sshd *sshd)
{
	const struct sshd_subject *s = sshd_subject(sshd);

	if (*s->refused != '\0')
		return cli_error("%s", s->refused);
	if (system_file_is_same(s->file, SSHD_TREE_TOP))
		return true;
	if (*s->file != '\0')
		cli_error("%s reads %s, and this is for an sshd that "
			  "reads another file (" SSHD_TREE_TOP
			  "): put keyveto in by hand there",
		    sshd->path, s->file);
	else
		cli_error(
		    "%s does not tell (sshd -dd -T) that it reads " SSHD_TREE_TOP
		    ": put keyveto in by hand",
		    sshd->path);
	return false;
}

bool
sshd_faithful_copy(const struct sshd_options *o, struct sshd_copy *c)
{
	struct sshd sshd = { .path = o->sshd };
	struct sshd_question q;
	char why[SSHD_WHY_BYTES], *real, *copy;
	bool same;

	if ((copy = sshd_ask_copy(o, c, NULL)) == NULL)
		return false;
	sshd.host_key = c->host_key;
	if (!reads_our_file(&sshd)) {
		free(copy);
		return false;
	}
	/* Without -f, so that sshd reads its own file. */
	sshd_ask(&sshd, NULL, &q);
	real = sshd_answer_text(&q, why, sizeof(why));
	same = real != NULL && sshd_find_change(real, copy, 0) == NULL;
	if (real == NULL)
		cli_error("%s", why);
	else if (!same)
		cli_error(SSHD_TREE_TOP
		    ": sshd reads this file in another way than keyveto does, "
		    "or it is being changed; put keyveto in by hand");
	free(real);
	free(copy);
	return same;
}
