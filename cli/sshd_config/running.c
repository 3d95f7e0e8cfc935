/* SPDX-License-Identifier: ISC */
#include "sshd_config/running.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "command.h"
#include "host/system_file.h"
#include "kv_trusted.h"
#include "sshd_config/arguments.h"
#include "sshd_config/tree.h"
#include "sshd_config/words.h"

struct finder {
	struct sshd_running *r;
	void (*unseen)(void *arg, const char *place, const char *why);
	void *arg;
	int error; /* ENOMEM, or 0 */
};

/* The words of a command line, and what of them sshd's getopt makes. */
struct words {
	char *memory, **v;
	size_t n;
};

/*
 * Cuts the next word off *rest, which it writes into. quotes: they hold a word
 * together, and are no part of it. NULL at the end.
 */
static char *
cut_word(char **rest, bool quotes)
{
	char *p = *rest + strspn(*rest, " \t\r\n"), *word = p, *out = p;
	char quote = '\0';

	if (*p == '\0')
		return NULL;
	for (; *p != '\0' && (quote != '\0' || strchr(" \t\r\n", *p) == NULL);
	     p++) {
		if (quotes && *p == quote)
			quote = '\0';
		else if (quotes && quote == '\0' && (*p == '"' || *p == '\''))
			quote = *p;
		else
			*out++ = *p;
	}
	*rest = p + (*p != '\0');
	*out = '\0';
	return word;
}

/* False without memory. */
static bool
split(const char *text, size_t len, bool quotes, struct words *w)
{
	char *rest, *word;

	*w = (struct words){ .memory = strndup(text, len) };
	w->v = calloc(len + 1, sizeof(*w->v));
	if (w->memory == NULL || w->v == NULL)
		return false;
	for (rest = w->memory; (word = cut_word(&rest, quotes)) != NULL;)
		w->v[w->n++] = word;
	return true;
}

/*
 * Finds the command line in what sshd_arguments_find has shown: behind the name
 * in a title of sshd's and before "[listener]", behind "argv[]=" of a unit, or
 * in the quotes of a variable.
 */
static const char *
find_line(const struct sshd_start *start, const char *text, size_t *lenp)
{
	static const char unit[] = "argv[]=", listener[] = " [listener]";
	const size_t name = strcspn(text, " ");
	const char *end = NULL;

	if (start->listens) {
		if (name > 0 && text[name] == ' ' && text[name - 1] == ':')
			text += name + 1;
		for (const char *p = text; (p = strstr(p, listener)) != NULL;
		     p++)
			end = p;
	} else if (strstr(text, unit) != NULL) {
		text = strstr(text, unit) + sizeof(unit) - 1;
		end = strstr(text, " ; ");
	} else if ((*text == '"' || *text == '\'') &&
	    strchr(text + 1, *text) != NULL) {
		end = strchr(text + 1, *text);
		text++;
	}
	*lenp = end != NULL ? (size_t)(end - text) : strlen(text);
	return text;
}

/* Whether a word must be what follows in the value of the option before. */
static bool
goes_on(const char *word)
{
	return word[0] != '-' || word[1] == '-' || word[1] == '\0';
}

/*
 * Joins the words of the argument at w->v[*i], which has its first one in it:
 * sshd takes nothing but options, so that a word that is none is the rest of a
 * value with blanks. Moves *i to the last of them. Words of the shell's or of
 * systemd's variables are left out. NULL without memory.
 */
static char *
join(const struct words *w, const char *first, size_t *i)
{
	char *value = NULL;
	size_t len;
	FILE *out = open_memstream(&value, &len);

	if (out == NULL)
		return NULL;
	fputs(first, out);
	for (; *i + 1 < w->n && goes_on(w->v[*i + 1]); (*i)++)
		if (*w->v[*i + 1] != '$')
			fprintf(out, " %s", w->v[*i + 1]);
	if (fclose(out) == 0)
		return value;
	free(value);
	return NULL;
}

