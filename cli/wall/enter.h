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
	/* It writes files that are handed over. fstat(2) works. */
	bool writes;
	/* It does so by their pages, which are no memory of its own. */
	bool maps;
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
	/* That opens nothing for writing, not even /dev/null. */
	bool only_reads;
	/*
	 * A process of root's is in this group, too. can_read is called once it has
	 * the account, for now: if that says no, it may read any file that it can
	 * ask for, and has no other capability. Both or none: NULL.
	 */
	const char *group;
	bool (*can_read)(void);
	/* It refuses more calls later. */
	bool refuses_more;
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
 * libcs is a call that can ask for the kind and size of one. With executes, what
 * programs of the system's need that read files and print is allowed, too, and
 * what starts one. Returns WALL_SECCOMP, or 0 if it does not stand.
 */
unsigned int wall_refuse_calls(const struct wall_kept *kept);

/*
 * In the process that becomes the program: it can start no process, send none a
 * signal, and execute nothing but path, by this pointer, or an open file by the
 * pointer to the NUL behind path.
 */
void wall_refuse_starting(const struct wall_kept *kept, const char *path);

/*
 * ASan has more memory than any limit, and its search for leaks forks and
 * traces. Such a build is for tests alone, which expect no warning.
 */
#ifdef __SANITIZE_ADDRESS__
#define WALL_IS_SANITIZED true
#else
#define WALL_IS_SANITIZED false
#endif

#endif
