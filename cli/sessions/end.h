/* SPDX-License-Identifier: ISC */
/* sessions/end: ends a connection, by the process that let it in. */
#ifndef CLI_SESSIONS_END_H
#define CLI_SESSIONS_END_H

#include "sessions/session.h"

/*
 * Ends the session, and waits until it has ended. Sets s->end, and s->still_run.
 * Prints why if that fails.
 */
void session_end(struct session *s);

#endif
