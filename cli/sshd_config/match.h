/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/match: parses sshd's Match lines, and finds the accounts that
 * they cannot tell apart: sshd needs to be asked about one of them only.
 */
#ifndef CLI_SSHD_CONFIG_MATCH_H
#define CLI_SSHD_CONFIG_MATCH_H

#include "base/texts.h"
#include "host/accounts.h"

/*
 * The patterns of all Match lines, without the "!" before them. A struct of
 * zeroes is empty. Call sshd_match_free in the end.
 */
struct sshd_match {
	struct texts user, group;
	struct texts port; /* the ports of LocalPort */
	bool unknown; /* a criterion or an argument could not be understood */
};

/*
 * Adds the criteria of a Match line with this value to m, unless m is NULL.
 * Whether one is about something else than the account, such as Address.
 * Without memory: true, and m->unknown is true.
 */
bool sshd_match_add(struct sshd_match *m, const char *value);

/* For which logins of an account a Match line matches. */
enum sshd_match_answer {
	SSHD_MATCH_NEVER,
	SSHD_MATCH_PERHAPS, /* by origin, or the line could not be understood */
	SSHD_MATCH_ALWAYS,
};

/*
 * Asks libc for the names of an account's groups, as groupaccess.c:ga_init of
 * sshd. libc may read all groups for each account: call it only for a Match
 * Group. False without memory. Call texts_free also then.
 */
bool sshd_groups_find(struct texts *groups, const struct account *account);

/* Judges a Match line with this value. */
enum sshd_match_answer sshd_match_judge(const char *value, const char *account,
    const struct texts *groups);

/*
 * Returns an array that the caller frees: for each account, the index of the
 * first account that no Match line tells from it. If match->unknown is true,
 * that is the account itself. NULL without memory.
 */
size_t *sshd_match_alike(const struct accounts *accounts,
    const struct sshd_match *match);

void sshd_match_free(struct sshd_match *m);

#endif
