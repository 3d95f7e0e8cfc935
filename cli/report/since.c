/* SPDX-License-Identifier: ISC */
/*
 * report/since: what changed since the older audits of --since. Their fleet is
 * kept in tables of its own; then the same tables take the new audits.
 */
#include "report/fleet.h"

/* No account: NULLs would not be equal. */
#define NO_ACCOUNT "char(0)"
#define ACCOUNT "ifnull(a.name, " NO_ACCOUNT ")"
/* Whose a key is. A host key that becomes a user CA lets anybody in: it is new. */
#define HOLDER "ifnull(a.name, " NO_ACCOUNT " || iif(p.part='ca', 'ca', ''))"

static const char keep[] =
    "INSERT INTO old_host SELECT * FROM host;"
    "CREATE TABLE old_account AS SELECT a.host, " ACCOUNT " AS name"
    " FROM account a;"
    "CREATE TABLE old_place AS SELECT p.host, " ACCOUNT " AS account, k.fp,"
    " p.file, p.line, p.type, p.bits, p.verdict, p.sources, p.comment, p.part,"
    " " HOLDER " AS holder FROM place p JOIN account a ON a.id=p.account"
    " JOIN key k ON k.id=p.key;"
    "CREATE TABLE old_login AS SELECT l.host, " ACCOUNT " AS account, l.fp"
    " FROM login l JOIN account a ON a.id=l.account;"
    /* An account may have a key in any number of lines. */
    "CREATE TABLE old_key AS SELECT host, holder, fp, max(verdict) AS verdict"
    " FROM old_place GROUP BY host, holder, fp;"
    "CREATE UNIQUE INDEX old_key_name ON old_key(host, holder, fp);"
    "CREATE INDEX old_account_name ON old_account(host, name);"
    "CREATE INDEX old_login_key ON old_login(host, account, fp);"
    "DELETE FROM host; DELETE FROM list; DELETE FROM finding;"
    "DELETE FROM account; DELETE FROM key; DELETE FROM place;"
    "DELETE FROM source; DELETE FROM keylist; DELETE FROM login;"
    "DELETE FROM problem;";

/*
 * A host is known again by its name; where files of several names have it, then
 * or now, by that of its file, too, which no host chooses. Of several older
 * audits of a host the newest counts.
 */
#define IDENTITY \
	"iif(name IN (SELECT name FROM twin), name || char(10) || alias, name)"

static const char pair[] =
    "CREATE TABLE twin AS SELECT name FROM host GROUP BY name HAVING"
    " count(DISTINCT alias)>1 UNION SELECT name FROM old_host GROUP BY name"
    " HAVING count(DISTINCT alias)>1;"
    "CREATE TABLE identity(name TEXT PRIMARY KEY, id INT);"
    "INSERT OR REPLACE INTO identity SELECT " IDENTITY ", id FROM old_host"
    " ORDER BY time, id;"
    "CREATE TABLE pair AS SELECT h.id AS new, (SELECT i.id FROM identity i"
    " WHERE i.name=h.identity) AS old FROM (SELECT id, " IDENTITY
    " AS identity FROM host) h;"
    "CREATE INDEX pair_new ON pair(new);"
    "CREATE INDEX pair_old ON pair(old);"
    "CREATE TABLE new_key AS SELECT p.host, " HOLDER " AS holder, k.fp,"
    " max(p.verdict) AS verdict FROM place p JOIN account a ON a.id=p.account"
    " JOIN key k ON k.id=p.key GROUP BY p.host, " HOLDER ", k.fp;"
    "CREATE UNIQUE INDEX new_key_name ON new_key(host, holder, fp);";

/* Why an older audit may not have what a new one has. */
#define OLD_MAY_LACK_IT \
	"WHEN o.id IS NULL THEN 'the host has no older audit'" \
	" WHEN NOT o.answered THEN 'the host did not answer before'" \
	" WHEN NOT o.complete THEN 'the older audit was cut off'" \
	" WHEN NOT o.whole AND NOT EXISTS (SELECT 1 FROM old_account WHERE" \
	" host=o.id AND name=" ACCOUNT ") THEN" \
	" 'the older audit did not look at this account' "
#define HOST_CHANGE \
	"INSERT INTO change(kind, id, host, guarded, message) SELECT "

