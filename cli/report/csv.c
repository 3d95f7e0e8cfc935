/* SPDX-License-Identifier: ISC */
/*
 * keyveto report --csv: a row for each finding (RFC 4180).
 *
 * Spreadsheets take a cell that begins with = + - @ for a formula, also behind
 * blanks, and in full width. A formula can send what is in other cells
 * elsewhere, and comments of keys come from anybody. So an apostrophe is put
 * before such a character, as OWASP advises: the cell is then text. Every cell
 * is quoted, and clean_text has left no tab and no line end in it. Where the
 * list separator is a semicolon, a spreadsheet also begins a cell behind one
 * inside of a quoted cell, so such a character behind one gets an apostrophe,
 * too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "report/forms.h"

/* How many bytes of text begin a formula; 0: they do not. */
static bool
begins_formula(const char *text)
{
	static const char *const wide[] = { "\xef\xbc\x9d", "\xef\xbc\x8b",
		"\xef\xbc\x8d", "\xef\xbc\xa0" };

	for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (strncmp(text, wide[i], strlen(wide[i])) == 0)
			return true;
	return *text != '\0' && strchr("=+-@", *text) != NULL;
}

/* Blanks and quotes, which do not keep a formula from being one. */
static bool
is_passed_over(char c)
{
	return c == ' ' || c == '"' || c == '\'';
}

static void
print_cell(const char *text)
{
	bool first = true; /* of a cell */

	putchar('"');
	for (; text != NULL && *text != '\0'; text++) {
		if (first && begins_formula(text))
			putchar('\'');
		first = *text == ';' || (first && is_passed_over(*text));
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

static void
print_number(int64_t n)
{
	if (n == FLEET_UNKNOWN)
		fputs("\"\"", stdout);
	else
		printf("\"%" PRId64 "\"", n);
}

static bool
print_row(const struct fleet_row *row, void *arg)
{
	char when[REPORT_TIME_BYTES] = "";
	const char *const text[] = { row->host, row->account, row->file };
	const char *const more[] = { row->verdict, row->sources, row->part,
		row->comment };

	(void)arg;
	if (row->last != FLEET_UNKNOWN)
		(void)report_time(row->last, when);
	print_cell(fleet_kind_name(row->kind));
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++) {
		putchar(',');
		print_cell(text[i]);
	}
	putchar(',');
	print_number(row->line > 0 ? row->line : FLEET_UNKNOWN);
	putchar(',');
	print_cell(row->fp);
	putchar(',');
	print_cell(row->type);
	putchar(',');
	print_number(row->bits);
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		putchar(',');
		print_cell(more[i]);
	}
	putchar(',');
	print_number(row->accounts);
	putchar(',');
	print_number(row->hosts);
	putchar(',');
	print_cell(when);
	putchar(',');
	print_cell(row->from);
	putchar(',');
	print_cell(row->message);
	fputs("\r\n", stdout);
	return !ferror(stdout);
}

bool
report_csv(struct fleet *f)
{
	bool ok = true;

	fputs("finding,host,account,file,line,fingerprint,type,bits,verdict,"
	      "sources,part,comment,accounts,hosts,last_login,login_from,"
	      "message\r\n",
	    stdout);
	for (enum fleet_kind kind = 0; ok && kind < FLEET_KINDS; kind++)
		ok = fleet_each(f, kind, print_row, NULL);
	return cli_stdout_ok() && ok;
}
