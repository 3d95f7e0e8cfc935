/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/match: which accounts sshd's Match blocks cannot tell apart, so
 * that one question to sshd does for all of them.
 */
#ifndef CLI_SSHD_CONFIG_MATCH_H
#define CLI_SSHD_CONFIG_MATCH_H

#include "host/accounts.h"

/* Single patterns, without the "!" before them. */
struct sshd_patterns {
	char **v;
	size_t n;
};

/* All that Match lines ask of an account. Zeroes are an empty one. */
struct sshd_match {
	struct sshd_patterns user, group;
	struct sshd_patterns port; /* the ports of LocalPort */
	bool unknown;		   /* they ask for something else, too */
};

/*
 * Cuts the next criterion off a Match line's value, and its argument: NULL if
 * it takes none, or lacks it. False at the end.
 */
bool sshd_match_next(char **sp, const char **criterionp,
    const char **argumentp);
/* Whether it asks for something else than who logs in. */
bool sshd_match_is_origin(const char *criterion);
/* Takes a criterion in; an argument that it should have may be NULL. */
void sshd_match_add(struct sshd_match *m, const char *criterion,
    const char *argument);

/*
 * Returns an array, to be freed: for each account the first one that no Match
 * line tells from it. Where Match lines ask for something that is not known
 * here, each account is the first. NULL without memory.
 */
size_t *sshd_match_alike(const struct accounts *accounts,
    const struct sshd_match *match);

/* sshd's patterns know * and ? (match.c:match_pattern). */
bool sshd_match_pattern(const char *name, const char *pattern);

void sshd_match_free(struct sshd_match *m);

#endif
