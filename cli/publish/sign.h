/* SPDX-License-Identifier: ISC */
/* publish/sign: signs an index with ssh-keygen. */
#ifndef CLI_PUBLISH_SIGN_H
#define CLI_PUBLISH_SIGN_H

#include <stdbool.h>
#include <stddef.h>

#define SIGN_MAX_BYTES (64 * 1024)
#define SIGN_KEY_BYTES 256

struct sign_result {
	char text[SIGN_MAX_BYTES]; /* the armored signature */
	size_t len;
	char key[SIGN_KEY_BYTES]; /* "ED25519 key SHA256:..." */
};

/*
 * Signs len bytes for the namespace keyveto-index with the key in a file: a
 * private one, or a public one whose private half the agent has. ssh-keygen may
 * ask for a passphrase or a touch. The signature is verified before it is
 * returned. False after a message.
 */
bool sign_index(const char *key, const char *text, size_t len,
    struct sign_result *result);

/*
 * Whether a signature of what text holds is good, and by the key of a result of
 * sign_index. False without a message, too; shown is for messages.
 */
bool sign_was_by(const char *key, const char *shown, int text, int signature);

#endif
