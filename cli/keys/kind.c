/* SPDX-License-Identifier: ISC */
#include "keys/kind.h"

#include <stdlib.h>

/* So many lines without a key do not stand in a file of keys. */
#define EMPTY_MAX 10000

/* A line that holds nothing like a key. */
struct kind_empty {
	uint64_t line;
	enum kv_err reason;
};

void
kind_decide(struct kind *k, enum kind_is is, struct found *f)
{
	if (k->is != KIND_UNKNOWN)
		return;
	k->is = is;
	for (size_t i = 0; is == KIND_LINES && i < k->n_empty; i++)
		found_problem(f, k->empty[i].line,
		    kv_strerror(k->empty[i].reason));
	if (is == KIND_LINES)
		k->n_empty = 0;
}

void
kind_add_block(struct kind *k, struct found *f)
{
	k->has_block = true;
	if (k->n_empty > 0)
		kind_decide(k, KIND_TEXT, f);
}

void
kind_add_empty(struct kind *k, enum kv_err reason, struct found *f)
{
	if (k->empty == NULL)
		k->empty = calloc(EMPTY_MAX, sizeof(*k->empty));
	if (k->empty == NULL || k->n_empty == EMPTY_MAX) {
		kind_decide(k, KIND_TEXT, f);
		return;
	}
	k->empty[k->n_empty++] = (struct kind_empty){ f->line, reason };
	if (k->has_block)
		kind_decide(k, KIND_TEXT, f);
}

void
kind_finish(struct kind *k, struct found *f)
{
	/* Something like a key is there: each line without one is a problem. */
	if (f->n > 0)
		kind_decide(k, KIND_LINES, f);
	else if (k->n_empty == 1)
		found_problem(f, k->empty[0].line,
		    kv_strerror(k->empty[0].reason));
	else if (k->n_empty > 0)
		found_problem(f, 0, "no key in this file");
	free(k->empty);
	*k = (struct kind){ .is = k->is };
}
