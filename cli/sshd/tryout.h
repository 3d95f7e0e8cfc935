/* SPDX-License-Identifier: ISC */
/*
 * sshd/tryout: runs the guard and the module as sshd and PAM run them, with a
 * copy of the keyveto.conf that enable is about to write. If the guard cannot
 * be executed, or the module cannot be loaded, enabling them locks everybody
 * out.
 */
#ifndef CLI_SSHD_TRYOUT_H
#define CLI_SSHD_TRYOUT_H

#include "host/accounts.h"
#include "host/temporary.h"
#include "sshd/sshd.h"

struct sshd_tryout {
	struct temporary folder;
	char config[80]; /* the path of the copy, in the folder */
	/* A key that nobody has and no filter lists; type and base64. */
	char type[32], key[128];
	char fingerprint[KV_FINGERPRINT_BYTES];
	unsigned int timeout; /* seconds for each program */
};

/*
 * Writes what keyveto.conf will be as a copy, with its owner and mode, and makes
 * the key, which need not be clean unless judged is true. False after a message.
 * Always call sshd_tryout_close, even after a
 * failure.
 */
bool sshd_tryout_open(struct sshd_tryout *t, const struct sshd_options *o,
    const struct sshd_file *config, bool judged);
void sshd_tryout_close(struct sshd_tryout *t);

/* What a command printed, and how it ended. */
struct sshd_output {
	uint8_t digest[32]; /* SHA-256 of standard output */
	int status;	    /* as waitpid(2) sets it */
	bool late;	    /* the program did not end in time */
};

/*
 * Runs command, an AuthorizedKeysCommand, as user, the
 * AuthorizedKeysCommandUser, for a login to account (accounts/ask). If command
 * is the guard, it reads the copy of keyveto.conf. False with a sentence in why if the program could
 * not be run, or did not end in time.
 */
bool sshd_tryout_command(const struct sshd_tryout *t, const char *command,
    const char *user, const struct account *account, struct sshd_output *out,
    char *why, size_t cap);

/*
 * Opens a session with a PAM stack that has only the module's line. False after
 * a message.
 */
bool sshd_tryout_module(const struct sshd_tryout *t);

#endif
