/* SPDX-License-Identifier: ISC */
/*
 * auth_info: reads the text that sshd puts into SSH_AUTH_INFO_0, with a line
 * for each completed method: "method[/submethod][ type base64][ info]"
 * (auth2.c:auth2_update_session_info).
 */
#ifndef AUTH_INFO_H
#define AUTH_INFO_H

#include "kv_bytes.h"

/* A key that sshd has accepted in this login. The spans point into the text. */
struct auth_info_key {
	struct kv_span type; /* empty if the line names no key */
	struct kv_span base64;
};

/*
 * Moves *text past the next line whose method proves a key (publickey,
 * hostbased) and sets *key. False if there is no such line left.
 */
bool auth_info_next_key(struct kv_span *text, struct auth_info_key *key);

#endif
