/* SPDX-License-Identifier: ISC */
#include "report/fleet.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "report/owners.h"

#define DAY 86400
#define CACHE_KIB "8192"
#define HEAP_BYTES ((sqlite3_int64)48 * 1024 * 1024)

static const char schema[] =
    "PRAGMA journal_mode=OFF;"
    "PRAGMA synchronous=OFF;"
    "PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA temp_store=FILE;"
    "PRAGMA cache_size=-" CACHE_KIB ";"
    "CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT, alias TEXT,"
    " file TEXT, header INT, answered INT, complete INT, whole INT,"
    " every INT, logins INT, missing INT, reason TEXT, time INT,"
    " keyveto TEXT, sshd TEXT, os TEXT,"
    " guarded INT, user_ca INT, doctor INT, accounts INT, keys INT,"
    " listed INT, unchecked INT, problems INT, bad_lines INT,"
    " no_list INT, clean INT, uncovered INT,"
    " old INT DEFAULT 0);"
    "CREATE TABLE list(host INT, kind TEXT, file TEXT, revision INT, time INT,"
    " entries INT, sha256 TEXT, plausible INT);"
    "CREATE TABLE finding(host INT, name TEXT, status INT, found TEXT,"
    " remedy TEXT);"
    "CREATE TABLE account(id INTEGER PRIMARY KEY, host INT, name TEXT,"
    " keys INT DEFAULT 0, listed INT DEFAULT 0, usable INT DEFAULT 1);"
    /* Names are not NULL here: NULLs would all be different. */
    "CREATE UNIQUE INDEX account_name ON account(host, ifnull(name, "
    "char(0)));CREATE TABLE key(id INTEGER PRIMARY KEY, fp TEXT UNIQUE, type "
    "TEXT, bits INT, verdict INT, reason TEXT, accounts INT DEFAULT 0, hosts "
    "INT DEFAULT 0, disputed INT DEFAULT 0);CREATE TABLE place(key INT, host "
    "INT, account INT, file TEXT, line INT, comment TEXT, part TEXT, verdict "
    "INT, sources TEXT, type TEXT, bits INT);CREATE TABLE source(key INT, name "
    "TEXT, PRIMARY KEY(key, name)) WITHOUT ROWID;CREATE TABLE keylist(key INT, "
    "file TEXT, PRIMARY KEY(key, file)) WITHOUT ROWID;CREATE TABLE login(host "
    "INT, account INT, fp TEXT, type TEXT, last INT, source TEXT, log TEXT, "
    "verdict INT, in_file INT);CREATE TABLE problem(host INT, account TEXT, "
    "file TEXT, line INT, reason TEXT, type TEXT);"
    "CREATE TABLE stale(host INT, file TEXT, message TEXT);"
    "CREATE TABLE expected(name TEXT COLLATE NOCASE PRIMARY KEY) "
    "WITHOUT ROWID;CREATE TABLE owner(id INTEGER PRIMARY KEY, person TEXT,"
    " team TEXT);CREATE TABLE old_host AS SELECT * FROM host;"
    "CREATE TABLE change(kind TEXT, id INT, host TEXT, guarded INT,"
    " account TEXT, file TEXT, line INT, fp TEXT, type TEXT, bits INT,"
    " verdict INT, sources TEXT, comment TEXT, part TEXT, last INT,"
    " source TEXT, message TEXT);BEGIN;";

enum {
	ADD_HOST,
	ADD_LIST,
	ADD_FINDING,
	ADD_ACCOUNT,
	FIND_ACCOUNT,
	ADD_SUMMARY,
	ADD_KEY,
	FIND_KEY,
	ADD_PLACE,
	ADD_SOURCE,
	ADD_KEY_LIST,
	ADD_LOGIN,
	ADD_PROBLEM,
	ADD_EXPECTED,
	ADD_OWNER,
	NEWEST,
	ADD_STALE,
	SET_OLD,
	STATEMENTS,
};

