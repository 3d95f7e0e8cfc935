/* SPDX-License-Identifier: ISC */
#include "proof/answer.h"

#define FIELDS(a) \
	R_RANGE((a)->kind, ANSWER_UNREAD + 1, ANSWER_PROOF), R_TEXT((a)->why)

void
answer_send(struct record_out *o, const struct answer *a)
{
	record_add(o, FIELDS(a));
}

bool
answer_receive(struct kv_bytes b, struct answer *a)
{
	const bool ok = record_get_all(&b, FIELDS(a));

	if (!ok)
		a->kind = ANSWER_UNREAD;
	return ok;
}
