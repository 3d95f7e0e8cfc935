/* SPDX-License-Identifier: ISC */
#include "sshd_config/match.h"

#include <grp.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r\n"

/* Whether a pattern with * and ? matches, as match.c:match_pattern of sshd. */
static bool
matches_pattern(const char *name, const char *pattern)
{
	const char *star = NULL, *from = NULL;

	while (*name != '\0') {
		if (*pattern == '*') {
			star = ++pattern;
			from = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star != NULL) {
			/* Let the last star match one character more. */
			pattern = star;
			name = ++from;
		} else
			return false;
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

/* Adds each pattern of a list with commas. False without memory. */
static bool
add_list(struct texts *p, char *list)
{
	const char *pattern;

	while ((pattern = strsep(&list, ",")) != NULL)
		if (!texts_add(p, pattern + (*pattern == '!')))
			return false;
	return true;
}

/* Cuts off a word, which may be in quotes. NULL at the end. */
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

/* Adds a criterion; argument is NULL if it is missing. */
static void
add_criterion(struct sshd_match *m, const char *criterion, char *argument)
{
	const struct {
		const char *criterion;
		struct texts *patterns; /* NULL: sshd is asked about all
					 * accounts with one value */
	} known[] = {
		{ "user", &m->user },
		{ "group", &m->group },
		{ "localport", &m->port },
		{ "host", NULL },
		{ "address", NULL },
		{ "localaddress", NULL },
		{ "rdomain", NULL },
	};
	bool ok = false;

	if (argument != NULL && strpbrk(argument, "\"'\\") == NULL)
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (strcasecmp(criterion, known[i].criterion) == 0)
				ok = known[i].patterns == NULL ||
				    add_list(known[i].patterns, argument);
	m->unknown |= !ok;
}

bool
sshd_match_add(struct sshd_match *m, const char *value)
{
	char *copy = strdup(value), *rest = copy;
	const char *criterion;
	bool origin = copy == NULL;

	if (copy == NULL && m != NULL)
		m->unknown = true;
	while (copy != NULL && (criterion = next_word(&rest)) != NULL &&
	    *criterion != '#') {
		/* These two take no argument. */
		if (strcasecmp(criterion, "all") == 0 ||
		    strcasecmp(criterion, "invalid-user") == 0)
			continue;
		origin |= strcasecmp(criterion, "user") != 0 &&
		    strcasecmp(criterion, "group") != 0;
		if (m != NULL)
			add_criterion(m, criterion, next_word(&rest));
		else
			(void)next_word(&rest);
	}
	free(copy);
	return origin;
}

enum listed {
	LISTED_NO,
	LISTED_YES,
	LISTED_NEGATED, /* a pattern after "!" matches */
};

/* Judges a name by a list of patterns, as match.c:match_pattern_list of sshd. */
static enum listed
judge_list(const char *name, char *list)
{
	enum listed found = LISTED_NO;
	char *pattern;

	while ((pattern = strsep(&list, ",")) != NULL) {
		if (*pattern == '!' && matches_pattern(name, pattern + 1))
			return LISTED_NEGATED;
		if (*pattern != '!' && matches_pattern(name, pattern))
			found = LISTED_YES;
	}
	return found;
}

/*
 * Whether a list of patterns matches names of groups, as
 * groupaccess.c:ga_match_pattern_list of sshd. True without memory.
 */
static bool
list_has_group(const char *list, const struct texts *groups)
{
	bool found = false;

	for (size_t i = 0; i < groups->n; i++) {
		char *copy = strdup(list);
		const enum listed is = copy != NULL ?
		    judge_list(groups->v[i], copy) :
		    LISTED_YES;

		free(copy);
		if (is == LISTED_NEGATED)
			return false;
		found |= is == LISTED_YES;
	}
	return found;
}

/* argument is NULL if it is missing. */
static enum sshd_match_answer
judge_criterion(const char *criterion, char *argument, const char *account,
    const struct texts *groups)
{
	bool found;

	if (argument == NULL || strpbrk(argument, "\"'\\") != NULL)
		return SSHD_MATCH_PERHAPS;
	if (strcasecmp(criterion, "user") == 0)
		found = judge_list(account, argument) == LISTED_YES;
	else if (strcasecmp(criterion, "group") == 0)
		found = list_has_group(argument, groups);
	else
		return SSHD_MATCH_PERHAPS;
	return found ? SSHD_MATCH_ALWAYS : SSHD_MATCH_NEVER;
}

enum sshd_match_answer
sshd_match_judge(const char *value, const char *account,
    const struct texts *groups)
{
	char *copy = strdup(value), *rest = copy;
	enum sshd_match_answer all = copy != NULL ?
	    SSHD_MATCH_ALWAYS :
	    SSHD_MATCH_PERHAPS;
	const char *criterion;

	while (copy != NULL && (criterion = next_word(&rest)) != NULL &&
	    *criterion != '#') {
		enum sshd_match_answer one;

		if (strcasecmp(criterion, "all") == 0)
			continue;
		/* The account exists. */
		one = strcasecmp(criterion, "invalid-user") == 0 ?
		    SSHD_MATCH_NEVER :
		    judge_criterion(criterion, next_word(&rest), account,
			groups);
		all = one < all ? one : all;
	}
	free(copy);
	return all;
}

/* Prints the numbers of the patterns that match: " 3,5"; nothing for none. */
static void
print_matches(FILE *out, const char *name, const struct texts *p)
{
	char before = ' ';

	for (size_t i = 0; i < p->n; i++)
		if (matches_pattern(name, p->v[i])) {
			fprintf(out, "%c%zu", before, i);
			before = ',';
		}
}

/* getgrouplist(3). The caller frees the list. NULL without memory. */
static gid_t *
list_groups(const struct account *a, int *np)
{
	gid_t *list = NULL, *grown;
	int cap = 0;

	*np = 16;
	while (*np > cap) {
		cap = *np;
		if ((grown = reallocarray(list, (size_t)cap, sizeof(*list))) ==
		    NULL)
			break;
		list = grown;
		if (getgrouplist(a->name, a->gid, list, np) != -1)
			return list;
	}
	free(list);
	return NULL;
}

bool
sshd_groups_find(struct texts *groups, const struct account *account)
{
	int n;
	gid_t *gid = list_groups(account, &n);
	bool ok = gid != NULL;

	*groups = (struct texts){ .n = 0 };
	for (int i = 0; ok && i < n; i++) {
		const struct group *g = getgrgid(gid[i]);

		ok = g == NULL || texts_add(groups, g->gr_name);
	}
	free(gid);
	return ok;
}

/*
 * A string that is equal for two accounts only if their names, and the names of
 * their groups, match the same patterns. Then every Match line matches both
 * accounts or neither. NULL without memory.
 */
static char *
make_signature(const struct sshd_match *m, const struct account *a)
{
	struct texts groups = { .n = 0 };
	char *signature = NULL;
	size_t len;
	FILE *out = open_memstream(&signature, &len);
	bool ok = out != NULL;

	if (!ok)
		return NULL;
	print_matches(out, a->name, &m->user);
	putc('/', out);
	if (m->group.n > 0)
		ok = sshd_groups_find(&groups, a);
	for (size_t i = 0; i < groups.n; i++)
		print_matches(out, groups.v[i], &m->group);
	texts_free(&groups);
	if (fclose(out) == 0 && ok)
		return signature;
	free(signature);
	return NULL;
}

size_t *
sshd_match_alike(const struct accounts *accounts,
    const struct sshd_match *match)
{
	size_t *like = calloc(accounts->n + 1, sizeof(*like));
	char **signature = calloc(accounts->n + 1, sizeof(*signature));
	struct hsearch_data seen = { 0 };
	bool ok = like != NULL && signature != NULL && !match->unknown &&
	    hcreate_r(2 * accounts->n + 1, &seen) != 0;

	for (size_t i = 0; ok && i < accounts->n; i++) {
		ENTRY mine = { .data = &accounts->v[i] }, *first;

		mine.key = signature[i] = make_signature(match,
		    &accounts->v[i]);
		ok = mine.key != NULL &&
		    hsearch_r(mine, ENTER, &first, &seen) != 0;
		if (ok)
			like[i] = (size_t)((const struct account *)first->data -
			    accounts->v);
	}
	for (size_t i = 0; !ok && like != NULL && i < accounts->n; i++)
		like[i] = i;
	hdestroy_r(&seen);
	for (size_t i = 0; signature != NULL && i < accounts->n; i++)
		free(signature[i]);
	free(signature);
	return like;
}

void
sshd_match_free(struct sshd_match *m)
{
	texts_free(&m->user);
	texts_free(&m->group);
	texts_free(&m->port);
	*m = (struct sshd_match){ 0 };
}
