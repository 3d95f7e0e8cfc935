/* SPDX-License-Identifier: ISC */
/*
 * log_lines/outcome: whether a message of sshd's tells that a login came in, or
 * that PAM refused it. OpenSSH writes in auth-pam.c and auth2.c:
 *   error: PAM: pam_open_session(): Permission denied
 *   error: PAM: Authentication failure for USER from ADDRESS
 *   fatal: Access denied for user USER by PAM account configuration
 * and pam_keyveto, where it ends the connection itself:
 *   pam_keyveto(sshd:session): verdict=... action=deny ... disconnected=yes
 */
#ifndef CLI_LOG_LINES_OUTCOME_H
#define CLI_LOG_LINES_OUTCOME_H

#include <stdbool.h>

enum outcome_says {
	OUTCOME_NOTHING,
	OUTCOME_IN,
	OUTCOME_NOT_YET, /* of a method that the client may try once more */
	OUTCOME_REFUSED,
};

enum outcome_says outcome_parse(const char *message);

/* Whether outcome_parse makes something of a message with this in it. */
bool outcome_may_be(const char *text);

#endif
