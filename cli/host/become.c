/* SPDX-License-Identifier: ISC */
#include "host/become.h"

#include <errno.h>
#include <grp.h>
#include <unistd.h>

bool
become_account(const char *name, uid_t uid, gid_t gid)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	if ((name != NULL ? initgroups(name, gid) : setgroups(1, &gid)) == -1 ||
	    setresgid(gid, gid, gid) == -1 || setresuid(uid, uid, uid) == -1 ||
	    getresgid(&rgid, &egid, &sgid) == -1 ||
	    getresuid(&ruid, &euid, &suid) == -1)
		return false;
	errno = EPERM;
	if (rgid != gid || egid != gid || sgid != gid || ruid != uid ||
	    euid != uid || suid != uid)
		return false;
	return uid == 0 || (setuid(0) == -1 && seteuid(0) == -1);
}