static const char *const sql[STATEMENTS] = {
	[ADD_HOST] =
	    "INSERT INTO host VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
	    "?,?,?,?,?,?,?,?,0)",
	[ADD_LIST] = "INSERT INTO list VALUES(?,?,?,?,?,?,?,?)",
	[ADD_FINDING] = "INSERT INTO finding VALUES(?,?,?,?,?)",
	[ADD_ACCOUNT] = "INSERT OR IGNORE INTO account(host, name) VALUES(?,?)",
	[FIND_ACCOUNT] = "SELECT id FROM account WHERE host=?"
			 " AND ifnull(name, char(0))=ifnull(?, char(0))",
	[ADD_SUMMARY] = "UPDATE account SET keys=keys+?2, listed=listed+?3,"
			" usable=iif(listed+keys=0, ?4, usable+?4) WHERE id=?1",
	[ADD_KEY] = "INSERT INTO key(fp, type, bits, verdict, reason)"
		    " VALUES(?,?,?,?,?) ON CONFLICT(fp) DO UPDATE SET"
		    " reason=iif(excluded.verdict>verdict OR"
		    " (excluded.verdict=verdict AND reason=''),"
		    " excluded.reason, reason),"
		    " verdict=max(verdict, excluded.verdict)",
	[FIND_KEY] = "SELECT id FROM key WHERE fp=?",
	[ADD_PLACE] = "INSERT INTO place VALUES(?,?,?,?,?,?,?,?,?,?,?)",
	[ADD_SOURCE] = "INSERT OR IGNORE INTO source VALUES(?,?)",
	[ADD_KEY_LIST] = "INSERT OR IGNORE INTO keylist VALUES(?,?)",
	[ADD_LOGIN] = "INSERT INTO login VALUES(?,?,?,?,?,?,?,?,?)",
	[ADD_PROBLEM] = "INSERT INTO problem VALUES(?,?,?,?,?,?)",
	[ADD_EXPECTED] = "INSERT OR IGNORE INTO expected VALUES(?)",
	[ADD_OWNER] = "INSERT INTO owner VALUES(?,?,?)",
	[NEWEST] =
	    "SELECT l.revision, l.time, h.name FROM list l JOIN host h ON"
	    " h.id=l.host WHERE l.plausible=1 AND l.kind=? AND l.file=?"
	    " ORDER BY l.revision DESC, l.time DESC, l.host LIMIT 1",
	[ADD_STALE] = "INSERT INTO stale VALUES(?,?,?)",
	[SET_OLD] = "UPDATE host SET old=1 WHERE id=?",
};

/* --- the database ------------------------------------------------------- */

static bool
failed(struct fleet *f)
{
	return cli_error("the temporary database: %s (its folder is TMPDIR, or "
			 "/var/tmp)",
	    f->db != NULL ? sqlite3_errmsg(f->db) : "out of memory");
}

bool
fleet_execute(struct fleet *f, const char *text)
{
	return sqlite3_exec(f->db, text, NULL, NULL, NULL) == SQLITE_OK ||
	    failed(f);
}

bool
fleet_open(struct fleet *f)
{
	f->hosts = 0;
	f->db = NULL;
	memset(f->statement, 0, sizeof(f->statement));
	(void)sqlite3_soft_heap_limit64(HEAP_BYTES);
	if (sqlite3_open_v2("", &f->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		    SQLITE_OPEN_NOMUTEX,
		NULL) != SQLITE_OK ||
	    fleet_owners_register(f) != SQLITE_OK)
		return failed(f);
	if (!fleet_execute(f, schema))
		return false;
	for (size_t i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(f->db, sql[i], -1,
			SQLITE_PREPARE_PERSISTENT, &f->statement[i], NULL) !=
		    SQLITE_OK)
			return failed(f);
	return true;
}

