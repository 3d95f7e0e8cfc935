/* SPDX-License-Identifier: ISC */
/*
 * ways/asks: does this machine's sshd ask keyveto? A command that says what
 * becomes of a login asks first: before keyveto enable no login is refused.
 */
#ifndef CLI_WAYS_ASKS_H
#define CLI_WAYS_ASKS_H

#include <stdbool.h>

/* The parts of a sentence about logins. */
struct asks {
	bool known;	   /* sshd answered, and says whether */
	bool yes;	   /* it does, if only on some ways in */
	const char *where; /* "", or "where sshd asks keyveto, " */
	const char *when;  /* " from the next login on", or "" */
	const char *note;  /* "", or a sentence of its own: what to type */
};

/*
 * What can be said of logins that go by the keyveto.conf at this path; NULL: by
 * none that sshd could name. sshd is asked about root, and PAM's stack is read.
 * Who is not root cannot ask, and no more does root where no sshd answers.
 */
const struct asks *asks_sshd(const char *config);

/* Prints the note, if there is one, as a line on standard output. */
void asks_print_note(const struct asks *a);

#endif
