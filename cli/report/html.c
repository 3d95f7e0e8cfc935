/* SPDX-License-Identifier: ISC */
/* keyveto report --html: the page of report/page with its data. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "report/forms.h"
#include "report/page/page.h"

#define ARRAYS_MAX 5 /* in an object */

struct page {
	struct fleet *f;
	FILE *out;
	bool all; /* also clean keys that one account has */
};

static const char *
text(sqlite3_stmt *s, int i)
{
	return (const char *)sqlite3_column_text(s, i);
}

/* NULL for a text that says nothing, such as a version that is not known. */
static const char *
text_or_null(sqlite3_stmt *s, int i)
{
	const char *value = text(s, i);

	return value != NULL && *value != '\0' ? value : NULL;
}

static json_t *
number(sqlite3_stmt *s, int i)
{
	return sqlite3_column_type(s, i) == SQLITE_NULL ?
	    json_null() :
	    json_integer(sqlite3_column_int64(s, i));
}

static json_t *
yes_or_no(sqlite3_stmt *s, int i)
{
	return sqlite3_column_type(s, i) == SQLITE_NULL ?
	    json_null() :
	    json_boolean(sqlite3_column_int(s, i));
}

static json_t *
status(sqlite3_stmt *s, int i)
{
	static const char *const names[] = { "ok", "warning", "problem" };

	return sqlite3_column_type(s, i) == SQLITE_NULL ?
	    json_null() :
	    json_string(names[sqlite3_column_int(s, i)]);
}

/* --- rows to JSON: each a part of an array ------------------------------ */

static json_t *
name_to_json(sqlite3_stmt *s)
{
	return json_string(text(s, 0));
}

static json_t *
list_to_json(sqlite3_stmt *s)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:s}", "kind", text(s, 0),
	    "file", text(s, 1), "revision", number(s, 2), "time", number(s, 3),
	    "sha256", text(s, 4));
}

static json_t *
finding_to_json(sqlite3_stmt *s)
{
	return json_pack("{s:s, s:o, s:s, s:s?}", "check", text(s, 0), "status",
	    status(s, 1), "found", text(s, 2), "remedy", text(s, 3));
}

static json_t *
stale_to_json(sqlite3_stmt *s)
{
	return json_pack("[s?, s]", text_or_null(s, 0), text(s, 1));
}

static json_t *
problem_to_json(sqlite3_stmt *s)
{
	return json_pack("{s:s?, s:s, s:o, s:s}", "account", text(s, 0), "file",
	    text(s, 1), "line", number(s, 2), "reason", text(s, 3));
}

static json_t *
place_to_json(sqlite3_stmt *s)
{
	json_t *place = json_pack("[o, s?, s, o, s, s, o, s?]", number(s, 0),
	    text(s, 1), text(s, 2), number(s, 3), text(s, 4), text(s, 5),
	    number(s, 6), text_or_null(s, 7));
	const bool differs = sqlite3_column_type(s, 9) != SQLITE_NULL;
	bool ok = place != NULL;

	/* What a place has besides comes last, as most have nothing. */
	if ((differs || sqlite3_column_type(s, 8) != SQLITE_NULL) &&
	    json_array_append_new(place, number(s, 8)) != 0)
		ok = false;
	if (differs &&
	    json_array_append_new(place,
		json_string(fleet_verdict_name(
		    (enum fleet_verdict)sqlite3_column_int(s, 9)))) != 0)
		ok = false;
	if (!ok) {
		json_decref(place);
		place = NULL;
	}
	return place;
}

static json_t *
gone_to_json(sqlite3_stmt *s)
{
	return json_pack("[o, s?, s, s, o, s?]", number(s, 0), text(s, 1),
	    text(s, 2), text(s, 3), number(s, 4), text_or_null(s, 5));
}

/*
 * Writes "name":[...], with a part for each row of a query about id. Then resets
 * the query.
 */
