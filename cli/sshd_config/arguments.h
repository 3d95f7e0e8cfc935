/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/arguments: the arguments of each sshd that listens, and those
 * that /etc/default, /etc/sysconfig and systemd's units will give to the next
 * one.
 */
#ifndef CLI_SSHD_CONFIG_ARGUMENTS_H
#define CLI_SSHD_CONFIG_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

/* Where arguments were seen. */
struct sshd_start {
	const char *place;   /* for messages: a process, a file, a unit */
	const char *file;    /* the last -f; NULL if there is none, or if that
			    * may be part of an -o value */
	bool listens;	     /* a process; false for a file or a unit */
	bool other_config;   /* by its mounts, it sees another sshd_config */
	const char *program; /* of a process: the file that it runs; or NULL */
};

/* Functions to call, or NULL. Their strings are only valid during the call. */
struct sshd_arguments {
	void *arg;
	/*
	 * An -o option. value has only the first word: a process's arguments
	 * have lost their quotes.
	 */
	void (*option)(void *arg, const struct sshd_start *start,
	    const char *keyword, const char *value);
	/* An -f FILE; also one that does not count. */
	void (
	    *file)(void *arg, const struct sshd_start *start, const char *path);
	/*
	 * Called once for each sshd that listens, with the name that it was
	 * started by. Without PAMServiceName that is its PAM service.
	 */
	void (
	    *name)(void *arg, const struct sshd_start *start, const char *name);
	/*
	 * Called once for each process, file or unit with its command line, in
	 * which blanks part the words: what the process calls itself, the value
	 * of a variable, or what systemctl shows of a unit.
	 */
	void (
	    *line)(void *arg, const struct sshd_start *start, const char *text);
	/* Some arguments at place cannot be read. */
	void (*unseen)(void *arg, const char *place, const char *why);
	/*
	 * Called instead of unseen for SSHD_PROCESS_ELSEWHERE: it serves other
	 * accounts.
	 */
	void (*elsewhere)(void *arg, const char *place, const char *why);
};

/*
 * Calls the functions with all arguments that it finds. Returns the number of
 * sshd that listen. Reads processes only if it runs as root. Leaves out an sshd
 * that answers a question and ends (-t, -T, -G, -V).
 */
size_t sshd_arguments_find(const struct sshd_arguments *found);

/*
 * What to do about an -o option that decides about keys. "disable" comes first,
 * because keyveto's lines override a line that is moved into sshd_config below
 * them.
 */
#define SSHD_ARGUMENTS_REMEDY \
	"run 'keyveto disable --reload' (take out " \
	"lines of keyveto's that were put in by hand), take the option out " \
	"of the service's arguments, write it at the top of sshd_config, " \
	"restart sshd, and run 'keyveto enable' again"

#endif
