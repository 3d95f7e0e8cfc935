/* SPDX-License-Identifier: ISC */
#include "sshd_overview.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONFIG_DIRECTORY "/etc/ssh"
#define CONFIG_PATH CONFIG_DIRECTORY "/sshd_config"
#define BLANKS " \t\r\n"
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
	unsigned int depth;
};

static void read_config(struct walk *w, const char *path);

/* Cuts off a word, which may stand in quotes; NULL at the end. */
static char *
next_word(char **sp)
{
	char *word = *sp + strspn(*sp, BLANKS "=");
	char quote = *word == '"' || *word == '\'' ? *word : '\0';
	char *end;

	if (*word == '\0')
		return NULL;
	if (quote != '\0') {
		word++;
		end = strchr(word, quote);
		if (end == NULL)
			end = word + strlen(word);
	} else
		end = word + strcspn(word, BLANKS "=");
	*sp = end + (*end != '\0');
	*end = '\0';
	return word;
}

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

	while ((word = next_word(&rest)) != NULL) {
		snprintf(path, sizeof(path), "%s%s",
		    *word == '/' ? "" : CONFIG_DIRECTORY "/", word);
		switch (glob(path, 0, NULL, &found)) {
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
	w->by_origin = false;
	while ((criterion = next_word(&rest)) != NULL && *criterion != '#') {
		argument = NULL;
		if (sshd_match_has_argument(criterion))
			argument = next_word(&rest);
		sshd_match_add(&w->o->match, criterion, argument);
		if (strcasecmp(criterion, "user") != 0 &&
		    strcasecmp(criterion, "group") != 0 && argument != NULL)
			w->by_origin = w->o->by_origin = true;
	}
}

static bool
has_quoted_blank(const char *s)
{
	char quote = '\0';

	for (; *s != '\0'; s++) {
		if (quote != '\0' && (*s == ' ' || *s == '\t'))
			return true;
		if (*s == quote)
			quote = '\0';
		else if (quote == '\0' && (*s == '"' || *s == '\''))
			quote = *s;
	}
	return false;
}

static void
tell_line(const struct walk *w, const char *keyword, const char *rest)
{
	char value[1024];
	struct sshd_match_line line = {
		.file = w->file, .line = w->line, .keyword = keyword,
		.value = value, .by_origin = w->by_origin
	};

	if (w->told == NULL || !w->in_block)
		return;
	rest += strspn(rest, BLANKS "=");
	snprintf(value, sizeof(value), "%s", rest);
	for (size_t len = strlen(value);
	    len > 0 && strchr(BLANKS, value[len - 1]) != NULL; len--)
		value[len - 1] = '\0';
	w->told(&line, w->arg);
}

/*
 * A Match block ends with its file, but to be safe everything after the first
 * one is taken to be in it, the rest of the including file too.
 */
static void
read_keyword(struct walk *w, char *line)
{
	const char *keyword = next_word(&line);

	if (keyword == NULL || *keyword == '#')
		return;
	tell_line(w, keyword, line);
	if (strcasecmp(keyword, "Include") == 0)
		read_include(w, line);
	else if (strcasecmp(keyword, "Match") == 0)
		read_match(w, line);
	else if (strcasecmp(keyword, "AuthorizedKeysFile") == 0) {
		w->o->blank_in_pattern |= has_quoted_blank(line);
		w->o->varies |= w->in_match;
	} else if (strcasecmp(keyword, "AuthorizedKeysCommand") == 0 ||
	    strcasecmp(keyword, "TrustedUserCAKeys") == 0)
		w->o->varies |= w->in_match;
}

static void
read_config(struct walk *w, const char *path)
{
	const struct walk before = *w;
	char *line = NULL;
	size_t cap = 0;
	FILE *f;

	if (w->depth == DEPTH_MAX || (f = fopen(path, "re")) == NULL) {
		give_up(w);
		return;
	}
	w->depth++;
	w->file = path;
	w->line = 0;
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
