/* SPDX-License-Identifier: ISC */
#include "calls.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/*
 * NATIVE is how the kernel names the calls of this program. OTHER are the calls
 * that a program of the same processor can make, too, by another instruction:
 * they have other numbers. A libc can come without the kernel's headers; and
 * ASan, at the end, starts a process that looks for leaks.
 */
#if __has_include(<linux/audit.h>) && !defined(__SANITIZE_ADDRESS__)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#if defined(__x86_64__) && !defined(__ILP32__)
#define NATIVE AUDIT_ARCH_X86_64
#define OTHER AUDIT_ARCH_I386
#elif defined(__i386__)
#define NATIVE AUDIT_ARCH_I386
#define OTHER AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define NATIVE AUDIT_ARCH_AARCH64
#define OTHER AUDIT_ARCH_ARM
#elif defined(__ARM_EABI__) && defined(__ARMEL__)
#define NATIVE AUDIT_ARCH_ARM
#define OTHER AUDIT_ARCH_AARCH64
#elif defined(__s390x__)
#define NATIVE AUDIT_ARCH_S390X
#define OTHER AUDIT_ARCH_S390
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define NATIVE AUDIT_ARCH_PPC64LE
#define OTHER AUDIT_ARCH_PPC
#elif defined(__riscv) && __riscv_xlen == 64 && defined(AUDIT_ARCH_RISCV64)
#define NATIVE AUDIT_ARCH_RISCV64
#define OTHER AUDIT_ARCH_RISCV32
#elif defined(__loongarch64) && defined(AUDIT_ARCH_LOONGARCH64)
#define NATIVE AUDIT_ARCH_LOONGARCH64
#define OTHER AUDIT_ARCH_LOONGARCH32
#endif
#endif

#ifdef NATIVE

/*
 * Since Linux 5.1 a new call has the same number, from this one on, for each of
 * these processors. All of them are refused: to a libc that is the answer of an
 * older kernel. So no call below is ever missing from this file.
 */
#define FIRST_REFUSED 424
#define WORDS ((FIRST_REFUSED + 31) / 32)

/*
 * The calls below that are refused. The others are allowed: most are harmless
 * to a process that cannot do these, and a libc of tomorrow may need one.
 */