static const char *const changes[] = {
	pair,
	HOST_CHANGE "'new', h.id, h.name, h.guarded, iif(p.old IS NULL, 'the"
		    " host has no older audit', 'the host did not answer"
		    " before') FROM pair p JOIN host h ON h.id=p.new LEFT JOIN"
		    " old_host o ON o.id=p.old WHERE p.old IS NULL OR"
		    " (h.answered AND NOT o.answered) ORDER BY h.name, h.id",
	HOST_CHANGE "'gone', NULL, o.name, NULL, 'the host has no audit any"
		    " more' FROM identity i JOIN old_host o ON o.id=i.id WHERE"
		    " i.id NOT IN (SELECT old FROM pair WHERE old IS NOT NULL)"
		    " ORDER BY o.name, o.id",
	HOST_CHANGE "'gone', h.id, h.name, NULL, 'the host does not answer any"
		    " more' FROM pair p JOIN host h ON h.id=p.new JOIN"
		    " old_host o ON o.id=p.old WHERE o.answered AND NOT"
		    " h.answered ORDER BY h.name, h.id",
	HOST_CHANGE
	"iif(h.guarded, 'newly-guarded', 'no-longer-guarded'),"
	" h.id, h.name, h.guarded, CASE WHEN o.guarded=0 THEN 'was"
	" not guarded, or only logged' WHEN o.guarded IS NULL THEN"
	" 'was not known before' WHEN h.guarded=0 THEN 'is not"
	" guarded any more, or only logs' ELSE 'was guarded, and"
	" now that is not known' END FROM pair p JOIN host h ON"
	" h.id=p.new JOIN old_host o ON o.id=p.old WHERE"
	" h.answered AND o.answered AND (h.guarded IS 1)<>"
	"(o.guarded IS 1) ORDER BY h.name, h.id",

	/* Audits without --all have no keys that are clean or allowed. */
	"INSERT INTO change SELECT 'new', h.id, h.name, h.guarded, a.name,"
	" p.file, p.line, k.fp, p.type, p.bits, p.verdict, p.sources,"
	" p.comment, p.part, l.last, l.source, CASE WHEN was=1 THEN 'was"
	" allowed before' WHEN was IS NOT NULL THEN 'was here before, and not"
	" listed' " OLD_MAY_LACK_IT
	"WHEN NOT o.every THEN 'or it was here, and not listed: the older"
	" audit has only listed keys' END FROM (SELECT p.rowid AS row, (SELECT"
	" verdict FROM old_key WHERE host=pair.old AND holder=" HOLDER
	" AND fp=k.fp) AS was, pair.old FROM pair JOIN place p ON"
	" p.host=pair.new JOIN key k ON k.id=p.key JOIN account a ON"
	" a.id=p.account) w JOIN place p ON p.rowid=w.row JOIN host h ON"
	" h.id=p.host JOIN key k ON k.id=p.key JOIN account a ON"
	" a.id=p.account LEFT JOIN old_host o ON o.id=w.old LEFT JOIN login l"
	" ON l.rowid=(SELECT g.rowid FROM login g WHERE g.host=p.host AND"
	" g.fp=k.fp AND (a.name IS NULL OR g.account=p.account) ORDER BY"
	" g.last DESC LIMIT 1) WHERE (was IS NULL AND (p.verdict>1 OR o.id IS"
	" NULL OR NOT o.answered OR o.every)) OR (was<>4 AND p.verdict=4)"
	" ORDER BY p.verdict=4 DESC, h.name, h.id, a.name, p.file, p.line,"
	" p.rowid",

	"INSERT INTO change SELECT 'gone', h.id, h.name, h.guarded,"
	" nullif(o.account, " NO_ACCOUNT "), o.file, o.line, o.fp, o.type,"
	" o.bits, o.verdict, o.sources, o.comment, o.part, NULL, NULL,"
	" CASE WHEN now=1 THEN 'is allowed now' WHEN now IS NOT NULL THEN 'is"
	" here, and not listed any more' WHEN h.bad_lines>0 THEN 'lines of the"
	" new audit cannot be used' WHEN EXISTS (SELECT 1 FROM problem WHERE"
	" host=h.id AND account IS nullif(o.account, " NO_ACCOUNT ")) THEN"
	" 'something of this account could not be read or judged' WHEN NOT"
	" h.every THEN 'or it is here, and not listed any more: the new audit"
	" has only listed keys' END FROM (SELECT o.rowid AS row, pair.new,"
	" (SELECT verdict FROM new_key WHERE host=pair.new AND"
	" holder=o.holder AND fp=o.fp) AS now FROM pair JOIN old_place o ON"
	" o.host=pair.old) w JOIN old_place o ON o.rowid=w.row JOIN host h ON"
	" h.id=w.new WHERE h.answered AND h.complete AND ((now IS NULL AND"
	" (o.verdict>1 OR h.every) AND (h.whole OR EXISTS (SELECT 1 FROM"
	" account a WHERE a.host=h.id AND " ACCOUNT "=o.account))) OR"
	" (now<>4 AND o.verdict=4)) ORDER BY o.verdict=4 DESC, h.name, h.id,"
	" o.account, o.file, o.line, o.rowid",

	"INSERT INTO change SELECT 'newly-used', h.id, h.name, h.guarded,"
	" a.name, l.log, NULL, l.fp, l.type, NULL, l.verdict, NULL, NULL,"
	" NULL, l.last, l.source, CASE " OLD_MAY_LACK_IT
	"WHEN NOT o.logins THEN 'the older audit tells of no logins' END"
	" FROM pair JOIN login l ON l.host=pair.new JOIN host h ON h.id=l.host"
	" JOIN account a ON a.id=l.account LEFT JOIN old_host o ON"
	" o.id=pair.old WHERE NOT EXISTS (SELECT 1 FROM old_login WHERE"
	" host=o.id AND account=" ACCOUNT " AND fp=l.fp) ORDER BY h.name,"
	" h.id, a.name, l.last DESC",
	"CREATE INDEX change_kind ON change(kind)",
};

bool
fleet_keep_old(struct fleet *f)
{
	f->since = true;
	f->hosts = 0;
	return fleet_execute(f, keep);
}

bool
fleet_compare(struct fleet *f)
{
	const size_t n = f->since ? sizeof(changes) / sizeof(*changes) : 0;
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++)
		ok = fleet_execute(f, changes[i]);
	return ok;
}
