/* SPDX-License-Identifier: ISC */
#include "sshd_config/match.h"

#include <grp.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r\n"

bool
sshd_match_pattern(const char *name, const char *pattern)
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
add_list(struct sshd_patterns *p, const char *list)
{
	for (;;) {
		size_t len;
		char **v;

		list += *list == '!';
		len = strcspn(list, ",");
		if ((v = realloc(p->v, (p->n + 1) * sizeof(*v))) == NULL)
			return false;
		p->v = v;
		if ((v[p->n] = strndup(list, len)) == NULL)
			return false;
		p->n++;
		if (list[len] == '\0')
			return true;
		list += len + 1;
	}
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

static bool
has_argument(const char *criterion)
{
	return strcasecmp(criterion, "all") != 0 &&
	    strcasecmp(criterion, "invalid-user") != 0;
}

bool
sshd_match_next(char **sp, const char **criterionp, const char **argumentp)
{
	*argumentp = NULL;
	*criterionp = next_word(sp);
	if (*criterionp == NULL || **criterionp == '#')
		return false;
	if (has_argument(*criterionp))
		*argumentp = next_word(sp);
	return true;
}

bool
sshd_match_is_origin(const char *criterion)
{
	return has_argument(criterion) && strcasecmp(criterion, "user") != 0 &&
	    strcasecmp(criterion, "group") != 0;
}

void
sshd_match_add(struct sshd_match *m, const char *criterion,
    const char *argument)
{
	/* sshd is asked about all accounts with one value of each of these. */
	static const char *const others[] = {
		"host",
		"address",
		"localaddress",
		"localport",
		"rdomain",
	};

	if (!has_argument(criterion))
		return;
	if (argument == NULL || strpbrk(argument, "\"'\\") != NULL) {
		m->unknown = true;
		return;
	}
	if (strcasecmp(criterion, "user") == 0) {
		m->unknown |= !add_list(&m->user, argument);
		return;
	}
	if (strcasecmp(criterion, "group") == 0) {
		m->unknown |= !add_list(&m->group, argument);
		return;
	}
	if (strcasecmp(criterion, "localport") == 0)
		m->unknown |= !add_list(&m->port, argument);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcasecmp(criterion, others[i]) == 0)
			return;
	m->unknown = true;
}

/* Prints a digit for each pattern; nothing if no pattern matches. */
static void
print_matches(FILE *out, const char *name, const struct sshd_patterns *p)
{
	bool any = false;

	for (size_t i = 0; i < p->n; i++)
		any |= sshd_match_pattern(name, p->v[i]);
	if (!any)
		return;
	putc(' ', out);
	for (size_t i = 0; i < p->n; i++)
		putc(sshd_match_pattern(name, p->v[i]) ? '1' : '0', out);
}

/* Prints the matches of each group of an account. False without memory. */
static bool
print_groups(FILE *out, const struct account *a, const struct sshd_patterns *p)
{
	gid_t *gid = NULL, *grown;
	int n = 16, cap;

	do {
		cap = n;
		grown = realloc(gid, (size_t)cap * sizeof(*gid));
		if (grown == NULL) {
			free(gid);
			return false;
		}
		gid = grown;
	} while (getgrouplist(a->name, a->gid, gid, &n) == -1 && n > cap);
	for (int i = 0; i < n && i < cap; i++) {
		const struct group *gr = getgrgid(gid[i]);

		if (gr != NULL)
			print_matches(out, gr->gr_name, p);
	}
	free(gid);
	return true;
}

/*
 * A string that is equal for two accounts only if their names, and the names of
 * their groups, match the same patterns. Then every Match line matches both
 * accounts or neither. NULL without memory.
 */
static char *
make_signature(const struct sshd_match *m, const struct account *a)
{
	char *signature = NULL;
	size_t len;
	FILE *out = open_memstream(&signature, &len);
	bool ok = true;

	if (out == NULL)
		return NULL;
	print_matches(out, a->name, &m->user);
	fputs(" groups", out);
	if (m->group.n > 0)
		ok = print_groups(out, a, &m->group);
	if (fclose(out) == 0 && ok)
		return signature;
	free(signature);
	return NULL;
}

struct signed_account {
	char *signature;
	size_t i; /* of the account */
};

static int
compare_signatures(const void *a, const void *b)
{
	return strcmp(((const struct signed_account *)a)->signature,
	    ((const struct signed_account *)b)->signature);
}

/* For tdestroy, which must free nothing. */
static void
keep_signed(void *account)
{
	(void)account;
}

/* Sets like[i] for each account. False without memory. */
static bool
compare_accounts(const struct accounts *accounts,
    const struct sshd_match *match, size_t *like)
{
	struct signed_account *s = calloc(accounts->n + 1, sizeof(*s));
	void *seen = NULL;
	bool ok = s != NULL;

	for (size_t i = 0; ok && i < accounts->n; i++) {
		struct signed_account **first;

		s[i].i = i;
		s[i].signature = make_signature(match, &accounts->v[i]);
		ok = s[i].signature != NULL &&
		    (first = tsearch(&s[i], &seen, compare_signatures)) != NULL;
		if (ok)
			like[i] = (*first)->i;
	}
	tdestroy(seen, keep_signed);
	for (size_t i = 0; s != NULL && i < accounts->n; i++)
		free(s[i].signature);
	free(s);
	return ok;
}

size_t *
sshd_match_alike(const struct accounts *accounts,
    const struct sshd_match *match)
{
	size_t *like = calloc(accounts->n + 1, sizeof(*like));

	if (like == NULL)
		return NULL;
	if (match->unknown || !compare_accounts(accounts, match, like))
		for (size_t i = 0; i < accounts->n; i++)
			like[i] = i;
	return like;
}

static void
free_patterns(struct sshd_patterns *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i]);
	free(p->v);
}

void
sshd_match_free(struct sshd_match *m)
{
	free_patterns(&m->user);
	free_patterns(&m->group);
	free_patterns(&m->port);
	*m = (struct sshd_match){ 0 };
}
