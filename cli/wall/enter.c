/* SPDX-License-Identifier: ISC */
#include "wall/enter.h"

#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
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

static bool
leave_root(const struct wall_kept *kept)
{
	uid_t uid;
	gid_t gid;

	/* In some containers root can be nobody else. */
	return (find_account(&uid, &gid) || !kept->executes) &&
	    become_account(NULL, uid, gid);
}

/* The capability by which this process reads any file, as a bit; or 0. */
static uint32_t
find_reading(const struct __user_cap_data_struct *has)
{
	const uint32_t reads = 1u << CAP_DAC_READ_SEARCH;
	const uint32_t reads_and_writes = 1u << CAP_DAC_OVERRIDE;

	return (has->permitted & reads) != 0 ?
	    reads :
	    has->permitted & reads_and_writes;
}

static bool
drop_privileges(const struct wall_kept *kept)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	struct __user_cap_data_struct keeps[_LINUX_CAPABILITY_U32S_3] = {
		{ 0 },
	};

	if (kept->reads_as_root && syscall(SYS_capget, &header, has) == 0)
		keeps[0].permitted = keeps[0].effective = find_reading(has);

	/* No other process of this account may trace it. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, keeps) == 0 &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
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

/* The calls that are allowed with any argument. */
static const int allowed[] = {
	SCMP_SYS(brk),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_gettime64),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_nanosleep_time64),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(fadvise64),
	SCMP_SYS(fstat),
	SCMP_SYS(fstat64),
	SCMP_SYS(futex),
	SCMP_SYS(futex_time64),
	SCMP_SYS(getpid),
	SCMP_SYS(getrandom),
	SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(_llseek),
	SCMP_SYS(lseek),
	SCMP_SYS(madvise),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	SCMP_SYS(nanosleep),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(ppoll_time64),
	SCMP_SYS(pread64),
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(recvmsg),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rseq),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(sigreturn),
	SCMP_SYS(sysinfo),
	SCMP_SYS(time),
};

/* clone(2) has its flags in another argument there. */
#ifdef __s390__
#define CLONE_FLAGS_ARG 1
#else
#define CLONE_FLAGS_ARG 0
#endif

static bool
allow(scmp_filter_ctx ctx, int call, unsigned int n,
    const struct scmp_arg_cmp *arg)
{
	return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, call, n, arg) == 0;
}

static bool
allow_all(scmp_filter_ctx ctx, const int *call, size_t n)
{
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++)
		ok = allow(ctx, call[i], 0, NULL);
	return ok;
}

/*
 * Memory that no code is in. A filter does not see the arguments of mmap(2) where
 * the call has them in memory: s390x has no other call; i386 has mmap2(2).
 */
static bool
allow_memory(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp no_code = SCMP_CMP(2, SCMP_CMP_MASKED_EQ,
	    PROT_EXEC, 0);

#if defined(__s390__)
	if (!allow(ctx, SCMP_SYS(mmap), 0, NULL))
		return false;
#elif !defined(__i386__)
	if (!allow(ctx, SCMP_SYS(mmap), 1, &no_code))
		return false;
#endif
	return allow(ctx, SCMP_SYS(mmap2), 1, &no_code) &&
	    allow(ctx, SCMP_SYS(mprotect), 1, &no_code);
}

