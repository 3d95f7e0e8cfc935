/* SPDX-License-Identifier: ISC */
#include "privilege.h"

#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * No core, no tracing by the account. Not a limit on cores, which a chained
 * command would inherit.
 */
static void
shut(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

bool
guard_harden(void)
{
	int fd;

	/* A file opened later must not become standard output. */
	do {
		if ((fd = open("/dev/null", O_RDWR)) == -1)
			return false;
	} while (fd <= STDERR_FILENO);
	close(fd);
	shut();
	return true;
}

/* Groups, gid and uid of pw, checked by asking the kernel. */
static bool
drop_to(const struct passwd *pw)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	if (initgroups(pw->pw_name, pw->pw_gid) == -1 ||
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) == -1 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) == -1 ||
	    getresgid(&rgid, &egid, &sgid) == -1 ||
	    getresuid(&ruid, &euid, &suid) == -1)
		return false;
	/* The kernel has set it anew, to what fs.suid_dumpable says. */
	shut();
	errno = EPERM;
	if (rgid != pw->pw_gid || egid != pw->pw_gid || sgid != pw->pw_gid ||
	    ruid != pw->pw_uid || euid != pw->pw_uid || suid != pw->pw_uid)
		return false;
	/* Nobody but root may be able to go back. */
	if (pw->pw_uid != 0 && (setuid(0) != -1 || seteuid(0) != -1))
		return false;
	return true;
}

bool
guard_become_user(const struct guard_options *o, struct kv_account *account,
    char *why, size_t cap)
{
	const struct passwd *pw;

	errno = 0;
	if ((pw = getpwnam(o->user)) == NULL) {
		snprintf(why, cap, "no account %.100s%s%s", o->user,
		    errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
		return false;
	}
	if (o->have_uid && o->uid != pw->pw_uid) {
		snprintf(why, cap, "account %.100s has another uid than --uid "
		    "says", o->user);
		return false;
	}
	if (geteuid() == 0 && !drop_to(pw)) {
		snprintf(why, cap, "cannot become %.100s: %s", o->user,
		    strerror(errno));
		return false;
	}
	*account = (struct kv_account){
		.name = o->user, .uid = pw->pw_uid, .home = o->home
	};
	return true;
}
