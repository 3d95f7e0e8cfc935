/* SPDX-License-Identifier: ISC */
/*
 * host/change: the question whether a file that logins may consult may change.
 * brake/ answers it, and main.c says so here: folders that brake/ itself needs
 * ask by this header, and do not include it.
 */
#ifndef CLI_HOST_CHANGE_H
#define CLI_HOST_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANGE_HOLD_GROUPS_MAX 32

/* HoldIfRefused of keyveto-update.conf(5). */
struct change_hold {
	bool never;
	/* So many accounts may be refused; UINT64_MAX: they are not counted. */
	uint64_t accounts;
	const char *group[CHANGE_HOLD_GROUPS_MAX];
	size_t n_groups;
};

enum change_kind {
	CHANGE_NONE = 0, /* of a file that no login may consult */
	/* The caller has looked at what is there, and asked where it has to. */
	CHANGE_JUDGED,
	CHANGE_FILTER,
	CHANGE_LIST,
	CHANGE_CONFIG, /* a keyveto.conf */
};

/* A file that is to get other bytes. All strings are the caller's. */
struct change {
	enum change_kind kind;
	const char *path;
	/*
	 * All bytes that the file will have. Of a list, those that come to it
	 * are enough.
	 */
	int fd;
	/* Text that LIST.sources will have; NULL: it stays. */
	const char *sources;
	const char *what; /* takes effect: "the new one" */
	/*
	 * The command, for the log: keys that are newly listed are printed and
	 * logged. NULL: the caller has printed them.
	 */
	const char *via;
	/* A keyveto.conf that counts besides those of this machine, or NULL. */
	const char *config;
	const struct change_hold *hold; /* NULL: that of update.conf */
	bool yes;			/* --yes: it takes effect in any case */
	bool dry_run; /* it will not take effect: note nothing */
	bool silent;  /* the caller prints what to do if it may not */
};

/* What was found about a change. All zeroes: nothing, or it was not asked. */
struct change_effect {
	bool consulted;	 /* a login consults the file, or may do so soon */
	bool held;	 /* it may not take effect without --yes */
	bool mistaken;	 /* nor with it: logins consult another kind of file */
	size_t keys;	 /* that are in use here, and newly listed */
	size_t accounts; /* of which it would refuse a key */
};

/*
 * Whether the change may take effect; false after a message, with the status 2
 * as the command's end. Never where logins consult the file as one of another
 * kind. Sets *e.
 */
bool change_may_take_effect(const struct change *c, struct change_effect *e);

/* Has judge answer that. Without a judge nothing may take effect. */
void change_set_judge(
    bool (*judge)(const struct change *c, struct change_effect *e));

#endif
