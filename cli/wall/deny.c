/* SPDX-License-Identifier: ISC */
/* Has seccomp refuse calls to a program that is not keyveto's. */
#include "wall/enter.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <unistd.h>

static const int sockets[] = {
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(bind),
	SCMP_SYS(connect),
	SCMP_SYS(listen),
	SCMP_SYS(socket),
	SCMP_SYS(socketpair),
};

/* What no program needs that reads files and prints. */
static const int denied[] = {
	/* Other processes. */
	SCMP_SYS(clone3),
	SCMP_SYS(kcmp),
	SCMP_SYS(mq_open),
	SCMP_SYS(msgget),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(process_madvise),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(ptrace),
	SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	SCMP_SYS(semget),
	SCMP_SYS(shmget),
	/* What changes files. */
	SCMP_SYS(chmod),
	SCMP_SYS(chown),
	SCMP_SYS(chown32),
	SCMP_SYS(creat),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(fchown),
	SCMP_SYS(fchown32),
	SCMP_SYS(fchownat),
	SCMP_SYS(fremovexattr),
	SCMP_SYS(fsetxattr),
	SCMP_SYS(futimesat),
	SCMP_SYS(lchown),
	SCMP_SYS(lchown32),
	SCMP_SYS(link),
	SCMP_SYS(linkat),
	SCMP_SYS(lremovexattr),
	SCMP_SYS(lsetxattr),
	SCMP_SYS(memfd_create),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(name_to_handle_at),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(openat2),
	SCMP_SYS(removexattr),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(rmdir),
	SCMP_SYS(setxattr),
	SCMP_SYS(symlink),
	SCMP_SYS(symlinkat),
	SCMP_SYS(truncate),
	SCMP_SYS(truncate64),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(utime),
	SCMP_SYS(utimensat),
	SCMP_SYS(utimensat_time64),
	SCMP_SYS(utimes),
	/* The system, and the kernel's parts that had most holes. */
	SCMP_SYS(acct),
	SCMP_SYS(add_key),
	SCMP_SYS(bpf),
	SCMP_SYS(chroot),
	SCMP_SYS(delete_module),
	SCMP_SYS(fanotify_init),
	SCMP_SYS(finit_module),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(fsopen),
	SCMP_SYS(fspick),
	SCMP_SYS(init_module),
	SCMP_SYS(inotify_init1),
	SCMP_SYS(io_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(kexec_load),
	SCMP_SYS(keyctl),
	SCMP_SYS(mount),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_tree),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(pivot_root),
	SCMP_SYS(quotactl),
	SCMP_SYS(reboot),
	SCMP_SYS(request_key),
	SCMP_SYS(setns),
	SCMP_SYS(splice),
	SCMP_SYS(swapoff),
	SCMP_SYS(swapon),
	SCMP_SYS(syslog),
	SCMP_SYS(umount),
	SCMP_SYS(umount2),
	SCMP_SYS(unshare),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(vmsplice),
};

/* Answered as by a kernel that does not have the call: nothing is killed. */
static bool
deny(scmp_filter_ctx ctx, int call, unsigned int n,
    const struct scmp_arg_cmp *arg)
{
	return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(ENOSYS), call, n,
		   arg) == 0;
}

/* The program may be of 64 bits although keyveto is of 32. */
#if defined(__i386__)
#define WIDER SCMP_ARCH_X86_64
#elif defined(__arm__)
#define WIDER SCMP_ARCH_AARCH64
#else
#define WIDER SCMP_ARCH_NATIVE
#endif

static bool
add_wider(scmp_filter_ctx ctx)
{
	return WIDER == SCMP_ARCH_NATIVE || seccomp_arch_add(ctx, WIDER) == 0;
}

static scmp_filter_ctx
begin_filter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	if (ctx != NULL && add_wider(ctx) &&
	    seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
		SCMP_ACT_ERRNO(ENOSYS)) == 0)
		return ctx;
	seccomp_release(ctx);
	return NULL;
}

static bool
load_filter(scmp_filter_ctx ctx, bool ok)
{
	ok = ok && seccomp_load(ctx) == 0;
	seccomp_release(ctx);
	return ok;
}

