/* SPDX-License-Identifier: ISC */
/*
 * sshd/plan: which lines put keyveto into a configuration, and where they go.
 */
#ifndef CLI_SSHD_PLAN_H
#define CLI_SSHD_PLAN_H

#include "sshd/sshd.h"

struct sshd_plan {
	bool guard, pam;    /* what there is to do; enable says what for */
	bool pam_alone;	    /* the module does the work without a guard */
	bool foreign_guard; /* a guard is there, by a line not keyveto's */
	bool connection;    /* this sshd has %C */
	bool changes_order; /* TrustedUserCAKeys would come before the files */
	/* Why the guard would not take away only; "" if it would. */
	char unfit[SSHD_WHY_BYTES + 256];
	bool pam_there; /* the module is, by a line not keyveto's */
	/* Why the module's line would change PAM's own answer; "" if not. */
	char pam_unfit[SSHD_WHY_BYTES];
	bool takes_files;    /* the guard hands out the accounts' files */
	bool strictmodes_no; /* sshd's StrictModes is no */
	char files[SSHD_VALUE_BYTES]; /* sshd's AuthorizedKeysFile */
	/* The users that the guard runs as; "" for none. */
	char command_user[SSHD_VALUE_BYTES];
	char principals_user[SSHD_VALUE_BYTES];
	const char *place; /* of sshd's lines: a path */
	char service[SSHD_VALUE_BYTES];
};

/*
 * Fills in the next of each file in p, from what sshd says of its base. False
 * after a message that says what is in the way. plan->guard and plan->pam say
 * what is wanted; what needs no lines is told, and they become false.
 */
bool sshd_plan_make(const struct sshd_options *o, struct sshd_present *p,
    const struct accounts *accounts, struct sshd_plan *plan);

/*
 * Whether sshd takes the lines as they are meant: next is what it says of the
 * configuration with them. False after a message.
 */
bool sshd_plan_holds(const struct sshd_plan *plan, const struct sshd_tree *t,
    const char *base, const char *next);

/*
 * Tells of each Match block that sets again what the guard goes by. Returns
 * their number.
 */
size_t sshd_plan_tell_matches(const char *root, const struct sshd_tree *t);

/*
 * Tells of each Match block for groups, below another root, that sets what
 * counts here: sshd asks the groups of this machine about it. Returns their
 * number.
 */
size_t sshd_plan_tell_groups(const struct sshd_options *o,
    const struct sshd_tree *t);

#endif
