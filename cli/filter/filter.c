/* SPDX-License-Identifier: ISC */
/* keyveto filter: its subcommands, and what they share. */
#include "filter/filter.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct cli_command *const commands[] = {
	&filter_create,
	&filter_add,
	&filter_merge,
	&filter_info,
	&filter_verify,
	&filter_explain,
};

static int
run_filter(const struct cli_command *cmd, int argc, char **argv)
{
	return cli_run_subcommand(cmd, commands,
	    sizeof(commands) / sizeof(commands[0]),
	    "so do keyveto(1) and pkbf(5)", argc, argv);
}

const struct cli_command cli_filter = {
	.name = "filter",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.help = "Make, change and inspect filters",
	.details = "",
	.run = run_filter,
};

int
filter_read_arguments(const struct cli_command *cmd, int argc, char **argv,
    const struct option *options, int min, int max, const char *wanted)
{
	int opt;

	while ((opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		if (opt == CLI_OPT_HELP)
			return cli_help(cmd);
		if (opt != 0)
			return CLI_UNCHECKED;
	}
	if (argc - optind >= min && argc - optind <= max)
		return -1;
	cli_error("%s", wanted);
	return cli_usage_error(cmd);
}

bool
filter_failed(const char *path, const char *what)
{
	cli_error("%s: %s: %s", path, what, strerror(errno));
	return false;
}

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
filter_open(const char *path, struct kv_pkbf *f)
{
	/* O_NONBLOCK: a FIFO or a device is refused without waiting. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	*f = (struct kv_pkbf){ .fd = -1 };
	if (fd == -1) {
		cli_error("%s: %s", path, strerror(errno));
		return false;
	}
	if (filter_adopt(path, fd, f))
		return true;
	close(fd);
	return false;
}

void
filter_find_distrust(const char *path, char why[static KV_TRUSTED_WHY_BYTES])
{
	int fd = -1;

	why[0] = '\0';
	if (cli_open_as_login(path, &fd, why, NULL) == KV_OK)
		close(fd);
}

void
filter_warn_if_distrusted(const char *path)
{
	char why[KV_TRUSTED_WHY_BYTES];

	if (geteuid() != 0)
		return;
	filter_find_distrust(path, why);
	if (why[0] != '\0')
		cli_error("warning: %s: a login would not trust this file",
		    why);
}

bool
filter_read_at(const char *path, int fd, void *buf, size_t len, off_t at)
{
	uint8_t *p = buf;

	while (len > 0) {
		ssize_t n = pread(fd, p, len, at);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0) {
			cli_error("%s: %s", path,
			    n == -1 ?
				strerror(errno) :
				"became shorter while it was read; try again");
			return false;
		}
		p += n;
		len -= (size_t)n;
		at += n;
	}
	return true;
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
	cli_error("SOURCE_DATE_EPOCH is %s, not a number of seconds since "
		  "1970; correct it or unset it",
	    epoch);
	return false;
}
