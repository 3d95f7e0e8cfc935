/* SPDX-License-Identifier: ISC */
/*
 * scan/kex: the first thing an SSH server says, the algorithms it offers
 * (SSH_MSG_KEXINIT, RFC 4253 section 7.1). libssh keeps that to itself.
 */
#ifndef CLI_SCAN_KEX_H
#define CLI_SCAN_KEX_H

#include <stdbool.h>
#include <stddef.h>

/* What a client may know; who takes these passes over names it does not. */
#define SCAN_KEX "curve25519-sha256,curve25519-sha256@libssh.org," \
	"ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521," \
	"diffie-hellman-group18-sha512,diffie-hellman-group16-sha512," \
	"diffie-hellman-group-exchange-sha256,diffie-hellman-group14-sha256," \
	"diffie-hellman-group14-sha1,diffie-hellman-group-exchange-sha1," \
	"diffie-hellman-group1-sha1"
#define SCAN_HOST_KEYS "ssh-ed25519,ecdsa-sha2-nistp256," \
	"ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256," \
	"ssh-rsa,ssh-dss"
#define SCAN_CIPHERS "chacha20-poly1305@openssh.com," \
	"aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr," \
	"aes192-ctr,aes128-ctr,aes256-cbc,aes192-cbc,aes128-cbc,3des-cbc"
#define SCAN_MACS "hmac-sha2-256-etm@openssh.com," \
	"hmac-sha2-512-etm@openssh.com,hmac-sha1-etm@openssh.com," \
	"hmac-sha2-256,hmac-sha2-512,hmac-sha1"

/* The longest packet that is read; servers send one or two KiB. */
#define SCAN_KEX_PACKET_BYTES 65536

/*
 * Says hello on a fresh, blocking connection, and reads the server's host key
 * algorithms, names with commas between them, into list. False with a sentence
 * in why, which may hold untrusted bytes. May take for ever.
 */
bool scan_kex_read(int fd, char list[static SCAN_KEX_PACKET_BYTES],
    char *why, size_t cap);

#endif
