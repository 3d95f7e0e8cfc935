/* SPDX-License-Identifier: ISC */
/* wall/orders: takes the records and descriptors that the front hands over. */
#ifndef CLI_WALL_ORDERS_H
#define CLI_WALL_ORDERS_H

#include "wire/reading.h"
#include "base/record.h"

struct orders {
	int socket;
	struct kv_bytes rest; /* of the last packet, in buf */
	int fd[READING_PACKET_FDS];
	size_t n_fds, next_fd;
	uint8_t buf[READING_PACKET_BYTES];
};

/*
 * Takes the next record, which is valid until the next call. False at the end
 * of the socket, or if the packet is none of the front's.
 */
bool orders_next(struct orders *o, uint8_t *tagp, struct kv_bytes *payload);

/* The next descriptor of this packet, now the caller's; -1 if there is none. */
int orders_next_descriptor(struct orders *o);

#endif