void
fleet_close(struct fleet *f)
{
	for (size_t i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(f->statement[i]);
	sqlite3_close(f->db);
	f->db = NULL;
	fleet_owners_free(f);
}

/* A number; NULL if it is not known. */
static int
bind_number(sqlite3_stmt *s, int at, int64_t n)
{
	return n == FLEET_UNKNOWN ? sqlite3_bind_null(s, at) :
				    sqlite3_bind_int64(s, at, n);
}

/*
 * Binds the arguments by their types: t is a string or NULL, n an int64_t. The
 * strings must live until the statement ran.
 */
static bool
bind_all(sqlite3_stmt *s, const char *types, va_list ap)
{
	bool ok = true;

	for (int i = 0; types[i] != '\0' && ok; i++)
		ok = (types[i] == 't' ?
			     sqlite3_bind_text(s, i + 1,
				 va_arg(ap, const char *), -1, SQLITE_STATIC) :
			     bind_number(s, i + 1, va_arg(ap, int64_t))) ==
		    SQLITE_OK;
	return ok;
}

/*
 * Runs a statement with these arguments. The first number of its row, if it has
 * one, becomes *idp, unless idp is NULL.
 */
static bool
run(struct fleet *f, int which, int64_t *idp, const char *types, ...)
{
	sqlite3_stmt *s = f->statement[which];
	va_list ap;
	bool ok;
	int r;

	va_start(ap, types);
	ok = bind_all(s, types, ap);
	va_end(ap);
	r = ok ? sqlite3_step(s) : SQLITE_NOMEM;
	if (r == SQLITE_ROW && idp != NULL) {
		*idp = sqlite3_column_int64(s, 0);
		r = sqlite3_step(s);
	}
	ok = r == SQLITE_DONE || r == SQLITE_ROW || failed(f);
	sqlite3_reset(s);
	return ok;
}

sqlite3_stmt *
fleet_ask(struct fleet *f, const char *text)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(f->db, text, -1, &s, NULL) != SQLITE_OK)
		(void)failed(f);
	return s;
}

bool
fleet_next(struct fleet *f, sqlite3_stmt *s, bool *okp)
{
	const int r = s != NULL ? sqlite3_step(s) : SQLITE_ERROR;

	if (r == SQLITE_ROW)
		return true;
	/* Without a statement, fleet_ask has said why. */
	if (r != SQLITE_DONE)
		*okp = s != NULL ? failed(f) : false;
	return false;
}

int64_t
fleet_column(sqlite3_stmt *s, int i)
{
	return sqlite3_column_type(s, i) == SQLITE_NULL ?
	    FLEET_UNKNOWN :
	    sqlite3_column_int64(s, i);
}

/* --- what the audits say ------------------------------------------------ */

int64_t
fleet_new_host(struct fleet *f)
{
	return ++f->hosts;
}

bool
fleet_add_host(struct fleet *f, const struct fleet_host *h)
{
	return run(f, ADD_HOST, NULL, "ntttnnnnnnntntttnnnnnnnnnnnn", h->id,
	    h->name, h->alias, h->file, (int64_t)h->header,
	    (int64_t)h->answered, (int64_t)h->complete, (int64_t)h->whole,
	    (int64_t)h->every, (int64_t)h->logins, (int64_t)h->missing,
	    h->reason, h->time, h->keyveto, h->sshd, h->os, (int64_t)h->guarded,
	    (int64_t)h->user_ca, (int64_t)h->doctor, h->accounts, h->keys,
	    h->listed, h->unchecked, h->problems, h->bad_lines,
	    (int64_t)h->no_list, h->clean, h->uncovered);
}

bool
fleet_add_list(struct fleet *f, int64_t host, const struct fleet_list *l)
{
	/* A list from the future is nobody's newest. */
	return run(f, ADD_LIST, NULL, "nttnnntn", host, l->kind, l->file,
	    l->revision, l->time, l->entries, l->sha256,
	    (int64_t)(l->time <= f->now + DAY));
}

bool
fleet_add_finding(struct fleet *f, int64_t host, const char *check,
    enum fleet_doctor status, const char *found, const char *remedy)
{
	return run(f, ADD_FINDING, NULL, "ntntt", host, check, (int64_t)status,
	    found, remedy);
}

bool
fleet_account(struct fleet *f, int64_t host, const char *name, int64_t *idp)
{
	*idp = 0;
	return run(f, ADD_ACCOUNT, NULL, "nt", host, name) &&
	    run(f, FIND_ACCOUNT, idp, "nt", host, name);
}

