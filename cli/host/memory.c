/* SPDX-License-Identifier: ISC */
#include "host/memory.h"

#include <sys/mman.h>

#include "host/files.h"

int
memory_file(const char *name)
{
	const int fd = memfd_create(name, MFD_CLOEXEC);

	return fd != -1 ? fd : files_scratch();
}
