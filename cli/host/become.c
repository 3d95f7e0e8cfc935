/* SPDX-License-Identifier: ISC */
#include "host/become.h"

#include <errno.h>
#include <grp.h>
#include <unistd.h>

bool
become_ids(uid_t uid, gid_t gid)
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
become_account(const char *name, uid_t uid, gid_t gid)
{
	const int r = name == NULL ? setgroups(1, &gid) : initgroups(name, gid);

	return r == 0 && become_ids(uid, gid);
}

bool
become_ids_for_now(uid_t uid, gid_t gid)
{
	if (setresgid((gid_t)-1, gid, (gid_t)-1) == -1 ||
	    setresuid((uid_t)-1, uid, (uid_t)-1) == -1)
		return false;
	errno = EPERM;
	return getegid() == gid && geteuid() == uid;
}

bool
become_root_again(void)
{
	if (setresuid((uid_t)-1, 0, (uid_t)-1) == -1 ||
	    setresgid((gid_t)-1, getgid(), (gid_t)-1) == -1)
		return false;
	errno = EPERM;
	return geteuid() == 0 && getegid() == getgid();
}
