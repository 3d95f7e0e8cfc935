/* SPDX-License-Identifier: ISC */
#include "sessions/session.h"

#include <arpa/inet.h>

#include <stdlib.h>
#include <string.h>

/* Reads an address as sshd logs it. A scope behind "%" is left out. */
static bool
read_address(const char *from, struct in6_addr *a)
{
	char text[INET6_ADDRSTRLEN];
	const size_t n = strcspn(from, "%");
	struct in_addr v4;

	if (n >= sizeof(text))
		return false;
	memcpy(text, from, n);
	text[n] = '\0';
	if (inet_pton(AF_INET6, text, a) == 1)
		return true;
	if (inet_pton(AF_INET, text, &v4) != 1)
		return false;
	*a = (struct in6_addr){ .s6_addr[10] = 0xff, .s6_addr[11] = 0xff };
	memcpy(&a->s6_addr[12], &v4, sizeof(v4));
	return true;
}

static bool
has_peer(const struct session *s, const struct accepted *a)
{
	struct in6_addr from;

	if (!read_address(a->from, &from))
		return false;
	for (size_t i = 0; i < s->n_peers; i++)
		if (s->peer[i].port == a->port &&
		    memcmp(&s->peer[i].address, &from, sizeof(from)) == 0)
			return true;
	return false;
}

bool
session_fits(const struct session *s, const struct reading_login *l,
    int64_t now)
{
	return l->process == (uint64_t)s->pid &&
	    l->seconds >= s->started - SESSION_SLACK_SECONDS &&
	    l->seconds <= now + SESSION_SLACK_SECONDS && has_peer(s, &l->a);
}

static void
add_key(struct session *s, bool ca,
    const uint8_t digest[static KV_SHA256_BYTES], bool doubtful, bool lacks_ca)
{
	for (size_t i = 0; i < s->n_keys; i++) {
		struct session_key *k = &s->key[i];

		if (k->ca == ca &&
		    memcmp(k->digest, digest, KV_SHA256_BYTES) == 0) {
			k->doubtful &= doubtful;
			k->lacks_ca |= lacks_ca;
			return;
		}
	}
	if (s->n_keys == SESSION_KEYS_MAX) {
		s->contradict = true;
		return;
	}
	s->key[s->n_keys] = (struct session_key){
		.ca = ca,
		.doubtful = doubtful,
		.lacks_ca = lacks_ca,
	};
	memcpy(s->key[s->n_keys++].digest, digest, KV_SHA256_BYTES);
}

/* Whether both lines say the same, as copies of one line in two logs do. */
static bool
is_same(const struct accepted *a, const struct accepted *b)
{
	return strcmp(a->user, b->user) == 0 && strcmp(a->from, b->from) == 0 &&
	    a->port == b->port && a->hostbased == b->hostbased &&
	    a->md5 == b->md5 && a->has_key == b->has_key &&
	    a->has_ca == b->has_ca &&
	    memcmp(a->key, b->key, sizeof(a->key)) == 0 &&
	    memcmp(a->ca, b->ca, sizeof(a->ca)) == 0;
}

/* A connection has one line "Accepted", and before that any "Partial". */
void
session_add_login(struct session *s, const struct reading_login *l, bool sent)
{
	const struct accepted *a = &l->a;

	if (s->sent && !sent)
		return;
	if (sent && !s->sent) {
		s->sent = true;
		s->accepted = s->contradict = s->md5 = false;
		s->n_keys = 0;
	}
	s->md5 |= a->md5;
	if (!a->partial && s->accepted) {
		s->contradict |= !is_same(&s->a, a);
	} else if (!a->partial) {
		s->accepted = true;
		s->a = *a;
		s->since = l->seconds;
	}
	if (a->has_key)
		add_key(s, false, a->key, a->partial && !sent, a->lacks_ca);
	if (a->has_ca)
		add_key(s, true, a->ca, a->partial && !sent, false);
}

const char *
session_find_doubt(const struct session *s)
{
	if (!s->accepted)
		return "no line of the log tells how it came in";
	if (s->contradict)
		return "its lines in the log contradict each other";
	return s->md5 ? "the log has an MD5 fingerprint of its key" : NULL;
}

static bool
is_listed(const struct session_key *k)
{
	return k->named || (k->found && k->verdict == KV_VERDICT_LISTED);
}

const char *
session_find_key_doubt(const struct session_key *k, bool judged)
{
	if (k->doubtful && is_listed(k))
		return "only a line \"Partial\" of a text log tells of it, "
		       "which anybody may have written";
	if (k->lacks_ca && !is_listed(k))
		return "the log does not have the CA of its certificate";
	if (judged && !k->found)
		return "no file of the account has it";
	return judged && k->verdict == KV_VERDICT_ERROR ?
	    "it has no verdict" :
	    NULL;
}

bool
session_is_unchecked(const struct session *s, bool judged)
{
	bool unchecked = session_find_doubt(s) != NULL;

	for (size_t i = 0; i < s->n_keys; i++)
		unchecked |= session_find_key_doubt(&s->key[i], judged) != NULL;
	return unchecked;
}

bool
session_key_is_hit(const struct session_key *k)
{
	return is_listed(k) && !k->doubtful;
}

bool
session_is_hit(const struct session *s)
{
	bool hit = false;

	for (size_t i = 0; i < s->n_keys; i++)
		hit |= session_key_is_hit(&s->key[i]);
	return hit && session_find_doubt(s) == NULL;
}

void
sessions_free(struct sessions *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].peer);
	free(s->v);
	*s = (struct sessions){ .n = 0 };
}
