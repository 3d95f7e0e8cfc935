/* SPDX-License-Identifier: ISC */
/*
 * kv_line: one line of an authorized_keys file as sshd reads it
 * (auth2-pubkeyfile.c:auth_check_authkey_line, sshkey.c:sshkey_read,
 * authfile.c:sshkey_advance_past_options). Known_hosts lines without a marker
 * and ssh-keyscan output have the same shape, host names in place of options.
 */
#ifndef KV_LINE_H
#define KV_LINE_H

#include "kv_sshkey.h"

/*
 * The longest key blob that is read. sshd takes no longer packet (packet.c:
 * PACKET_MAX_SIZE), so no key that it knows of is longer. In %k the kernel may
 * pass all of it: 128 KiB of base64 where a page has 4 KiB, 2 MiB where it has
 * 64.
 */
#define KV_BLOB_MAX_BYTES (256 * 1024)

struct kv_line {
	bool is_blank;		/* empty or a comment: nothing else is set */
	struct kv_span options; /* as written; empty without any */
	struct kv_span type;	/* the token before the base64 */
	struct kv_span base64;	/* the key as written */
	struct kv_span comment;
	struct kv_span blob;  /* the decoded key, in the caller's memory */
	struct kv_sshkey key; /* points into blob */
};

/*
 * Reads a line without its '\n'. blob is memory for the decoded key, of cap
 * bytes (KV_BLOB_MAX_BYTES suffices for any key sshd takes); line->key points
 * into it. A NUL ends the line.
 *
 * Errors: what is wrong with the key when there is one of a type that we know;
 * KV_ERR_TYPE_UNKNOWN when there is one of another type (line->type and
 * line->blob are set then); else KV_ERR_LINE_NO_KEY, _SSH1 or _QUOTE.
 */
KV_MUST_CHECK enum kv_err kv_line_parse(struct kv_span text, uint8_t *blob,
    size_t cap, struct kv_line *line);

/*
 * Whether the options name one, such as "cert-authority", in any case and
 * outside quotes.
 */
bool kv_line_has_option(struct kv_span options, const char *name);

#endif
