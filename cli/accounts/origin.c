/* SPDX-License-Identifier: ISC */
#include "accounts/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* For which logins of the account the line counts. */
static enum sshd_match_answer
judge_line(const struct sshd_tree *t, const struct sshd_line *l,
    const char *account, const struct texts *groups)
{
	enum sshd_match_answer all = SSHD_MATCH_ALWAYS;

	for (size_t match = l->match; match != 0;
	     match = t->line[match - 1].match) {
		enum sshd_match_answer one =
		    sshd_match_judge(t->line[match - 1].value, account, groups);

		all = one < all ? one : all;
	}
	return all;
}

/* Adds a line to v if it counts. */
static void
add_value(struct origin_values *v, size_t line, enum sshd_match_answer counts)
{
	if (counts == SSHD_MATCH_NEVER)
		return;
	v->by_origin |= counts == SSHD_MATCH_PERHAPS;
	if (v->n < ORIGIN_VALUES_MAX)
		v->line[v->n++] = line;
	else
		v->too_many = true;
}

bool
origin_find(struct origin *o, const struct sshd_overview *overview,
    const struct account *account)
{
	const struct sshd_tree *t = &overview->tree;
	struct {
		const char *keyword;
		struct origin_values *values;
		bool over; /* sshd uses no later line, and no global one */
	} source[] = {
		{ "AuthorizedKeysFile", &o->files, false },
		{ "AuthorizedKeysCommand", &o->command, false },
		{ "TrustedUserCAKeys", &o->user_ca, false },
	};
	const size_t n_sources = sizeof(source) / sizeof(source[0]);
	struct texts groups = { .n = 0 };
	bool ok = overview->match.group.n == 0 ||
	    sshd_groups_find(&groups, account);

	*o = (struct origin){ .files = { .n = 0 } };
	for (size_t i = 0; ok && i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		enum sshd_match_answer counts;

		if (l->match == 0)
			continue;
		for (size_t k = 0; k < n_sources; k++) {
			if (strcasecmp(l->keyword, source[k].keyword) != 0 ||
			    source[k].over)
				continue;
			counts = judge_line(t, l, account->name, &groups);
			add_value(source[k].values, i + 1, counts);
			source[k].over = counts == SSHD_MATCH_ALWAYS;
		}
	}
	for (size_t k = 0; k < n_sources; k++)
		if (!source[k].over)
			add_value(source[k].values, 0, SSHD_MATCH_ALWAYS);
	texts_free(&groups);
	return ok;
}

static void
print_values(FILE *out, const struct origin_values *v)
{
	for (size_t i = 0; v->by_origin && i < v->n; i++)
		fprintf(out, " %zu", v->line[i]);
	putc(';', out);
}

char *
origin_name(const struct origin *o)
{
	char *name = NULL;
	size_t len;
	FILE *out = open_memstream(&name, &len);

	if (out == NULL)
		return NULL;
	print_values(out, &o->files);
	print_values(out, &o->command);
	print_values(out, &o->user_ca);
	if (fclose(out) == 0)
		return name;
	free(name);
	return NULL;
}
