/* SPDX-License-Identifier: ISC */
#include "log_lines/accepted.h"

#include <stdlib.h>
#include <string.h>

#include "base/unvis.h"

/* log.c:do_log calls syslog with "%.500s". */
#define MESSAGE_MAX 500
#define FINGERPRINT_CHARS (KV_FINGERPRINT_BYTES - 1)
#define MD5_CHARS 51 /* "MD5:" and 16 bytes in hexadecimal */
#define DIGITS "0123456789"
#define METHOD_CHARS "abcdefghijklmnopqrstuvwxyz-/"
#define TYPE_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZ-" DIGITS
#define SERIAL " (serial "

/* Moves *pp past word. False if it is not there. */
static bool
skip_word(const char **pp, const char *word)
{
	const size_t n = strlen(word);

	if (strncmp(*pp, word, n) != 0)
		return false;
	*pp += n;
	return true;
}

/* Moves *pp past 1 to max characters of a set. */
static bool
skip_chars(const char **pp, const char *chars, size_t max)
{
	const size_t n = strspn(*pp, chars);

	*pp += n;
	return n > 0 && n <= max;
}

/* "RSA" or "RSA-CERT" and a blank. */
static bool
skip_type(const char **pp, bool *certp)
{
	const char *type = *pp;

	if (!skip_chars(pp, TYPE_CHARS, 40))
		return false;
	*certp = *pp - type > 5 && strncmp(*pp - 5, "-CERT", 5) == 0;
	return skip_word(pp, " ");
}

/* Sets *hasp if it is SHA-256, and *md5p if it is MD5. */
static bool
skip_fingerprint(const char **pp, uint8_t digest[static KV_SHA256_BYTES],
    bool *hasp, bool *md5p)
{
	const char *text = *pp;
	size_t n = strcspn(text, " ,");

	*pp += n;
	if (n == MD5_CHARS && strncmp(text, "MD5:", 4) == 0 &&
	    strspn(text + 4, ":abcdef" DIGITS) == n - 4) {
		*md5p = true;
		return true;
	}
	*hasp = n == FINGERPRINT_CHARS &&
	    kv_fingerprint_parse((struct kv_span){ (const uint8_t *)text, n },
		digest) == KV_OK;
	return *hasp;
}

/*
 * What follows a key or a CA: the end, or what the method adds. The counter of a
 * security key is noted in auth2-pubkey.c; up to 10.x the process that logs does
 * not know it.
 */
static bool
is_end(const struct accepted *a, const char *p)
{
	if (*p == '\0')
		return true;
	if (a->hostbased)
		return skip_word(&p, ", client user \"");
	return skip_word(&p, ", signature count = ") &&
	    skip_chars(&p, DIGITS, 10) && *p == '\0';
}

/* Reads " (serial N) CA TYPE FINGERPRINT" and the end. */
static bool
parse_ca(struct accepted *a, const char *p)
{
	struct accepted found = *a;
	bool cert;

	if (!skip_word(&p, SERIAL) || !skip_chars(&p, DIGITS, 20) ||
	    !skip_word(&p, ") CA ") || !skip_type(&p, &cert) || cert ||
	    !skip_fingerprint(&p, found.ca, &found.has_ca, &found.md5) ||
	    !is_end(&found, p))
		return false;
	*a = found;
	return true;
}

/*
 * Finds the CA behind a certificate's ID. The ID may be any text, also one that
 * looks like a CA; but only the CA itself stands at the end of the message. In
 * hostbased it stands before what the client chose, and each of both may look
 * like it: then it is not told.
 */
static void
find_ca(struct accepted *a, const char *id)
{
	struct accepted found = *a, one;
	size_t n = 0;

	for (const char *p = id; (p = strstr(p, SERIAL)) != NULL; p++) {
		one = *a;
		if (parse_ca(&one, p)) {
			found = one;
			n++;
		}
	}
	if (n == 1)
		*a = found;
}

/* Reads "TYPE FINGERPRINT" or a certificate. */
static bool
parse_key(struct accepted *a, const char *p, bool cut)
{
	bool cert;

	if (!skip_type(&p, &cert))
		return false;
	if (!cert)
		return skip_fingerprint(&p, a->key, &a->has_key, &a->md5) &&
		    is_end(a, p);
	if (!skip_word(&p, "ID ") &&
	    (!skip_fingerprint(&p, a->key, &a->has_key, &a->md5) ||
		!skip_word(&p, " ID ")))
		return false;
	if (!cut)
		find_ca(a, p);
	return a->has_key || a->has_ca || a->md5;
}

/* False if the name is empty, or longer than sshd writes one. */
static bool
set_user(struct accepted *a, const char *name, const char *end)
{
	size_t n = 0;

	while (name < end && n < sizeof(a->user) - 1)
		a->user[n++] = unvis_next(&name);
	a->user[n] = '\0';
	return n > 0 && name == end && strlen(a->user) == n;
}

/* Reads " from ADDRESS port N ssh2", and moves *pp past it. */
static bool
parse_origin(struct accepted *a, const char **pp)
{
	const char *from;
	size_t n;

	if (!skip_word(pp, " from "))
		return false;
	from = *pp;
	if (!skip_chars(pp, ACCEPTED_FROM_CHARS, sizeof(a->from) - 1))
		return false;
	n = (size_t)(*pp - from);
	memcpy(a->from, from, n);
	a->from[n] = '\0';
	if (!skip_word(pp, " port "))
		return false;
	a->port = (unsigned int)strtoul(*pp, NULL, 10);
	return skip_chars(pp, DIGITS, 5) && skip_word(pp, " ssh2");
}

bool
accepted_parse(const char *message, struct accepted *a)
{
	const bool cut = strlen(message) >= MESSAGE_MAX;
	const char *p = message, *name;
	struct accepted start = { .partial = skip_word(&p, "Partial ") };

	if (!start.partial && !skip_word(&p, "Accepted "))
		return false;
	start.hostbased = skip_word(&p, "hostbased for ");
	if (!start.hostbased && !skip_word(&p, "publickey for "))
		return false;
	name = p;
	/* An account's name has blanks in some directories. */
	for (const char *end; (end = strstr(p, " from ")) != NULL;
	     p = end + 1) {
		*a = start;
		p = end;
		if (parse_origin(a, &p) && skip_word(&p, ": ") &&
		    parse_key(a, p, cut))
			return set_user(a, name, end);
	}
	return false;
}

bool
accepted_parse_keyless(const char *message, struct accepted *a)
{
	const char *p = message, *name;

	if (!skip_word(&p, "Accepted ") ||
	    strncmp(p, "publickey ", strlen("publickey ")) == 0 ||
	    strncmp(p, "hostbased ", strlen("hostbased ")) == 0 ||
	    !skip_chars(&p, METHOD_CHARS, 64) || !skip_word(&p, " for "))
		return false;
	name = p;
	for (const char *end; (end = strstr(p, " from ")) != NULL;
	     p = end + 1) {
		*a = (struct accepted){ .port = 0 };
		p = end;
		if (parse_origin(a, &p) &&
		    (*p == '\0' || strncmp(p, ": ", 2) == 0))
			return set_user(a, name, end);
	}
	return false;
}
