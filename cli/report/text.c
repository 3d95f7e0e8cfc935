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
	char host[280], fp[80], owner[520]; /* of the row before */
	uint64_t keys, places;
	uint64_t left_out; /* rows */
};

static bool
is_said(const char *text)
{
	return text != NULL && *text != '\0';
}

/* " text", if there is any. */
static void
print_word(const char *text)
{
	if (is_said(text))
		cli_printf(stdout, " %s", text);
}

static void
begin(struct section *s)
{
	if (!s->begun)
		printf("\n%s\n", s->title);
	s->begun = true;
}

/* Whether the host of a listed key is guarded. */
static const char *
state_of(const struct fleet_row *row)
{
	if ((row->kind > FLEET_KIND_GONE && row->kind != FLEET_KIND_OWNED) ||
	    row->guarded == FLEET_UNKNOWN)
		return "";
	return row->guarded != 0 ? " (guarded)" : " (not guarded)";
}

/*
 * Begins a place in the host's part, with the host's name before it unless the
 * row before was of it.
 */
static void
begin_place(struct section *s, const struct fleet_row *row)
{
	char host[sizeof(s->host)];

	begin(s);
	snprintf(host, sizeof(host), "%s%s", row->host, state_of(row));
	if (strcmp(s->host, host) != 0 || s->places == 0) {
		memcpy(s->host, host, sizeof(host));
		cli_printf(stdout, "  %s\n", host);
	}
	s->places++;
	fputs("    ", stdout);
}

/* The account, or what a place without one is. */
static const char *
account_of(const struct fleet_row *row)
{
	return row->account != NULL ? row->account : "(host)";
}

static void
print_place(const struct fleet_row *row)
{
	cli_printf(stdout, "%s", row->file != NULL ? row->file : "");
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
	if (is_said(row->sources))
		cli_printf(stdout, " [%s]", row->sources);
}

/* " (owner: Alice, platform)", if that is known. */
static void
print_owner(const struct fleet_row *row)
{
	if (row->owner == NULL)
		return;
	cli_printf(stdout, " (owner: %s", row->owner);
	if (is_said(row->team))
		cli_printf(stdout, ", %s", row->team);
	putchar(')');
}

/* "; last came in 2026-11-20T08:00:00Z from 192.0.2.7". */
static void
print_login(const struct fleet_row *row)
{
	char when[REPORT_TIME_BYTES];

	if (row->last == FLEET_UNKNOWN)
		return;
	printf("; last came in %s", report_time(row->last, when));
	if (is_said(row->from))
		cli_printf(stdout, " from %s", row->from);
}

/* What of a listed key comes behind its host, up to the line's end. */
static void
print_listed_key(const struct fleet_row *row)
{
	cli_printf(stdout, "%s ", account_of(row));
	print_place(row);
	putchar(':');
	print_key(row);
	print_word(row->comment);
	if (row->part != NULL && strcmp(row->part, "ca") == 0)
		fputs(" (CA)", stdout);
	if (row->kind != FLEET_KIND_OWNED)
		print_owner(row);
	print_login(row);
	putchar('\n');
}

static bool
print_listed(const struct fleet_row *row, void *section)
{
	begin_place(section, row);
	print_listed_key(row);
	return true;
}

/* Below its owner. */
static bool
print_owned(const struct fleet_row *row, void *section)
{
	struct section *s = section;
	const bool team = is_said(row->team);
	char owner[sizeof(s->owner)];

	begin(s);
	snprintf(owner, sizeof(owner), "%s%s%s%s",
	    row->owner != NULL ? row->owner : "(no line of --owners)",
	    team ? " (" : "", team ? row->team : "", team ? ")" : "");
	if (strcmp(s->owner, owner) != 0) {
		memcpy(s->owner, owner, sizeof(owner));
		cli_printf(stdout, "  %s\n", owner);
	}
	cli_printf(stdout, "    %s%s ", row->host, state_of(row));
	print_listed_key(row);
	return true;
}

static bool
print_gone(const struct fleet_row *row, void *section)
{
	begin_place(section, row);
	cli_printf(stdout, "%s:", account_of(row));
	print_key(row);
	print_owner(row);
	print_login(row);
	putchar('\n');
	return true;
}

