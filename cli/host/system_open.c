/* SPDX-License-Identifier: ISC */
/* host/system_open: opens the files of host/system_file. */
#include <fcntl.h>

#include "host/system_file.h"

int
system_file_open(const char *path, int flags)
{
	return open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}
