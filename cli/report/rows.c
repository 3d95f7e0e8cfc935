/* SPDX-License-Identifier: ISC */
/* report/rows: the findings and the inventory of a fleet, as rows. */
#include <stddef.h>
#include <string.h>

#include "report/fleet.h"

/*
 * The last login with a key, of the account that has it in a file. What is no
 * account's, such as a CA of TrustedUserCAKeys, lets any account in.
 */
#define LAST(what) \
	"iif(a.name IS NULL," \
	" (SELECT " what " FROM login l WHERE l.host=p.host AND l.fp=k.fp" \
	" ORDER BY l.last DESC LIMIT 1)," \
	" (SELECT " what " FROM login l WHERE l.account=p.account AND" \
	" l.fp=k.fp ORDER BY l.last DESC LIMIT 1))"
#define LAST_LOGIN LAST("l.last") " AS last, " LAST("l.source") " AS source"
#define HOST "h.name AS host, h.guarded"
/* The same, and whose the key is: w, which OWNED joins. */
#define OWNED_HOST HOST ", w.person AS owner, w.team"
#define OWNED " LEFT JOIN owner w ON w.id=owner_id("
#define PLACES \
	"SELECT " OWNED_HOST ", a.name AS account, p.file, p.line, k.fp," \
	" p.type," \
	" p.bits, p.verdict, p.sources, p.comment, p.part, k.accounts," \
	" k.hosts, k.verdict AS worst, k.disputed, " LAST_LOGIN \
	" FROM place p JOIN key k ON k.id=p.key JOIN host h ON h.id=p.host" \
	" JOIN account a ON a.id=p.account" OWNED \
	"k.fp, p.comment, a.name, h.name) "
#define CHANGED \
	"SELECT c.*, w.person AS owner, w.team FROM change c" OWNED \
	"c.fp, c.comment, c.account, c.host) WHERE c.kind="
#define CHANGES(kind) \
	{ \
		kind, CHANGED "'" kind "' ORDER BY c.rowid" \
	}
#define HOSTS "SELECT " HOST ", h.file, h.reason AS message FROM host h "

