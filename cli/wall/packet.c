/* SPDX-License-Identifier: ISC */
#include "wall/packet.h"

#include <sys/socket.h>

#include <errno.h>
#include <string.h>

bool
packet_send(int socket, const void *p, size_t len, const int *fd, size_t n_fds,
    int flags)
{
	union {
		struct cmsghdr header;
		char buf[CMSG_SPACE(READING_PACKET_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec v = { .iov_base = (void *)p, .iov_len = len };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	const size_t bytes = n_fds * sizeof(int);

	if (n_fds > 0) {
		m.msg_control = &control;
		m.msg_controllen = (socklen_t)CMSG_SPACE(bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = (socklen_t)CMSG_LEN(bytes);
		memcpy(CMSG_DATA(&control.header), fd, bytes);
	}
	while (sendmsg(socket, &m, flags | MSG_NOSIGNAL) == -1)
		if (errno != EINTR)
			return false;
	return true;
}
