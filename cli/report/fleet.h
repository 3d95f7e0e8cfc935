/* SPDX-License-Identifier: ISC */
/*
 * report/fleet: what the audits of many hosts say, in a temporary database on
 * disk (SQLite removes its file as soon as it is open). Memory does not grow
 * with the number of hosts or keys.
 *
 * All strings in it were made by clean_text. A function that is false has
 * printed a message; the database is then of no more use.
 */
#ifndef CLI_REPORT_FLEET_H
#define CLI_REPORT_FLEET_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLEET_UNKNOWN (-1) /* of a number or a yes or no */

/* From good to bad. A key has the worst of its places. */
enum fleet_verdict {
	FLEET_CLEAN = 0,
	FLEET_ALLOWED,
	FLEET_UNSUPPORTED,
	FLEET_ERROR,
	FLEET_LISTED,
	FLEET_VERDICTS,
};

enum fleet_doctor { FLEET_OK = 0, FLEET_WARNING, FLEET_PROBLEM };

struct fleet {
	sqlite3 *db;
	sqlite3_stmt *statement[32];
	int64_t now;
	uint64_t max_age, list_max_age; /* in days; 0: any */
	int64_t hosts;			/* that have an id, from 1 on */
	bool since;			/* there are older audits */
	struct fleet_owner *owner;	/* of report/owners */
	size_t owners;
};

/* Of a host. Its id comes from fleet_new_host. */
struct fleet_host {
	int64_t id;
	char name[256];
	char alias[256]; /* the name of the audit's file, without .json */
	char file[1024];
	bool header;   /* the audit says which host it is of */
	bool answered; /* if not, reason says why */
	bool complete; /* the audit has its last line */
	bool whole;
	bool every;   /* it has keys that are clean, too */
	bool logins;  /* it tells of logins */
	bool missing; /* --hosts names it, and no audit is of it */
	char reason[512];
	int64_t time;
	char keyveto[64], sshd[128], os[128]; /* versions; "" if unknown */
	int guarded;  /* every way in is, and listed keys are refused */
	bool user_ca; /* sshd takes certificates by TrustedUserCAKeys */
	int doctor;   /* an enum fleet_doctor */
	int64_t accounts, keys, listed, unchecked;
	int64_t problems;  /* all; at most FLEET_PROBLEMS are kept */
	int64_t bad_lines; /* of its audit */
	bool no_list;	   /* none is in use */
	int64_t clean;
	int64_t uncovered; /* keys that no list in use could know */
};

#define FLEET_PROBLEMS 100

struct fleet_list {
	const char *kind, *file, *sha256;
	int64_t revision, time, entries;
};

/* A key in a place. */
struct fleet_place {
	int64_t host, account; /* account: from fleet_account */
	const char *fp, *type, *reason, *file, *comment, *part;
	const char *sources; /* all, for people */
	int64_t bits, line;
	enum fleet_verdict verdict;
	int64_t key; /* is set by fleet_add_place */
};

struct fleet_login {
	int64_t host, account, last;
	const char *fp, *type, *from, *log;
	enum fleet_verdict verdict;
	bool in_file;
};

struct fleet_problem {
	const char *account, *file, *reason; /* account may be NULL */
	int64_t line;
	const char *type; /* of a key that no list could know; NULL: none */
};

bool fleet_open(struct fleet *f);
void fleet_close(struct fleet *f);

int64_t fleet_new_host(struct fleet *f);
bool fleet_add_host(struct fleet *f, const struct fleet_host *h);
bool fleet_add_list(struct fleet *f, int64_t host, const struct fleet_list *l);
bool fleet_add_finding(struct fleet *f, int64_t host, const char *check,
    enum fleet_doctor status, const char *found, const char *remedy);
/* Sets *idp to the account's id. name NULL: what is no account's. */
bool fleet_account(struct fleet *f, int64_t host, const char *name,
    int64_t *idp);
bool fleet_add_summary(struct fleet *f, int64_t account, int64_t keys,
    int64_t listed, int64_t usable);
bool fleet_add_place(struct fleet *f, struct fleet_place *p);
/* A source, or a list or filter, that lists a key. */
bool fleet_add_source(struct fleet *f, int64_t key, const char *name);
bool fleet_add_key_list(struct fleet *f, int64_t key, const char *file);
bool fleet_add_login(struct fleet *f, const struct fleet_login *l);
bool fleet_add_problem(struct fleet *f, int64_t host,
    const struct fleet_problem *p);
bool fleet_expect(struct fleet *f, const char *host);
/* team may be NULL. */
bool fleet_add_owner(struct fleet *f, int64_t id, const char *person,
    const char *team);

