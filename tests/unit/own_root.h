/* SPDX-License-Identifier: ISC */
/*
 * own_root: in the place of host/system_open.c, for one file of a test or of a
 * fuzzer. The folder OWN_ROOT, else the test's, is the root directory, for links
 * too. It has no devices but /dev/null.
 */
#ifndef OWN_ROOT_H
#define OWN_ROOT_H

#include <sys/syscall.h>

#include <linux/openat2.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/system_file.h"
#ifndef OWN_ROOT
#include "testlib.h"
#define OWN_ROOT tmp_dir()
#endif

int
system_file_open(const char *name, int flags)
{
	const int dir = open(OWN_ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT,
	};
	char target[sizeof("/dev/null")] = "";
	int fd;

	if ((flags & O_PATH) == 0)
		how.flags |= O_NONBLOCK | O_NOCTTY;
	if (readlinkat(dir, name + 1, target, sizeof(target)) ==
		sizeof(target) - 1 &&
	    memcmp(target, "/dev/null", sizeof(target) - 1) == 0)
		fd = open("/dev/null", flags | O_CLOEXEC);
	else
		fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
	close(dir);
	return fd;
}

#endif
