/* SPDX-License-Identifier: ISC */
#include "base/texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/room.h"

bool
texts_has(const struct texts *t, const char *text)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i], text) == 0)
			return true;
	return false;
}

bool
texts_add(struct texts *t, const char *text)
{
	if (!room_for_one(&t->v, t->n, sizeof(char *)) ||
	    (t->v[t->n] = strdup(text)) == NULL)
		return false;
	t->n++;
	return true;
}

bool
texts_add_new(struct texts *t, const char *text)
{
	return texts_has(t, text) || texts_add(t, text);
}

void
texts_free(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i]);
	free(t->v);
	*t = (struct texts){ .n = 0 };
}