static const short refused[] = {
	/* Paths. */
	__NR_openat,
	__NR_name_to_handle_at,
	__NR_open_by_handle_at,
	__NR_mkdirat,
	__NR_mknodat,
	__NR_unlinkat,
	__NR_linkat,
	__NR_symlinkat,
	__NR_readlinkat,
	__NR_renameat2,
	__NR_fchmodat,
	__NR_fchownat,
	__NR_faccessat,
	__NR_utimensat,
	__NR_statfs,
	__NR_statx,
	__NR_truncate,
	__NR_chdir,
	__NR_fchdir,
	__NR_chroot,
	__NR_pivot_root,
	__NR_mount,
	__NR_umount2,
	__NR_swapon,
	__NR_swapoff,
	__NR_acct,
	__NR_quotactl,
	__NR_setxattr,
	__NR_lsetxattr,
	__NR_getxattr,
	__NR_lgetxattr,
	__NR_listxattr,
	__NR_llistxattr,
	__NR_removexattr,
	__NR_lremovexattr,
	__NR_inotify_init1,
	__NR_inotify_add_watch,
	__NR_fanotify_init,
	__NR_fanotify_mark,
	/* What is open is not changed, nor made to send signals. */
	__NR_fchmod,
	__NR_fchown,
	__NR_ftruncate,
	__NR_fsetxattr,
	__NR_fremovexattr,
	__NR_fcntl,
	__NR_flock,
	__NR_ioctl,
	/* Programs and processes. */
	__NR_execve,
	__NR_execveat,
	__NR_clone,
	__NR_unshare,
	__NR_setns,
	__NR_ptrace,
	__NR_process_vm_readv,
	__NR_process_vm_writev,
	__NR_kcmp,
	__NR_kill,
	__NR_tkill,
	__NR_tgkill,
	__NR_rt_sigqueueinfo,
	__NR_rt_tgsigqueueinfo,
	__NR_prlimit64,
	__NR_setpriority,
	__NR_ioprio_set,
	__NR_sched_setattr,
	__NR_sched_setparam,
	__NR_sched_setscheduler,
	__NR_sched_setaffinity,
	__NR_migrate_pages,
	__NR_move_pages,
	__NR_setpgid,
	__NR_setsid,
	__NR_prctl,
	__NR_personality,
	/* Sockets, and what else reaches other processes. */
	__NR_socket,
	__NR_socketpair,
	__NR_bind,
	__NR_connect,
	__NR_listen,
	__NR_accept4,
	__NR_sendmsg,
	__NR_sendmmsg,
	__NR_memfd_create,
	__NR_mq_open,
	__NR_mq_unlink,
	__NR_add_key,
	__NR_request_key,
	__NR_keyctl,
	/* Identity. */
	__NR_setuid,
	__NR_setgid,
	__NR_setreuid,
	__NR_setregid,
	__NR_setresuid,
	__NR_setresgid,
	__NR_setfsuid,
	__NR_setfsgid,
	__NR_setgroups,
	__NR_capset,
	/* The kernel. The account may be root. */
	__NR_bpf,
	__NR_perf_event_open,
	__NR_userfaultfd,
	__NR_init_module,
	__NR_finit_module,
	__NR_delete_module,
	__NR_kexec_load,
	__NR_reboot,
	__NR_syslog,
	__NR_sethostname,
	__NR_setdomainname,
	__NR_adjtimex,
	__NR_clock_adjtime,
	__NR_vhangup,
/* What only some processors have. */
#ifdef __NR_open
	__NR_open,
	__NR_creat,
	__NR_mkdir,
	__NR_mknod,
	__NR_rmdir,
	__NR_unlink,
	__NR_link,
	__NR_symlink,
	__NR_readlink,
	__NR_rename,
	__NR_chmod,
	__NR_chown,
	__NR_lchown,
	__NR_access,
	__NR_utimes,
	__NR_futimesat,
	__NR_stat,
	__NR_lstat,
	__NR_inotify_init,
	__NR_fork,
	__NR_vfork,
#endif
#ifdef __NR_renameat
	__NR_renameat,
#endif
#ifdef __NR_newfstatat
	__NR_newfstatat,
#endif
#ifdef __NR_utime
	__NR_utime,
#endif
#ifdef __NR_umount
	__NR_umount,
#endif
#ifdef __NR_accept
	__NR_accept,
#endif
#ifdef __NR_shmget
	__NR_shmget,
	__NR_shmat,
	__NR_shmctl,
	__NR_msgget,
	__NR_msgsnd,
	__NR_msgrcv,
	__NR_msgctl,
	__NR_semget,
	__NR_semctl,
#endif
#ifdef __NR_semop
	__NR_semop,
#endif
#ifdef __NR_semtimedop
	__NR_semtimedop,
#endif
#ifdef __NR_semtimedop_time64
	__NR_semtimedop_time64,
#endif
#ifdef __NR_ipc
	__NR_ipc,
#endif
#ifdef __NR_uselib
	__NR_uselib,
#endif
/* musl has other names for some of 32 bits. */
#ifdef __NR_clock_settime
	__NR_clock_settime,
	__NR_settimeofday,
#endif
#ifdef __NR_clock_settime32
	__NR_clock_settime32,
	__NR_settimeofday_time32,
#endif
#ifdef __NR_stime
	__NR_stime,
#endif
#ifdef __NR_kexec_file_load
	__NR_kexec_file_load,
#endif
#ifdef __NR_iopl
	__NR_iopl,
	__NR_ioperm,
	__NR_modify_ldt,
#endif
#ifdef __NR_stat64
	__NR_stat64,
	__NR_lstat64,
	__NR_fstatat64,
	__NR_statfs64,
	__NR_truncate64,
	__NR_ftruncate64,
	__NR_fcntl64,
	__NR_chown32,
	__NR_lchown32,
	__NR_fchown32,
	__NR_setuid32,
	__NR_setgid32,
	__NR_setreuid32,
	__NR_setregid32,
	__NR_setresuid32,
	__NR_setresgid32,
	__NR_setfsuid32,
	__NR_setfsgid32,
	__NR_setgroups32,
#endif
#ifdef __NR_clock_settime64
	__NR_clock_settime64,
	__NR_clock_adjtime64,
	__NR_utimensat_time64,
#endif
};

/* The kernel's seccomp_data has a half of each 64 bits of an argument there. */
#define ARGUMENT(n) offsetof(struct seccomp_data, args[n])
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LOW_HALF(n) (ARGUMENT(n) + 4)
#else
#define LOW_HALF(n) ARGUMENT(n)
#endif

