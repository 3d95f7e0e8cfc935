/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/match: parses sshd's Match lines, and finds the accounts that
 * they cannot tell apart: sshd needs to be asked about one of them only.
 */
#ifndef CLI_SSHD_CONFIG_MATCH_H
#define CLI_SSHD_CONFIG_MATCH_H

#include "host/accounts.h"

/* Single patterns, without the "!" before them. */
struct sshd_patterns {
	char **v;
	size_t n;
};

/*
 * The patterns of all Match lines. A struct of zeroes is empty. Call
 * sshd_match_free in the end.
 */
struct sshd_match {
	struct sshd_patterns user, group;
	struct sshd_patterns port; /* the ports of LocalPort */
	bool unknown; /* a criterion or an argument could not be understood */
};

/*
 * Cuts the next criterion and its argument off a Match line's value, which it
 * writes into. *argumentp is NULL if the criterion takes no argument, or lacks
 * it. False at the end.
 */
bool sshd_match_next(char **sp, const char **criterionp,
    const char **argumentp);
/* Whether a criterion is about something else than the account. */
bool sshd_match_is_origin(const char *criterion);
/* Adds a criterion to m. Sets m->unknown without memory. */
void sshd_match_add(struct sshd_match *m, const char *criterion,
    const char *argument);

/*
 * Returns an array that the caller frees: for each account, the index of the
 * first account that no Match line tells from it. If match->unknown is true,
 * that is the account itself. NULL without memory.
 */
size_t *sshd_match_alike(const struct accounts *accounts,
    const struct sshd_match *match);

/* Whether a pattern with * and ? matches, as in match.c:match_pattern. */
bool sshd_match_pattern(const char *name, const char *pattern);

void sshd_match_free(struct sshd_match *m);

#endif
