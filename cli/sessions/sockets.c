/* SPDX-License-Identifier: ISC */
#include "sessions/sockets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "host/proc.h"

/* include/net/tcp_states.h of Linux */
#define ESTABLISHED 0x01
#define CLOSE_WAIT 0x08
#define LISTEN 0x0A

/*
 * Reads an address: words of 32 bits, each as this machine's number. False
 * unless it is one of IPv4 or IPv6.
 */
static bool
read_address(const char *hex, struct in6_addr *a)
{
	const size_t n = strlen(hex) / 8;
	uint32_t word[4] = { 0, 0, htonl(0xffff), 0 };

	if (strlen(hex) % 8 != 0 || (n != 1 && n != 4))
		return false;
	for (size_t i = 0; i < n; i++)
		/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
		if (sscanf(hex + 8 * i, "%8" SCNx32, &word[4 - n + i]) != 1)
			return false;
	memcpy(a, word, sizeof(word));
	return true;
}

/* Reads a line. False for the headings, and for a socket in another state. */
static bool
read_line(const char *line, struct socket_entry *e)
{
	char remote[33];
	unsigned int state;

	/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
	if (sscanf(line,
		"%*d: %*32[0-9A-F]:%*4x %32[0-9A-F]:%4" SCNx16
		" %2x %*s %*s %*s %*d %*d %" SCNu64,
		remote, &e->remote_port, &state, &e->inode) != 4 ||
	    !read_address(remote, &e->remote))
		return false;
	e->listens = state == LISTEN;
	return e->inode != 0 &&
	    (e->listens || state == ESTABLISHED || state == CLOSE_WAIT);
}

static int
compare_inodes(const void *a, const void *b)
{
	const struct socket_entry *one = a, *other = b;

	return (one->inode > other->inode) - (one->inode < other->inode);
}

bool
sockets_add_file(struct sockets *s, FILE *file)
{
	struct socket_entry e;
	char *line = NULL;
	size_t cap = 0;
	bool ok = true;

	while (ok && getline(&line, &cap, file) != -1) {
		if (!read_line(line, &e))
			continue;
		ok = room_for_one(&s->v, s->n, sizeof(*s->v));
		if (ok)
			s->v[s->n++] = e;
	}
	ok = ok && !ferror(file);
	free(line);
	if (s->n > 0)
		qsort(s->v, s->n, sizeof(*s->v), compare_inodes);
	return ok;
}

/* A kernel without IPv6 has no tcp6. */
static bool
add_files(struct sockets *s, const char *pid)
{
	static const char *const name[] = { "tcp", "tcp6" };
	char path[64];
	bool ok = true;
	FILE *file;

	for (size_t i = 0; ok && i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%.20s/net/%s", pid,
		    name[i]);
		if ((file = fopen(path, "re")) == NULL)
			ok = errno == ENOENT;
		else {
			ok = sockets_add_file(s, file);
			fclose(file);
		}
	}
	return ok;
}

bool
sockets_read(struct sockets *s, const char *pid)
{
	char path[PATH_MAX], after[PATH_MAX];

	if (!proc_read_link(pid, "ns/net", path))
		return false;
	if (s->namespace != NULL && strcmp(s->namespace, path) == 0)
		return true;
	sockets_free(s);
	if (!add_files(s, pid))
		return false;
	/* The files of a process that has ended are missing, too. */
	if (!proc_read_link(pid, "ns/net", after) || strcmp(path, after) != 0) {
		sockets_free(s);
		errno = ESRCH;
		return false;
	}
	s->namespace = strdup(path);
	return s->namespace != NULL;
}

const struct socket_entry *
sockets_find(const struct sockets *s, uint64_t inode)
{
	const struct socket_entry wanted = { .inode = inode };

	return s->n == 0 ?
	    NULL :
	    bsearch(&wanted, s->v, s->n, sizeof(wanted), compare_inodes);
}

void
sockets_free(struct sockets *s)
{
	free(s->v);
	free(s->namespace);
	s->v = NULL;
	s->namespace = NULL;
	s->n = 0;
}