struct program {
	struct sock_filter code[32 + 2 * WORDS];
	unsigned short n;
};

/*
 * In place of how many instructions to skip: the two answers, with which the
 * program ends. The kernel takes longer over a program with more of them.
 */
enum { ALLOW = 254, REFUSE = 255 };

static void
add(struct program *p, unsigned short code, uint8_t if_true, uint8_t if_false,
    uint32_t k)
{
	p->code[p->n++] = (struct sock_filter)BPF_JUMP(code, k, if_true,
	    if_false);
}

static void
load(struct program *p, size_t offset)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* Whether what was loaded is k. */
static void
if_equal(struct program *p, uint32_t k, uint8_t if_true, uint8_t if_false)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, if_true, if_false, k);
}

/* Calls of other processors are answered as today: an emulator makes them. */
static void
add_processor(struct program *p)
{
	load(p, offsetof(struct seccomp_data, arch));
	if_equal(p, NATIVE, 1, 0);
	if_equal(p, OTHER, REFUSE, ALLOW);
}

/*
 * syslog(3) sends what it logs without a destination. With one, a datagram
 * could go to any socket.
 */
static void
add_sending(struct program *p)
{
	load(p, offsetof(struct seccomp_data, nr));
	if_equal(p, __NR_sendto, 0, 4);
	load(p, ARGUMENT(4));
	if_equal(p, 0, 0, REFUSE);
	load(p, ARGUMENT(4) + 4);
	if_equal(p, 0, ALLOW, REFUSE);
#ifdef __NR_socketcall
	enum { SEND = 9, SENDTO = 11 };

	if_equal(p, __NR_socketcall, 0, 3);
	load(p, LOW_HALF(0));
	if_equal(p, SEND, ALLOW, 0);
	if_equal(p, SENDTO, ALLOW, REFUSE);
#endif
}

/*
 * One bit a call says whether it is refused: the kernel takes longer over a
 * longer program, and one that compares would have an instruction a call. X is
 * the word of bits.
 */
static void
add_bits(struct program *p)
{
	uint32_t bits[WORDS] = { 0 };

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		bits[refused[i] / 32] |= (uint32_t)1 << refused[i] % 32;
	add(p, BPF_JMP | BPF_JGE | BPF_K, REFUSE, 0, FIRST_REFUSED);
	add(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, 31);
	add(p, BPF_ST, 0, 0, 0);
	load(p, offsetof(struct seccomp_data, nr));
	add(p, BPF_ALU | BPF_RSH | BPF_K, 0, 0, 5);
	for (uint32_t i = 0; i < WORDS; i++)
		if (bits[i] != 0) {
			if_equal(p, i, 0, 1);
			add(p, BPF_LDX | BPF_IMM, 0, 0, bits[i]);
		}
	add(p, BPF_MISC | BPF_TXA, 0, 0, 0);
	add(p, BPF_LDX | BPF_MEM, 0, 0, 0);
	add(p, BPF_ALU | BPF_RSH | BPF_X, 0, 0, 0);
	add(p, BPF_JMP | BPF_JSET | BPF_K, REFUSE, ALLOW, 1);
}

/* From the instruction at, how many are skipped to get to n or behind it. */
static uint8_t
skipped(uint8_t skip, size_t at, size_t n)
{
	return skip < ALLOW ? skip : (uint8_t)(n + skip - ALLOW - at - 1);
}

static void
add_answers(struct program *p)
{
	for (size_t i = 0; i < p->n; i++) {
		p->code[i].jt = skipped(p->code[i].jt, i, p->n);
		p->code[i].jf = skipped(p->code[i].jf, i, p->n);
	}
	add(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	add(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS);
}

bool
guard_refuse_calls(void)
{
	struct program p = { .n = 0 };
	struct sock_fprog program = { .filter = p.code };

	/*
	 * The kernel tries each call that there is, up to the first instruction
	 * that it cannot foresee. This one makes that short. X is 0 for a call
	 * behind the last word of bits.
	 */
	add(&p, BPF_LDX | BPF_IMM, 0, 0, 0);
	add_processor(&p);
	add_sending(&p);
	add_bits(&p);
	add_answers(&p);
	program.len = p.n;
	/* sshd's own sandbox makes the same two calls in each login. */
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

bool
guard_refuse_calls(void)
{
	/* A build with ASan is for tests alone, which expect no warning. */
#ifdef __SANITIZE_ADDRESS__
	return true;
#else
	return false;
#endif
}

#endif
