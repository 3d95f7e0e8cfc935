/* SPDX-License-Identifier: ISC */
#include "wall/enter.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/become.h"
#include "host/child.h"

/*
 * Finds the account of programs behind the wall. Only /etc/passwd is asked: a
 * directory server that does not answer would hold up everything. False if the
 * ids are those of no account.
 */
static bool
find_account(uid_t *uidp, gid_t *gidp)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *pw;
	bool ours, found = false;

	*uidp = WALL_NOBODY;
	*gidp = WALL_NOBODY;
	while (f != NULL && (pw = fgetpwent(f)) != NULL) {
		ours = strcmp(pw->pw_name, WALL_ACCOUNT_NAME) == 0;
		if ((!ours && strcmp(pw->pw_name, "nobody") != 0) ||
		    pw->pw_uid == 0 || pw->pw_gid == 0)
			continue;
		*uidp = pw->pw_uid;
		*gidp = pw->pw_gid;
		found = true;
		if (ours)
			break;
	}
	if (f != NULL)
		fclose(f);
	return found;
}

/* The kernel writes its version into it. */
static struct __user_cap_header_struct capabilities = {
	.version = _LINUX_CAPABILITY_VERSION_3,
};

/* The id of a group in /etc/group. False if it has none of this name. */
static bool
find_group(const char *name, gid_t *gidp)
{
	FILE *f = fopen("/etc/group", "re");
	const struct group *gr = NULL;

	while (f != NULL && (gr = fgetgrent(f)) != NULL)
		if (strcmp(gr->gr_name, name) == 0)
			break;
	if (gr != NULL)
		*gidp = gr->gr_gid;
	if (f != NULL)
		fclose(f);
	return gr != NULL && *gidp != 0;
}

/* Whether an account with the groups of this process can read all it has to. */
static bool
can_read(const struct wall_kept *kept, uid_t uid, gid_t gid)
{
	const bool can = become_ids_for_now(uid, gid) && kept->can_read();

	return become_root_again() && can;
}

/* What this process has, and the capability by which it reads any file, as a bit. */
static uint32_t
get_capabilities(struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3])
{
	const uint32_t reads = 1u << CAP_DAC_READ_SEARCH;
	const uint32_t reads_and_writes = 1u << CAP_DAC_OVERRIDE;

	memset(has, 0, _LINUX_CAPABILITY_U32S_3 * sizeof(*has));
	if (syscall(SYS_capget, &capabilities, has) == -1)
		return 0;
	return (has->permitted & reads) != 0 ?
	    reads :
	    has->permitted & reads_and_writes;
}

/* A program that is not root's gets a capability only if it is ambient. */
static bool
make_ambient(uint32_t capability)
{
	bool ok = true;

	for (unsigned long i = 0; i < 32; i++)
		if ((capability >> i & 1) != 0)
			ok = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0,
				 0) == 0 &&
			    ok;
	return ok;
}

/* Has the capability outlive the change of account. */
static bool
keep_reading(void)
{
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];
	const uint32_t reads = get_capabilities(has);

	has->inheritable = reads;
	return syscall(SYS_capset, &capabilities, has) == 0 &&
	    make_ambient(reads) && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0;
}

/*
 * Becomes another account. Sets *anyp if the process has to read any file by a
 * capability. In some containers root can be nobody else.
 */
static bool
leave_root(const struct wall_kept *kept, bool *anyp)
{
	gid_t group[2];
	size_t n = 1;
	uid_t uid;

	*anyp = kept->can_read != NULL;
	if (!find_account(&uid, &group[0]) && kept->executes && !*anyp)
		return false;
	if (*anyp && find_group(kept->group, &group[1]))
		n++;
	if (setgroups(n, group) == -1)
		return false;
	if (*anyp && can_read(kept, uid, group[0]))
		*anyp = false;
	return (!*anyp || keep_reading()) && become_ids(uid, group[0]);
}

/*
 * It is the program's that is started, not this process's: without it, that
 * cannot be read, and so not be traced (worker/system.c).
 */
static void
stop_reading(void)
{
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

	(void)get_capabilities(has);
	has->effective = 0;
	(void)syscall(SYS_capset, &capabilities, has);
}

