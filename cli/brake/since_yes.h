/* SPDX-License-Identifier: ISC */
/*
 * brake/since_yes: the accounts of which changes have refused a key since
 * somebody last gave --yes. HoldIfRefused counts these together, not for each
 * update. They are in the file .refused-accounts in the state folder, a name a
 * line, which only root may read. A file that is missing or somebody else's is
 * ignored.
 */
#ifndef CLI_BRAKE_SINCE_YES_H
#define CLI_BRAKE_SINCE_YES_H

#include <stdbool.h>
#include <stddef.h>

struct since_yes {
	int dir, lock; /* -1: not open */
	char **name;
	size_t n;
	bool changed; /* differs from the file */
};

/*
 * Waits until no other process has the file open in this way, and reads it.
 * Always call since_yes_close.
 */
void since_yes_open(struct since_yes *s);

bool since_yes_has(const struct since_yes *s, const char *name);

/* Adds a name that is not there. False without memory. */
bool since_yes_add(struct since_yes *s, const char *name);

/* Keeps the names for which stays returns true. */
void since_yes_filter(struct since_yes *s,
    bool (*stays)(const char *name, void *arg), void *arg);

/* Drops all names. */
void since_yes_clear(struct since_yes *s);

/* Writes the file in one step, if the names changed. Warns on failure. */
void since_yes_save(struct since_yes *s);

void since_yes_close(struct since_yes *s);

#endif
