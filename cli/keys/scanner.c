/* SPDX-License-Identifier: ISC */
#include "keys/scanner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/json_scan.h"

/* Members that make an object a finding. */
enum {
	SEEN_RULE_ID = 1,
	SEEN_SECRET = 2,
	SEEN_MATCH = 4,
	SEEN_DETECTOR = 8,
	SEEN_RAW = 16,
	SEEN_TYPE = 32,
	SEEN_LOCATIONS = 64,
	SEEN_EXTRACT = 128,
	SEEN_LOCATION = 256,
	SEEN_START = 512,
};

/* Any of these. */
static const unsigned int forms[] = {
	SEEN_RULE_ID | SEEN_SECRET,
	/* gitleaks once wrote RuleID behind all else. */
	SEEN_MATCH | SEEN_SECRET | SEEN_START,
	SEEN_DETECTOR | SEEN_RAW,
	SEEN_TYPE | SEEN_SECRET,
	/* GitHub leaves the secret out if it is asked to. */
	SEEN_TYPE | SEEN_LOCATIONS,
	SEEN_EXTRACT | SEEN_LOCATION,
};

struct member {
	const char *name; /* as json_scan_plain makes it */
	unsigned int seen;
	enum scanner_part part; /* or SCANNER_PARTS */
	bool is_secret;
};

static const struct member members[] = {
	{ "ruleid", SEEN_RULE_ID, SCANNER_RULE, false },
	{ "secret", SEEN_SECRET, SCANNER_PARTS, true },
	{ "match", SEEN_MATCH, SCANNER_PARTS, true },
	{ "detectorname", SEEN_DETECTOR, SCANNER_RULE, false },
	{ "raw", SEEN_RAW, SCANNER_PARTS, true },
	{ "rawv2", SEEN_RAW, SCANNER_PARTS, true },
	{ "secrettype", SEEN_TYPE, SCANNER_RULE, false },
	{ "locationsurl", SEEN_LOCATIONS, SCANNER_PARTS, false },
	{ "rawsourcecodeextract", SEEN_EXTRACT, SCANNER_PARTS, true },
	{ "location", SEEN_LOCATION, SCANNER_PARTS, false },
	/* The rule's own words. A commit's message is somebody else's. */
	{ "description", 0, SCANNER_PARTS, true },
	{ "name", 0, SCANNER_RULE, false },
	{ "file", 0, SCANNER_FILE, false },
	{ "path", 0, SCANNER_FILE, false },
	{ "line", 0, SCANNER_LINE, false },
	{ "startline", SEEN_START, SCANNER_LINE, false },
	{ "commit", 0, SCANNER_COMMIT, false },
	{ "sha", 0, SCANNER_COMMIT, false },
	{ "commitsha", 0, SCANNER_COMMIT, false },
	{ "git.sha", 0, SCANNER_COMMIT, false },
};

void
scanner_name(struct scanner_object *o, struct kv_span name)
{
	char plain[JSON_PLAIN_BYTES];

	json_scan_plain(name, plain);
	o->is_secret = false;
	o->is_place = strcmp(plain, "sourcemetadata") == 0;
	o->part = SCANNER_PARTS;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct member *m = &members[i];

		if (strcmp(m->name, plain) != 0)
			continue;
		o->seen |= m->seen;
		o->is_secret = m->is_secret;
		/* A name is a rule only to GitLab, which has no other. */
		if (m->seen != 0 || o->text[SCANNER_RULE].p == NULL ||
		    m->part != SCANNER_RULE)
			o->part = m->part;
		return;
	}
}

bool
scanner_wants(const struct scanner_object *o)
{
	return o->part != SCANNER_PARTS;
}

static void
text_free(struct kv_span *text)
{
	free((uint8_t *)text->p);
	*text = (struct kv_span){ NULL, 0 };
}

void
scanner_set(struct scanner_object *o, struct kv_span value)
{
	text_free(&o->text[o->part]);
	if (value.len > 0)
		o->text[o->part] = value;
	else
		text_free(&value);
}

void
scanner_move(struct scanner_object *outer, struct scanner_object *inner)
{
	for (int i = SCANNER_FILE; i < SCANNER_PARTS; i++) {
		if (outer->text[i].p != NULL)
			continue;
		outer->text[i] = inner->text[i];
		inner->text[i] = (struct kv_span){ NULL, 0 };
	}
}

bool
scanner_is_finding(const struct scanner_object *o)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if ((o->seen & forms[i]) == forms[i])
			return true;
	return false;
}

static bool
has_word(struct kv_span text, const char *word)
{
	const size_t len = strlen(word);

	for (size_t i = 0; i + len <= text.len; i++)
		if (strncasecmp((const char *)text.p + i, word, len) == 0)
			return true;
	return false;
}

bool
scanner_finds_keys(const struct scanner_object *o)
{
	const struct kv_span rule = o->text[SCANNER_RULE];

	return has_word(rule, "private") && has_word(rule, "key") &&
	    !has_word(rule, "pgp") && !has_word(rule, "gpg");
}

void
scanner_print(const struct scanner_object *o,
    char place[static SCANNER_PLACE_BYTES])
{
	static const char *const before[SCANNER_PARTS] = {
		[SCANNER_RULE] = "",
		[SCANNER_FILE] = " at ",
		[SCANNER_LINE] = ":",
		[SCANNER_COMMIT] = ", commit ",
	};
	/* Twelve digits name a commit, as git prints it. */
	static const int most[SCANNER_PARTS] = {
		[SCANNER_RULE] = 256,
		[SCANNER_FILE] = 256,
		[SCANNER_LINE] = 20,
		[SCANNER_COMMIT] = 12,
	};
	size_t len = 0;

	if (o->text[SCANNER_RULE].p == NULL)
		len = (size_t)sprintf(place, "a secret");
	for (int i = 0; i < SCANNER_PARTS; i++) {
		const struct kv_span t = o->text[i];
		const int n = t.len < (size_t)most[i] ? (int)t.len : most[i];

		if (t.p == NULL ||
		    (i == SCANNER_LINE && o->text[SCANNER_FILE].p == NULL))
			continue;
		len += (size_t)sprintf(place + len, "%s%.*s", before[i], n,
		    (const char *)t.p);
	}
}

void
scanner_free(struct scanner_object *o)
{
	for (int i = 0; i < SCANNER_PARTS; i++)
		text_free(&o->text[i]);
	*o = (struct scanner_object){ 0 };
}