static bool
add_array(struct page *p, const char *name, sqlite3_stmt *s, int64_t id,
    json_t *(*part)(sqlite3_stmt *s))
{
	bool ok = true, any = false;

	fprintf(p->out, ",\"%s\":[", name);
	if (s != NULL)
		sqlite3_bind_int64(s, 1, id);
	while (ok && fleet_next(p->f, s, &ok)) {
		if (any)
			putc(',', p->out);
		any = true;
		ok = report_json(p->out, part(s));
	}
	putc(']', p->out);
	sqlite3_reset(s);
	return ok;
}

/* Writes the members of an object without its braces. */
static bool
add_members(struct page *p, json_t *o)
{
	const char *name;
	json_t *value;
	bool any = false, ok = o != NULL;

	json_object_foreach(o, name, value)
	{
		fprintf(p->out, "%s\"%s\":", any ? "," : "", name);
		any = true;
		ok = ok && report_json(p->out, json_incref(value));
	}
	json_decref(o);
	return ok;
}

/* An array in each object: of the rows of a query about the object's id. */
struct array {
	const char *name, *sql;
	json_t *(*part)(sqlite3_stmt *s);
};

/*
 * Writes an object for each row of a query, whose first column is its id, with
 * these arrays. Ends the query.
 */
static bool
add_objects(struct page *p, sqlite3_stmt *objects,
    json_t *(*members)(sqlite3_stmt *s), const struct array *array, size_t n)
{
	sqlite3_stmt *s[ARRAYS_MAX];
	bool ok = true, any = false;

	for (size_t i = 0; i < n; i++)
		s[i] = fleet_ask(p->f, array[i].sql);
	while (ok && fleet_next(p->f, objects, &ok)) {
		const int64_t id = sqlite3_column_int64(objects, 0);

		fputs(any ? ",\n{" : "\n{", p->out);
		any = true;
		ok = add_members(p, members(objects));
		for (size_t i = 0; ok && i < n; i++)
			ok = add_array(p, array[i].name, s[i], id,
			    array[i].part);
		putc('}', p->out);
	}
	sqlite3_finalize(objects);
	for (size_t i = 0; i < n; i++)
		sqlite3_finalize(s[i]);
	return ok;
}

/* --- hosts -------------------------------------------------------------- */

static json_t *
host_to_json(sqlite3_stmt *s)
{
	const int64_t problems = sqlite3_column_int64(s, 20);

	return json_pack(
	    "{s:s, s:s, s:o, s:s?, s:o, s:o, s:o, s:s?, s:s?, "
	    "s:s?, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}",
	    "name", text(s, 1), "file", text(s, 2), "answered", yes_or_no(s, 3),
	    "reason", text_or_null(s, 4), "complete", yes_or_no(s, 5), "whole",
	    yes_or_no(s, 6), "time", number(s, 7), "keyveto",
	    text_or_null(s, 8), "sshd", text_or_null(s, 9), "os",
	    text_or_null(s, 10), "guarded", yes_or_no(s, 11), "user_ca",
	    yes_or_no(s, 12), "old", yes_or_no(s, 13), "doctor", status(s, 14),
	    "accounts", (json_int_t)sqlite3_column_int64(s, 15), "keys",
	    (json_int_t)sqlite3_column_int64(s, 16), "listed",
	    (json_int_t)sqlite3_column_int64(s, 17), "unchecked",
	    (json_int_t)sqlite3_column_int64(s, 18), "uncovered",
	    (json_int_t)sqlite3_column_int64(s, 19), "more_problems",
	    (json_int_t)(problems > FLEET_PROBLEMS ? problems - FLEET_PROBLEMS :
						     0));
}

