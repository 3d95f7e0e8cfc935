/* SPDX-License-Identifier: ISC */
/*
 * wall/enter: a program that keyveto starts gives up its powers (wall/wall.h),
 * before it reads what others wrote.
 */
#ifndef CLI_WALL_ENTER_H
#define CLI_WALL_ENTER_H

#include "wall/wall.h"

/* What a program keeps, besides what each of them needs. All zeroes: nothing. */
struct wall_kept {
	/* How many bytes of memory it may have, besides mapped files. */
	uint64_t memory;
	/*
	 * It writes files that are handed over. fstat(2) works. A program that it
	 * starts may open them for writing: only Landlock and the account keep it
	 * from others then.
	 */
	bool writes;
	/*
	 * It opens sockets of the internet and of this machine, and reads these
	 * files and folders. call has what it does with them.
	 */
	bool connects;
	const char *const *path;
	size_t n_paths;
	/*
	 * It starts a program of the system's, which path has, with what that
	 * needs. The account is one that /etc/passwd has: programs ask for it.
	 */
	bool executes;
	/*
	 * A process of root's stays root's, and may read any file that it can
	 * ask for. It has no other capability.
	 */
	bool reads_as_root;
	/*
	 * Calls that seccomp allows with any arguments, besides reading what is
	 * open, taking more from its socket, writing to descriptor 1, and
	 * starting threads.
	 */
	const int *call;
	size_t n_calls;
};

/*
 * Gives up all else but system calls. A process of root's becomes
 * WALL_ACCOUNT_NAME, or nobody, if the system lets it. Returns the walls that
 * stand.
 */
unsigned int wall_enter(const struct wall_kept *kept);

/*
 * Has seccomp refuse the other calls. The process must have had only one thread
 * so far. It cannot ask for any path: not even fstat(2) works, which in some
 * libcs is a call that can ask for the kind and size of one. Returns
 * WALL_SECCOMP, or 0 if it does not stand.
 */
unsigned int wall_refuse_calls(const struct wall_kept *kept);

/*
 * For a program that is not ours: has seccomp refuse sockets (if it connects to
 * nothing), what changes files, other processes' memory, and what only
 * administrators need. Any other call works, so that no libc ever lacks one.
 * Returns WALL_SECCOMP, or 0.
 */
unsigned int wall_deny_calls(const struct wall_kept *kept);

/*
 * The same, in the process that becomes the program, for other processes: it can
 * make none, send none a signal, and execute nothing but path, by this pointer.
 */
void wall_deny_processes(const char *path);

/*
 * The same, and no file can be opened for reading and writing either: with
 * wall_deny_calls, for no writing at all. For a process of root's, who owns many.
 */
void wall_deny_processes_and_writing(const char *path);

#endif
