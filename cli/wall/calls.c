/* SPDX-License-Identifier: ISC */
/*
 * Has seccomp refuse every call that is not named here. It is answered as by a
 * kernel that does not have it: a newer libc then does without, where to be
 * killed would be an error of ours. So what a later kernel adds is refused, and
 * so are the calls that one architecture alone has.
 */
#include "wall/enter.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <unistd.h>

#define COUNT(v) (sizeof(v) / sizeof((v)[0]))

/* musl's O_ACCMODE has O_PATH in it. */
#define ACCESS_MODE (scmp_datum_t)(O_RDONLY | O_WRONLY | O_RDWR)
/* What open(2) may change. */
#define OPEN_CHANGES \
	(ACCESS_MODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

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

/*
 * What a program of the system's does besides, and the libc that starts it: asks
 * for paths, for itself and for the system.
 */
static const int of_programs[] = {
	SCMP_SYS(access),
	SCMP_SYS(arch_prctl),
	SCMP_SYS(cacheflush),
	SCMP_SYS(capget),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_getres_time64),
	SCMP_SYS(close),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(fadvise64_64),
	SCMP_SYS(arm_fadvise64_64),
	SCMP_SYS(fstatat64),
	SCMP_SYS(fstatfs),
	SCMP_SYS(fstatfs64),
	SCMP_SYS(getcpu),
	SCMP_SYS(getcwd),
	SCMP_SYS(getdents),
	SCMP_SYS(getdents64),
	SCMP_SYS(getegid),
	SCMP_SYS(getegid32),
	SCMP_SYS(geteuid),
	SCMP_SYS(geteuid32),
	SCMP_SYS(getgid),
	SCMP_SYS(getgid32),
	SCMP_SYS(getgroups),
	SCMP_SYS(getgroups32),
	SCMP_SYS(getppid),
	SCMP_SYS(getresgid),
	SCMP_SYS(getresgid32),
	SCMP_SYS(getresuid),
	SCMP_SYS(getresuid32),
	SCMP_SYS(getrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(getuid),
	SCMP_SYS(getuid32),
	SCMP_SYS(lstat),
	SCMP_SYS(lstat64),
	SCMP_SYS(mprotect),
	SCMP_SYS(newfstatat),
	SCMP_SYS(preadv),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(_newselect),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(pselect6_time64),
	SCMP_SYS(set_thread_area),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(set_tls),
	SCMP_SYS(stat),
	SCMP_SYS(stat64),
	SCMP_SYS(statfs),
	SCMP_SYS(statfs64),
	SCMP_SYS(statx),
	SCMP_SYS(times),
	SCMP_SYS(ugetrlimit),
	SCMP_SYS(umask),
	SCMP_SYS(uname),
	SCMP_SYS(write),
	SCMP_SYS(writev),
};

/* What those call that ask a directory server for an account. */
static const int of_sockets[] = {
	SCMP_SYS(connect),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),
	SCMP_SYS(recv),
	SCMP_SYS(recvfrom),
	SCMP_SYS(send),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),
};

/* What this process does to start a program, to end it and to tell of it. */
static const int starting[] = {
	SCMP_SYS(clone),
	SCMP_SYS(close_range),
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(getpgrp),
	SCMP_SYS(kill),
	SCMP_SYS(pipe),
	SCMP_SYS(pipe2),
	SCMP_SYS(sendmsg),
	SCMP_SYS(setsid),
	SCMP_SYS(vfork),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(waitpid),
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

/* Allows the call where an argument is one of these. */
static bool
allow_values(scmp_filter_ctx ctx, int call, unsigned int arg,
    const unsigned int *value, size_t n)
{
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++)
		ok = allow(ctx, call, 1,
		    &SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffff, value[i]));
	return ok;
}

/*
 * RLIMIT_DATA counts no memory that is shared: of that, only files are mapped,
 * and by most programs not to be written. Code is in libraries alone.
 */
