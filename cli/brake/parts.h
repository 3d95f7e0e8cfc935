/* SPDX-License-Identifier: ISC */
/* brake/parts: what the files of this folder have for brake.c. */
#ifndef CLI_BRAKE_PARTS_H
#define CLI_BRAKE_PARTS_H

#include "accounts/refused.h"
#include "host/change.h"
#include "reading/report.h"

/* --- findings.c: the keys in use that a change lists newly, each once ----- */

/* Begins. via is the command, for the log; NULL: only counts. */
void brake_findings_start(const char *via);

/* For the report's on_listed and on_unjudged: print and log. */
void brake_findings_key(const struct report *r, const struct input_key *key,
    const struct kv_decision *d);
void brake_findings_problem(const struct input_problem *p);

/* So many keys. */
size_t brake_findings_keys(void);
void brake_findings_free(void);

/* --- hold.c: HoldIfRefused ------------------------------------------------ */

/*
 * Adds an account that the system need not list with the others, as a name
 * service may not. False without memory.
 */
bool brake_hold_add(struct accounts *accounts, const char *name);
/* Adds the members of the groups of hold. */
bool brake_hold_add_members(const struct change_hold *hold,
    struct accounts *accounts);

/* What is decided about. */
struct brake_held {
	const struct audit_refused *found;
	const char *path, *what; /* of the change */
	/* The accounts that were refused since somebody last gave --yes. */
	size_t before;
	/* Of these, and of those that the change would refuse. */
	size_t together;
	/*
	 * Keys of an administrator that could not be judged are a reason, too.
	 * They are printed in any case.
	 */
	bool unjudged;
};

/* Whether hold keeps the file as it is; prints why. */
bool brake_hold_keeps(const struct change_hold *hold,
    const struct brake_held *h);

/* --- since_yes.c ---------------------------------------------------------- */

/*
 * The accounts of which changes have refused a key since somebody last gave
 * --yes. HoldIfRefused counts these together, not for each update. They are in
 * the file .refused-accounts in the state folder, a name a line, which only root
 * may read. A file that is missing or somebody else's is ignored.
 */
struct since_yes {
	int dir, lock; /* -1: not open */
	struct texts names;
	bool changed; /* differs from the file */
};

/*
 * Waits until no other process has the file open in this way, and reads it.
 * Always call since_yes_close.
 */
void since_yes_open(struct since_yes *s);

/* Adds a name that is not there. False without memory. */
bool since_yes_add(struct since_yes *s, const char *name);

/* Keeps the names for which stays returns true; with NULL, none. */
void since_yes_filter(struct since_yes *s,
    bool (*stays)(const char *name, void *arg), void *arg);

/* Writes the file in one step, if the names changed. Warns on failure. */
void since_yes_save(struct since_yes *s);
void since_yes_close(struct since_yes *s);

#endif