/* The calls that are allowed with some arguments. */
static bool
allow_some(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp thread = SCMP_CMP(CLONE_FLAGS_ARG,
	    SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
	const struct scmp_arg_cmp flags = SCMP_CMP(1, SCMP_CMP_EQ, F_GETFL, 0);
	const struct scmp_arg_cmp only_asks = SCMP_CMP(2, SCMP_CMP_EQ, 0, 0);
	/* A terminal that was handed over could be written, too. */
	const struct scmp_arg_cmp answers = SCMP_CMP(0, SCMP_CMP_EQ,
	    STDOUT_FILENO, 0);
	const struct scmp_arg_cmp others = SCMP_CMP(0, SCMP_CMP_GT,
	    STDERR_FILENO, 0);

	return allow(ctx, SCMP_SYS(write), 1, &answers) &&
	    allow(ctx, SCMP_SYS(writev), 1, &answers) &&
	    allow(ctx, SCMP_SYS(close), 1, &others) &&
	    allow(ctx, SCMP_SYS(clone), 1, &thread) && allow_memory(ctx) &&
	    allow(ctx, SCMP_SYS(fcntl), 1, &flags) &&
	    allow(ctx, SCMP_SYS(fcntl64), 1, &flags) &&
	    allow(ctx, SCMP_SYS(prlimit64), 1, &only_asks);
}

/* What fstat(2) is in some libcs. */
static bool
allow_fstat(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp no_path = SCMP_CMP(3, SCMP_CMP_EQ,
	    AT_EMPTY_PATH, 0);
	const struct scmp_arg_cmp no_path_of_statx = SCMP_CMP(2,
	    SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH);

	return allow(ctx, SCMP_SYS(newfstatat), 1, &no_path) &&
	    allow(ctx, SCMP_SYS(fstatat64), 1, &no_path) &&
	    allow(ctx, SCMP_SYS(statx), 1, &no_path_of_statx);
}

/* Sockets, and files to read; not what injects input into a terminal. */
static bool
allow_network(scmp_filter_ctx ctx)
{
	static const unsigned int families[] = { AF_UNIX, AF_INET, AF_INET6,
		AF_NETLINK };
	static const unsigned int requests[] = { FIONREAD, FIONBIO };
	const scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC;
	const struct scmp_arg_cmp reads = SCMP_CMP(1, SCMP_CMP_MASKED_EQ,
	    writing, O_RDONLY);
	const struct scmp_arg_cmp reads_at = SCMP_CMP(2, SCMP_CMP_MASKED_EQ,
	    writing, O_RDONLY);
	bool ok = allow(ctx, SCMP_SYS(open), 1, &reads) &&
	    allow(ctx, SCMP_SYS(openat), 1, &reads_at);

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		ok = ok &&
		    allow(ctx, SCMP_SYS(socket), 1,
			&SCMP_CMP(0, SCMP_CMP_EQ, families[i], 0));
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		ok = ok &&
		    allow(ctx, SCMP_SYS(ioctl), 1,
			&SCMP_CMP(1, SCMP_CMP_EQ, requests[i], 0));
	return ok;
}

/*
 * Any other call is answered as by a kernel that does not have it: a newer libc
 * then does without, where to be killed would be an error of ours.
 */
static bool
enter_seccomp(const struct wall_kept *kept)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	bool ok = ctx != NULL &&
	    allow_all(ctx, allowed, sizeof(allowed) / sizeof(allowed[0])) &&
	    allow_all(ctx, kept->call, kept->n_calls) && allow_some(ctx) &&
	    (!kept->writes || allow_fstat(ctx)) &&
	    (!kept->connects || allow_network(ctx)) && seccomp_load(ctx) == 0;

	if (ctx != NULL)
		seccomp_release(ctx);
	return ok;
}

/*
 * ASan has more memory than any limit, and its search for leaks forks and
 * traces. Such a build is for tests alone, which expect no warning.
 */
#ifdef __SANITIZE_ADDRESS__
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif

unsigned int
wall_enter(const struct wall_kept *kept)
{
	unsigned int walls = 0;

	if (geteuid() != 0 || kept->reads_as_root || leave_root(kept))
		walls |= WALL_ACCOUNT;
	/* A change of account takes it away. */
	child_die_with_parent();
	if (drop_privileges(kept))
		walls |= WALL_PRIVILEGES;
	program_limit(RLIMIT_CORE, 0);
	if (!kept->writes)
		program_limit(RLIMIT_FSIZE, 0);
	if (enter_landlock(kept))
		walls |= WALL_LANDLOCK;
	if (!is_sanitized)
		program_limit(RLIMIT_DATA, kept->memory);
	return walls;
}

unsigned int
wall_refuse_calls(const struct wall_kept *kept)
{
	return is_sanitized || enter_seccomp(kept) ? WALL_SECCOMP : 0;
}