bool
fleet_add_summary(struct fleet *f, int64_t account, int64_t keys,
    int64_t listed, int64_t usable)
{
	return run(f, ADD_SUMMARY, NULL, "nnnn", account, keys, listed, usable);
}

bool
fleet_add_place(struct fleet *f, struct fleet_place *p)
{
	return run(f, ADD_KEY, NULL, "ttnnt", p->fp, p->type, p->bits,
		   (int64_t)p->verdict, p->reason) &&
	    run(f, FIND_KEY, &p->key, "t", p->fp) &&
	    run(f, ADD_PLACE, NULL, "nnntnttnttn", p->key, p->host, p->account,
		p->file, p->line, p->comment, p->part, (int64_t)p->verdict,
		p->sources, p->type, p->bits);
}

bool
fleet_add_source(struct fleet *f, int64_t key, const char *name)
{
	return run(f, ADD_SOURCE, NULL, "nt", key, name);
}

bool
fleet_add_key_list(struct fleet *f, int64_t key, const char *file)
{
	return run(f, ADD_KEY_LIST, NULL, "nt", key, file);
}

bool
fleet_add_login(struct fleet *f, const struct fleet_login *l)
{
	return run(f, ADD_LOGIN, NULL, "nnttnttnn", l->host, l->account, l->fp,
	    l->type, l->last, l->from, l->log, (int64_t)l->verdict,
	    (int64_t)l->in_file);
}

bool
fleet_add_problem(struct fleet *f, int64_t host, const struct fleet_problem *p)
{
	return run(f, ADD_PROBLEM, NULL, "nttntt", host, p->account, p->file,
	    p->line, p->reason, p->type);
}

bool
fleet_expect(struct fleet *f, const char *host)
{
	return run(f, ADD_EXPECTED, NULL, "t", host);
}

bool
fleet_add_owner(struct fleet *f, int64_t id, const char *person,
    const char *team)
{
	return run(f, ADD_OWNER, NULL, "ntt", id, person, team);
}

/* --- what all of them together say -------------------------------------- */

/*
 * Adds a row for each host that --hosts names and that has no audit. One audit
 * is of one host: the name of its file comes first, which whoever collected the
 * audits gave it, and not the host.
 */
static bool
add_missing(struct fleet *f)
{
	sqlite3_stmt *s = fleet_ask(f,
	    "SELECT name FROM expected WHERE name NOT IN"
	    " (SELECT iif(alias COLLATE NOCASE IN (SELECT name FROM expected),"
	    " alias, name) COLLATE NOCASE FROM host) ORDER BY name");
	struct fleet_host h = {
		.missing = true,
		.reason = "no audit of it was given",
		.time = FLEET_UNKNOWN,
		.guarded = FLEET_UNKNOWN,
		.doctor = FLEET_UNKNOWN,
	};
	bool ok = true;

	/* SQLite reads a snapshot of what it sorts: new rows do no harm. */
	while (ok && fleet_next(f, s, &ok)) {
		h.id = fleet_new_host(f);
		snprintf(h.name, sizeof(h.name), "%s",
		    (const char *)sqlite3_column_text(s, 0));
		ok = fleet_add_host(f, &h);
	}
	sqlite3_finalize(s);
	return ok;
}

static bool
add_stale(struct fleet *f, int64_t host, const char *file, const char *message)
{
	return run(f, ADD_STALE, NULL, "ntt", host, file, message) &&
	    run(f, SET_OLD, NULL, "n", host);
}

static bool
add_old(struct fleet *f, int64_t host, const char *file, const char *what,
    int64_t time, uint64_t days)
{
	const int64_t age = f->now - time;
	char text[128];

	if (time == FLEET_UNKNOWN || days == 0 || age <= 0 ||
	    (uint64_t)age <= days * DAY)
		return true;
	snprintf(text, sizeof(text), "%s %lld days old", what,
	    (long long)(age / DAY));
	return add_stale(f, host, file, text);
}