/*
 * report/since. After the last older audit: keeps them apart, so that new ones
 * can be added.
 */
bool fleet_keep_old(struct fleet *f);
/* Finds what changed since those, if there are any. Of fleet_join. */
bool fleet_compare(struct fleet *f);

/* After the last audit: finds what only all of them together show. */
bool fleet_join(struct fleet *f);

/* What a row is about. */
enum fleet_kind {
	FLEET_KIND_UNGUARDED, /* an account that listed keys get into now */
	FLEET_KIND_LISTED,    /* a listed key in a place, by host and account */
	FLEET_KIND_LOCKED,    /* an account whose last key is listed */
	FLEET_KIND_GONE,      /* a listed key that came in and is in no file */
	FLEET_KIND_DISPUTED,  /* what a host says of such a key */
	FLEET_KIND_OLD,	      /* a host's list or audit is old */
	FLEET_KIND_DOCTOR,    /* what the doctor of a host complains of */
	FLEET_KIND_UNANSWERED,
	FLEET_KIND_MISSING,
	FLEET_KIND_CUT,	      /* an audit without its last line */
	FLEET_KIND_TWICE,     /* a name that several audits give their host */
	FLEET_KIND_PROBLEM,   /* what could not be read or judged */
	FLEET_KIND_UNCOVERED, /* keys that no list in use could know */
	/* The inventory: nothing is wrong with it. */
	FLEET_KIND_SHARED, /* a place of a key of several accounts, by key */
	FLEET_KIND_UNIQUE, /* a key of one account of one host only */
	FLEET_KIND_OWNED,  /* as FLEET_KIND_LISTED, by owner; not in CSV */
	/* What changed since the older audits: a key, or without one a host. */
	FLEET_KIND_NOW_GUARDED,
	FLEET_KIND_NOW_UNGUARDED,
	FLEET_KIND_NEW,
	FLEET_KIND_USED, /* it came in for the first time */
	FLEET_KIND_AWAY, /* it is there no more */
	FLEET_KINDS,
};

/* A string is NULL, and a number FLEET_UNKNOWN, where it says nothing. */
struct fleet_row {
	enum fleet_kind kind;
	const char *host, *account, *file;
	int64_t line;
	const char *fp, *type; /* type, bits, verdict: as this host says */
	int64_t bits;
	const char *verdict, *sources, *comment, *part;
	int64_t guarded; /* whether the host is */
	const char *owner, *team;
	const char *worst; /* verdict of any host on the key of a place */
	bool disputed;	   /* hosts differ about its type or its size */
	int64_t last;	   /* login, in seconds since 1970 */
	const char *from;  /* of that login */
	const char *message;
	bool severe;		 /* message is of something broken */
	int64_t accounts, hosts; /* that have the key */
};

/* "listed", "locked", "gone"...: for scripts. */
const char *fleet_kind_name(enum fleet_kind kind);
/* "finding", "inventory" or "change". */
const char *fleet_group_name(enum fleet_kind kind);
const char *fleet_verdict_name(enum fleet_verdict verdict);

/*
 * report/rows. Calls take for each row. False after a message, or as soon as
 * take is.
 */
bool fleet_each(struct fleet *f, enum fleet_kind kind,
    bool (*take)(const struct fleet_row *row, void *arg), void *arg);

/*
 * Runs statements, or starts a query of one's own; ends it if fleet_next is
 * false. *okp becomes
 * false after a message.
 */
bool fleet_execute(struct fleet *f, const char *sql);
sqlite3_stmt *fleet_ask(struct fleet *f, const char *sql);
bool fleet_next(struct fleet *f, sqlite3_stmt *s, bool *okp);
/* A number of a row; FLEET_UNKNOWN for NULL. */
int64_t fleet_column(sqlite3_stmt *s, int i);

struct fleet_totals {
	int64_t hosts, answered, unanswered, missing, cut, twice, old;
	int64_t unwell, broken; /* doctors: not ok; of these, broken */
	/* Accounts that listed keys get into now; where that is not known. */
	int64_t entered, entered_hosts, unsure, unsure_hosts;
	int64_t keys, listed_keys, listed_places, listed_hosts, locked;
	int64_t shared, unique, problems, unchecked, uncovered;
	int64_t changes;    /* since the older audits; 0 without any */
	int64_t old_unread; /* of these: they have no first line */
	int64_t old_names;  /* the same, in files of different names */
};

bool fleet_count(struct fleet *f, struct fleet_totals *t);

#endif