static bool
drop_privileges(bool reads_any)
{
	struct __user_cap_data_struct keeps[_LINUX_CAPABILITY_U32S_3];
	const uint32_t reads = reads_any ? get_capabilities(keeps) : 0;
	bool ok;

	memset(keeps, 0, sizeof(keeps));
	keeps->permitted = keeps->effective = keeps->inheritable = reads;
	/* No other process of this account may trace it. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	ok = syscall(SYS_capset, &capabilities, keeps) == 0;
	(void)make_ambient(reads);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ok;
}

/* Landlock, by its ABI: the Linux headers may be older. */
enum {
	LANDLOCK_CREATE = 444,
	LANDLOCK_ADD = 445,
	LANDLOCK_RESTRICT = 446,
	LANDLOCK_VERSION_FLAG = 1,
	LANDLOCK_PATH_RULE = 1,
	LANDLOCK_EXECUTE = 1,
	LANDLOCK_WRITE_FILE = 2,
	LANDLOCK_READ_FILE = 4,
	LANDLOCK_READ_DIR = 8,
	LANDLOCK_BIND = 1,
	LANDLOCK_CONNECT = 2,
	LANDLOCK_ABSTRACT_SOCKETS = 1,
	LANDLOCK_SIGNALS = 2,
};

/*
 * Lets the process read a file, or what is in a folder; and, if it executes
 * programs, execute that, and write to /dev/null.
 */
static bool
allow_path(int ruleset, const char *path, bool executes)
{
	struct {
		uint64_t rights;
		int32_t fd;
	} __attribute__((packed)) rule = { .rights = LANDLOCK_READ_FILE };
	struct stat st;
	bool ok;

	/* A file that is not there cannot be read. */
	if ((rule.fd = open(path, O_PATH | O_CLOEXEC)) == -1)
		return true;
	if (fstat(rule.fd, &st) == 0 && S_ISDIR(st.st_mode))
		rule.rights |= LANDLOCK_READ_DIR;
	if (executes)
		rule.rights |= strcmp(path, "/dev/null") == 0 ?
		    LANDLOCK_WRITE_FILE :
		    LANDLOCK_EXECUTE;
	ok = syscall(LANDLOCK_ADD, ruleset, LANDLOCK_PATH_RULE, &rule, 0) == 0;
	close(rule.fd);
	return ok;
}

static bool
enter_landlock(const struct wall_kept *kept)
{
	/* The number of rights to files and folders that each ABI adds. */
	static const int added[] = { 0, 13, 1, 1, 0, 1 };
	struct {
		uint64_t fs, net, scoped;
	} handled = { 0 };
	const long abi = syscall(LANDLOCK_CREATE, NULL, 0,
	    LANDLOCK_VERSION_FLAG);
	int rights = 0, ruleset;
	bool ok;

	if (abi < 1)
		return false;
	for (int i = 1; i <= abi && i < (int)(sizeof(added) / sizeof(*added));
	     i++)
		rights += added[i];
	handled.fs = ((uint64_t)1 << rights) - 1;
	if (abi >= 4)
		handled.net = LANDLOCK_BIND |
		    (kept->connects ? 0u : (unsigned int)LANDLOCK_CONNECT);
	/* To those of this process and of what it starts alone. */
	if (abi >= 6)
		handled.scoped = LANDLOCK_ABSTRACT_SOCKETS | LANDLOCK_SIGNALS;
	/* An older kernel takes more, if that is zero. */
	ruleset = (int)syscall(LANDLOCK_CREATE, &handled, sizeof(handled), 0);
	if (ruleset == -1)
		return false;
	ok = true;
	for (size_t i = 0; ok && i < kept->n_paths; i++)
		ok = allow_path(ruleset, kept->path[i], kept->executes);
	ok = ok && syscall(LANDLOCK_RESTRICT, ruleset, 0) == 0;
	close(ruleset);
	return ok;
}

unsigned int
wall_enter(const struct wall_kept *kept)
{
	unsigned int walls = 0;
	bool reads_any = false;

	if (geteuid() != 0 || leave_root(kept, &reads_any))
		walls |= WALL_ACCOUNT;
	/* A change of account takes it away. */
	child_die_with_parent();
	if (drop_privileges(reads_any))
		walls |= WALL_PRIVILEGES;
	program_limit(RLIMIT_CORE, 0);
	if (!kept->writes)
		program_limit(RLIMIT_FSIZE, 0);
	if (enter_landlock(kept))
		walls |= WALL_LANDLOCK;
	if (reads_any)
		stop_reading();
	if (!WALL_IS_SANITIZED)
		program_limit(RLIMIT_DATA, kept->memory);
	return walls;
}
