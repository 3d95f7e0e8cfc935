/* SPDX-License-Identifier: ISC */
/*
 * wall: what others wrote is read by a process that has nothing. wall_start
 * starts such a program; the program gives up its powers before it reads. A
 * wall that cannot stand is no error: the program works without it.
 */
#ifndef CLI_WALL_WALL_H
#define CLI_WALL_WALL_H

#include <stdbool.h>
#include <stdint.h>

#include "host/program.h"

/* The account of programs behind the wall, if root starts them. */
#define WALL_ACCOUNT_NAME "_keyveto"
/* The ids of nobody, where there is no such account. */
#define WALL_NOBODY 65534

/* The walls that stand. */
enum wall {
	WALL_ACCOUNT = 1,    /* it is not root's process */
	WALL_PRIVILEGES = 2, /* no capabilities, and exec gives none */
	WALL_SECCOMP = 4,    /* no open, exec, socket, fork, ptrace, kill */
	WALL_LANDLOCK = 8,   /* no path of the file system */
};
#define WALL_ALL 15u

/* The name of one wall, for messages. */
const char *wall_name(enum wall wall);

/*
 * Prints a warning for each of the walls that program runs without, once a
 * process.
 */
void wall_warn(const char *program, unsigned int missing);

struct wall_process {
	struct program_process process;
	int orders;  /* a SOCK_SEQPACKET socket, its descriptor 0 */
	int answers; /* the pipe behind its descriptor 1 */
	int errors;  /* the pipe behind its descriptor 2; -1: it is /dev/null */
};

#define WALL_WHY_BYTES 512

/* For wall_start: files may be as long as ours. */
#define WALL_ANY_SIZE UINT64_MAX

/*
 * Starts the program of ours with that name. It has those descriptors, and no
 * variable of the environment. With prints there is a pipe for errors. No file
 * that it writes gets longer than file_bytes. It ends with this process. False
 * with a sentence.
 */
bool wall_start(struct wall_process *w, const char *name, bool prints,
    uint64_t file_bytes, char why[static WALL_WHY_BYTES]);

/*
 * Closes what is open, and waits some seconds for its end. Sets *statusp as
 * waitpid(2) does. False if it had to be killed, or if that is not known.
 */
bool wall_wait(struct wall_process *w, int *statusp);
/* Closes what is open, and kills it. */
void wall_kill(struct wall_process *w);

#endif
