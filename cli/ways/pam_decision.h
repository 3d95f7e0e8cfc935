/* SPDX-License-Identifier: ISC */
/*
 * ways/pam_decision: whether PAM's answer to "open a session" stays what it
 * is when one more line is put first that succeeds (libpam's
 * pam_dispatch.c:_pam_dispatch_aux).
 */
#ifndef CLI_WAYS_PAM_DECISION_H
#define CLI_WAYS_PAM_DECISION_H

#include "ways/pam_stack.h"

enum pam_decision {
	/* There is no session line: PAM uses /etc/pam.d/other for sessions. */
	PAM_DECISION_OTHER,
	/* A line that succeeds may be the only one that decides. */
	PAM_DECISION_OPEN,
	/* Whatever the modules answer, a line of the stack itself decides. */
	PAM_DECISION_SURE,
};

/*
 * Judges the session lines as if those of the module apart were not there; it
 * is a file's name.
 */
enum pam_decision pam_decision_judge(const struct pam_stack *s,
    const char *apart);

#endif