static bool
add_hosts(struct page *p)
{
	static const struct array arrays[] = {
		{ "lists",
		    "SELECT kind, file, revision, time, sha256 FROM list WHERE"
		    " host=? ORDER BY rowid",
		    list_to_json },
		{ "stale",
		    "SELECT file, message FROM stale WHERE host=?"
		    " ORDER BY rowid",
		    stale_to_json },
		{ "findings",
		    "SELECT name, status, found, remedy FROM finding WHERE"
		    " host=? ORDER BY status DESC, rowid",
		    finding_to_json },
		{ "locked",
		    "SELECT name FROM account WHERE host=? AND listed>0 AND"
		    " usable=0 AND name IS NOT NULL ORDER BY name",
		    name_to_json },
		{ "problems",
		    "SELECT account, file, line, reason FROM problem WHERE"
		    " host=? ORDER BY rowid",
		    problem_to_json },
	};

	return add_objects(p,
	    fleet_ask(p->f,
		"SELECT id, name, file, answered, reason, complete, whole,"
		" time, keyveto, sshd, os, guarded, user_ca, old, doctor,"
		" accounts, keys, listed, unchecked, uncovered, problems FROM"
		" host ORDER BY id"),
	    host_to_json, arrays, sizeof(arrays) / sizeof(*arrays));
}

/* --- keys --------------------------------------------------------------- */

static json_t *
key_to_json(sqlite3_stmt *s)
{
	return json_pack("{s:s, s:s, s:o, s:s, s:s?}", "fp", text(s, 1), "type",
	    text(s, 2), "bits", number(s, 3), "verdict",
	    fleet_verdict_name((enum fleet_verdict)sqlite3_column_int(s, 4)),
	    "reason", text_or_null(s, 5));
}

static bool
add_keys(struct page *p)
{
	static const struct array arrays[] = {
		{ "sources",
		    "SELECT name FROM source WHERE key=? ORDER BY name",
		    name_to_json },
		{ "lists", "SELECT file FROM keylist WHERE key=? ORDER BY file",
		    name_to_json },
		{ "places",
		    "SELECT p.host-1, a.name, p.file, p.line, p.comment, "
		    "p.part, l.last, l.source, owner_id(k.fp, p.comment, "
		    "a.name, h.name)-1, nullif(p.verdict, k.verdict) FROM "
		    "place p JOIN account a ON "
		    "a.id=p.account JOIN host h ON h.id=p.host JOIN key k ON "
		    "k.id=p.key LEFT JOIN login l "
		    "ON l.rowid=iif(a.name IS NULL, (SELECT g.rowid FROM login "
		    "g WHERE g.host=p.host AND  g.fp=k.fp ORDER BY g.last DESC "
		    "LIMIT 1), (SELECT g.rowid FROM login g WHERE "
		    "g.account=p.account  AND g.fp=k.fp ORDER BY g.last DESC "
		    "LIMIT 1)) WHERE p.key=? ORDER BY p.host, a.name, p.file, "
		    "p.line, p.rowid",
		    place_to_json },
	};
	sqlite3_stmt *keys = fleet_ask(p->f,
	    "SELECT id, fp, type, bits, verdict, reason FROM key WHERE"
	    " verdict>0 OR accounts>1 OR ? ORDER BY verdict DESC, accounts"
	    " DESC, fp");

	if (keys != NULL)
		sqlite3_bind_int(keys, 1, p->all);
	return add_objects(p, keys, key_to_json, arrays,
	    sizeof(arrays) / sizeof(*arrays));
}

/* Logins by listed keys that are in no file any more. */
static bool
add_gone(struct page *p)
{
	sqlite3_stmt *gone = fleet_ask(p->f,
	    "SELECT l.host-1, a.name, l.fp, l.type, l.last, l.source FROM"
	    " login l JOIN account a ON a.id=l.account WHERE l.verdict=?"
	    " AND NOT l.in_file ORDER BY l.host, a.name, l.last DESC");
	const bool ok = add_array(p, "gone", gone, FLEET_LISTED, gone_to_json);

	sqlite3_finalize(gone);
	return ok;
}

static json_t *
owner_to_json(sqlite3_stmt *s)
{
	return json_pack("[s, s?]", text(s, 0), text(s, 1));
}

/* Those of --owners, if there are any. */
static bool
add_owners(struct page *p)
{
	sqlite3_stmt *owners;
	bool ok;

	if (p->f->owners == 0)
		return true;
	owners = fleet_ask(p->f,
	    "SELECT person, team FROM owner WHERE ? ORDER BY id");
	ok = add_array(p, "owners", owners, 1, owner_to_json);
	sqlite3_finalize(owners);
	return ok;
}

