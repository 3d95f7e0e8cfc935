/* SPDX-License-Identifier: ISC */
/*
 * keys/scanner: recognises what secret scanners and forges report, in JSON: an
 * object for each secret that was found, a finding. The members count in any
 * order, without regard to case, _ and -. Where it was found may stand in
 * objects inside it.
 *
 *                     rule              secret                   also has
 * gitleaks v8,
 * betterleaks         RuleID            Secret, Match
 * TruffleHog v3       DetectorName      Raw, RawV2
 * GitHub, REST        secret_type       secret                   locations_url
 * GitLab, report      name              raw_source_code_extract  location
 */
#ifndef CLI_KEYS_SCANNER_H
#define CLI_KEYS_SCANNER_H

#include "kv_bytes.h"

enum scanner_part {
	SCANNER_RULE,
	SCANNER_FILE,
	SCANNER_LINE,
	SCANNER_COMMIT,
	SCANNER_PARTS,
};

/* An open object of JSON. It starts as zeros. */
struct scanner_object {
	unsigned int seen; /* members that make a finding */
	/* The member whose value comes. */
	bool is_secret;		/* it is what was found, or says it in words */
	bool is_place;		/* an object with places alone, of TruffleHog */
	enum scanner_part part; /* or SCANNER_PARTS */
	struct kv_span text[SCANNER_PARTS]; /* its own memory */
};

/* Notes the name of the member whose value comes. */
void scanner_name(struct scanner_object *o, struct kv_span name);

/* Tells if the value of this member is a part of the place. */
bool scanner_wants(const struct scanner_object *o);

/* Notes the value of this member, whose memory becomes the object's. */
void scanner_set(struct scanner_object *o, struct kv_span value);

/* Moves what an object says of a place to the one around it. */
void scanner_move(struct scanner_object *outer, struct scanner_object *inner);

/* Tells if the members so far are those of a finding. */
bool scanner_is_finding(const struct scanner_object *o);

/* Tells if the rule is one of private keys that SSH may use. */
bool scanner_finds_keys(const struct scanner_object *o);

#define SCANNER_PLACE_BYTES 640

/* Writes "RULE at FILE:LINE, commit COMMIT", as far as it is known. */
void scanner_print(const struct scanner_object *o,
    char place[static SCANNER_PLACE_BYTES]);

/* Erases and frees what the object has. */
void scanner_free(struct scanner_object *o);

#endif
