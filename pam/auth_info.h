/* SPDX-License-Identifier: ISC */
/*
 * auth_info: the text that sshd puts into SSH_AUTH_INFO_0, a line for each
 * method completed: "method[/submethod][ type base64][ info]"
 * (auth2.c:auth2_update_session_info).
 */
#ifndef AUTH_INFO_H
#define AUTH_INFO_H

#include "kv_bytes.h"

/* A key that a login was, or is to be, let in with. */
struct auth_info_key {
	struct kv_span type; /* empty when the line names no key */
	struct kv_span base64;
};

/*
 * Moves *text past the next line whose method proves a key (publickey,
 * hostbased) and sets *key. False when there is none left.
 */
bool auth_info_next_key(struct kv_span *text, struct auth_info_key *key);

#endif
