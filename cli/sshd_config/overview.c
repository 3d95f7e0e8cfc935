/* SPDX-License-Identifier: ISC */
#include "sshd_config/overview.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sshd_config/words.h"

/* Whether open(2) may wait: for a FIFO, or a character device but /dev/null. */
static bool
blocks(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 &&
	    (S_ISFIFO(st.st_mode) ||
		(S_ISCHR(st.st_mode) && st.st_rdev != makedev(1, 3)));
}

/* Sets o->blocking. sshd opens a host key and its .pub before it answers. */
static void
check_host_key(struct sshd_overview *o, const struct sshd_line *l)
{
	char *copy = strdup(l->value), *rest = copy, half[PATH_MAX];
	const char *path = copy != NULL ? sshd_words_next(&rest) : NULL;

	if (path != NULL && *o->blocking == '\0') {
		snprintf(half, sizeof(half), "%s.pub", path);
		if (blocks(path) || blocks(half))
			snprintf(o->blocking, sizeof(o->blocking),
			    "%.300s:%zu: %s %.300s is a FIFO or a device, for "
			    "which sshd would wait: name a file",
			    o->tree.file[l->file].path, l->number, l->keyword,
			    blocks(path) ? path : half);
	}
	free(copy);
}

/* Whether sshd -T prints a file's name so that it would be read as another. */
static bool
has_odd_pattern(const char *value)
{
	char *copy = strdup(value), *rest = copy;
	const char *word;
	bool odd = copy == NULL;

	while (!odd && (word = sshd_words_next(&rest)) != NULL)
		odd = strpbrk(word, " \t\"'\\#") != NULL;
	free(copy);
	return odd;
}

static bool
decides_keys(const char *keyword)
{
	return strcasecmp(keyword, "AuthorizedKeysFile") == 0 ||
	    strcasecmp(keyword, "AuthorizedKeysCommand") == 0 ||
	    strcasecmp(keyword, "AuthorizedKeysCommandUser") == 0 ||
	    strcasecmp(keyword, "TrustedUserCAKeys") == 0;
}

void
sshd_overview(const struct sshd *sshd, struct sshd_overview *o)
{
	const char *path = sshd->config != NULL ? sshd->config :
	    strcmp(sshd->path, SSHD_PATH) == 0	? SSHD_TREE_TOP :
						  NULL;

	*o = (struct sshd_overview){ 0 };
	if (path == NULL)
		snprintf(o->unread, sizeof(o->unread),
		    "which file %.300s reads is not known", sshd->path);
	if (path == NULL ||
	    !sshd_tree_read(&o->tree, path, NULL, 0, o->unread,
		sizeof(o->unread)))
		o->varies = o->match.unknown = true;
	for (size_t i = 0; i < o->tree.n_lines; i++) {
		const struct sshd_line *l = &o->tree.line[i];
		const bool decides = l->match != 0 && decides_keys(l->keyword);

		if (strcasecmp(l->keyword, "Match") == 0)
			(void)sshd_match_add(&o->match, l->value);
		else if (strcasecmp(l->keyword, "HostKey") == 0 ||
		    strcasecmp(l->keyword, "HostCertificate") == 0)
			check_host_key(o, l);
		else if (strcasecmp(l->keyword, "AuthorizedKeysFile") == 0)
			o->odd_pattern |= has_odd_pattern(l->value);
		o->varies |= decides;
		o->keys_by_origin |= decides &&
		    sshd_tree_is_by_origin(&o->tree, l);
	}
}

void
sshd_overview_free(struct sshd_overview *o)
{
	sshd_match_free(&o->match);
	sshd_tree_free(&o->tree);
}