static bool
allow_mapping(scmp_filter_ctx ctx, int call, const struct wall_kept *kept)
{
	const scmp_datum_t refused = kept->maps ?
	    PROT_EXEC :
	    PROT_WRITE | PROT_EXEC;
	const struct scmp_arg_cmp own[] = {
		SCMP_CMP(3, SCMP_CMP_MASKED_EQ, MAP_SHARED, 0),
		SCMP_CMP(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
	};
	const struct scmp_arg_cmp shared[] = {
		SCMP_CMP(3, SCMP_CMP_MASKED_EQ, MAP_SHARED | MAP_ANONYMOUS,
		    MAP_SHARED),
		SCMP_CMP(2, SCMP_CMP_MASKED_EQ, refused, 0),
	};

	return allow(ctx, call, kept->executes ? 1 : 2, own) &&
	    allow(ctx, call, 2, shared);
}

/* The program may be of 64 bits although keyveto is of 32. */
#if defined(__i386__)
#define WIDER SCMP_ARCH_X86_64
#elif defined(__arm__)
#define WIDER SCMP_ARCH_AARCH64
#else
#define WIDER SCMP_ARCH_NATIVE
#endif

/*
 * A filter does not see the arguments of mmap(2) where the call has them in
 * memory: s390x has no other call; i386 has mmap2(2), but x86_64 does not.
 */
static bool
allow_memory(scmp_filter_ctx ctx, const struct wall_kept *kept)
{
	const struct scmp_arg_cmp no_code = SCMP_CMP(2, SCMP_CMP_MASKED_EQ,
	    PROT_EXEC, 0);
#if defined(__s390__)
	const bool ok = allow(ctx, SCMP_SYS(mmap), 0, NULL);
#elif defined(__i386__)
	const bool ok = !kept->executes ||
	    allow_mapping(ctx, SCMP_SYS(mmap), kept);
#else
	const bool ok = allow_mapping(ctx, SCMP_SYS(mmap), kept);
#endif

	return ok && allow_mapping(ctx, SCMP_SYS(mmap2), kept) &&
	    (kept->executes || allow(ctx, SCMP_SYS(mprotect), 1, &no_code));
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

/* Files are opened as mode says, and nothing is made or cut. */
static bool
allow_opening(scmp_filter_ctx ctx, scmp_datum_t mode)
{
	return allow(ctx, SCMP_SYS(open), 1,
		   &SCMP_CMP(1, SCMP_CMP_MASKED_EQ, OPEN_CHANGES, mode)) &&
	    allow(ctx, SCMP_SYS(openat), 1,
		&SCMP_CMP(2, SCMP_CMP_MASKED_EQ, OPEN_CHANGES, mode));
}

/* Sockets; not what injects input into a terminal. */
static bool
allow_network(scmp_filter_ctx ctx)
{
	static const unsigned int families[] = { AF_UNIX, AF_INET, AF_INET6,
		AF_NETLINK };
	static const unsigned int requests[] = { FIONREAD, FIONBIO };

	return allow_values(ctx, SCMP_SYS(socket), 0, families,
		   COUNT(families)) &&
	    allow_values(ctx, SCMP_SYS(ioctl), 1, requests, COUNT(requests));
}

/* No signal is sent by a descriptor: no F_SETOWN, no F_SETSIG, no O_ASYNC. */
static bool
allow_descriptors(scmp_filter_ctx ctx, int call)
{
	static const unsigned int commands[] = { F_DUPFD, F_DUPFD_CLOEXEC,
		F_GETFD, F_SETFD, F_GETFL, F_GETLK, F_SETLK, F_SETLKW };
	const struct scmp_arg_cmp no_signals[] = {
		SCMP_CMP(1, SCMP_CMP_MASKED_EQ, 0xffffffff, F_SETFL),
		SCMP_CMP(2, SCMP_CMP_MASKED_EQ, O_ASYNC, 0),
	};

	return allow_values(ctx, call, 1, commands, COUNT(commands)) &&
	    allow(ctx, call, 2, no_signals);
}

/* The calls of ours that are allowed with some arguments. */
static bool
allow_ours(scmp_filter_ctx ctx, const struct wall_kept *kept)
{
	const struct scmp_arg_cmp flags = SCMP_CMP(1, SCMP_CMP_EQ, F_GETFL, 0);
	const bool has_descriptors = kept->writes || kept->connects;
	const struct scmp_arg_cmp only_asks = SCMP_CMP(2, SCMP_CMP_EQ, 0, 0);
	/* A terminal that was handed over could be written, too. */
	const struct scmp_arg_cmp answers = SCMP_CMP(0, SCMP_CMP_EQ,
	    STDOUT_FILENO, 0);
	const struct scmp_arg_cmp others = SCMP_CMP(0, SCMP_CMP_GT,
	    STDERR_FILENO, 0);

	return allow(ctx, SCMP_SYS(write), 1, &answers) &&
	    allow(ctx, SCMP_SYS(writev), 1, &answers) &&
	    allow(ctx, SCMP_SYS(close), 1, &others) &&
	    (has_descriptors ? allow_descriptors(ctx, SCMP_SYS(fcntl)) &&
			allow_descriptors(ctx, SCMP_SYS(fcntl64)) :
			       allow(ctx, SCMP_SYS(fcntl), 1, &flags) &&
			allow(ctx, SCMP_SYS(fcntl64), 1, &flags)) &&
	    allow(ctx, SCMP_SYS(prlimit64), 1, &only_asks) &&
	    (!kept->writes || allow_fstat(ctx)) &&
	    (!kept->connects || allow_opening(ctx, O_RDONLY));
}

/* It asks what it is: libcap does when it is loaded. */
static bool
allow_asking(scmp_filter_ctx ctx)
{
	static const unsigned int options[] = { PR_CAPBSET_READ,
		PR_GET_NO_NEW_PRIVS, PR_GET_SECUREBITS };
	const struct scmp_arg_cmp is_ambient[] = {
		SCMP_CMP(0, SCMP_CMP_MASKED_EQ, 0xffffffff, PR_CAP_AMBIENT),
		SCMP_CMP(1, SCMP_CMP_MASKED_EQ, 0xffffffff,
		    PR_CAP_AMBIENT_IS_SET),
	};
	/* Its own limits: no other process's. */
	const struct scmp_arg_cmp own = SCMP_CMP(0, SCMP_CMP_EQ, 0, 0);

	return allow_values(ctx, SCMP_SYS(prctl), 0, options, COUNT(options)) &&
	    allow(ctx, SCMP_SYS(prctl), 2, is_ambient) &&
	    allow(ctx, SCMP_SYS(prlimit64), 1, &own);
}

static bool
allow_program(scmp_filter_ctx ctx, const struct wall_kept *kept)
{
	static const unsigned int requests[] = { TCGETS, TIOCGWINSZ };

	return allow_all(ctx, of_programs, COUNT(of_programs)) &&
	    allow_descriptors(ctx, SCMP_SYS(fcntl)) &&
	    allow_descriptors(ctx, SCMP_SYS(fcntl64)) &&
	    allow_values(ctx, SCMP_SYS(ioctl), 1, requests, COUNT(requests)) &&
	    allow_asking(ctx) && allow_opening(ctx, O_RDONLY) &&
	    (!kept->connects || allow_all(ctx, of_sockets, COUNT(of_sockets)));
}

/* What seccomp_load calls. */
static bool
allow_refusing(scmp_filter_ctx ctx)
{
	static const unsigned int options[] = { PR_SET_NO_NEW_PRIVS,
		PR_SET_SECCOMP };

	return allow(ctx, SCMP_SYS(seccomp), 0, NULL) &&
	    allow_values(ctx, SCMP_SYS(prctl), 0, options, COUNT(options));
}

/* What all may, and what it keeps. */
static bool
allow_kept(scmp_filter_ctx ctx, const struct wall_kept *kept)
{
	const struct scmp_arg_cmp thread = SCMP_CMP(CLONE_FLAGS_ARG,
	    SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);

	return allow_all(ctx, allowed, COUNT(allowed)) &&
	    allow_all(ctx, kept->call, kept->n_calls) &&
	    allow_memory(ctx, kept) &&
	    allow(ctx, SCMP_SYS(clone), 1, &thread) &&
	    (kept->executes ? allow_program(ctx, kept) :
			      allow_ours(ctx, kept)) &&
	    (!kept->connects || allow_network(ctx)) &&
	    (!kept->refuses_more || allow_refusing(ctx));
}

/* Before it is started, a program may be made, and its walls be built. */
static bool
allow_starting(scmp_filter_ctx ctx)
{
	static const unsigned int ends[] = { PR_SET_PDEATHSIG };

	return allow_all(ctx, starting, COUNT(starting)) &&
	    allow_opening(ctx, O_RDWR) && allow_refusing(ctx) &&
	    allow_values(ctx, SCMP_SYS(prctl), 0, ends, COUNT(ends));
}

/*
 * The program is executed by the address of its path, or of the path's end, and by
 * no other: once it runs, it has that no more. Signals are for itself: abort(3)
 * sends one.
 */
static bool
allow_once(scmp_filter_ctx ctx, const struct wall_kept *kept, const char *path)
{
	static const int signals[] = { SCMP_SYS(kill), SCMP_SYS(tkill),
		SCMP_SYS(tgkill) };
	const scmp_datum_t address = (scmp_datum_t)(uintptr_t)path;
	const struct scmp_arg_cmp by_path = SCMP_CMP(0, SCMP_CMP_EQ, address,
	    0);
	const struct scmp_arg_cmp by_file = SCMP_CMP(1, SCMP_CMP_EQ,
	    address + strlen(path), 0);
	const struct scmp_arg_cmp itself = SCMP_CMP(0, SCMP_CMP_EQ,
	    (scmp_datum_t)getpid(), 0);
	bool ok = allow(ctx, SCMP_SYS(execve), 1, &by_path) &&
	    allow(ctx, SCMP_SYS(execveat), 1, &by_file) &&
	    (kept->only_reads || allow_opening(ctx, O_RDWR));

	for (size_t i = 0; ok && i < COUNT(signals); i++)
		ok = allow(ctx, signals[i], 1, &itself);
	return ok;
}

static scmp_filter_ctx
begin_filter(const struct wall_kept *kept)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	const bool wider = kept->executes && WIDER != SCMP_ARCH_NATIVE;

	if (ctx != NULL && (!wider || seccomp_arch_add(ctx, WIDER) == 0) &&
	    seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
		SCMP_ACT_ERRNO(ENOSYS)) == 0 &&
	    allow_kept(ctx, kept))
		return ctx;
	if (ctx != NULL)
		seccomp_release(ctx);
	return NULL;
}

static bool
load_filter(scmp_filter_ctx ctx, bool ok)
{
	ok = ok && seccomp_load(ctx) == 0;
	if (ctx != NULL)
		seccomp_release(ctx);
	return ok;
}

unsigned int
wall_refuse_calls(const struct wall_kept *kept)
{
	scmp_filter_ctx ctx;

	if (WALL_IS_SANITIZED)
		return WALL_SECCOMP;
	ctx = begin_filter(kept);
	return load_filter(ctx,
		   ctx != NULL && (!kept->executes || allow_starting(ctx))) ?
	    WALL_SECCOMP :
	    0;
}

void
wall_refuse_starting(const struct wall_kept *kept, const char *path)
{
	scmp_filter_ctx ctx = begin_filter(kept);

	(void)load_filter(ctx, ctx != NULL && allow_once(ctx, kept, path));
}
