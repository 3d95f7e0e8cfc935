/* SPDX-License-Identifier: ISC */
#include "privilege.h"

#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Prevents a core dump, and tracing by the account. RLIMIT_CORE would not do: a
 * chained command would inherit it.
 */
static void
make_undumpable(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

bool
guard_harden(void)
{
	/* A file that is opened later must not become standard output. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDWR) != fd)
			return false;
	make_undumpable();
	return true;
}

bool
guard_die_with_parent(pid_t parent)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
	    getppid() == parent;
}

void
guard_outlive_parent(void)
{
	(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

/* Whether the kernel says that all IDs are those of pw. */
static bool
has_become(const struct passwd *pw)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	return getresgid(&rgid, &egid, &sgid) == 0 &&
	    getresuid(&ruid, &euid, &suid) == 0 && rgid == pw->pw_gid &&
	    egid == pw->pw_gid && sgid == pw->pw_gid && ruid == pw->pw_uid &&
	    euid == pw->pw_uid && suid == pw->pw_uid;
}

/*
 * As initgroups(3), which reads the greatest number of groups from /proc first.
 * That one is asked about more groups than these.
 */
static bool
set_groups(const struct passwd *pw)
{
	gid_t group[64];
	int n = sizeof(group) / sizeof(group[0]);

	return getgrouplist(pw->pw_name, pw->pw_gid, group, &n) != -1 ?
	    setgroups((size_t)n, group) == 0 :
	    initgroups(pw->pw_name, pw->pw_gid) == 0;
}

/*
 * Takes on groups, gid and uid of pw, and verifies them.
 *
 * When the effective uid changes, the kernel forgets that the process dies with
 * its parent, and sets dumpable to the value of fs.suid_dumpable. A change of
 * only the real and saved uid does neither. Processes of the account can send
 * signals and trace only after that second change. So the effective uid is
 * changed first.
 */
static bool
become_account(const struct passwd *pw, pid_t parent)
{
	if (!set_groups(pw) ||
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) == -1 ||
	    setresuid((uid_t)-1, pw->pw_uid, (uid_t)-1) == -1)
		return false;
	make_undumpable();
	errno = ESRCH;
	if (!guard_die_with_parent(parent) ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) == -1)
		return false;
	errno = EPERM;
	if (!has_become(pw))
		return false;
	/* Going back to root must fail, unless the account is root. */
	if (pw->pw_uid != 0 && (setuid(0) != -1 || seteuid(0) != -1))
		return false;
	return true;
}

bool
guard_become_user(const struct guard_options *o, pid_t parent,
    struct kv_account *account, char *why, size_t cap)
{
	const struct passwd *pw;

	errno = 0;
	if ((pw = getpwnam(o->user)) == NULL) {
		snprintf(why, cap, "no account %.100s%s%s", o->user,
		    errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
		return false;
	}
	if (o->have_uid && o->uid != pw->pw_uid) {
		snprintf(why, cap,
		    "account %.100s has another uid than --uid "
		    "says",
		    o->user);
		return false;
	}
	if (geteuid() == 0 && !become_account(pw, parent)) {
		snprintf(why, cap, "cannot become %.100s: %s", o->user,
		    errno == ESRCH ? "sshd has ended" : strerror(errno));
		return false;
	}
	*account = (struct kv_account){ .name = o->user,
		.uid = pw->pw_uid,
		.home = o->home };
	return true;
}