/* ssh-keygen opens /dev/null for reading and writing. */
static bool
deny_new_files(scmp_filter_ctx ctx)
{
	static const unsigned int flags[][2] = {
		{ O_ACCMODE, O_WRONLY },
		{ O_CREAT, O_CREAT },
		{ O_TRUNC, O_TRUNC },
		{ O_TMPFILE, O_TMPFILE },
	};
	bool ok = true;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		ok = ok &&
		    deny(ctx, SCMP_SYS(open), 1,
			&SCMP_CMP(1, SCMP_CMP_MASKED_EQ, flags[i][0],
			    flags[i][1])) &&
		    deny(ctx, SCMP_SYS(openat), 1,
			&SCMP_CMP(2, SCMP_CMP_MASKED_EQ, flags[i][0],
			    flags[i][1]));
	return ok;
}

/* What is typed into a terminal for its user. */
static bool
deny_typing(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp types = SCMP_CMP(1, SCMP_CMP_MASKED_EQ,
	    0xffffffff, TIOCSTI);
	const struct scmp_arg_cmp pastes = SCMP_CMP(1, SCMP_CMP_MASKED_EQ,
	    0xffffffff, TIOCLINUX);

	return deny(ctx, SCMP_SYS(ioctl), 1, &types) &&
	    deny(ctx, SCMP_SYS(ioctl), 1, &pastes);
}

static bool
deny_all(scmp_filter_ctx ctx, const int *call, size_t n)
{
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++)
		ok = deny(ctx, call[i], 0, NULL);
	return ok;
}

unsigned int
wall_deny_calls(const struct wall_kept *kept)
{
	scmp_filter_ctx ctx = begin_filter();
	const bool ok = ctx != NULL && (kept->writes || deny_new_files(ctx)) &&
	    deny_typing(ctx) &&
	    deny_all(ctx, denied, sizeof(denied) / sizeof(denied[0])) &&
	    (kept->connects ||
		deny_all(ctx, sockets, sizeof(sockets) / sizeof(sockets[0])));

	return ctx != NULL && load_filter(ctx, ok) ? WALL_SECCOMP : 0;
}

/* clone(2) has its flags in another argument there. */
#ifdef __s390__
#define CLONE_FLAGS_ARG 1
#else
#define CLONE_FLAGS_ARG 0
#endif

/* Signals are for this process alone: abort(3) sends one. */
static bool
deny_signals(scmp_filter_ctx ctx)
{
	static const int calls[] = { SCMP_SYS(kill), SCMP_SYS(tkill),
		SCMP_SYS(tgkill) };
	const struct scmp_arg_cmp others = SCMP_CMP(0, SCMP_CMP_NE,
	    (scmp_datum_t)getpid(), 0);
	bool ok = true;

	for (size_t i = 0; ok && i < sizeof(calls) / sizeof(calls[0]); i++)
		ok = deny(ctx, calls[i], 1, &others);
	return ok;
}

/* A process of root's may write what root owns, even without a capability. */
static bool
deny_writing(scmp_filter_ctx ctx)
{
	return deny(ctx, SCMP_SYS(open), 1,
		   &SCMP_CMP(1, SCMP_CMP_MASKED_EQ, O_ACCMODE, O_RDWR)) &&
	    deny(ctx, SCMP_SYS(openat), 1,
		&SCMP_CMP(2, SCMP_CMP_MASKED_EQ, O_ACCMODE, O_RDWR));
}

static void
deny_processes(const char *path, bool writes)
{
	/* Once it runs, it does not have this address any more. */
	const struct scmp_arg_cmp others = SCMP_CMP(0, SCMP_CMP_NE,
	    (scmp_datum_t)(uintptr_t)path, 0);
	const struct scmp_arg_cmp no_thread = SCMP_CMP(CLONE_FLAGS_ARG,
	    SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);
	const struct scmp_arg_cmp other_process = SCMP_CMP(0, SCMP_CMP_NE, 0,
	    0);
	scmp_filter_ctx ctx = begin_filter();

	if (ctx != NULL)
		(void)load_filter(ctx,
		    (writes || deny_writing(ctx)) &&
			deny(ctx, SCMP_SYS(execve), 1, &others) &&
			deny(ctx, SCMP_SYS(execveat), 0, NULL) &&
			deny(ctx, SCMP_SYS(clone), 1, &no_thread) &&
			deny(ctx, SCMP_SYS(fork), 0, NULL) &&
			deny(ctx, SCMP_SYS(vfork), 0, NULL) &&
			deny(ctx, SCMP_SYS(prlimit64), 1, &other_process) &&
			deny_signals(ctx));
}

void
wall_deny_processes(const char *path)
{
	deny_processes(path, true);
}

void
wall_deny_processes_and_writing(const char *path)
{
	deny_processes(path, false);
}
