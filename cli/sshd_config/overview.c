/* SPDX-License-Identifier: ISC */
#include "sshd_config/overview.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sshd_config/words.h"

#define CONFIG_DIRECTORY "/etc/ssh"
#define CONFIG_PATH CONFIG_DIRECTORY "/sshd_config"
#define DEPTH_MAX 16	/* as sshd's own: servconf.h */

struct walk {
	struct sshd_overview *o;
	sshd_match_line_fn told;	/* of lines in Match blocks; or NULL */
	void *arg;
	const char *file;
	unsigned int line;
	bool in_match;		/* in one, or after one */
	bool in_block;		/* really in one */
	bool by_origin;		/* and that asks for more than the account */
	bool included_by_origin;	/* as such a block has the whole file */
	unsigned int depth;
};

static void read_config(struct walk *w, const char *path);

/* What cannot be seen may be anything. */
static void
give_up(struct walk *w)
{
	w->o->varies = true;
	w->o->match.unknown = true;
}

static void
read_include(struct walk *w, char *rest)
{
	char path[PATH_MAX];
	const char *word;
	glob_t found;

	while ((word = sshd_words_next(&rest)) != NULL) {
		snprintf(path, sizeof(path), "%s%s",
		    *word == '/' ? "" : CONFIG_DIRECTORY "/", word);
		switch (*word == '~' ? GLOB_ABORTED :
		    glob(path, 0, NULL, &found)) {
		case 0:
			for (size_t i = 0; i < found.gl_pathc; i++)
				read_config(w, found.gl_pathv[i]);
			globfree(&found);
			break;
		case GLOB_NOMATCH:
			break;
		default:
			give_up(w);
		}
	}
}

static void
read_match(struct walk *w, char *rest)
{
	const char *criterion, *argument;

	w->in_match = w->in_block = true;
	w->by_origin = w->included_by_origin;
	while (sshd_match_next(&rest, &criterion, &argument)) {
		sshd_match_add(&w->o->match, criterion, argument);
		w->by_origin |= sshd_match_is_origin(criterion);
	}
	w->o->by_origin |= w->by_origin;
}

/* Whether whoever opens the file waits there. */
static bool
blocks(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && st.st_rdev != makedev(1, 3)));
}

/* sshd opens a host key, and its public half, before it answers. */
static void
look_at_key(struct walk *w, const char *keyword, char *rest)
{
	const char *path = sshd_words_next(&rest);
	char half[PATH_MAX];

	if (path == NULL || *w->o->blocking != '\0')
		return;
	snprintf(half, sizeof(half), "%s.pub", path);
	if (!blocks(path) && !blocks(half))
		return;
	snprintf(w->o->blocking, sizeof(w->o->blocking), "%.300s:%u: %s %.300s "
	    "is a FIFO or a device, for which sshd would wait: name a file",
	    w->file, w->line, keyword, blocks(path) ? path : half);
}

/* Whether the name of a file, as -T prints it, is another one to us. */
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

static void
tell_line(const struct walk *w, const char *keyword, const char *value)
{
	struct sshd_match_line line = {
		.file = w->file, .line = w->line, .keyword = keyword,
		.value = value, .by_origin = w->by_origin
	};

	if (w->told != NULL && w->in_block)
		w->told(&line, w->arg);
}

/*
 * A Match block ends with its file, but to be safe everything after the first
 * one is taken to be in it, the rest of the including file too.
 */
static void
read_keyword(struct walk *w, char *line)
{
	char *value;
	const char *keyword = sshd_words_keyword(line, &value);

	if (keyword == NULL)
		return;
	tell_line(w, keyword, value);
	if (strcasecmp(keyword, "Include") == 0)
		read_include(w, value);
	else if (strcasecmp(keyword, "Match") == 0)
		read_match(w, value);
	else if (strcasecmp(keyword, "HostKey") == 0 ||
	    strcasecmp(keyword, "HostCertificate") == 0)
		look_at_key(w, keyword, value);
	else if (strcasecmp(keyword, "AuthorizedKeysFile") == 0) {
		w->o->odd_pattern |= has_odd_pattern(value);
		w->o->varies |= w->in_match;
	} else if (strcasecmp(keyword, "AuthorizedKeysCommand") == 0 ||
	    strcasecmp(keyword, "TrustedUserCAKeys") == 0)
		w->o->varies |= w->in_match;
}

/* NULL if it cannot be read, or is no file. */
static FILE *
open_config(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	FILE *f = NULL;

	if (fd != -1 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		f = fdopen(fd, "r");
	if (fd != -1 && f == NULL)
		close(fd);
	return f;
}

static void
read_config(struct walk *w, const char *path)
{
	const struct walk before = *w;
	char *line = NULL;
	size_t cap = 0;
	FILE *f;

	if (w->depth == DEPTH_MAX || (f = open_config(path)) == NULL) {
		give_up(w);
		return;
	}
	w->depth++;
	w->file = path;
	w->line = 0;
	w->included_by_origin = w->by_origin;
	while (getline(&line, &cap, f) != -1) {
		w->line++;
		read_keyword(w, line);
	}
	if (ferror(f))
		give_up(w);
	w->depth--;
	w->file = before.file;
	w->line = before.line;
	w->in_block = before.in_block;
	w->by_origin = before.by_origin;
	w->included_by_origin = before.included_by_origin;
	free(line);
	fclose(f);
}

void
sshd_overview_told(const struct sshd *sshd, struct sshd_overview *o,
    sshd_match_line_fn told, void *arg)
{
	struct walk w = { .o = o, .told = told, .arg = arg };

	*o = (struct sshd_overview){ 0 };
	if (sshd->config != NULL)
		read_config(&w, sshd->config);
	else if (strcmp(sshd->path, SSHD_PATH) == 0)
		read_config(&w, CONFIG_PATH);
	else
		give_up(&w);
}

void
sshd_overview(const struct sshd *sshd, struct sshd_overview *o)
{
	sshd_overview_told(sshd, o, NULL, NULL);
}

void
sshd_overview_free(struct sshd_overview *o)
{
	sshd_match_free(&o->match);
}
