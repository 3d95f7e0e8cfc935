/* SPDX-License-Identifier: ISC */
#include "publish/copy.h"

#include <sys/mman.h>

#include <fcntl.h>

#include "base/io.h"
#include "command.h"
#include "host/files.h"

int
copy_part(const char *shown, int fd, off_t at, size_t len)
{
	int made = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const bool is_memory = made != -1;
	int copy = -1;

	/* A system may refuse memfd_create. */
	if (!is_memory)
		made = files_scratch();
	if (made != -1 && io_copy(fd, at, len, made) &&
	    (!is_memory ||
		fcntl(made, F_ADD_SEALS,
		    F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) ==
		    0))
		copy = io_reopen(made);
	if (copy == -1)
		(void)cli_failed(shown, "cannot be read");
	io_close(made);
	return copy;
}
