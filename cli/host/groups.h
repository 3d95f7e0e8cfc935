/* SPDX-License-Identifier: ISC */
/*
 * host/groups: the groups of many accounts, as getgrouplist(3) tells them, but
 * with one pass over /etc/group. getgrouplist reads that file for each account.
 *
 * A table holds what /etc/group says of the accounts. Other services of
 * nsswitch.conf, such as sss or systemd, need not list what they know. So they
 * are still asked about each account. The table is used only if the group line
 * of nsswitch.conf is "files", perhaps with other services after it, and if
 * there is no initgroups line. Else getgrouplist is asked as ever.
 */
#ifndef CLI_HOST_GROUPS_H
#define CLI_HOST_GROUPS_H

#include <stdint.h>

#include "host/accounts.h"

/* One of the accounts is a member of a group of /etc/group. */
struct groups_member {
	uint32_t account; /* its place in the list */
	gid_t gid;
};

/* A group of /etc/group. */
struct groups_name {
	gid_t gid;
	size_t line; /* its place among the groups */
	char *name;
	bool has_members; /* besides those whose primary group it is */
};

#define GROUPS_OTHERS_BYTES 256

/*
 * All zeroes: getgrouplist and getgrgid are asked. 8 bytes for each membership
 * of the accounts in /etc/group, and with names some 60 for each group.
 */
struct groups {
	bool known;  /* the table may be used */
	bool merged; /* other services may add members to a group of the file */
	bool below_root;		  /* the table is of another root */
	char others[GROUPS_OTHERS_BYTES]; /* services that are to be asked */
	struct groups_member *member;	  /* sorted by account, gid */
	size_t n_members;
	struct groups_name *name; /* sorted by gid, then by line */
	size_t n_names;
};

/*
 * Reads /etc/group below root ("" for this machine) for these accounts;
 * with names also the names of all groups. If that cannot be done, g is all
 * zeroes.
 */
void groups_read(struct groups *g, const char *root,
    const struct accounts *accounts, bool names);

/*
 * Returns the groups of the account at place i of the list, its gid among them,
 * and sets *np to their number. The caller frees them. If root was another one,
 * call it only after root_enter. NULL without memory.
 *
 * It sets for this process which services later calls of getgrouplist ask, but
 * so that their answers stay the same. Not for two threads at once.
 */
gid_t *groups_of(const struct groups *g, size_t i, const struct account *a,
    size_t *np);

/*
 * Sets this process's groups to those of groups_of. If root was another one,
 * call it only after root_enter. False with errno.
 */
bool groups_set(const struct groups *g, size_t i, const struct account *a);

/*
 * The name of a group, NULL if it has none. Valid until the next call, and
 * until groups_free.
 */
const char *groups_name(const struct groups *g, gid_t gid);

void groups_free(struct groups *g);

/*
 * Which accounts are alone in their group, for StrictModes (kv_userfile). lib
 * asks libc, which reads all accounts for each file that a group may write.
 * Reads the groups, and all accounts, of this machine or below root. Returns an
 * enum kv_private_group for each of these accounts and its gid. The caller
 * frees it. NULL if nothing is known.
 */
uint8_t *groups_find_private(const char *root, const struct accounts *accounts);

#endif
