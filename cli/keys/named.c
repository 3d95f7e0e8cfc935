/* SPDX-License-Identifier: ISC */
/* Opens what a command line names: a file, a directory or standard input. */
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "keys/input.h"
#include "keys/walk.h"

static void
report_walk_problem(const char *path, const char *reason, void *arg)
{
	const struct input_walk *w = arg;
	const struct input_problem p = { .path = path, .reason = reason };

	w->problem(&p, w->arg);
}

static void
on_walked(const struct walk_file *file, void *arg)
{
	const struct input_walk *w = arg;
	const char *why;
	struct stat st;
	int fd;

	if (w->found != NULL) {
		w->found(file, w->arg);
		return;
	}
	if ((fd = walk_open(file, &st, &why)) != -1) {
		w->file(fd, file->path, true, w->arg);
		close(fd);
	} else if (why != NULL) {
		report_walk_problem(file->path, why, arg);
	}
}

/* Tells if reading a device ends: a terminal's does, and that of /dev/null. */
static bool
is_quiet_device(dev_t device)
{
	const unsigned int n = major(device);

	return (n == 1 && minor(device) == 3) || n == 4 || n == 5 ||
	    (n >= 136 && n <= 143);
}

/*
 * The reason why what path or fd is cannot be read to its end, or NULL. fd is
 * -1 for path, which is not opened: opening a device can do something.
 */
static const char *
refuse_kind(int fd, const char *path)
{
	struct stat st;

	if ((fd == -1 ? stat(path, &st) : fstat(fd, &st)) == -1)
		return NULL;
	if (S_ISSOCK(st.st_mode) && fd == -1)
		return "a socket, not a file";
	if (S_ISBLK(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && !is_quiet_device(st.st_rdev)))
		return "a device, not a file";
	return NULL;
}

/* Passes on what was named: a file, or those of a directory. Closes fd. */
static void
open_named(int fd, const char *path, const struct input_walk *w)
{
	const struct walk_sink walk = {
		.file = on_walked,
		.problem = report_walk_problem,
		.arg = (void *)w,
	};
	const char *kernel = walk_kernel_name(fd);
	char reason[128];
	struct stat st;

	if (fstat(fd, &st) == -1) {
		report_walk_problem(path, strerror(errno), (void *)w);
	} else if (S_ISDIR(st.st_mode) && kernel != NULL) {
		snprintf(reason, sizeof(reason),
		    "a file system of the kernel (%s): not searched", kernel);
		report_walk_problem(path, reason, (void *)w);
	} else if (S_ISDIR(st.st_mode)) {
		walk_directory(fd, path, &walk);
		return;
	} else {
		/* A FIFO may have no writer, a file of the kernel no end. */
		if (!(S_ISFIFO(st.st_mode) && kernel == NULL) &&
		    !(S_ISREG(st.st_mode) && kernel != NULL))
			(void)fcntl(fd, F_SETFL, 0);
		w->file(fd, path, false, w->arg);
	}
	close(fd);
}

void
input_walk(const char *path, const struct input_walk *w)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	const char *refused = refuse_kind(is_stdin ? STDIN_FILENO : -1, path);
	int fd = -1;

	if (refused != NULL)
		report_walk_problem(path, refused, (void *)w);
	else if (is_stdin)
		w->file(STDIN_FILENO, path, false, w->arg);
	else if ((fd = open(path,
		      O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) != -1)
		open_named(fd, path, w);
	else
		report_walk_problem(path, strerror(errno), (void *)w);
}

uint64_t
input_size(const char *path)
{
	struct stat st;

	/* The size of a directory's files would need a second walk. */
	if (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &st) == -1 :
				     stat(path, &st) == -1)
		return 0;
	return S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}
