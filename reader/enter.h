/* SPDX-License-Identifier: ISC */
/* enter: goes behind the wall (wall/wall.h). */
#ifndef READER_ENTER_H
#define READER_ENTER_H

#include "wall/wall.h"

/*
 * Gives up all that a reader does not need. A process of root's becomes
 * WALL_ACCOUNT_NAME, or nobody, if the system lets it. memory is how many bytes
 * of it the process may have, besides mapped files. From now on it reads and
 * writes the descriptors that it has, and takes others from its socket. It may
 * start threads, if it has had only one so far. Returns the walls that stand.
 */
unsigned int wall_enter(uint64_t memory);

#endif