/* Ends a line with a key's host, account, file and comment. */
static void
print_whole_place(const struct fleet_row *row)
{
	cli_printf(stdout, "%s %s ", row->host, account_of(row));
	print_place(row);
	print_word(row->comment);
	print_owner(row);
	putchar('\n');
}

/* No one host says what a key of several is. */
static void
print_shared_key(const struct fleet_row *row)
{
	printf("  %s:", row->worst);
	if (row->disputed) {
		print_word(row->fp);
		fputs(" (audits disagree about it)", stdout);
	} else {
		print_key(row);
	}
	printf(": %" PRId64 " accounts on %" PRId64 " %s\n", row->accounts,
	    row->hosts, cli_plural((uint64_t)row->hosts, "host", "hosts"));
}

static void
print_disputed_key(const struct fleet_row *row)
{
	printf("  %s\n", row->fp);
}

/* Says how many places of the last key were left out. */
static void
end_key(const struct section *s)
{
	if (s->keys <= KEYS_SHOWN && s->left_out > 0)
		printf("    and %" PRIu64 " more\n", s->left_out);
}

/*
 * Begins a row of a section by key, with the key before its first place. False
 * if the place is not to be printed: there are too many.
 */
static bool
begin_by_key(struct section *s, const struct fleet_row *row,
    void (*key)(const struct fleet_row *row))
{
	begin(s);
	if (strcmp(s->fp, row->fp) != 0) {
		end_key(s);
		s->left_out = s->places = 0;
		snprintf(s->fp, sizeof(s->fp), "%s", row->fp);
		if (++s->keys <= KEYS_SHOWN)
			key(row);
	}
	if (s->keys > KEYS_SHOWN)
		return false;
	if (s->places++ >= PLACES_SHOWN) {
		s->left_out++;
		return false;
	}
	fputs("    ", stdout);
	return true;
}

/* A place of a key that several accounts have. */
static bool
print_shared(const struct fleet_row *row, void *section)
{
	if (!begin_by_key(section, row, print_shared_key))
		return true;
	if (strcmp(row->verdict, row->worst) != 0)
		printf("%s there: ", row->verdict);
	print_whole_place(row);
	return true;
}

/* What each host says of a key about which they differ. */
static bool
print_disputed(const struct fleet_row *row, void *section)
{
	if (!begin_by_key(section, row, print_disputed_key))
		return true;
	cli_printf(stdout, "%s:", row->host);
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
	begin_place(section, row);
	if (row->account != NULL)
		cli_printf(stdout, "%s: ", row->account);
	if (row->kind == FLEET_KIND_DOCTOR)
		fputs(row->severe ? "broken: " : "warning: ", stdout);
	if (is_said(row->file)) {
		print_place(row);
		fputs(": ", stdout);
	}
	cli_printf(stdout, "%s", row->message != NULL ? row->message : "");
	print_owner(row);
	print_login(row);
	putchar('\n');
	return true;
}

/* A key that is there no more, or a host, has no place. */
static bool
print_change(const struct fleet_row *row, void *section)
{
	struct section *s = section;
	const bool key = row->fp != NULL;

	if (key && strcmp(row->verdict, "listed") != 0 &&
	    ++s->keys > KEYS_SHOWN)
		return true;
	begin_place(s, row);
	if (key) {
		cli_printf(stdout, "%s ", account_of(row));
		print_place(row);
		printf(": %s:", row->verdict);
		print_key(row);
		print_word(row->comment);
		print_owner(row);
		print_login(row);
	}
	if (is_said(row->message))
		cli_printf(stdout, key ? " (%s)" : "%s", row->message);
	putchar('\n');
	return true;
}

/* A line for each host is enough. */
static bool
print_host(const struct fleet_row *row, void *section)
{
	begin(section);
	cli_printf(stdout, "  %s", row->host);
	if (is_said(row->file))
		cli_printf(stdout, " (%s)", row->file);
	if (is_said(row->message))
		cli_printf(stdout, ": %s", row->message);
	putchar('\n');
	return true;
}

/* How the rows of a kind are printed. */
struct form {
	enum fleet_kind kind;
	const char *title;
	bool (*row)(const struct fleet_row *row, void *section);
};

