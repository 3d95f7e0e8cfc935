/* SPDX-License-Identifier: ISC */
/* audit/table: what was found, a row for each account. */
#ifndef CLI_AUDIT_TABLE_H
#define CLI_AUDIT_TABLE_H

#include "output/report.h"

struct audit_row {
	const char *what;    /* "account", "host keys", "user CA keys" */
	const char *account; /* its name, for an account */
	struct report found; /* the totals of it alone */
};

/* Zeroes are an empty table. */
struct audit_table {
	struct audit_row *row;
	size_t n, cap;
};

/*
 * Adds what r counted since before was copied from it, unless that is neither
 * a key nor a problem. False without memory. The strings stay the caller's.
 */
bool audit_table_add(struct audit_table *t, const char *what,
    const char *account, const struct report *before, const struct report *r);

/* For people. */
void audit_table_print(const struct audit_table *t, FILE *out);
/*
 * For programs, an object a line: summary (true), what, account (or null),
 * files, keys, listed, allowed, clean, unsupported, problems.
 */
void audit_table_print_json(const struct audit_table *t, FILE *out);

void audit_table_free(struct audit_table *t);

#endif
