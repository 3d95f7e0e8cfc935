/* SPDX-License-Identifier: ISC */
/* Which walls stand around the processes that read what others wrote? */
#include "doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/program.h"
#include "reading/talk.h"
#include "sshd_config/guard_command.h"

#define GUARD_SECONDS 10

#define NAMES_BYTES 64

/* Writes the names of walls, with commas between them. */
static void
write_names(unsigned int walls, char names[static NAMES_BYTES])
{
	size_t n = 0;

	names[0] = '\0';
	for (unsigned int w = WALL_ACCOUNT; w <= WALL_LANDLOCK; w *= 2)
		if ((walls & w) != 0 && n < NAMES_BYTES)
			n += (size_t)snprintf(names + n, NAMES_BYTES - n,
			    "%s%s", n > 0 ? ", " : "", wall_name((enum wall)w));
}

struct answer {
	char text[32];
	size_t len;
};

static int
append_text(const void *p, size_t len, void *arg)
{
	struct answer *a = arg;

	if (len >= sizeof(a->text) - a->len)
		return EMSGSIZE;
	memcpy(a->text + a->len, p, len);
	a->len += len;
	return 0;
}

/* Asks the guard, which only root can have written. False without an answer. */
static bool
ask_guard(const char *path, struct answer *a)
{
	const char *const argv[] = { path, "--walls", NULL };
	struct program program = { .argv = argv, .dies_with_us = true };
	struct program_process process;
	int ends[2], status = -1;
	bool started;

	*a = (struct answer){ .len = 0 };
	if (pipe2(ends, O_CLOEXEC) == -1)
		return false;
	program_fds(&program, PROGRAM_NULL, ends[1], PROGRAM_NULL);
	started = program_start(&program, &process);
	close(ends[1]);
	if (started &&
	    program_read(ends[0], GUARD_SECONDS, append_text, a) != 0)
		program_kill(&process);
	else if (started && program_wait(&process, &status) != 0)
		status = -1;
	close(ends[0]);
	return status == 0;
}

/* Adds what stands around the guard of one command. */
static void
check_guard(struct doctor *d, const struct doctor_guard *g)
{
	char path[PATH_MAX], why[KV_TRUSTED_WHY_BYTES + PATH_MAX];
	struct answer a;

	doctor_guard_program(g, path);
	/* The check guard-path tells why. */
	if (runnable_path(path, why, sizeof(why)) != RUNNABLE)
		return;
	if (guard_chained(g->args))
		doctor_add(d, DOCTOR_OK, NULL,
		    "the guard judges keys without seccomp, which the command "
		    "behind -- would inherit");
	else if (!ask_guard(path, &a))
		doctor_add(d, DOCTOR_WARNING, "install the guard again",
		    "%s does not say whether it judges keys behind seccomp",
		    path);
	else if (strcmp(a.text, "seccomp\n") == 0)
		doctor_add(d, DOCTOR_OK, NULL,
		    "the guard judges keys behind seccomp");
	else
		doctor_add(d, DOCTOR_WARNING,
		    "let the container or the service that runs sshd allow it",
		    "the guard judges keys without seccomp, which this system "
		    "refuses");
}

static void
check_reader(struct doctor *d)
{
	char why[WALL_WHY_BYTES], standing[NAMES_BYTES], missing[NAMES_BYTES];
	unsigned int walls;

	if (!reading_find_walls(&walls, why)) {
		doctor_add(d, DOCTOR_WARNING, "install keyveto again",
		    "keyveto check cannot read files: %s", why);
		return;
	}
	write_names(walls, standing);
	write_names(WALL_ALL & ~walls, missing);
	if (walls == WALL_ALL)
		doctor_add(d, DOCTOR_OK, NULL,
		    "files of others are read behind %s", standing);
	/* Seccomp prevents all that Landlock does. */
	else if ((walls | WALL_LANDLOCK) == WALL_ALL)
		doctor_add(d, DOCTOR_OK, NULL,
		    "files of others are read behind %s; this kernel has no "
		    "landlock",
		    standing);
	else
		doctor_add(d, DOCTOR_WARNING,
		    "let the container or the service that runs keyveto allow "
		    "it",
		    "files of others are read without %s, which this system "
		    "refuses",
		    missing);
}

void
doctor_walls(struct doctor *d)
{
	check_reader(d);
	for (size_t i = 0; i < d->n_guards; i++)
		check_guard(d, &d->guard[i]);
}
