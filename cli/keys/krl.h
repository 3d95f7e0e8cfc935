/* SPDX-License-Identifier: ISC */
/*
 * keys/krl: what a KRL of OpenSSH revokes (PROTOCOL.krl), as far as it is keys
 * or fingerprints of keys.
 */
#ifndef CLI_KEYS_KRL_H
#define CLI_KEYS_KRL_H

#include <stdbool.h>
#include <stdint.h>

#include "kv_fingerprint.h"

/* sshd reads no KRL of more bytes (SSHBUF_SIZE_MAX). */
#define KRL_MAX_BYTES ((size_t)128 * 1024 * 1024)

/* A KRL begins with these bytes: KRL_MAGIC of krl.h in OpenSSH. */
#define KRL_MAGIC "SSHKRL\n\0"
#define KRL_MAGIC_BYTES (sizeof(KRL_MAGIC) - 1)

/* What a KRL revokes that is no key and no SHA-256 of one. */
enum krl_left_out {
	KRL_CERTIFICATES = 1, /* by serial number or key ID */
	KRL_SHA1 = 2,
	KRL_OTHER = 4,
};

/* The sentences about left_out, up to a NULL. */
#define KRL_REASONS 4
void krl_reasons(uint64_t left_out, const char *reason[static KRL_REASONS]);

struct krl_sink {
	void (*key)(struct kv_span blob, void *arg);
	void (*sha256)(const uint8_t digest[static KV_SHA256_BYTES], void *arg);
	void *arg;
};

/*
 * Passes each key and each SHA-256 of a KRL to the sink, and sets *left_outp to
 * what else it revokes. False if the KRL is not whole: then the sink gets
 * nothing. Signatures are not verified: sshd refuses a signed KRL.
 */
bool krl_read(struct kv_span krl, const struct krl_sink *sink,
    uint64_t *left_outp);

#endif