static void
free_one(struct sshd_running_one *one)
{
	free(one->place);
	free(one->program);
	free(one->config);
	free(one->host_key);
	for (size_t i = 0; i < one->sshd.n_options; i++)
		free(one->option[i]);
	free(one->option);
}

/*
 * Adds an -o to one, unless it does not decide which keys let in. It owns
 * option from now on. next is the word after it, or NULL: *doubtful is set if
 * that may be a word of a command in option. No command has sshd's -o, and what
 * other options do to a command that is not the guard does not matter here.
 */
static bool
add_option(struct sshd_running_one *one, char *option, const char *next,
    bool *doubtful)
{
	char *line = strdup(option), *rest;
	const char *keyword = line != NULL ?
	    sshd_words_keyword(line, &rest) :
	    NULL;
	const bool decides = keyword != NULL &&
	    (sshd_keyword(keyword) & SSHD_KEYWORD_DECIDES);

	*doubtful |= next != NULL && (next[1] == 'f' || next[1] == 'h') &&
	    keyword != NULL && (sshd_keyword(keyword) & SSHD_KEYWORD_WORDS);
	free(line);
	if (line != NULL && !decides) {
		free(option);
		return true;
	}
	if (line == NULL ||
	    !room_for_one(&one->option, one->sshd.n_options, sizeof(char *))) {
		free(option);
		return false;
	}
	one->option[one->sshd.n_options++] = option;
	return true;
}

/* Reads the options in the words. False without memory. */
static bool
read_words(const struct words *w, struct sshd_running_one *one, bool *doubtful)
{
	/* Of all versions up to OpenSSH 10.6 (sshd.c, getopt). */
	static const char with_argument[] = "CEbcfghkopu";
	char *value;

	for (size_t i = 0; i < w->n; i++) {
		const char *p = w->v[i];

		if (goes_on(p))
			continue;
		while (*++p != '\0' && strchr(with_argument, *p) == NULL)
			;
		if (*p == '\0' || (p[1] == '\0' && i + 1 == w->n))
			continue;
		/* No line begins with "-": sshd got an empty one. */
		if (*p == 'o' && p[1] == '\0' && *w->v[i + 1] == '-')
			continue;
		value = join(w, p[1] != '\0' ? p + 1 : w->v[++i], &i);
		if (value == NULL)
			return false;
		if (*p == 'f') {
			free(one->config);
			one->config = value;
		} else if (*p == 'h' && one->host_key == NULL)
			one->host_key = value;
		else if (*p == 'o') {
			if (!add_option(one, value,
				i + 1 < w->n ? w->v[i + 1] : NULL, doubtful))
				return false;
		} else
			free(value);
	}
	return true;
}

static bool
is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
has_same_settings(const struct sshd *a, const struct sshd *b)
{
	bool same = strcmp(a->path, b->path) == 0 &&
	    is_same(a->config, b->config) && a->n_options == b->n_options;

	for (size_t i = 0; same && i < a->n_options; i++)
		same = strcmp(a->option[i], b->option[i]) == 0;
	return same;
}

/* Whether it is the sshd that is asked anyway, or one that is there already. */
static bool
is_known(const struct finder *f, const struct sshd_running_one *one)
{
	const struct sshd usual = { .path = SSHD_PATH };

	if (has_same_settings(&one->sshd, &usual))
		return true;
	for (size_t i = 0; i < f->r->n; i++)
		if (has_same_settings(&one->sshd, &f->r->v[i].sshd))
			return true;
	return false;
}

