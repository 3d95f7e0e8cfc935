/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/arguments: what sshd is started with: the arguments of each sshd
 * that listens, and those that the service's defaults and units will give to
 * the next one.
 */
#ifndef CLI_SSHD_CONFIG_ARGUMENTS_H
#define CLI_SSHD_CONFIG_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

/* Where arguments were seen. */
struct sshd_start {
	const char *place; /* for messages: a process, a file, a unit */
	const char *file;  /* its -f; NULL without one that is sure */
	bool listens;	   /* a process: not what starts the next one */
};

/* What is called with each thing that is found. The strings do not last. */
struct sshd_arguments {
	void *arg;
	/*
	 * An -o option. The words of a process have lost their quotes: value
	 * is the first word of it.
	 */
	void (*option)(void *arg, const struct sshd_start *start,
	    const char *keyword, const char *value);
	/* An -f FILE. */
	void (
	    *file)(void *arg, const struct sshd_start *start, const char *path);
	/*
	 * The name that a process was started by, which names its PAM service:
	 * once for each that listens.
	 */
	void (
	    *name)(void *arg, const struct sshd_start *start, const char *name);
	/* Something there cannot be seen. */
	void (*unseen)(void *arg, const char *place, const char *why);
};

/*
 * Looks at all of them, and returns how many sshd listen. Processes are looked
 * at as root only. An sshd that was only asked something (-t, -T, -G, -V) is
 * left out.
 */
size_t sshd_arguments_look(const struct sshd_arguments *found);

/*
 * Whether an -o option with that keyword has a say in where keys come from and
 * who judges them: it counts before sshd_config does.
 */
bool sshd_arguments_decide(const char *keyword);

/*
 * What to do about such an option. keyveto's lines come before what is already
 * in sshd_config: while they are there, a line that is moved would not count.
 */
#define SSHD_ARGUMENTS_REMEDY \
	"run 'keyveto sshd disable --reload' (take out " \
	"lines of keyveto's that were put in by hand), take the option out " \
	"of the service's arguments, write it at the top of sshd_config, " \
	"restart sshd, and run 'keyveto sshd enable' again"

#endif
