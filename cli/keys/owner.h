/* SPDX-License-Identifier: ISC */
/*
 * keys/owner: whose key is it? Exports of Git forges are JSON, those of
 * directories LDIF. The owner's name may stand behind the key. So texts that
 * hold keys are kept until their owner is known: until an object of JSON that
 * has a name for it, or an entry of LDIF, ends.
 *
 * In JSON, the owner is what the nearest object around the key says, by the
 * first of these members (without regard to case, _ and -): login, username,
 * user_name, sAMAccountName, uid, user, owner, account; the same of an object
 * user, owner, account, member or creator in it; added_by; the
 * path_with_namespace or full_name of an object repository or project; email,
 * mail; path_with_namespace, full_name, display_name, name, nickname. In the
 * object that has the key itself, those in the last group name the key, as
 * title, label and key_name do: these count if no object around it says more.
 * Of members of one name, the last counts.
 *
 * In LDIF, it is the uid or sAMAccountName of the entry, and its dn.
 *
 * An object may also be a finding of a scanner (keys/scanner). Then no text in it
 * is given but what was found: others wrote the rest, such as the message of a
 * commit. Each finding gives one text.
 */
#ifndef CLI_KEYS_OWNER_H
#define CLI_KEYS_OWNER_H

#include "kv_bytes.h"

/* A longer name is cut, and ends with "...". */
#define OWNER_MAX_BYTES 256
/* Keys that wait for an owner take no more memory than this. */
#define OWNER_HELD_MAX (4u * 1024 * 1024)

/* Both are untrusted bytes. Without a name there is no dn either. */
struct owner {
	struct kv_span name;
	struct kv_span dn; /* LDIF only; else empty */
};

/* A finding of a scanner. Valid during the callback. */
struct owner_finding {
	uint64_t number;     /* of the findings so far, from 1 */
	const char *place;   /* as scanner_print writes it; untrusted bytes */
	bool is_private_key; /* the scanner says so */
};

/* A text that may hold keys, and their owner. Valid during the callback. */
struct owner_text {
	struct kv_span text;
	uint64_t line;
	bool is_line; /* of LDIF; else a string of JSON, with its escapes */
	struct owner owner;
	/* NULL: none. The text is empty if nothing like a key was found. */
	const struct owner_finding *finding;
};

struct owner_sink {
	/* Whether a string of JSON holds something like a key. */
	bool (*has_key)(struct kv_span text, void *arg);
	/* Is given the texts in their order. */
	void (*text)(const struct owner_text *t, void *arg);
	/* Keys are given without their owner. */
	void (*note)(uint64_t line, const char *text, void *arg);
	void *arg;
};

/* The state of one text. NULL if there is no memory. */
struct owners;
struct owners *owners_new(const struct owner_sink *sink);
/* Frees o, which may be NULL, and erases what it holds. */
void owners_free(struct owners *o);

/*
 * Reads a line of JSON, or a part of a long one: more tells that it goes on.
 * True with *usedp set to how much of it was read: all but a token that has no
 * end yet, and what is no JSON behind keys. False if this is another text, or a
 * token fills it: nothing was read, and what was held is given.
 */
bool owners_json(struct owners *o, struct kv_span text, bool more,
    uint64_t line, size_t *usedp);

/* Whether a value of JSON is open at the end of what was read. */
bool owners_in_json(const struct owners *o);

/* Whether owners_json has read more than empty arrays. */
bool owners_json_has_values(const struct owners *o);

/* How many findings owners_json has read. */
uint64_t owners_findings(const struct owners *o);

/* Reads a line of LDIF, with the lines that it was folded to. */
void owners_ldif(struct owners *o, struct kv_span text, uint64_t line);

/* Gives what is held. entry: an entry of LDIF, or the text, ends here. */
void owners_flush(struct owners *o, bool entry, uint64_t line);

#endif