static json_t *
change_to_json(sqlite3_stmt *s)
{
	const json_int_t verdict = sqlite3_column_int(s, 5);

	return json_pack("[s, o, s, s?, s?, s?, s?, s?, o, s?, o, s?, s?]",
	    text(s, 0), number(s, 1), text(s, 2), text(s, 3), text(s, 4),
	    sqlite3_column_type(s, 5) == SQLITE_NULL ?
		NULL :
		fleet_verdict_name((enum fleet_verdict)verdict),
	    text(s, 6), text(s, 7), number(s, 8), text(s, 9), number(s, 10),
	    text(s, 11), text(s, 12));
}

/* What changed since the older audits, if there are any. */
static bool
add_changes(struct page *p)
{
	sqlite3_stmt *changes;
	bool ok;

	if (!p->f->since)
		return true;
	changes = fleet_ask(p->f,
	    "SELECT kind, id-1, host, account, fp, verdict, type, file, line,"
	    " comment, last, source, message FROM change WHERE ? ORDER BY"
	    " rowid");
	ok = add_array(p, "changes", changes, 1, change_to_json);
	sqlite3_finalize(changes);
	return ok;
}

static bool
add_data(struct page *p)
{
	char when[REPORT_TIME_BYTES];
	bool ok;

	fprintf(p->out, "{\"made\":\"%s\",\"version\":\"%s\",\"hosts\":[",
	    report_time(p->f->now, when), KEYVETO_VERSION);
	ok = add_hosts(p);
	fputs("\n],\"keys\":[", p->out);
	ok = ok && add_keys(p);
	fputs("\n]", p->out);
	ok = ok && add_gone(p) && add_changes(p) && add_owners(p);
	putc('}', p->out);
	return ok;
}

/* --- the page ----------------------------------------------------------- */

static void
add_date(struct page *p)
{
	const time_t now = (time_t)p->f->now;
	struct tm tm;
	char when[64] = "";

	if (gmtime_r(&now, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &tm);
	fputs(when, p->out);
}

/* Writes the number that a slot names. False if there is no such slot. */
static bool
add_total(struct page *p, const struct fleet_totals *t, const char *slot)
{
	const struct {
		const char *slot;
		int64_t n;
	} totals[] = {
		{ "hosts", t->hosts },
		{ "entered", t->entered },
		{ "entered_hosts", t->entered_hosts },
		{ "unsure", t->unsure },
		{ "unsure_hosts", t->unsure_hosts },
		{ "locked", t->locked },
		{ "listed_keys", t->listed_keys },
		{ "listed_places", t->listed_places },
		{ "listed_hosts", t->listed_hosts },
		{ "silent", t->unanswered + t->missing },
		{ "cut", t->cut },
		{ "old", t->old },
		{ "unwell", t->broken },
		{ "warned", t->unwell - t->broken },
		{ "uncovered", t->uncovered },
	};

	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		if (strcmp(slot, totals[i].slot) == 0) {
			fprintf(p->out, "%" PRId64, totals[i].n);
			return true;
		}
	return false;
}

bool
report_html(struct fleet *f, bool all, FILE *out)
{
	struct page p = { .f = f, .out = out, .all = all };
	struct fleet_totals t;
	bool ok = fleet_count(f, &t);

	for (const struct page_piece *piece = page_pieces; ok; piece++) {
		ok = fwrite(piece->bytes, 1, piece->len, out) == piece->len;
		if (piece->slot == NULL)
			break;
		if (strcmp(piece->slot, "data") == 0)
			ok = ok && add_data(&p);
		else if (strcmp(piece->slot, "made") == 0)
			add_date(&p);
		else if (strcmp(piece->slot, "version") == 0)
			fputs(KEYVETO_VERSION, out);
		else
			ok = ok && add_total(&p, &t, piece->slot);
	}
	return ok;
}
