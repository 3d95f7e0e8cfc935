/* SPDX-License-Identifier: ISC */
#include "host/become.h"

#include <errno.h>
#include <grp.h>
#include <unistd.h>

/* False if any id is not set, or if there is a way back. */
static bool
set_ids(uid_t uid, gid_t gid)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	if (setresgid(gid, gid, gid) == -1 || setresuid(uid, uid, uid) == -1 ||
	    getresgid(&rgid, &egid, &sgid) == -1 ||
	    getresuid(&ruid, &euid, &suid) == -1)
		return false;
	errno = EPERM;
	if (rgid != gid || egid != gid || sgid != gid || ruid != uid ||
	    euid != uid || suid != uid)
		return false;
	return uid == 0 || (setuid(0) == -1 && seteuid(0) == -1);
}

bool
become_with_groups(const gid_t *group, size_t n, uid_t uid, gid_t gid)
{
	return setgroups(n, group) == 0 && set_ids(uid, gid);
}

bool
become_account(const char *name, uid_t uid, gid_t gid)
{
	return name == NULL ? become_with_groups(&gid, 1, uid, gid) :
			      initgroups(name, gid) == 0 && set_ids(uid, gid);
}
