/* SPDX-License-Identifier: ISC */
/* keyveto report without options: text for people. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "report/forms.h"

#define KEYS_SHOWN 20	/* of several accounts; seen nowhere else */
#define PLACES_SHOWN 10 /* of each of them */

/* What a section has printed so far. */
struct section {
	const char *title;
	bool begun;
	char host[256], fp[80]; /* of the row before */
	uint64_t keys, places;
	uint64_t left_out; /* rows */
};

static void
print(const char *text)
{
	if (text != NULL)
		cli_print_safe(stdout, text, strlen(text));
}

/* " text", if there is any. */
static void
print_word(const char *text)
{
	if (text == NULL || *text == '\0')
		return;
	putchar(' ');
	print(text);
}

static void
begin(struct section *s)
{
	if (!s->begun)
		printf("\n%s\n", s->title);
	s->begun = true;
}

/* Prints the host's name, unless the row before was of it. */
static void
begin_host(struct section *s, const struct fleet_row *row)
{
	begin(s);
	if (strcmp(s->host, row->host) == 0 && s->places > 0)
		return;
	snprintf(s->host, sizeof(s->host), "%s", row->host);
	fputs("  ", stdout);
	print(row->host);
	putchar('\n');
}

/* The account, or what a place without one is. */
static void
print_account(const struct fleet_row *row)
{
	if (row->account != NULL)
		print(row->account);
	else
		fputs("(host)", stdout);
}

static void
print_place(const struct fleet_row *row)
{
	print(row->file);
	if (row->line != FLEET_UNKNOWN && row->line > 0)
		printf(":%" PRId64, row->line);
}

static void
print_key(const struct fleet_row *row)
{
	print_word(row->type);
	if (row->bits != FLEET_UNKNOWN)
		printf(" %" PRId64, row->bits);
	print_word(row->fp);
	if (row->sources != NULL && *row->sources != '\0') {
		fputs(" [", stdout);
		print(row->sources);
		putchar(']');
	}
}

/* "; last came in 2026-11-20T08:00:00Z from 192.0.2.7". */
static void
print_login(const struct fleet_row *row)
{
	char when[REPORT_TIME_BYTES];

	if (row->last == FLEET_UNKNOWN)
		return;
	printf("; last came in %s", report_time(row->last, when));
	if (row->from != NULL && *row->from != '\0') {
		fputs(" from ", stdout);
		print(row->from);
	}
}

static bool
print_listed(const struct fleet_row *row, void *section)
{
	struct section *s = section;

	begin_host(s, row);
	s->places++;
	fputs("    ", stdout);
	print_account(row);
	putchar(' ');
	print_place(row);
	putchar(':');
	print_key(row);
	print_word(row->comment);
	if (row->part != NULL && strcmp(row->part, "ca") == 0)
		fputs(" (CA)", stdout);
	print_login(row);
	putchar('\n');
	return true;
}

static bool
print_gone(const struct fleet_row *row, void *section)
{
	struct section *s = section;

	begin_host(s, row);
	s->places++;
	fputs("    ", stdout);
	print_account(row);
	putchar(':');
	print_key(row);
	print_login(row);
	putchar('\n');
	return true;
}

/* Ends a line with a key's host, account, file and comment. */
static void
print_whole_place(const struct fleet_row *row)
{
	print(row->host);
	putchar(' ');
	print_account(row);
	putchar(' ');
	print_place(row);
	print_word(row->comment);
	putchar('\n');
}

/* No one host says what a key of several is. */
static void
print_shared_key(const struct fleet_row *row)
{
	if (!row->disputed) {
		print_key(row);
		return;
	}
	print_word(row->fp);
	fputs(" (audits disagree about it)", stdout);
}

/* Of a key that several accounts have: the key, then its places. */
static bool
print_shared(const struct fleet_row *row, void *section)
{
	struct section *s = section;

	begin(s);
	if (strcmp(s->fp, row->fp) != 0) {
		if (s->keys <= KEYS_SHOWN && s->left_out > 0)
			printf("    and %" PRIu64 " more\n", s->left_out);
		s->left_out = s->places = 0;
		snprintf(s->fp, sizeof(s->fp), "%s", row->fp);
		if (++s->keys <= KEYS_SHOWN) {
			printf("  %s:", row->worst);
			print_shared_key(row);
			printf(": %" PRId64 " accounts on %" PRId64 " %s\n",
			    row->accounts, row->hosts,
			    cli_plural((uint64_t)row->hosts, "host", "hosts"));
		}
	}
	if (s->keys > KEYS_SHOWN)
		return true;
	if (s->places++ >= PLACES_SHOWN) {
		s->left_out++;
		return true;
	}
	fputs("    ", stdout);
	if (strcmp(row->verdict, row->worst) != 0)
		printf("%s there: ", row->verdict);
	print_whole_place(row);
	return true;
}