static const struct {
	const char *name, *sql;
} kinds[FLEET_KINDS] = {
	[FLEET_KIND_UNGUARDED] = { "unguarded",
	    "SELECT " OWNED_HOST
	    ", a.name AS account, e.file, k.fp, k.type, k.bits, e.comment,"
	    " 4 AS verdict, l.last, l.source, e.keys || iif(e.keys=1,"
	    " ' listed key gets in', ' listed keys get in') ||"
	    " iif(a.name IS NULL, ' as any account, by certificates', '') ||"
	    " ': this host is not guarded, or only logs' AS message"
	    " FROM entry e JOIN host h ON h.id=e.host JOIN account a ON"
	    " a.id=e.account LEFT JOIN key k ON k.id=e.key LEFT JOIN login l ON"
	    " l.rowid=(SELECT g.rowid FROM login g WHERE g.account=e.account"
	    " AND g.verdict=4 AND g.in_file ORDER BY g.last DESC LIMIT 1)" OWNED
	    "k.fp, e.comment, a.name, h.name) WHERE e.guarded=0"
	    " ORDER BY h.name, h.id, a.name" },
	[FLEET_KIND_LISTED] = { "listed",
	    PLACES "WHERE p.verdict=4 ORDER BY h.name, h.id, a.name, p.file,"
		   " p.line, p.rowid" },
	[FLEET_KIND_LOCKED] = { "locked",
	    "SELECT " OWNED_HOST ", a.name AS account, a.listed || ' of ' ||"
	    " a.keys || iif(a.keys=1, ' key is', ' keys are') || ' listed, and"
	    " no other lets in' || CASE h.guarded WHEN 1 THEN ': it is locked"
	    " out' WHEN 0 THEN ': it would be locked out' ELSE '' END AS"
	    " message FROM account a JOIN host h ON h.id=a.host" OWNED
	    "NULL, NULL, a.name, h.name) WHERE a.listed>0 AND a.usable=0 AND"
	    " a.name IS NOT NULL ORDER BY h.name, h.id, a.name" },
	[FLEET_KIND_GONE] = { "gone",
	    "SELECT " OWNED_HOST ", a.name AS account, l.log AS file, l.fp,"
	    " l.type, l.verdict, l.last, l.source FROM login l JOIN host h ON"
	    " h.id=l.host JOIN account a ON a.id=l.account" OWNED
	    "l.fp, NULL, a.name, h.name) WHERE l.verdict=4 AND NOT l.in_file"
	    " ORDER BY h.name, h.id, a.name, l.last DESC" },
	[FLEET_KIND_DISPUTED] = { "disputed",
	    "SELECT DISTINCT " HOST ", k.fp, p.type, p.bits, k.accounts,"
	    " k.hosts, 'audits disagree about the type or the size of this key'"
	    " AS message FROM key k JOIN place p ON p.key=k.id JOIN host h ON"
	    " h.id=p.host WHERE k.disputed ORDER BY k.fp, h.name, h.id, p.type,"
	    " p.bits" },
	[FLEET_KIND_OLD] = { "old",
	    "SELECT " HOST ", s.file, s.message FROM stale s JOIN host h"
	    " ON h.id=s.host ORDER BY h.name, h.id, s.rowid" },
	[FLEET_KIND_DOCTOR] = { "doctor",
	    "SELECT " HOST ", d.name || ': ' || d.found AS message,"
	    " d.status=2 AS severe FROM finding d JOIN host h ON h.id=d.host"
	    " ORDER BY h.name, h.id, d.status DESC, d.rowid" },
	[FLEET_KIND_UNANSWERED] = { "unanswered",
	    HOSTS "WHERE NOT h.answered AND NOT h.missing ORDER BY h.name,"
		  " h.id" },
	[FLEET_KIND_MISSING] = { "missing",
	    HOSTS "WHERE h.missing ORDER BY h.name, h.id" },
	[FLEET_KIND_CUT] = { "cut-off",
	    "SELECT " HOST ", h.file, 'the audit was cut off, or is none:"
	    " its last line is missing' AS message FROM host h WHERE h.answered"
	    " AND NOT h.complete ORDER BY h.name, h.id" },
	[FLEET_KIND_TWICE] = { "twice",
	    "SELECT " HOST ", h.file, 'another audit is of a host of this"
	    " name, too' AS message FROM host h WHERE EXISTS (SELECT 1 FROM"
	    " host g WHERE g.name=h.name AND g.id<>h.id) ORDER BY h.name,"
	    " h.id" },
	[FLEET_KIND_PROBLEM] = { "problem",
	    "SELECT " HOST ", x.account, x.file, x.line, x.reason AS"
	    " message FROM problem x JOIN host h ON h.id=x.host WHERE x.type IS"
	    " NULL ORDER BY h.name, h.id, x.rowid" },
	[FLEET_KIND_UNCOVERED] = { "uncovered",
	    "SELECT " HOST ", x.account, x.file, x.line, NULL AS fp, x.type,"
	    " 2 AS verdict, x.reason AS message, h.id AS id, x.rowid AS row"
	    " FROM problem x JOIN host h ON h.id=x.host WHERE x.type IS NOT"
	    " NULL UNION ALL SELECT " HOST ", a.name, p.file, p.line, k.fp,"
	    " p.type, 2, k.reason, h.id, p.rowid FROM place p JOIN key k ON"
	    " k.id=p.key JOIN host h ON h.id=p.host JOIN account a ON"
	    " a.id=p.account WHERE p.verdict=2 UNION ALL SELECT " HOST ", NULL,"
	    " NULL, NULL, NULL, NULL, NULL, 'no list is in use: ' || clean ||"
	    " iif(clean=1, ' key was', ' keys were') || ' compared with none',"
	    " h.id, 0 FROM host h WHERE h.no_list AND h.clean>0"
	    " ORDER BY host, id, row" },
	[FLEET_KIND_SHARED] = { "shared",
	    PLACES "WHERE k.accounts>1 ORDER BY k.verdict=4 DESC, k.accounts"
		   " DESC, k.fp, h.name, h.id, a.name, p.file, p.line,"
		   " p.rowid" },
	[FLEET_KIND_UNIQUE] = { "unique",
	    PLACES "WHERE k.accounts=1 ORDER BY k.verdict=4 DESC, h.name, h.id,"
		   " a.name, p.file, p.line, p.rowid" },
	[FLEET_KIND_OWNED] = { "owned",
	    PLACES "WHERE p.verdict=4 ORDER BY w.id IS NULL, w.team, w.person,"
		   " h.name, h.id, a.name, p.file, p.line, p.rowid" },
	[FLEET_KIND_NOW_GUARDED] = CHANGES("newly-guarded"),
	[FLEET_KIND_NOW_UNGUARDED] = CHANGES("no-longer-guarded"),
	[FLEET_KIND_NEW] = CHANGES("new"),
	[FLEET_KIND_USED] = CHANGES("newly-used"),
	[FLEET_KIND_AWAY] = CHANGES("gone"),
};

const char *
fleet_kind_name(enum fleet_kind kind)
{
	return kinds[kind].name;
}

