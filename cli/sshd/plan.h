/* SPDX-License-Identifier: ISC */
/*
 * sshd/plan: which lines put keyveto into sshd's, PAM's and keyveto's files,
 * and where they go.
 */
#ifndef CLI_SSHD_PLAN_H
#define CLI_SSHD_PLAN_H

#include "sshd/base.h"

struct sshd_plan {
	bool guard, pam;    /* write lines for the guard, for the module */
	bool module;	    /* the module will be on, by whoever's line */
	bool pam_alone;	    /* the module works without a guard */
	bool foreign_guard; /* a line that is not keyveto's sets the guard */
	bool connection;    /* this sshd has the token %C */
	bool no_verdict;    /* and with --warn, nobody needs one */
	bool names_lists;   /* keyveto.conf gets lines for lists: it has none */
	bool lets_in;	    /* listed keys, as was noted */
	/* Why the guard would change more than who is refused; "" if not. */
	char unfit[SSHD_WHY_BYTES + 256];
	bool pam_there; /* a line that is not keyveto's has the module */
	/* Why the module could let in somebody whom PAM refuses now, or "". */
	char pam_unfit[SSHD_WHY_BYTES];
	bool takes_files; /* the guard prints the accounts' files */
	/* The users that the guard runs as; "" if keyveto sets none. */
	const char *command_user, *principals_user;
	const char *place;     /* the path of the file that has sshd's lines */
	struct sshd_copy next; /* the configuration with these lines */
};

/*
 * Fills in next of the files and of the plan, by sshd's settings without
 * keyveto's lines. The caller sets plan->guard and plan->pam to what is wanted,
 * plan->no_verdict, and the rest to zeroes; they become false, after a note, if no line is needed
 * or possible. False after a message. Always call sshd_copy_close for
 * plan->next.
 */
bool sshd_plan_make(struct sshd_plan *plan, const struct sshd_options *o,
    const struct sshd_base *base, struct sshd_files *files,
    const struct accounts *accounts);

/*
 * Whether each account that the guard runs as, and root, gets a verdict by
 * keyveto.conf as it is (by the defaults, before it is made), or with no_verdict,
 * goes by its OnError allow. False after a message.
 */
bool sshd_plan_reads_config(const struct sshd_plan *plan,
    const struct sshd_files *files, const struct accounts *accounts);

/*
 * Whether the planned lines take effect in sshd. base and next are sshd's
 * settings without and with them. False after a message.
 */
bool sshd_plan_holds(const struct sshd_plan *plan,
    const struct sshd_settings *base, const struct sshd_settings *next);

#endif
