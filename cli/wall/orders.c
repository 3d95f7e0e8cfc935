/* SPDX-License-Identifier: ISC */
#include "wall/orders.h"

#include <sys/socket.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Notes the descriptors that came with a packet. */
static void
note_descriptors(struct orders *o, struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);

	if (c == NULL || c->cmsg_level != SOL_SOCKET ||
	    c->cmsg_type != SCM_RIGHTS)
		return;
	o->n_fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(o->fd, CMSG_DATA(c), o->n_fds * sizeof(int));
}

static bool
receive_packet(struct orders *o)
{
	union {
		struct cmsghdr header;
		char buf[CMSG_SPACE(READING_PACKET_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec v = { .iov_base = o->buf, .iov_len = sizeof(o->buf) };
	struct msghdr m = {
		.msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	/* Nobody asked for them. */
	while (o->next_fd < o->n_fds)
		close(o->fd[o->next_fd++]);
	o->n_fds = o->next_fd = 0;
	do
		n = recvmsg(o->socket, &m, MSG_CMSG_CLOEXEC);
	while (n == -1 && errno == EINTR);
	if (n <= 0)
		return false;
	note_descriptors(o, &m);
	o->rest = (struct kv_bytes){ o->buf, (size_t)n };
	/* A descriptor is lost if this process may have no more. */
	return (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
}

bool
orders_next(struct orders *o, uint8_t *tagp, struct kv_bytes *payload)
{
	bool bad;

	while (o->rest.left == 0)
		if (!receive_packet(o))
			return false;
	return record_cut(&o->rest, tagp, payload, &bad);
}

int
orders_next_descriptor(struct orders *o)
{
	return o->next_fd < o->n_fds ? o->fd[o->next_fd++] : -1;
}
