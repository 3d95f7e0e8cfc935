/* SPDX-License-Identifier: ISC */
/* calls: the system calls that the guard can do without, and gives up. */
#ifndef GUARD_CALLS_H
#define GUARD_CALLS_H

#include <stdbool.h>

/*
 * Has the kernel refuse, from here on and for good, calls that open a file or a
 * socket, execute a program, start or trace a process, or send it a signal, and
 * some more. They fail with ENOSYS; nothing is killed. Descriptors that are
 * open can be read and written. What this process executes would inherit it.
 *
 * False if the kernel, or what this process runs in, does not allow that, or if
 * the calls of this processor are not known here. Then nothing has changed for
 * this process, unless for programs with set-user-ID that it may execute.
 */
bool guard_refuse_calls(void);

#endif
