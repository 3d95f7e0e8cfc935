/* SPDX-License-Identifier: ISC */
/* The task "proof": whether a file is a proof by the key with an SPKI. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "proof/jws.h"
#include "tasks.h"

/* Whether it is a page of HTML or XML. */
static bool
is_page(const char *text, size_t len)
{
	const size_t blanks = strspn(text, " \t\r\n\xef\xbb\xbf");

	return blanks < len && text[blanks] == '<';
}

static void
judge(const char *text, size_t len, struct kv_span spki, struct answer *a)
{
	const struct kv_span all = { (const uint8_t *)text, len };

	if (spki.len == 0)
		a->kind = is_page(text, len) ? ANSWER_PAGE : ANSWER_OTHER;
	else if (jws_verify(all, spki, a->why))
		a->kind = ANSWER_PROOF;
}

/* Takes the SPKI. */
bool
task_proof(struct task_work *t)
{
	/* A byte more than a proof has, and a NUL. */
	static char text[JWS_MAX_BYTES + 2];
	struct answer a = { .kind = ANSWER_OTHER };
	struct kv_span spki;
	ssize_t len = -1;

	if (!record_get_all(&t->args, R_SPAN(spki)))
		return false;
	if (lseek(t->fd[0], 0, SEEK_SET) != -1)
		len = io_read(t->fd[0], text, sizeof(text) - 1);
	if (len == -1)
		return false;
	if (len > JWS_MAX_BYTES)
		snprintf(a.why, sizeof(a.why), "longer than any proof");
	else
		judge(text, (size_t)len, spki, &a);
	return task_tell(ANSWER_FIELDS(&a));
}