/* Whether a revision, or with the same one a date, is before another. */
static bool
is_behind(int64_t revision, int64_t time, int64_t newest, int64_t newest_time)
{
	if (revision != newest)
		return revision != FLEET_UNKNOWN && revision < newest;
	return time != FLEET_UNKNOWN && newest_time != FLEET_UNKNOWN &&
	    time < newest_time;
}

/* Compares a list with the newest that any host has in a file of that name. */
static bool
compare_list(struct fleet *f, int64_t host, const char *kind, const char *file,
    int64_t revision, int64_t time)
{
	sqlite3_stmt *s = f->statement[NEWEST];
	char text[512];
	bool ok = true, behind = false;

	sqlite3_bind_text(s, 1, kind, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, file, -1, SQLITE_STATIC);
	if (fleet_next(f, s, &ok)) {
		behind = is_behind(revision, time, fleet_column(s, 0),
		    fleet_column(s, 1));
		if (revision != FLEET_UNKNOWN && revision < fleet_column(s, 0))
			snprintf(text, sizeof(text),
			    "has revision %lld, and %s has revision %lld",
			    (long long)revision,
			    (const char *)sqlite3_column_text(s, 2),
			    (long long)fleet_column(s, 0));
		else
			snprintf(text, sizeof(text),
			    "is older than that of %s, by its date",
			    (const char *)sqlite3_column_text(s, 2));
	}
	sqlite3_reset(s);
	return ok && (!behind || add_stale(f, host, file, text));
}

static bool
find_old(struct fleet *f)
{
	sqlite3_stmt *s = fleet_ask(f,
	    "SELECT host, kind, file, revision, time FROM list ORDER BY rowid");
	bool ok = true;

	while (ok && fleet_next(f, s, &ok)) {
		const int64_t host = fleet_column(s, 0),
			      time = fleet_column(s, 4);
		const char *kind = (const char *)sqlite3_column_text(s, 1);
		const char *file = (const char *)sqlite3_column_text(s, 2);

		ok = add_old(f, host, file, "is", time,
			 strcmp(kind, "list") == 0 ? f->list_max_age :
						     f->max_age) &&
		    compare_list(f, host, kind, file, fleet_column(s, 3), time);
	}
	sqlite3_finalize(s);
	s = fleet_ask(f,
	    "SELECT id, time FROM host WHERE answered ORDER BY id");
	while (ok && fleet_next(f, s, &ok))
		ok = add_old(f, fleet_column(s, 0), NULL, "the audit is",
		    fleet_column(s, 1), f->max_age);
	sqlite3_finalize(s);
	return ok;
}

bool
fleet_join(struct fleet *f)
{
	return fleet_execute(f,
		   "CREATE INDEX place_key ON place(key, host, account);"
		   "CREATE INDEX place_listed ON place(verdict, host);"
		   "CREATE INDEX login_account ON login(account, fp, last);"
		   "CREATE INDEX login_host ON login(host, fp, last);"
		   "CREATE INDEX list_newest ON list(kind, file,"
		   " revision DESC, time DESC, host) WHERE plausible=1;"
		   "CREATE INDEX problem_host ON problem(host);"
		   "CREATE INDEX finding_host ON finding(host);"
		   "CREATE INDEX list_host ON list(host);"
		   "CREATE INDEX stale_host ON stale(host);"
		   "CREATE INDEX host_name ON host(name);"
		   "UPDATE key SET accounts=n, hosts=m FROM"
		   " (SELECT key AS k, count(DISTINCT account) AS n,"
		   " count(DISTINCT host) AS m FROM place GROUP BY key)"
		   " WHERE id=k;"
		   /*
		    * Accounts that listed keys get into unless the host is
		    * guarded. A CA of TrustedUserCAKeys lets any account in.
		    */
		   "CREATE TABLE entry AS SELECT h.id AS host, h.guarded,"
		   " p.account, count(DISTINCT p.key) AS keys, iif(min(p.key)="
		   "max(p.key), p.key, NULL) AS key, iif(min(p.file)="
		   "max(p.file), p.file, NULL) AS file, iif(min(p.comment)="
		   "max(p.comment), p.comment, NULL) AS comment FROM place p"
		   " JOIN host h"
		   " ON h.id=p.host JOIN account a ON a.id=p.account WHERE"
		   " p.verdict=4 AND h.guarded IS NOT 1 AND (a.name IS NOT NULL"
		   " OR (p.part='ca' AND h.user_ca)) GROUP BY p.account;"
		   /* No audit is believed more than another. */
		   "UPDATE key SET disputed=1, bits=NULL, type="
		   "(SELECT group_concat(t, ' or ') FROM (SELECT DISTINCT"
		   " type AS t FROM place WHERE key=key.id ORDER BY t LIMIT 3))"
		   " WHERE id IN (SELECT key FROM place GROUP BY key HAVING"
		   " count(DISTINCT type)>1 OR count(DISTINCT bits)>1);") &&
	    fleet_compare(f) && add_missing(f) && find_old(f);
}

