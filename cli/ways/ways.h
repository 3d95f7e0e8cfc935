/* SPDX-License-Identifier: ISC */
/*
 * ways: which ways in an account has, by its settings from sshd -T, and whether
 * the guard or the PAM module judges the keys on each. keyveto status
 * prints the answer and makes findings of it, and keyveto enable notes what
 * stays unguarded.
 */
#ifndef CLI_WAYS_WAYS_H
#define CLI_WAYS_WAYS_H

#include <stdbool.h>

#include "sshd_config/sshd_config.h"
#include "sshd_config/tree.h"
#include "ways/pam_stack.h"

#define WAYS_MODULE "pam_keyveto.so"

/* Where libpam looks for modules. The Makefile sets KV_PAMDIR. */
#ifdef KV_PAMDIR
#define WAYS_MODULE_DIR KV_PAMDIR
#else
#define WAYS_MODULE_DIR "/usr/lib/security"
#endif

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
	/* The guard judges the key first. Only meaningful if open is true. */
	bool guard[WAYS];
	bool pam; /* the module judges after sshd has accepted the key */
};

/* What sshd -T does not show. */
struct ways_context {
	bool pam;	     /* the module judges in sshd's PAM service */
	bool keys_elsewhere; /* a Match block may let other clients use keys */
};

/* Sets *w to the ways in of an account with these settings. */
void ways_read(const struct sshd_settings *s, const struct ways_context *c,
    struct ways *w);

/* Whether the way is closed, or the guard or the module judges its keys. */
bool ways_is_guarded(const struct ways *w, enum way way);

/*
 * Returns the module's first session line, or NULL. *judgesp tells whether the
 * module judges every key. The line must be the first session line of all, so
 * that no other line hides the key; and requisite and in no substack, so that a
 * refusal ends the stack. Nothing else counts as guarded.
 */
const struct pam_line *ways_find_module(const struct pam_stack *s,
    bool *judgesp);

/* The name of a way in the table that keyveto status prints. */
const char *ways_name(enum way way);

/*
 * Whether a line of a Match block opens a way in that bypasses the guard, for
 * those whom the block matches. user_ca is the result of ways_any_user_ca.
 */
bool ways_line_opens(const char *keyword, const char *value, bool user_ca);

/*
 * Whether any line of the tree, also in a Match block, sets TrustedUserCAKeys.
 */
bool ways_any_user_ca(const struct sshd_tree *t);

/* The way in that a keyword is about; WAYS if ways_line_opens ignores it. */
enum way ways_of_keyword(const char *keyword);

#endif
