/* SPDX-License-Identifier: ISC */
#include "keys/owner.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "keys/json_scan.h"
#include "keys/scanner.h"
#include "kv_base64.h"

/* A longer string in a finding is passed over. keys/input has 1 MiB for it. */
#define TOKEN_MAX (512 * 1024)

/* What a member says of the owner; a lower one counts more. */
enum rank {
	RANK_NONE = 0,
	RANK_LOGIN,
	RANK_USERNAME,
	RANK_ACCOUNT_NAME,
	RANK_UID,
	RANK_USER,
	RANK_OWNER,
	RANK_ACCOUNT,
	RANK_OF_PERSON, /* what an object user says */
	RANK_ADDED_BY,
	RANK_OF_PROJECT, /* what an object repository says */
	RANK_EMAIL,
	RANK_MAIL,
	/* These name the key, in the object that has it. */
	RANK_PATH,
	RANK_FULL_NAME,
	RANK_DISPLAY_NAME,
	RANK_NAME,
	RANK_NICKNAME,
	/* These name nothing but a key. */
	RANK_TITLE,
	RANK_LABEL,
	RANK_KEY_NAME,
};

struct member {
	const char *name;
	enum rank rank;	  /* of a string */
	enum rank object; /* of the best name in an object */
};

/* In lower case, without _ and -. */
static const struct member members[] = {
	{ "login", RANK_LOGIN, 0 },
	{ "username", RANK_USERNAME, 0 },
	{ "samaccountname", RANK_ACCOUNT_NAME, 0 },
	{ "uid", RANK_UID, 0 },
	{ "user", RANK_USER, RANK_OF_PERSON },
	{ "owner", RANK_OWNER, RANK_OF_PERSON },
	{ "account", RANK_ACCOUNT, RANK_OF_PERSON },
	{ "member", 0, RANK_OF_PERSON },
	{ "creator", 0, RANK_OF_PERSON },
	{ "addedby", RANK_ADDED_BY, 0 },
	{ "repository", 0, RANK_OF_PROJECT },
	{ "project", 0, RANK_OF_PROJECT },
	{ "projectswithwriteaccess", 0, RANK_OF_PROJECT },
	{ "projectswithreadonlyaccess", 0, RANK_OF_PROJECT },
	{ "email", RANK_EMAIL, 0 },
	{ "mail", RANK_MAIL, 0 },
	{ "pathwithnamespace", RANK_PATH, 0 },
	{ "fullname", RANK_FULL_NAME, 0 },
	{ "displayname", RANK_DISPLAY_NAME, 0 },
	{ "name", RANK_NAME, 0 },
	{ "nickname", RANK_NICKNAME, 0 },
	{ "title", RANK_TITLE, 0 },
	{ "label", RANK_LABEL, 0 },
	{ "keyname", RANK_KEY_NAME, 0 },
};

/* An array or object that is open. */
struct level {
	bool object;
	bool given;	   /* what it may name was given before its end */
	size_t first;	   /* how many texts were held before it, in all */
	enum rank as;	   /* what its name is to the object around it */
	struct member now; /* the member whose value comes */
	enum rank rank, title_rank;
	struct kv_span name, title;
	struct scanner_object scanner;
	bool is_place; /* of a finding, if the object around is one */
};

/* A text that waits for its owner. */
struct held {
	struct kv_span text, owner, title;
	uint64_t line;
	int level;   /* of the object that may name it next; -1: none */
	bool direct; /* it is a member of that object */
	bool is_line;
	bool is_secret; /* a scanner may have found it */
	bool is_dropped;
	struct owner_finding finding; /* of number 0: none */
	struct kv_span place;	      /* of the finding, with a NUL */
};

struct owners {
	struct owner_sink sink;
	struct json_scan scan;
	struct level level[JSON_SCAN_DEPTH];
	struct held *held;
	size_t n_held, cap, bytes;
	size_t n_given; /* that were held before those */
	uint64_t n_findings;
	bool keyed, values, noted;
	/* Of the entry of LDIF. */
	struct kv_span dn, uid;
	enum rank uid_rank;
};