/* --- totals --------------------------------------------------------------- */

bool
fleet_count(struct fleet *f, struct fleet_totals *t)
{
	const struct {
		int64_t *n;
		const char *sql;
	} totals[] = {
		{ &t->hosts, "count(*) FROM host" },
		{ &t->answered, "count(*) FROM host WHERE answered" },
		{ &t->unanswered,
		    "count(*) FROM host WHERE NOT answered AND NOT missing" },
		{ &t->missing, "count(*) FROM host WHERE missing" },
		{ &t->cut,
		    "count(*) FROM host WHERE answered AND NOT complete" },
		{ &t->twice,
		    "count(*) FROM (SELECT 1 FROM host GROUP BY name"
		    " HAVING count(*)>1)" },
		{ &t->old, "count(*) FROM host WHERE old" },
		{ &t->unwell, "count(*) FROM host WHERE doctor>0" },
		{ &t->broken, "count(*) FROM host WHERE doctor=2" },
		{ &t->entered, "count(*) FROM entry WHERE guarded=0" },
		{ &t->entered_hosts,
		    "count(DISTINCT host) FROM entry WHERE guarded=0" },
		{ &t->unsure, "count(*) FROM entry WHERE guarded IS NULL" },
		{ &t->unsure_hosts,
		    "count(DISTINCT host) FROM entry WHERE guarded IS NULL" },
		{ &t->keys, "count(*) FROM key" },
		{ &t->listed_keys, "count(*) FROM key WHERE verdict=4" },
		{ &t->listed_places, "count(*) FROM place WHERE verdict=4" },
		{ &t->listed_hosts,
		    "count(DISTINCT host) FROM place WHERE verdict=4" },
		{ &t->locked,
		    "count(*) FROM account WHERE listed>0 AND usable=0 AND"
		    " name IS NOT NULL" },
		{ &t->shared, "count(*) FROM key WHERE accounts>1" },
		{ &t->unique, "count(*) FROM key WHERE accounts=1" },
		{ &t->problems, "ifnull(sum(problems), 0) FROM host" },
		{ &t->unchecked,
		    "count(*) FROM host WHERE unchecked>0 OR bad_lines>0" },
		{ &t->uncovered, "ifnull(sum(uncovered), 0) FROM host" },
		{ &t->changes, "count(*) FROM change" },
		{ &t->old_unread, "count(*) FROM old_host WHERE NOT header" },
		{ &t->old_names,
		    "count(*) FROM (SELECT 1 FROM old_host GROUP BY name"
		    " HAVING count(DISTINCT alias)>1)" },
	};
	bool ok = true;

	for (size_t i = 0; ok && i < sizeof(totals) / sizeof(*totals); i++) {
		char query[256];
		sqlite3_stmt *s;

		snprintf(query, sizeof(query), "SELECT %s", totals[i].sql);
		s = fleet_ask(f, query);
		if (fleet_next(f, s, &ok))
			*totals[i].n = sqlite3_column_int64(s, 0);
		sqlite3_finalize(s);
	}
	return ok;
}
