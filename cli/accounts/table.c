/* SPDX-License-Identifier: ISC */
#include "accounts/table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json_text.h"
#include "base/room.h"

#define NAME_COLUMNS_MIN 20

bool
audit_table_add(struct audit_table *t, const char *what, const char *account,
    const struct report *before, const struct report *r)
{
	struct audit_row *row;
	struct report *f;

	if (r->keys == before->keys && r->problems == before->problems &&
	    r->unsupported == before->unsupported)
		return true;
	if (!room_for_one(&t->row, t->n, sizeof(*row)))
		return false;
	row = &t->row[t->n++];
	*row = (struct audit_row){ .what = what, .account = account };
	f = &row->found;
	f->files = r->files - before->files;
	f->keys = r->keys - before->keys;
	f->listed = r->listed - before->listed;
	f->allowed = r->allowed - before->allowed;
	f->clean = r->clean - before->clean;
	f->unsupported = r->unsupported - before->unsupported;
	f->problems = r->problems - before->problems;
	f->usable = r->usable - before->usable;
	return true;
}

static size_t
shown_columns(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += *s < 0x20 || *s > 0x7e ? 4 : 1;
	return n;
}

static void
print_name(const char *name, size_t columns)
{
	cli_printf(stdout, "%s", name);
	for (size_t n = shown_columns(name); n < columns; n++)
		putchar(' ');
}

void
audit_table_move(const struct weak_found *f, enum kv_verdict verdict,
    void *table)
{
	struct audit_table *t = table;

	if (f->place.row < t->n)
		report_move(&t->row[f->place.row].found, f, verdict);
}

void
audit_table_print(const struct audit_table *t)
{
	size_t columns = NAME_COLUMNS_MIN;
	char what[NAME_COLUMNS_MIN];

	if (t->n == 0)
		return;
	for (size_t i = 0; i < t->n; i++) {
		const char *name = t->row[i].account;

		if (name != NULL && shown_columns(name) > columns)
			columns = shown_columns(name);
	}
	putchar('\n');
	print_name("account", columns);
	puts("   files    keys  listed allowed unknown problems");
	for (size_t i = 0; i < t->n; i++) {
		const struct audit_row *row = &t->row[i];
		const struct report *f = &row->found;

		snprintf(what, sizeof(what), "(%s)", row->what);
		print_name(row->account != NULL ? row->account : what, columns);
		printf("%8" PRIu64 "%8" PRIu64 "%8" PRIu64 "%8" PRIu64
		       "%8" PRIu64 "%9" PRIu64 "\n",
		    f->files, f->keys, f->listed, f->allowed, f->unsupported,
		    f->problems);
	}
}

void
audit_table_print_json(const struct audit_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct audit_row *row = &t->row[i];
		const struct report *f = &row->found;
		json_t *o = json_pack("{sb ss so sI sI sI sI sI sI sI sI}",
		    "summary", 1, "what", row->what, "account",
		    json_text(row->account), "files", (json_int_t)f->files,
		    "keys", (json_int_t)f->keys, "listed",
		    (json_int_t)f->listed, "allowed", (json_int_t)f->allowed,
		    "clean", (json_int_t)f->clean, "unsupported",
		    (json_int_t)f->unsupported, "problems",
		    (json_int_t)f->problems, "usable", (json_int_t)f->usable);

		if (json_dumpf(o, stdout, JSON_COMPACT) == 0)
			putchar('\n');
		json_decref(o);
	}
}

void
audit_table_free(struct audit_table *t)
{
	free(t->row);
	*t = (struct audit_table){ 0 };
}