/* Of a text with memory of its own; p is NULL if it has none. */
static void
text_free(struct kv_span *t)
{
	uint8_t *p = (uint8_t *)t->p;

	if (p != NULL)
		explicit_bzero(p, t->len);
	free(p);
	*t = (struct kv_span){ NULL, 0 };
}

/* A copy, or nothing if there is no memory. */
static struct kv_span
text_copy(const void *p, size_t len)
{
	uint8_t *copy = malloc(len + 1);

	if (copy != NULL && len > 0)
		memcpy(copy, p, len);
	return (struct kv_span){ copy, copy != NULL ? len : 0 };
}

/* A copy of a name, which is cut if it is long, between its letters. */
static struct kv_span
name_copy(const void *name, size_t len)
{
	static const char cut[] = { '.', '.', '.' };
	char text[OWNER_MAX_BYTES];
	size_t n = OWNER_MAX_BYTES - sizeof(cut);

	if (len <= OWNER_MAX_BYTES)
		return text_copy(name, len);
	memcpy(text, name, sizeof(text));
	for (int i = 0; i < 3 && (text[n] & 0xc0) == 0x80; i++)
		n--;
	memcpy(text + n, cut, sizeof(cut));
	return text_copy(text, n + sizeof(cut));
}

/* The name that a string of JSON is, without its escapes. */
static struct kv_span
json_name(struct kv_span string)
{
	struct kv_span quoted = text_copy(string.p - 1, string.len + 2), name;
	json_t *value = NULL;

	if (memchr(string.p, '\\', string.len) != NULL && quoted.p != NULL)
		value = json_loadb((const char *)quoted.p, quoted.len,
		    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	/* jansson refuses what is not UTF-8. */
	name = value != NULL ?
	    name_copy(json_string_value(value), json_string_length(value)) :
	    name_copy(string.p, string.len);
	json_decref(value);
	text_free(&quoted);
	return name;
}

/* The member of this name; one of RANK_NONE if it says nothing. */
static struct member
find_member(struct kv_span name)
{
	char plain[JSON_PLAIN_BYTES];

	json_scan_plain(name, plain);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (strcmp(members[i].name, plain) == 0)
			return members[i];
	return (struct member){ 0 };
}

/* --- what is held --- */

static void
held_free(struct owners *o, struct held *h)
{
	o->bytes -= sizeof(*h) + h->text.len;
	text_free(&h->text);
	text_free(&h->owner);
	text_free(&h->title);
	text_free(&h->place);
}

static void
give(struct owners *o, const struct held *h)
{
	const bool ldif = h->is_line;
	struct owner_text t = {
		.text = h->text,
		.line = h->line,
		.is_line = ldif,
		.owner = { ldif ? o->uid : h->owner, o->dn },
		.finding = h->finding.number > 0 ? &h->finding : NULL,
	};

	if (h->is_dropped)
		return;
	if (t.owner.name.len == 0)
		t.owner.name = ldif ? o->dn : h->title;
	o->sink.text(&t, o->sink.arg);
}

/* Gives what is held up to the first text that waits for an owner. */
static void
release_named(struct owners *o)
{
	size_t n = 0;

	while (n < o->n_held && o->held[n].level == -1) {
		give(o, &o->held[n]);
		held_free(o, &o->held[n++]);
	}
	if (n == 0)
		return;
	o->n_held -= n;
	o->n_given += n;
	memmove(o->held, o->held + n, o->n_held * sizeof(*o->held));
}

/* Lets the object say whose the text is. If it does not, asks no other. */
static void
name_held(struct held *h, const struct level *l)
{
	const struct kv_span *title = &l->title;

	h->level = -1;
	if (h->owner.p != NULL)
		return;
	if (l->rank != RANK_NONE && !(h->direct && l->rank >= RANK_PATH)) {
		h->owner = text_copy(l->name.p, l->name.len);
		return;
	}
	if (l->rank != RANK_NONE)
		title = &l->name;
	if (h->title.p == NULL && title->p != NULL)
		h->title = text_copy(title->p, title->len);
}

/* The object around level i; -1 if there is none. */
static int
object_around(const struct owners *o, int i)
{
	do
		i--;
	while (i >= 0 && !o->level[i].object);
	return i;
}

/* Lets the open objects around a text say whose it is. */
static void
name_now(struct owners *o, struct held *h)
{
	for (int i = h->level; i >= 0; i = object_around(o, i)) {
		name_held(h, &o->level[i]);
		o->level[i].given = true;
		if (h->owner.p != NULL)
			break;
		h->direct = false;
	}
	h->level = -1;
}

/* Tells if a text stands in a finding, but was not found. */
static bool
is_beside_finding(const struct owners *o, const struct held *h)
{
	for (int i = h->level; i >= 0 && !h->is_line; i = object_around(o, i)) {
		if (scanner_is_finding(&o->level[i].scanner))
			return !h->is_secret || i != h->level || !h->direct;
	}
	return false;
}

/* Gives all that is held, to whomever it belongs by what was read so far. */
static void
release_all(struct owners *o)
{
	for (size_t i = 0; i < o->n_held; i++) {
		o->held[i].is_dropped |= is_beside_finding(o, &o->held[i]);
		name_now(o, &o->held[i]);
	}
	release_named(o);
}

static void
note(struct owners *o, uint64_t line, const char *text)
{
	if (!o->noted)
		o->sink.note(line, text, o->sink.arg);
	o->noted = true;
}

static bool
make_room(struct owners *o)
{
	const size_t cap = 2 * o->cap + 16;
	struct held *more;

	if (o->n_held < o->cap)
		return true;
	if ((more = reallocarray(o->held, cap, sizeof(*more))) == NULL)
		return false;
	o->held = more;
	o->cap = cap;
	return true;
}

/* Holds a text for the object at level, or gives it if that cannot be. */
static void
hold(struct owners *o, struct kv_span text, uint64_t line, int level,
    bool is_line)
{
	struct held h = { .line = line, .level = level, .is_line = is_line };

	h.direct = level >= 0 && (unsigned int)level + 1 == o->scan.depth;
	h.is_secret = h.direct && o->level[level].scanner.is_secret;
	h.is_dropped = is_beside_finding(o, &h);
	if (o->bytes + sizeof(h) + text.len > OWNER_HELD_MAX) {
		release_all(o);
		if (!is_line)
			note(o, line,
			    "the object that may name the owners of keys "
			    "before here has over 4 MiB: they are judged "
			    "without");
	}
	if (make_room(o) && text.len < OWNER_HELD_MAX)
		h.text = text_copy(text.p, text.len);
	if (h.text.p == NULL) {
		h.text = text;
		release_all(o);
		give(o, &h);
		return;
	}
	o->bytes += sizeof(h) + text.len;
	o->held[o->n_held++] = h;
	if (level >= 0 && o->level[level].given)
		name_now(o, &o->held[o->n_held - 1]);
	release_named(o);
}

/* --- JSON --- */

static void
level_free(struct level *l)
{
	text_free(&l->name);
	text_free(&l->title);
	scanner_free(&l->scanner);
	*l = (struct level){ 0 };
}

static void
reset_json(struct owners *o)
{
	/* In LDIF, the first one is used without being open. */
	for (size_t i = 0; i == 0 || i < o->scan.depth; i++)
		level_free(&o->level[i]);
	o->scan = (struct json_scan){ 0 };
}

/* Notes a name in an object, if none that counts more is known. */
static void
set_name(struct level *l, enum rank rank, struct kv_span name)
{
	const bool is_title = rank >= RANK_TITLE;
	struct kv_span *to = is_title ? &l->title : &l->name;
	enum rank *old = is_title ? &l->title_rank : &l->rank;

	/* GitHub makes a title of the start of the key. */
	if (name.len == 0 ||
	    (is_title && memmem(name.p, name.len, " AAAA", 5) != NULL) ||
	    (*old != RANK_NONE && rank > *old)) {
		text_free(&name);
		return;
	}
	text_free(to);
	*to = name;
	*old = rank;
}

static void
open_level(struct owners *o)
{
	const unsigned int n = o->scan.depth;
	const struct level *outer = n > 1 ? &o->level[n - 2] : NULL;

	o->level[n - 1] = (struct level){
		.object = o->scan.object[n - 1],
		.first = o->n_given + o->n_held,
		.as = outer == NULL ? RANK_NONE :
		    outer->object   ? outer->now.object :
				      outer->as,
		.is_place = outer != NULL &&
		    (outer->is_place || outer->scanner.is_place),
	};
}

/* The longest text that a scanner found, of those held from from on. */
static struct held *
find_secret(struct owners *o, size_t from, int level)
{
	struct held *best = NULL;

	for (size_t i = from; i < o->n_held; i++) {
		struct held *h = &o->held[i];

		if (h->level == level && h->direct && h->is_secret &&
		    (best == NULL || h->text.len > best->text.len))
			best = h;
	}
	return best;
}

/*
 * Makes the texts that are held from from on one text, of the finding that level
 * is. Those of findings inside it stay.
 */
static void
add_finding(struct owners *o, size_t from, int level, uint64_t line)
{
	const struct scanner_object *s = &o->level[level].scanner;
	char place[SCANNER_PLACE_BYTES];
	struct held *best = find_secret(o, from, level);

	o->n_findings++;
	/* What waited too long was given before the finding was known. */
	if (best == NULL && (o->level[level].given || !make_room(o)))
		return;
	if (best == NULL) {
		best = &o->held[o->n_held++];
		*best = (struct held){ .text = text_copy("", 0), .line = line };
		o->bytes += sizeof(*best);
	}
	scanner_print(s, place);
	best->place = text_copy(place, strlen(place) + 1);
	best->finding = (struct owner_finding){
		.number = o->n_findings,
		.place = best->place.p != NULL ? (const char *)best->place.p :
						 "",
		.is_private_key = scanner_finds_keys(s),
	};
	name_held(best, &o->level[level]);
	/* A title or a name is that of the finding. */
	text_free(&best->title);
	for (size_t i = from; i < o->n_held; i++)
		if (o->held[i].finding.number == 0) {
			o->held[i].is_dropped = true;
			o->held[i].level = -1;
		}
}

/* Lets the object that ended name what waits for it, and the one around it. */
static void
close_level(struct owners *o, uint64_t line)
{
	const int n = (int)o->scan.depth, around = object_around(o, n);
	struct level *l = &o->level[n];
	struct level *outer = around >= 0 ? &o->level[around] : NULL;
	size_t i;

	i = l->first > o->n_given ? l->first - o->n_given : 0;
	if (l->object && scanner_is_finding(&l->scanner))
		add_finding(o, i, n, line);
	else if (l->object && outer != NULL)
		scanner_move(&outer->scanner, &l->scanner);
	for (; l->object && i < o->n_held; i++) {
		struct held *h = &o->held[i];

		if (h->level != n)
			continue;
		name_held(h, l);
		h->direct = false;
		/*
		 * A repository or a person is also told of beside what a scanner
		 * found, perhaps before it: whether that is so, the object
		 * around tells at its end.
		 */
		if (h->owner.p == NULL ||
		    (l->as != RANK_NONE && around == n - 1))
			h->level = around;
		if (h->level >= 0 && outer != NULL && outer->given)
			name_now(o, h);
	}
	/* Of several projects, the first counts. */
	if (outer != NULL && l->as != RANK_NONE && l->rank != RANK_NONE &&
	    (l->as != RANK_OF_PROJECT || outer->rank != RANK_OF_PROJECT)) {
		set_name(outer, l->as, l->name);
		l->name.p = NULL;
	}
	level_free(l);
	release_named(o);
}

/* Tells if a text may name a key by its fingerprint. */
static bool
has_fingerprint(struct kv_span text)
{
	return text.len > 0 && memmem(text.p, text.len, "SHA256:", 7) != NULL;
}

static void
add_string(struct owners *o, struct kv_span string, uint64_t line)
{
	const int n = (int)o->scan.depth;
	struct level *l = &o->level[n - 1];
	enum rank rank = l->now.rank;

	/* A project also tells its owner, who counts less. */
	if (l->as == RANK_OF_PROJECT &&
	    (rank == RANK_PATH || rank == RANK_FULL_NAME))
		rank = RANK_LOGIN;
	if (o->sink.has_key(string, o->sink.arg) ||
	    (l->object && l->scanner.is_secret && has_fingerprint(string))) {
		o->keyed = true;
		hold(o, string, line, object_around(o, n), false);
	} else if (l->object && !l->is_place && rank != RANK_NONE) {
		/* What waits in a place waits until the finding is known. */
		set_name(l, rank, json_name(string));
	}
	if (l->object && scanner_wants(&l->scanner))
		scanner_set(&l->scanner, json_name(string));
}

/* Reads a number, true, false or null; or a mark between two values. */
static void
add_other(struct owners *o, struct kv_span token)
{
	const unsigned int n = o->scan.depth;
	struct level *l = n > 0 ? &o->level[n - 1] : NULL;

	o->values = true;
	if (l != NULL && l->object && token.p[0] >= '0' && token.p[0] <= '9' &&
	    scanner_wants(&l->scanner))
		scanner_set(&l->scanner, name_copy(token.p, token.len));
}

static void
add_token(struct owners *o, enum json_token t, struct kv_span token,
    uint64_t line)
{
	struct level *l = o->scan.depth > 0 ?
	    &o->level[o->scan.depth - 1] :
	    NULL;

	switch (t) {
	case JSON_TOKEN_OPEN:
		o->values |= token.p[0] == '{';
		open_level(o);
		break;
	case JSON_TOKEN_CLOSE:
		close_level(o, line);
		break;
	case JSON_TOKEN_NAME: /* stands in an object */
		if (l == NULL)
			break;
		l->now = find_member(token);
		scanner_name(&l->scanner, token);
		/* Some data have keys as names: { "ssh-rsa AAAA...": ... } */
		if (o->sink.has_key(token, o->sink.arg)) {
			o->keyed = true;
			hold(o, token, line, (int)o->scan.depth - 1, false);
		}
		break;
	case JSON_TOKEN_STRING:
		o->values = true;
		add_string(o, token, line);
		break;
	default:
		add_other(o, token);
		break;
	}
}

/* Tells if a string stands in a finding, or in the place of one. */
static bool
is_in_finding(const struct owners *o)
{
	for (unsigned int i = 0; i < o->scan.depth; i++)
		if (o->level[i].is_place ||
		    scanner_is_finding(&o->level[i].scanner))
			return true;
	return false;
}

static bool
is_token(enum json_token t)
{
	return t != JSON_TOKEN_BAD && t != JSON_TOKEN_CUT &&
	    t != JSON_TOKEN_END;
}

/* Tells if JSON up to the end of text has a key in a string. */
static bool
has_keys(const struct owners *o, struct kv_span text)
{
	struct json_scan scan = o->scan;
	struct kv_span token;
	enum json_token t;

	do {
		t = json_scan_next(&scan, &text, true, &token);
		if (t == JSON_TOKEN_STRING &&
		    o->sink.has_key(token, o->sink.arg))
			return true;
	} while (is_token(t));
	return false;
}

bool
owners_json(struct owners *o, struct kv_span text, bool more, uint64_t line,
    size_t *usedp)
{
	struct json_scan scan = o->scan;
	struct kv_span rest = text, token;
	enum json_token t;

	do
		t = json_scan_next(&scan, &rest, more, &token);
	while (is_token(t));
	*usedp = text.len - rest.len;
	rest = (struct kv_span){ text.p, *usedp };
	if (t == JSON_TOKEN_CUT && *usedp == 0 && is_in_finding(o)) {
		/* What was found is shorter, and others wrote the rest. */
		rest = text;
		if (text.len >= TOKEN_MAX && json_scan_skip(&o->scan, &rest))
			*usedp = text.len - rest.len;
		if (*usedp > 0 || text.len < TOKEN_MAX)
			return true;
	}
	if (t == JSON_TOKEN_CUT ? *usedp == 0 :
				  t == JSON_TOKEN_BAD && !has_keys(o, rest)) {
		owners_flush(o, true, line);
		return false;
	}
	while (is_token(t = json_scan_next(&o->scan, &rest, more, &token)))
		add_token(o, t, token, line);
	return true;
}

bool
owners_in_json(const struct owners *o)
{
	return o->scan.depth > 0;
}

bool
owners_json_has_values(const struct owners *o)
{
	return o->values;
}

uint64_t
owners_findings(const struct owners *o)
{
	return o->n_findings;
}

/* --- LDIF --- */

/* The value of an attribute, "name: value" or "name:: base64". */
static struct kv_span
ldif_value(struct kv_span text)
{
	uint8_t data[4 * OWNER_MAX_BYTES];
	size_t len = 0;
	bool base64 = text.len > 0 && text.p[0] == ':';

	if (base64 || (text.len > 0 && text.p[0] == '<')) {
		text.p++;
		text.len--;
	}
	while (text.len > 0 && text.p[0] == ' ') {
		text.p++;
		text.len--;
	}
	if (!base64)
		return name_copy(text.p, text.len);
	/* More is cut from a name, anyway. */
	if (text.len > sizeof(data))
		text.len = sizeof(data);
	if (kv_base64_decode((const char *)text.p, text.len, data, sizeof(data),
		&len) != KV_OK)
		len = kv_base64_decode_groups(text.p, text.len, data,
			  sizeof(data)) /
		    4 * 3;
	return name_copy(data, len);
}

static void
finish_entry(struct owners *o)
{
	text_free(&o->dn);
	text_free(&o->uid);
	o->uid_rank = RANK_NONE;
}

static void
add_attribute(struct owners *o, struct kv_span name, struct kv_span value)
{
	enum rank rank = RANK_NONE;

	if (name.len == 2 && (name.p[0] | 0x20) == 'd' &&
	    (name.p[1] | 0x20) == 'n') {
		owners_flush(o, true, 0);
		o->dn = ldif_value(value);
		return;
	}
	if (memchr(name.p, '_', name.len) == NULL &&
	    memchr(name.p, '-', name.len) == NULL)
		rank = find_member(name).rank;
	/* Of several values, the first. */
	if ((rank == RANK_UID || rank == RANK_ACCOUNT_NAME) &&
	    o->uid_rank < rank) {
		text_free(&o->uid);
		o->uid = ldif_value(value);
		o->uid_rank = rank;
	}
}

void
owners_ldif(struct owners *o, struct kv_span text, uint64_t line)
{
	const uint8_t *colon = text.len > 0 ?
	    memchr(text.p, ':', text.len) :
	    NULL;
	struct kv_span name = { text.p, 0 }, value;

	if (colon != NULL && text.p[0] != '#') {
		name.len = (size_t)(colon - text.p);
		value.p = colon + 1;
		value.len = text.len - name.len - 1;
		if (name.len > 0)
			add_attribute(o, name, value);
	}
	hold(o, text, line, 0, true);
}

/* --- both --- */

void
owners_flush(struct owners *o, bool entry, uint64_t line)
{
	const bool cut = o->scan.depth > 0 && o->keyed;

	release_all(o);
	if (cut && entry)
		note(o, line,
		    "the JSON is damaged or ends here: owners of keys may be "
		    "missing");
	reset_json(o);
	if (entry)
		finish_entry(o);
}

struct owners *
owners_new(const struct owner_sink *sink)
{
	struct owners *o = calloc(1, sizeof(*o));

	if (o != NULL)
		o->sink = *sink;
	return o;
}

void
owners_free(struct owners *o)
{
	if (o == NULL)
		return;
	for (size_t i = 0; i < o->n_held; i++)
		held_free(o, &o->held[i]);
	reset_json(o);
	finish_entry(o);
	free(o->held);
	free(o);
}