const char *
fleet_group_name(enum fleet_kind kind)
{
	if (kind >= FLEET_KIND_NOW_GUARDED)
		return "change";
	return kind >= FLEET_KIND_SHARED ? "inventory" : "finding";
}

const char *
fleet_verdict_name(enum fleet_verdict verdict)
{
	static const char *const names[FLEET_VERDICTS] = {
		[FLEET_CLEAN] = "clean",
		[FLEET_ALLOWED] = "allowed",
		[FLEET_UNSUPPORTED] = "unsupported",
		[FLEET_ERROR] = "error",
		[FLEET_LISTED] = "listed",
	};

	return names[verdict];
}

/* The columns of the queries above, and where a row has them. */
static const struct field {
	const char *name;
	enum { TEXT, NUMBER, FLAG, VERDICT } type;
	size_t at;
} fields[] = {
	{ "host", TEXT, offsetof(struct fleet_row, host) },
	{ "account", TEXT, offsetof(struct fleet_row, account) },
	{ "file", TEXT, offsetof(struct fleet_row, file) },
	{ "line", NUMBER, offsetof(struct fleet_row, line) },
	{ "fp", TEXT, offsetof(struct fleet_row, fp) },
	{ "type", TEXT, offsetof(struct fleet_row, type) },
	{ "bits", NUMBER, offsetof(struct fleet_row, bits) },
	{ "verdict", VERDICT, offsetof(struct fleet_row, verdict) },
	{ "sources", TEXT, offsetof(struct fleet_row, sources) },
	{ "comment", TEXT, offsetof(struct fleet_row, comment) },
	{ "part", TEXT, offsetof(struct fleet_row, part) },
	{ "guarded", NUMBER, offsetof(struct fleet_row, guarded) },
	{ "owner", TEXT, offsetof(struct fleet_row, owner) },
	{ "team", TEXT, offsetof(struct fleet_row, team) },
	{ "worst", VERDICT, offsetof(struct fleet_row, worst) },
	{ "disputed", FLAG, offsetof(struct fleet_row, disputed) },
	{ "last", NUMBER, offsetof(struct fleet_row, last) },
	{ "source", TEXT, offsetof(struct fleet_row, from) },
	{ "message", TEXT, offsetof(struct fleet_row, message) },
	{ "severe", FLAG, offsetof(struct fleet_row, severe) },
	{ "accounts", NUMBER, offsetof(struct fleet_row, accounts) },
	{ "hosts", NUMBER, offsetof(struct fleet_row, hosts) },
};

#define COLUMNS_MAX 32

/* The field that a column of a query is; NULL: none. */
static const struct field *
find_field(const char *name)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	return NULL;
}

static void
read_field(sqlite3_stmt *s, int i, const struct field *field,
    struct fleet_row *row)
{
	const int64_t n = field->type == TEXT ? 0 : fleet_column(s, i);
	char *at = (char *)row + field->at;
	const char *text = NULL;

	if (field->type == NUMBER) {
		memcpy(at, &n, sizeof(n));
		return;
	}
	if (field->type == FLAG) {
		*(bool *)at = n == 1;
		return;
	}
	if (field->type == TEXT)
		text = (const char *)sqlite3_column_text(s, i);
	else if (n != FLEET_UNKNOWN)
		text = fleet_verdict_name((enum fleet_verdict)n);
	memcpy(at, &text, sizeof(text));
}

bool
fleet_each(struct fleet *f, enum fleet_kind kind,
    bool (*take)(const struct fleet_row *row, void *arg), void *arg)
{
	sqlite3_stmt *s = fleet_ask(f, kinds[kind].sql);
	const int n = s != NULL ? sqlite3_column_count(s) : 0;
	const struct field *field[COLUMNS_MAX];
	bool ok = true;

	for (int i = 0; i < n && i < COLUMNS_MAX; i++)
		field[i] = find_field(sqlite3_column_name(s, i));
	while (ok && fleet_next(f, s, &ok)) {
		struct fleet_row row = {
			.kind = kind,
			.line = FLEET_UNKNOWN,
			.bits = FLEET_UNKNOWN,
			.guarded = FLEET_UNKNOWN,
			.last = FLEET_UNKNOWN,
			.accounts = FLEET_UNKNOWN,
			.hosts = FLEET_UNKNOWN,
		};

		for (int i = 0; i < n && i < COLUMNS_MAX; i++)
			if (field[i] != NULL)
				read_field(s, i, field[i], &row);
		ok = take(&row, arg);
	}
	sqlite3_finalize(s);
	return ok;
}
