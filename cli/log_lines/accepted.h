/* SPDX-License-Identifier: ISC */
/*
 * log_lines/accepted: what sshd's message about a login by key says. OpenSSH
 * writes it in auth.c:auth_log, and escapes it in log.c:do_log, by strnvis(3):
 *   Accepted publickey for USER from ADDRESS port N ssh2: ED25519 SHA256:...
 *   ... ssh2: ED25519-CERT SHA256:... ID TEXT (serial N) CA RSA SHA256:...
 *   ... ssh2: RSA-CERT ID TEXT (serial N) CA RSA SHA256:...        (up to 7.5)
 *   Accepted hostbased for ... SHA256:..., client user "U", client host "H"
 */
#ifndef CLI_LOG_LINES_ACCEPTED_H
#define CLI_LOG_LINES_ACCEPTED_H

#include <stdbool.h>

#include "kv_fingerprint.h"

/* "%.100s" in sshd: a longer name is cut off there. */
#define ACCEPTED_USER_BYTES 101
/* A numeric address, with its scope, or "UNKNOWN". */
#define ACCEPTED_FROM_BYTES 64
#define ACCEPTED_FROM_CHARS \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.:%_-0123456789"

struct accepted {
	char user[ACCEPTED_USER_BYTES];
	char from[ACCEPTED_FROM_BYTES];
	unsigned int port; /* the client's */
	bool hostbased;
	/* "Partial": AuthenticationMethods asked for more than the key. */
	bool partial;
	bool md5; /* a fingerprint is MD5 (FingerprintHash): not read */
	bool has_key, has_ca;
	uint8_t key[KV_SHA256_BYTES]; /* digest; of a certificate its key's */
	uint8_t ca[KV_SHA256_BYTES];  /* digest of the certificate's CA */
};

/*
 * Reads a message of sshd's, without what syslog puts before it. False for any
 * other message. A client chooses the user of a login that failed, an account or
 * a CA the ID of a certificate, and a trusted host its client user: none of
 * these texts can be taken for another login's user, key or CA. Of a message
 * that sshd may have cut off, after 500 bytes, has_ca is false: an ID could end
 * in the name of another CA.
 */
bool accepted_parse(const char *message, struct accepted *a);

/*
 * Reads a message about a login by another method, which has no key:
 *   Accepted keyboard-interactive/pam for USER from ADDRESS port N ssh2
 * A method may add ": " and more.
 */
bool accepted_parse_keyless(const char *message, struct accepted *a);

#endif
