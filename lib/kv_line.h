/* SPDX-License-Identifier: ISC */
/*
 * kv_line: reads one line of an authorized_keys file as sshd does
 * (auth2-pubkeyfile.c:auth_check_authkey_line, sshkey.c:sshkey_read,
 * authfile.c:sshkey_advance_past_options). Lines of known_hosts without a
 * marker, and the output of ssh-keyscan, have the same shape: host names stand
 * in place of options.
 */
#ifndef KV_LINE_H
#define KV_LINE_H

#include "kv_sshkey.h"

/*
 * The longest key blob that is read. sshd accepts no longer packet (packet.c:
 * PACKET_MAX_SIZE), so it knows no longer key. The kernel limits %k to 32 pages
 * of base64: 128 KiB with pages of 4 KiB, 2 MiB with pages of 64 KiB.
 */
#define KV_BLOB_MAX_BYTES (256 * 1024)

struct kv_line {
	bool is_blank;		/* empty or a comment: no other field is set */
	struct kv_span options; /* as written; empty without any */
	struct kv_span type;	/* the token before the base64 */
	struct kv_span base64;	/* the key as written */
	struct kv_span comment;
	struct kv_span blob;  /* the decoded key, in the caller's memory */
	struct kv_sshkey key; /* points into blob */
};

/*
 * Reads a line without its '\n'. A NUL ends the line. blob is the caller's
 * memory for the decoded key, of cap bytes: KV_BLOB_MAX_BYTES suffice for any
 * key that sshd accepts. line->blob and line->key point into blob, the other
 * spans into text.
 *
 * Errors: if there is a key of a known type, what is wrong with that key.
 * KV_ERR_TYPE_UNKNOWN if there is a key of another type: all of line but key is
 * set then. If there is no key, KV_ERR_LINE_NO_KEY, _SSH1 or _QUOTE.
 */
KV_MUST_CHECK enum kv_err kv_line_parse(struct kv_span text, uint8_t *blob,
    size_t cap, struct kv_line *line);

/*
 * Whether name, such as "cert-authority", is one of the options, in any case
 * and outside quotes. An option with a value does not match.
 */
bool kv_line_has_option(struct kv_span options, const char *name);

#endif
