/* SPDX-License-Identifier: ISC */
/*
 * ways/pam_decision: whether a line that is put first and succeeds changes
 * PAM's answer to "open a session" (libpam's pam_dispatch.c:_pam_dispatch_aux).
 */
#ifndef CLI_WAYS_PAM_DECISION_H
#define CLI_WAYS_PAM_DECISION_H

#include "ways/pam_stack.h"

enum pam_decision {
	/* There is no session line: PAM uses /etc/pam.d/other for sessions. */
	PAM_DECISION_OTHER,
	/* A line that succeeds may be the only one that decides. */
	PAM_DECISION_OPEN,
	/* A line of the stack decides, whatever the modules return. */
	PAM_DECISION_SURE,
};

/*
 * Judges the session lines of s without those of the module apart, which is a
 * file name such as "pam_keyveto.so".
 */
enum pam_decision pam_decision_judge(const struct pam_stack *s,
    const char *apart);

#endif
