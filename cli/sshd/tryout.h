/* SPDX-License-Identifier: ISC */
/*
 * sshd/tryout: runs the guard and the module as sshd and PAM run them, with the
 * keyveto.conf that is to be, before that is written. A guard that cannot be
 * executed, or a module that cannot be loaded, is a lock-out.
 */
#ifndef CLI_SSHD_TRYOUT_H
#define CLI_SSHD_TRYOUT_H

#include "host/accounts.h"
#include "sshd/sshd.h"

struct sshd_tryout {
	char folder[48]; /* holds config; "" for none */
	char config[80];
	/* A key that nobody has, and no list knows, as sshd names it. */
	char type[32], key[128];
	char fingerprint[KV_FINGERPRINT_BYTES];
	unsigned int timeout; /* seconds for each program */
};

/*
 * Writes a copy of that keyveto.conf, and makes the key. False after a message.
 * Ended by sshd_tryout_close in any case.
 */
bool sshd_tryout_open(struct sshd_tryout *t, const struct sshd_options *o,
    const char *config, size_t len);
void sshd_tryout_close(struct sshd_tryout *t);

/* What a command printed, and how it ended. */
struct sshd_output {
	uint8_t digest[32]; /* SHA-256 of standard output */
	int status;	    /* as waitpid(2) has it */
};

/*
 * Runs what AuthorizedKeysCommand says for a login to an account, by the rules
 * of auth2-pubkey.c:user_key_command_allowed2; the guard reads the copy of
 * keyveto.conf. user is AuthorizedKeysCommandUser. False with a sentence in why
 * if the program did not run to its end.
 */
bool sshd_tryout_command(const struct sshd_tryout *t, const char *command,
    const char *user, const struct account *account, struct sshd_output *out,
    char *why, size_t cap);

/* Opens a session by a stack of the module's line alone. False after a message. */
bool sshd_tryout_module(const struct sshd_tryout *t);

#endif
