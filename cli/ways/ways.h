/* SPDX-License-Identifier: ISC */
/*
 * ways: which ways in an account has, by what sshd -T says of it, and whether
 * the guard or the PAM module judges the keys on each. keyveto sshd status
 * prints the answer, keyveto doctor makes findings of it, and keyveto sshd
 * enable asserts it.
 */
#ifndef CLI_WAYS_WAYS_H
#define CLI_WAYS_WAYS_H

#include <stdbool.h>

#include "sshd_config/sshd_config.h"
#include "sshd_config/tree.h"

enum way {
	WAY_FILES = 0, /* a key in AuthorizedKeysFile */
	WAY_COMMAND,   /* a key that AuthorizedKeysCommand prints */
	WAY_CA_LINE,   /* a certificate, by a cert-authority line */
	WAY_USER_CA,   /* a certificate, by TrustedUserCAKeys */
	WAY_HOSTBASED,
	WAYS,
};

struct ways {
	bool open[WAYS];
	/* The guard judges before sshd accepts the key; if the way is open. */
	bool guard[WAYS];
	bool pam[WAYS]; /* the module judges once sshd has accepted it */
};

/* What sshd -T does not tell. */
struct ways_context {
	bool pam;	     /* the module judges in sshd's PAM service */
	bool keys_elsewhere; /* other clients may come by key, at least */
};

/* The ways in of an account with these settings. */
void ways_read(const struct sshd_settings *s, const struct ways_context *c,
    struct ways *w);

/* Whether the way is closed, or somebody judges the keys on it. */
bool ways_is_guarded(const struct ways *w, enum way way);

/* As in the table that keyveto sshd status prints. */
const char *ways_name(enum way way);

/*
 * Whether a line of a Match block, where the block holds, opens a way in that
 * the guard does not see. user_ca is what ways_any_user_ca says.
 */
bool ways_line_opens(const char *keyword, const char *value, bool user_ca);

/* Whether TrustedUserCAKeys is set anywhere, in a Match block too. */
bool ways_any_user_ca(const struct sshd_tree *t);

/* The way in that such a line is about. */
enum way ways_of_keyword(const char *keyword);

#endif