/* A sentence about why one cannot be asked, or "". */
static void
judge_one(const struct sshd_running_one *one, bool doubtful, char *why,
    size_t cap)
{
	char insecure[KV_TRUSTED_WHY_BYTES];

	*why = '\0';
	if (doubtful)
		snprintf(why, cap,
		    "where the value of an -o option ends cannot be seen");
	else if (one->config != NULL && *one->config != '/' &&
	    strcmp(one->config, "none") != 0)
		snprintf(why, cap,
		    "its configuration is %.500s, and nobody can tell where "
		    "that is: start it with the whole path",
		    one->config);
	else if (strcmp(one->program, SSHD_PATH) != 0 &&
	    kv_trusted_check(one->program, 0, insecure) != KV_OK)
		snprintf(why, cap, "%s", insecure);
}

/* Sets what sshd points to. The usual program and file go by one name. */
static void
complete(struct sshd_running_one *one)
{
	if (one->config != NULL && *one->config == '/' &&
	    system_file_is_same(one->config, SSHD_TREE_TOP)) {
		free(one->config);
		one->config = NULL;
	}
	one->sshd.path = system_file_is_same(one->program, SSHD_PATH) ?
	    SSHD_PATH :
	    one->program;
	one->sshd.config = one->config;
	one->sshd.host_key = one->host_key;
	one->sshd.option = (const char *const *)one->option;
}

static void
on_line(void *arg, const struct sshd_start *start, const char *text)
{
	struct sshd_running_one one = { .place = strdup(start->place) };
	struct words w = { .n = 0 };
	struct finder *f = arg;
	bool doubtful, ok;
	const char *name;
	char why[1024];
	size_t len;

	text = find_line(start, text, &len);
	/* In a title, quotes and backslashes are sshd's own. */
	doubtful = !start->listens && memchr(text, '\\', len) != NULL;
	ok = split(text, len, !start->listens, &w) && one.place != NULL;
	/* A unit names the program; the others start the usual one. */
	name = start->program != NULL		     ? start->program :
	    w.n > 0 && strchr(w.v[0], '/') == w.v[0] ? w.v[0] :
						       SSHD_PATH;
	ok = ok && (one.program = strdup(name)) != NULL &&
	    read_words(&w, &one, &doubtful);
	/* A backslash does no harm where nothing counts. */
	doubtful &= one.sshd.n_options > 0 || one.config != NULL;
	if (ok) {
		complete(&one);
		judge_one(&one, doubtful, why, sizeof(why));
		name = strrchr(one.program, '/');
	}
	/* A unit may start something else, which starts sshd then. */
	if (ok && name != NULL && strcmp(name, "/sshd") == 0) {
		if (*why != '\0')
			f->unseen(f->arg, start->place, why);
		else if (!is_known(f, &one) &&
		    (ok = room_for_one(&f->r->v, f->r->n, sizeof(one)))) {
			f->r->v[f->r->n++] = one;
			one = (struct sshd_running_one){ .place = NULL };
		}
	}
	if (!ok)
		f->error = ENOMEM;
	free_one(&one);
	free(w.memory);
	free(w.v);
}

static void
on_unseen(void *arg, const char *place, const char *why)
{
	struct finder *f = arg;

	f->unseen(f->arg, place, why);
}

static void
on_elsewhere(void *arg, const char *place, const char *why)
{
	(void)arg;
	cli_error("note: %s: %s", place, why);
}

bool
sshd_running_find(struct sshd_running *r,
    void (*unseen)(void *arg, const char *place, const char *why), void *arg)
{
	struct finder f = { .r = r, .unseen = unseen, .arg = arg };
	const struct sshd_arguments found = {
		.arg = &f,
		.line = on_line,
		.unseen = on_unseen,
		.elsewhere = on_elsewhere,
	};

	*r = (struct sshd_running){ .n = 0 };
	(void)sshd_arguments_find(&found);
	errno = f.error;
	return f.error == 0;
}

void
sshd_running_free(struct sshd_running *r)
{
	for (size_t i = 0; i < r->n; i++)
		free_one(&r->v[i]);
	free(r->v);
	*r = (struct sshd_running){ .n = 0 };
}
