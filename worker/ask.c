/* SPDX-License-Identifier: ISC */
#include "ask.h"

#include <stdio.h>
#include <unistd.h>

#include "wall/orders.h"
#include "wall/packet.h"

static struct record_out question = { .fd = -1 };
static struct orders answers = { .socket = STDIN_FILENO };

void
ask_failed(void)
{
	_exit(WORKING_BROKEN);
}

struct record_out *
ask_begin(enum working_question tag)
{
	record_clear(&question);
	record_begin(&question, (uint8_t)tag);
	return &question;
}

void
ask_tell(void)
{
	record_end(&question);
	/* The front prints what was printed before it does something. */
	fflush(stdout);
	if (!packet_send(STDIN_FILENO, question.buf, question.len, NULL, 0, 0))
		ask_failed();
}

uint8_t
ask_receive(struct kv_bytes *b, int *fdp)
{
	uint8_t tag;

	if (!orders_next(&answers, &tag, b))
		ask_failed();
	if (fdp != NULL)
		*fdp = orders_next_descriptor(&answers);
	return tag;
}

int
ask_next_descriptor(void)
{
	return orders_next_descriptor(&answers);
}

uint8_t
ask_for_any(struct kv_bytes *b, int *fdp)
{
	ask_tell();
	return ask_receive(b, fdp);
}

int
ask(struct kv_bytes *b, int *fdp)
{
	uint64_t error;

	if (ask_for_any(b, fdp) != WORKING_ANSWER ||
	    !record_get_number(b, &error))
		ask_failed();
	return (int)error;
}
