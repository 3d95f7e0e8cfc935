/* SPDX-License-Identifier: ISC */
/* sessions/table: prints the sessions, as a table or as JSON. */
#ifndef CLI_SESSIONS_TABLE_H
#define CLI_SESSIONS_TABLE_H

#include "sessions/session.h"

struct session_table {
	bool json;
	bool judged; /* the keys have verdicts */
	bool hits;   /* only what is listed or named, or not checked */
};

/*
 * Prints a row for each key of a session, and one for a session of which it
 * cannot be told how it came in. False after a message.
 */
bool session_table_print(const struct session_table *t,
    const struct sessions *s);

/* "ACCOUNT from ADDRESS, process N". */
void session_print_name(FILE *out, const struct session *s);

#endif
