/* SPDX-License-Identifier: ISC */
/*
 * sessions/sockets: the TCP sockets of a network namespace, as the kernel lists
 * them in /proc/PID/net/tcp and tcp6.
 */
#ifndef CLI_SESSIONS_SOCKETS_H
#define CLI_SESSIONS_SOCKETS_H

#include <netinet/in.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A socket that is connected, or that listens. */
struct socket_entry {
	uint64_t inode;
	struct in6_addr remote; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t remote_port;
	bool listens;
};

/* All zeroes: none. Freed by sockets_free. */
struct sockets {
	struct socket_entry *v; /* by inode */
	size_t n;
	char *namespace; /* of which they are; NULL: none */
};

/* Adds the sockets that stand in such a file. False with errno. */
bool sockets_add_file(struct sockets *s, FILE *file);

/*
 * Sets *s to the sockets of a process's network namespace, unless it has these
 * already. False with errno.
 */
bool sockets_read(struct sockets *s, const char *pid);

/* NULL: the inode is of no such socket. */
const struct socket_entry *sockets_find(const struct sockets *s,
    uint64_t inode);

void sockets_free(struct sockets *s);

#endif
