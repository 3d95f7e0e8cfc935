/* SPDX-License-Identifier: ISC */
/* wall/packet: sends records and descriptors from one program to another. */
#ifndef CLI_WALL_PACKET_H
#define CLI_WALL_PACKET_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/reading.h"

/*
 * Sends a packet with up to READING_PACKET_FDS descriptors, which stay the
 * caller's. flags are sendmsg(2)'s. False with errno.
 */
bool packet_send(int socket, const void *p, size_t len, const int *fd,
    size_t n_fds, int flags);

#endif
