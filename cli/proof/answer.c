/* SPDX-License-Identifier: ISC */
#include "proof/answer.h"

void
answer_send(struct record_out *o, const struct answer *a)
{
	record_add_number(o, a->kind);
	record_add_text(o, a->why);
}

bool
answer_receive(struct kv_bytes b, struct answer *a)
{
	uint64_t kind;
	const bool ok = record_get_number(&b, &kind) && kind > ANSWER_UNREAD &&
	    kind <= ANSWER_PROOF &&
	    record_get_text(&b, a->why, sizeof(a->why)) && b.left == 0;

	a->kind = ok ? (enum answer_kind)kind : ANSWER_UNREAD;
	return ok;
}
