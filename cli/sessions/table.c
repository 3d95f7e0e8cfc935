/* SPDX-License-Identifier: ISC */
#include "sessions/table.h"

#include <arpa/inet.h>

#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#include "base/json_text.h"
#include "command.h"
#include "logs/logins.h"

#define COLUMNS_MAX 40

/* How wide the columns of names and addresses are. */
struct widths {
	int account, from;
};

/* By the log, or else by the account's number. */
static void
name_account(const struct session *s, char name[static ACCEPTED_USER_BYTES])
{
	const struct passwd *pw;

	if (s->accepted)
		snprintf(name, ACCEPTED_USER_BYTES, "%s", s->a.user);
	else if ((pw = getpwuid(s->uid)) != NULL)
		snprintf(name, ACCEPTED_USER_BYTES, "%s", pw->pw_name);
	else
		snprintf(name, ACCEPTED_USER_BYTES, "%ju", (uintmax_t)s->uid);
}

/* By the log, or else where the first of its sockets leads. */
static unsigned int
name_peer(const struct session *s, char from[static ACCEPTED_FROM_BYTES])
{
	const struct in6_addr *a = &s->peer[0].address;

	if (s->accepted) {
		snprintf(from, ACCEPTED_FROM_BYTES, "%s", s->a.from);
		return s->a.port;
	}
	if (IN6_IS_ADDR_V4MAPPED(a))
		inet_ntop(AF_INET, &a->s6_addr[12], from, ACCEPTED_FROM_BYTES);
	else
		inet_ntop(AF_INET6, a, from, ACCEPTED_FROM_BYTES);
	return s->peer[0].port;
}

void
session_print_name(FILE *out, const struct session *s)
{
	char account[ACCEPTED_USER_BYTES], from[ACCEPTED_FROM_BYTES];

	name_account(s, account);
	(void)name_peer(s, from);
	cli_printf(out, "%s from %s, process %jd", account, from,
	    (intmax_t)s->pid);
}

/* Whether this row of the session is asked for; k is NULL in one without. */
static bool
is_asked(const struct session_table *t, const struct session_key *k)
{
	return !t->hits || k == NULL || session_key_is_hit(k) ||
	    session_find_key_doubt(k, t->judged) != NULL;
}

static const char *
name_verdict(const struct session_key *k)
{
	if (k->named)
		return "named";
	return k->found ? kv_verdict_name(k->verdict) : "unknown";
}

static void
print_text(const struct session_table *t, const struct widths *w,
    const struct session *s, const struct session_key *k)
{
	char account[ACCEPTED_USER_BYTES], from[ACCEPTED_FROM_BYTES];
	char since[LOGINS_TIME_BYTES], fingerprint[KV_FINGERPRINT_BYTES];
	const unsigned int port = name_peer(s, from);
	const char *doubt;

	name_account(s, account);
	logins_format_time(s->since, since);
	cli_printf(stdout, "%-*s  %-*s %5u  %-20s %8jd  ", w->account, account,
	    w->from, from, port, since, (intmax_t)s->pid);
	if (k == NULL) {
		printf("not checked: %s\n", session_find_doubt(s));
		return;
	}
	kv_fingerprint_format(k->digest, fingerprint);
	doubt = session_find_key_doubt(k, t->judged);
	cli_printf(stdout, "%s: %s%s%s%s",
	    doubt != NULL ? "not checked" : name_verdict(k), k->type,
	    *k->type != '\0' ? " " : "", fingerprint, k->ca ? " (CA)" : "");
	if (*k->list != '\0')
		cli_printf(stdout, " [%s%s%s]", k->list,
		    *k->source != '\0' ? " " : "", k->source);
	if (doubt != NULL)
		printf(": %s", doubt);
	puts(s->own ? " (your own session)" : "");
}

static json_t *
text_or_null(const char *text)
{
	return *text != '\0' ? json_text(text) : json_null();
}

