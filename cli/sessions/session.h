/* SPDX-License-Identifier: ISC */
/*
 * sessions/session: a connection that is open, and what sshd's log says of it.
 */
#ifndef CLI_SESSIONS_SESSION_H
#define CLI_SESSIONS_SESSION_H

#include <netinet/in.h>
#include <sys/types.h>

#include <limits.h>

#include "reading/log_records.h"
#include "kv_verdict.h"

/* More keys than AuthenticationMethods asks for. */
#define SESSION_KEYS_MAX 8
#define SESSION_TYPE_BYTES 64
/* How far the clocks of a process's start and of the log may be apart. */
#define SESSION_SLACK_SECONDS 60

/* What a session's process is connected to. */
struct session_peer {
	uint64_t inode; /* of the socket */
	struct in6_addr address;
	uint16_t port;
};

/* A key, or the CA of a certificate, by which a connection came in. */
struct session_key {
	uint8_t digest[KV_SHA256_BYTES];
	bool ca;
	/*
	 * A line "Partial" of a text log tells of it: nothing shows that sshd
	 * wrote that line.
	 */
	bool doubtful;
	bool lacks_ca; /* of a certificate: the log has not its CA */
	bool found;    /* there is a verdict */
	bool named;    /* --key names it */
	enum kv_verdict verdict;
	char type[SESSION_TYPE_BYTES]; /* "": not known */
	/* Which list or filter has it, and as what; "": none. */
	char list[PATH_MAX], source[KV_SOURCE_NAME_BYTES];
};

enum session_end {
	SESSION_OPEN,  /* nobody ended it */
	SESSION_ENDED, /* here */
	SESSION_FAILED,
	SESSION_LEFT, /* it is the one in which keyveto runs */
};

/* The process that let a connection in. */
struct session {
	pid_t pid;
	uint64_t start;	 /* in ticks since the machine's start */
	int64_t started; /* the same, in seconds since 1970 */
	uid_t uid;	 /* of the account */
	bool own;	 /* this process belongs to it */
	struct session_peer *peer;
	size_t n_peers;
	/* By the log: */
	bool accepted;	 /* there is a line "Accepted" */
	bool contradict; /* there are two that differ */
	bool md5;	 /* a line has an MD5 fingerprint */
	bool sent;	 /* as in struct login_taker, of all its lines */
	int64_t since;	 /* of that line; without one as started */
	struct accepted a;
	struct session_key key[SESSION_KEYS_MAX];
	size_t n_keys;
	/* By --end: */
	enum session_end end;
	size_t still_run; /* processes that it had started */
};

struct sessions {
	struct session *v;
	size_t n;
};

/*
 * Whether the line of the log can be about the session: it tells its process,
 * a time when that ran, and where one of its sockets leads. The account is the
 * caller's to compare.
 */
bool session_fits(const struct session *s, const struct reading_login *l,
    int64_t now);

/*
 * Adds what such a line says. sent is as in struct login_taker: a line that
 * sshd sent counts more than all that others may have written.
 */
void session_add_login(struct session *s, const struct reading_login *l,
    bool sent);

/* Why it cannot be told which keys these are; or NULL. */
const char *session_find_doubt(const struct session *s);

/* Why the key's verdict is not known, or does not count; or NULL. */
const char *session_find_key_doubt(const struct session_key *k, bool judged);

/*
 * Whether something about it cannot be told. judged: a key must have a verdict.
 */
bool session_is_unchecked(const struct session *s, bool judged);

/* Whether the key is listed or named, and that counts. */
bool session_key_is_hit(const struct session_key *k);

/* Whether a key of it, about which there is no doubt, is listed or named. */
bool session_is_hit(const struct session *s);

/* Frees all, and leaves none. */
void sessions_free(struct sessions *s);

#endif