/* What each host says of a key about which they differ. */
static bool
print_disputed(const struct fleet_row *row, void *section)
{
	struct section *s = section;

	begin(s);
	if (strcmp(s->fp, row->fp) != 0) {
		if (s->keys <= KEYS_SHOWN && s->left_out > 0)
			printf("    and %" PRIu64 " more\n", s->left_out);
		s->left_out = s->places = 0;
		snprintf(s->fp, sizeof(s->fp), "%s", row->fp);
		if (++s->keys <= KEYS_SHOWN)
			printf("  %s\n", row->fp);
	}
	if (s->keys > KEYS_SHOWN)
		return true;
	if (s->places++ >= PLACES_SHOWN) {
		s->left_out++;
		return true;
	}
	fputs("    ", stdout);
	print(row->host);
	putchar(':');
	print_word(row->type);
	printf(" %" PRId64 "\n", row->bits);
	return true;
}

/* A key that one account of one host has. */
static bool
print_unique(const struct fleet_row *row, void *section)
{
	struct section *s = section;

	begin(s);
	if (++s->keys > KEYS_SHOWN)
		return true;
	printf("  %s:", row->worst);
	print_key(row);
	fputs(": ", stdout);
	print_whole_place(row);
	return true;
}

static bool
print_message(const struct fleet_row *row, void *section)
{
	struct section *s = section;

	begin_host(s, row);
	s->places++;
	fputs("    ", stdout);
	if (row->account != NULL) {
		print(row->account);
		fputs(": ", stdout);
	}
	if (row->kind == FLEET_KIND_DOCTOR)
		fputs(row->severe ? "broken: " : "warning: ", stdout);
	if (row->file != NULL && *row->file != '\0') {
		print_place(row);
		fputs(": ", stdout);
	}
	print(row->message);
	putchar('\n');
	return true;
}

/* A line for each host is enough. */
static bool
print_host(const struct fleet_row *row, void *section)
{
	struct section *s = section;

	begin(s);
	fputs("  ", stdout);
	print(row->host);
	if (row->file != NULL && *row->file != '\0') {
		fputs(" (", stdout);
		print(row->file);
		putchar(')');
	}
	if (row->message != NULL && *row->message != '\0') {
		fputs(": ", stdout);
		print(row->message);
	}
	putchar('\n');
	return true;
}

static bool
print_section(struct fleet *f, enum fleet_kind kind, const char *title,
    bool (*row)(const struct fleet_row *row, void *section))
{
	struct section s = { .title = title };

	if (!fleet_each(f, kind, row, &s))
		return false;
	/* Of the last key. */
	if (s.keys <= KEYS_SHOWN && s.left_out > 0)
		printf("    and %" PRIu64 " more\n", s.left_out);
	if (s.keys > KEYS_SHOWN)
		printf("  and %" PRIu64 " more; --csv names them all\n",
		    s.keys - KEYS_SHOWN);
	return true;
}

static void
print_count(int64_t n, const char *what)
{
	if (n > 0)
		printf(", %" PRId64 " %s", n, what);
}

static void
print_totals(const struct fleet_totals *t)
{
	printf("%" PRId64 " %s", t->answered,
	    cli_plural((uint64_t)t->answered, "host audited", "hosts audited"));
	print_count(t->listed_hosts, "with listed keys");
	print_count(t->unanswered, "did not answer");
	print_count(t->missing, "without an audit");
	print_count(t->cut, "cut off");
	print_count(t->old, "with old lists or audits");
	print_count(t->unwell, "whose doctor is unwell");
	printf("\n%" PRId64 " %s", t->keys,
	    cli_plural((uint64_t)t->keys, "key", "keys"));
	printf(", %" PRId64 " listed, in %" PRId64 " %s", t->listed_keys,
	    t->listed_places,
	    cli_plural((uint64_t)t->listed_places, "place", "places"));
	print_count(t->shared, "of several accounts");
	print_count(t->unique, "seen nowhere else");
	putchar('\n');
}

bool
report_text(struct fleet *f, const struct fleet_totals *t)
{
	static const struct {
		enum fleet_kind kind;
		const char *title;
		bool (*row)(const struct fleet_row *row, void *section);
	} sections[] = {
		{ FLEET_KIND_LOCKED, "Accounts whose last key is listed",
		    print_message },
		{ FLEET_KIND_LISTED, "Listed keys", print_listed },
		{ FLEET_KIND_GONE,
		    "Listed keys that came in and are in no file of the account",
		    print_gone },
		{ FLEET_KIND_SHARED, "Keys of several accounts", print_shared },
		{ FLEET_KIND_UNIQUE, "Keys seen nowhere else", print_unique },
		{ FLEET_KIND_DISPUTED, "Keys about which audits disagree",
		    print_disputed },
		{ FLEET_KIND_UNANSWERED, "Hosts that did not answer",
		    print_host },
		{ FLEET_KIND_MISSING, "Hosts without an audit", print_host },
		{ FLEET_KIND_CUT, "Audits that were cut off", print_host },
		{ FLEET_KIND_TWICE, "Hosts of the same name", print_host },
		{ FLEET_KIND_OLD, "Hosts with old lists or audits",
		    print_message },
		{ FLEET_KIND_DOCTOR, "Hosts whose doctor is unwell",
		    print_message },
		{ FLEET_KIND_PROBLEM, "What could not be read or judged",
		    print_message },
	};
	bool ok = true;

	print_totals(t);
	for (size_t i = 0; ok && i < sizeof(sections) / sizeof(*sections); i++)
		ok = print_section(f, sections[i].kind, sections[i].title,
		    sections[i].row);
	return cli_stdout_ok() && ok;
}
