/* SPDX-License-Identifier: ISC */
#include "publish/copy.h"

#include <sys/mman.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"

int
copy_part(const char *shown, int fd, off_t at, size_t len)
{
	const int copy = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (copy != -1 && io_copy(fd, at, len, copy) &&
	    fcntl(copy, F_ADD_SEALS,
		F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
		return copy;
	(void)cli_failed(shown, "cannot be read");
	if (copy != -1)
		close(copy);
	return -1;
}
