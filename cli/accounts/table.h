/* SPDX-License-Identifier: ISC */
/* accounts/table: the totals, a row for each account. */
#ifndef CLI_ACCOUNTS_TABLE_H
#define CLI_ACCOUNTS_TABLE_H

#include "reading/report.h"

struct audit_row {
	const char *what;    /* "account", "host keys", "user CA keys" */
	const char *account; /* name of the account, or NULL */
	struct report found; /* its own totals */
};

/* All zeroes: empty. */
struct audit_table {
	struct audit_row *row;
	size_t n;
};

/*
 * Adds a row with what r counted since before was copied from it; no row if it
 * counted neither a key nor a problem. False if out of memory. The strings stay
 * the caller's.
 */
bool audit_table_add(struct audit_table *t, const char *what,
    const char *account, const struct report *before, const struct report *r);

/* Is report_weak's moved, of a table: counts the key in its row. */
void audit_table_move(const struct weak_found *f, enum kv_verdict verdict,
    void *table);

/* Prints the table as text on standard output. */
void audit_table_print(const struct audit_table *t);
/*
 * Prints an object a line: summary (true), what, account (or null), files,
 * keys, listed, allowed, clean, unsupported, problems, usable.
 */
void audit_table_print_json(const struct audit_table *t);

void audit_table_free(struct audit_table *t);

#endif
