/* SPDX-License-Identifier: ISC */
/* Describes an open file for who reads it, without reading any of it. */
#include <sys/stat.h>

#include <fcntl.h>

#include "keys/input.h"

void
input_describe_file(struct input_file *file, int fd, const char *path,
    bool walked)
{
	struct stat st;

	*file = (struct input_file){
		.fd = fd,
		.path = path,
		.walked = walked,
	};
	if (fstat(fd, &st) == -1)
		return;
	file->regular = S_ISREG(st.st_mode);
	file->size = (uint64_t)st.st_size;
	file->fifo = S_ISFIFO(st.st_mode) &&
	    ((unsigned int)fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}
