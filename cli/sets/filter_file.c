/* SPDX-License-Identifier: ISC */
#include "sets/filter_file.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "sets/set.h"

bool
filter_adopt(const char *path, int fd, struct kv_pkbf *f)
{
	struct stat st;
	enum kv_err r;

	*f = (struct kv_pkbf){ .fd = -1 };
	if ((r = kv_pkbf_open_fd(fd, f)) == KV_OK)
		return true;
	if (r == KV_ERR_SYSTEM)
		cli_error("%s: %s", path, strerror(errno));
	else if (r == KV_ERR_FILTER_SIZE &&
	    f->header.length >= KV_PKBF_LENGTH_MIN && fstat(fd, &st) == 0)
		cli_error("%s: has %jd bytes, and %jd by its header (p %u): "
			  "cut short or damaged, get it or build it again",
		    path, (intmax_t)st.st_size,
		    (intmax_t)kv_pkbf_file_bytes(f->header.length),
		    f->header.length);
	else
		cli_error("%s: %s: not a filter, or damaged; get it or build "
			  "it again",
		    path,
		    r == KV_ERR_FILTER_SIZE ? "shorter than a filter header" :
					      kv_strerror(r));
	return false;
}

bool
filter_is_hole(int fd, off_t at, size_t len)
{
	off_t data = lseek(fd, at, SEEK_DATA);

	return data == -1 ? errno == ENXIO : data >= at + (off_t)len;
}

bool
filter_now(uint64_t *timep)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");

	*timep = (uint64_t)time(NULL);
	if (epoch == NULL || *epoch == '\0' ||
	    cli_read_number(epoch, 0, FILTER_TIME_MAX, timep))
		return true;
	return cli_error(
	    "SOURCE_DATE_EPOCH is %s, not a number of seconds since 1970; "
	    "correct it or unset it",
	    epoch);
}