static bool
print_section(struct fleet *f, const struct form *form)
{
	struct section s = { .title = form->title };

	if (!fleet_each(f, form->kind, form->row, &s))
		return false;
	end_key(&s);
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
print_accounts(const char *before, int64_t accounts, int64_t hosts)
{
	printf("%s%" PRId64 " %s on %" PRId64 " %s", before, accounts,
	    cli_plural((uint64_t)accounts, "account", "accounts"), hosts,
	    cli_plural((uint64_t)hosts, "host", "hosts"));
}

static void
print_totals(const struct fleet_totals *t)
{
	print_accounts("listed keys that get in now: ", t->entered,
	    t->entered_hosts);
	if (t->unsure > 0)
		print_accounts("; not known whether they do: ", t->unsure,
		    t->unsure_hosts);
	putchar('\n');
	printf("%" PRId64 " %s", t->answered,
	    cli_plural((uint64_t)t->answered, "host audited", "hosts audited"));
	print_count(t->listed_hosts, "with listed keys");
	print_count(t->unanswered, "did not answer");
	print_count(t->missing, "without an audit");
	print_count(t->cut, "cut off");
	print_count(t->old, "with old lists or audits");
	print_count(t->broken, "where the doctor found a problem");
	print_count(t->unwell - t->broken, "where the doctor warns");
	printf("\n%" PRId64 " %s", t->keys,
	    cli_plural((uint64_t)t->keys, "key", "keys"));
	printf(", %" PRId64 " listed, in %" PRId64 " %s", t->listed_keys,
	    t->listed_places,
	    cli_plural((uint64_t)t->listed_places, "place", "places"));
	print_count(t->shared, "of several accounts");
	print_count(t->unique, "seen nowhere else");
	print_count(t->uncovered, "that no list in use could know");
	putchar('\n');
}

static const struct form forms[] = {
	{ FLEET_KIND_UNGUARDED, "Accounts that listed keys get into now",
	    print_message },
	{ FLEET_KIND_LOCKED, "Accounts whose last key is listed",
	    print_message },
	{ FLEET_KIND_LISTED, "Listed keys", print_listed },
	{ FLEET_KIND_GONE,
	    "Listed keys that came in and are in no file of the account",
	    print_gone },
	{ FLEET_KIND_SHARED, "Keys of several accounts", print_shared },
	{ FLEET_KIND_UNIQUE, "Keys seen nowhere else", print_unique },
	{ FLEET_KIND_OWNED, "Listed keys by owner", print_owned },
	{ FLEET_KIND_DISPUTED, "Keys about which audits disagree",
	    print_disputed },
	{ FLEET_KIND_UNANSWERED, "Hosts that did not answer", print_host },
	{ FLEET_KIND_MISSING, "Hosts without an audit", print_host },
	{ FLEET_KIND_CUT, "Audits that were cut off", print_host },
	{ FLEET_KIND_TWICE, "Hosts of the same name", print_host },
	{ FLEET_KIND_OLD, "Hosts with old lists or audits", print_message },
	{ FLEET_KIND_DOCTOR, "Hosts whose doctor is unwell", print_message },
	{ FLEET_KIND_UNCOVERED, "Keys that no list in use could know",
	    print_message },
	{ FLEET_KIND_PROBLEM, "What could not be read or judged",
	    print_message },
	{ FLEET_KIND_NOW_UNGUARDED, "Hosts that are no longer guarded",
	    print_change },
	{ FLEET_KIND_NOW_GUARDED, "Hosts that are guarded now", print_change },
	{ FLEET_KIND_NEW, "New keys and hosts", print_change },
	{ FLEET_KIND_USED, "Keys that came in for the first time",
	    print_change },
	{ FLEET_KIND_AWAY, "Keys and hosts that are gone", print_change },
};

bool
report_text(struct fleet *f, const struct fleet_totals *t)
{
	bool ok = true;

	print_totals(t);
	if (f->since)
		puts(t->changes > 0 ? "This changed since the older audits:" :
				      "Nothing changed since the older "
				      "audits.");
	for (size_t i = 0; ok && i < sizeof(forms) / sizeof(*forms); i++)
		if ((forms[i].kind >= FLEET_KIND_NOW_GUARDED) == f->since &&
		    (forms[i].kind != FLEET_KIND_OWNED || f->owners > 0))
			ok = print_section(f, &forms[i]);
	return cli_stdout_ok() && ok;
}
