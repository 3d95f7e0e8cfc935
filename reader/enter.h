/* SPDX-License-Identifier: ISC */
/* enter: goes behind the wall (wall/wall.h). */
#ifndef READER_ENTER_H
#define READER_ENTER_H

#include "wall/wall.h"

/*
 * Gives up all that a reader does not need. A process of root's becomes
 * WALL_ACCOUNT_NAME, or nobody, if the system lets it. memory is how many bytes
 * of it the process may have, besides mapped files. Returns the walls that stand.
 */
unsigned int wall_enter(uint64_t memory);

/*
 * Has seccomp refuse every call that reading does not need. From now on the
 * process reads the descriptors that it has, takes others from its socket, writes
 * its answers, and starts threads, if it has had only one so far. It cannot ask
 * for any path: not even fstat(2) works, which in some libcs is a call that can.
 * Returns WALL_SECCOMP, or 0 if it does not stand.
 */
unsigned int wall_refuse_calls(void);

#endif
