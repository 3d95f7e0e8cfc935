/* SPDX-License-Identifier: ISC */
/*
 * logs/logins: the keys of an audit, and when each of them last came in, from
 * where and as whom. Memory grows with the keys and their accounts, and not with
 * the log: at most LOGINS_OTHERS_MAX accounts more are kept, those that came in
 * with such a key, and whose files do not have it.
 */
#ifndef CLI_LOGS_LOGINS_H
#define CLI_LOGS_LOGINS_H

#include "logs/connected.h"
#include "reading/report.h"

#define LOGINS_OTHERS_MAX 1024
#define LOGINS_TYPE_BYTES 24

/* An account that has a key in its files, or came in with it. */
struct logins_account {
	char *name;   /* NULL: the key is one of the host or a CA of all */
	bool in_file; /* a file that was read lets it use the key */
	uint64_t logins, refused; /* refused: by PAM, after sshd accepted it */
	int64_t last;		  /* seconds since 1970; 0 with logins */
	const char *log;	  /* of the last login; the caller's */
	char from[ACCEPTED_FROM_BYTES];
	bool hostbased;
	bool connected; /* it is in struct connected */
};

/* A key that is looked for in the log. */
struct logins_key {
	uint8_t digest[KV_SHA256_BYTES];
	char type[LOGINS_TYPE_BYTES]; /* as sshd names it: "ED25519"; "": ? */
	enum kv_verdict verdict;
	bool denied;	/* by a DenyKey line; no file that was read has it */
	bool everyones; /* in a file that is of no account */
	bool ca;
	bool wanted; /* false: this audit has another verdict */
	/* First those with in_file, then the others. */
	struct logins_account **v;
	size_t n;
	size_t in_file; /* how many have in_file */
	size_t next;	/* the one of the others to make room next */
	void *by_name;	/* a tree of tsearch(3) */
};

/* All zeroes: no key. Freed by logins_free. */
struct logins {
	bool all; /* keys of any verdict; else only listed ones are printed */
	bool looks_for_open; /* connections that are open; for root */
	struct connected open;
	struct logins_key **v;
	size_t n;
	void *by_digest;  /* a tree of tsearch(3) */
	size_t others;	  /* accounts beyond those whose files have the key */
	uint64_t dropped; /* logins of accounts beyond LOGINS_OTHERS_MAX */
	bool failed;	  /* out of memory */
	/* What was read. */
	/* By keys that are looked for; refused as above. */
	uint64_t logins, refused;
	uint64_t md5;  /* messages with an MD5 fingerprint */
	int64_t since; /* of the logs' first lines; 0: no line */
};

/*
 * For judged of struct report, with the logins as its argument: adds a key of
 * this audit, unless they are of listed keys and it is not listed.
 */
void logins_on_key(const struct report *r, const struct input_key *key,
    const struct kv_decision *d);

/*
 * Adds the keys of the DenyKey lines that count now, in seconds since 1970: they
 * are looked for, in a file or not.
 */
void logins_add_denied(struct logins *l, const struct kv_config *config,
    int64_t now);

/* Whether the key, or the CA, of a login is looked for. */
bool logins_has(const struct logins *l, const struct accepted *a);

/* Counts a login. log stays the caller's, as long as l. */
void logins_count(struct logins *l, const struct accepted *a, int64_t seconds,
    const char *log);
/* Counts one that PAM refused after sshd had accepted the key. */
void logins_count_refused(struct logins *l, const struct accepted *a);

/*
 * Notes the line of a login if its connection is open, and that is looked for.
 * log stays the caller's, as long as l. sent is as in struct connected_line.
 */
void logins_note_open(struct logins *l, const struct reading_login *login,
    const char *log, bool sent);

/*
 * Prints a line for each key and account on standard output, the last login
 * first: as text,
 *   ACCOUNT: listed: TYPE SHA256:...: N logins, the last TIME from ADDRESS
 * with "; PAM refused N more" where it did, and "; still connected: ..." for
 * each connection that is open, or a JSON object with "login": true. A key in no
 * file, or of the host, needs a login. False with errno if out of memory.
 */
bool logins_print(const struct logins *l, bool json);

void logins_free(struct logins *l);

/* "2026-11-23T13:20:00Z" */
#define LOGINS_TIME_BYTES 32
void logins_format_time(int64_t seconds, char text[static LOGINS_TIME_BYTES]);

#endif
