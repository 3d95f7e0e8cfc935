/* SPDX-License-Identifier: ISC */
/*
 * proof/answer: what keyveto-worker says of a file that may be a proof, as a
 * record to the command that asked.
 */
#ifndef CLI_PROOF_ANSWER_H
#define CLI_PROOF_ANSWER_H

#include "base/record.h"
#include "proof/key.h"

enum answer_kind {
	ANSWER_UNREAD = 0, /* nothing is known: why is about the worker */
	ANSWER_OTHER,	   /* no proof of this key: why says what is wrong */
	ANSWER_PAGE,	   /* of HTML or XML */
	ANSWER_PROOF,
};

struct answer {
	enum answer_kind kind;
	char why[PROOF_WHY_BYTES];
};

void answer_send(struct record_out *o, const struct answer *a);

/* False, and ANSWER_UNREAD, for anything that answer_send does not add. */
KV_MUST_CHECK bool answer_receive(struct kv_bytes b, struct answer *a);

#endif
