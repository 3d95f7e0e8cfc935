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

#define NUMBER_BYTES 24

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

/* A number as text; "" for an unknown one. */
static const char *
number(int64_t n, char text[static NUMBER_BYTES])
{
	*text = '\0';
	if (n != FLEET_UNKNOWN)
		snprintf(text, NUMBER_BYTES, "%" PRId64, n);
	return text;
}

static bool
print_row(const struct fleet_row *row, void *arg)
{
	char line[NUMBER_BYTES], bits[NUMBER_BYTES], accounts[NUMBER_BYTES];
	char hosts[NUMBER_BYTES], when[REPORT_TIME_BYTES] = "";
	const char *const cells[] = {
		fleet_kind_name(row->kind),
		row->host,
		row->account,
		row->file,
		number(row->line > 0 ? row->line : FLEET_UNKNOWN, line),
		row->fp,
		row->type,
		number(row->bits, bits),
		row->verdict,
		row->sources,
		row->part,
		row->comment,
		number(row->accounts, accounts),
		number(row->hosts, hosts),
		row->last != FLEET_UNKNOWN ? report_time(row->last, when) : "",
		row->from,
		row->message,
		report_yes_or_no(row->guarded),
		fleet_group_name(row->kind),
		row->owner,
		row->team,
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
		if (i > 0)
			putchar(',');
		print_cell(cells[i]);
	}
	fputs("\r\n", stdout);
	return !ferror(stdout);
}

bool
report_csv(struct fleet *f)
{
	bool ok = true;

	fputs(
	    "finding,host,account,file,line,fingerprint,type,bits,verdict,sources,part,comment,accounts,hosts,last_login,login_from,message,guarded,group,owner,team\r\n",
	    stdout);
	for (enum fleet_kind kind = 0; ok && kind < FLEET_KINDS; kind++)
		if (kind != FLEET_KIND_OWNED &&
		    (kind >= FLEET_KIND_NOW_GUARDED) == f->since)
			ok = fleet_each(f, kind, print_row, NULL);
	return cli_stdout_ok() && ok;
}
