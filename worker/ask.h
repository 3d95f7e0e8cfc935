/* SPDX-License-Identifier: ISC */
/* ask: asks the front for what this process may not do (wire/working.h). */
#ifndef WORKER_ASK_H
#define WORKER_ASK_H

#include "base/record.h"
#include "wire/working.h"

/* Starts a question. Adds to it by record_add_..., and finish it by an ask_. */
struct record_out *ask_begin(enum working_question question);

/* Sends it, and waits for no answer. */
void ask_tell(void);

/*
 * Sends it, and waits for the answer. Returns its errno, or 0; *b is the rest of
 * it, until the next question. *fdp is its descriptor, or -1; NULL: none is
 * expected. If the front has ended, so does this process.
 */
int ask(struct kv_bytes *b, int *fdp);

/* Sends it, and waits for a packet of any kind. Returns its tag. */
uint8_t ask_for_any(struct kv_bytes *b, int *fdp);

/* Ends the process: the front says what it never says. */
_Noreturn void ask_failed(void);

/* Takes the next packet of the front's. */
uint8_t ask_receive(struct kv_bytes *b, int *fdp);

/* The next descriptor of the packet that was taken last; -1: none is left. */
int ask_next_descriptor(void);

#endif