static json_t *
json_of_end(const struct session *s)
{
	return s->end == SESSION_OPEN ?
	    json_null() :
	    json_boolean(s->end == SESSION_ENDED);
}

static bool
print_json(const struct session_table *t, const struct session *s,
    const struct session_key *k)
{
	static const struct session_key none;
	char account[ACCEPTED_USER_BYTES], from[ACCEPTED_FROM_BYTES];
	char since[LOGINS_TIME_BYTES], fingerprint[KV_FINGERPRINT_BYTES] = "";
	const unsigned int port = name_peer(s, from);
	const char *doubt = k == NULL ?
	    session_find_doubt(s) :
	    session_find_key_doubt(k, t->judged);

	name_account(s, account);
	logins_format_time(s->since, since);
	if (k != NULL)
		kv_fingerprint_format(k->digest, fingerprint);
	else
		k = &none;
	return json_print(json_pack(
	    "{sb so so sI sI ss sI ss so so sb ss so so sb sb so sI so}",
	    "session", 1, "account", json_text(account), "from",
	    json_text(from), "port", (json_int_t)port, "since_seconds",
	    (json_int_t)s->since, "since", since, "process", (json_int_t)s->pid,
	    "method",
	    !s->accepted       ? "unknown" :
		s->a.hostbased ? "hostbased" :
				 "publickey",
	    "fingerprint", text_or_null(fingerprint), "type",
	    text_or_null(k->type), "ca", k->ca, "verdict",
	    doubt != NULL ? kv_verdict_name(KV_VERDICT_ERROR) : name_verdict(k),
	    "list", text_or_null(k->list), "source", text_or_null(k->source),
	    "named", k->named, "own", s->own, "ended", json_of_end(s),
	    "still_run", (json_int_t)s->still_run, "reason",
	    doubt != NULL ? json_string(doubt) : json_null()));
}

static bool
print_row(const struct session_table *t, const struct widths *w,
    const struct session *s, const struct session_key *k)
{
	if (!is_asked(t, k))
		return true;
	if (t->json)
		return print_json(t, s, k);
	print_text(t, w, s, k);
	return true;
}

/* A session with a doubt has no row for its keys: they may not be its keys. */
static bool
print_session(const struct session_table *t, const struct widths *w,
    const struct session *s)
{
	bool ok = true;

	if (session_find_doubt(s) != NULL)
		return print_row(t, w, s, NULL);
	for (size_t i = 0; ok && i < s->n_keys; i++)
		ok = print_row(t, w, s, &s->key[i]);
	return ok;
}

static bool
has_row(const struct session_table *t, const struct session *s)
{
	bool has = session_find_doubt(s) != NULL;

	for (size_t i = 0; i < s->n_keys; i++)
		has |= is_asked(t, &s->key[i]);
	return has;
}

static int
at_least(int width, const char *text)
{
	const int n = strlen(text) > COLUMNS_MAX ?
	    COLUMNS_MAX :
	    (int)strlen(text);

	return n > width ? n : width;
}

static void
find_widths(const struct session_table *t, const struct sessions *s,
    struct widths *w)
{
	char account[ACCEPTED_USER_BYTES], from[ACCEPTED_FROM_BYTES];

	for (size_t i = 0; i < s->n; i++) {
		if (!has_row(t, &s->v[i]))
			continue;
		name_account(&s->v[i], account);
		(void)name_peer(&s->v[i], from);
		w->account = at_least(w->account, account);
		w->from = at_least(w->from, from);
	}
}

bool
session_table_print(const struct session_table *t, const struct sessions *s)
{
	struct widths w = { .account = 0 };
	bool ok = true;

	find_widths(t, s, &w);
	if (w.account > 0 && !t->json) {
		w.account = at_least(w.account, "account");
		printf("%-*s  %-*s %5s  %-20s %8s  key\n", w.account, "account",
		    w.from, "from", "port", "since", "process");
	}
	for (size_t i = 0; ok && i < s->n; i++)
		ok = print_session(t, &w, &s->v[i]);
	return ok;
}
