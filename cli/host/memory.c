/* SPDX-License-Identifier: ISC */
/* Makes a file in memory, or else on a disk. */
#include "host/memory.h"

#include <sys/mman.h>

#include "host/files.h"

int
memory_file(const char *name)
{
	const int fd = memfd_create(name, MFD_CLOEXEC);

	return fd != -1 ? fd : files_scratch();
}
