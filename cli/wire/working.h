/* SPDX-License-Identifier: ISC */
/*
 * wire/working: what keyveto (the front) and keyveto-worker say to each other.
 *
 * The worker runs a whole command, and asks the front for each file; or it does
 * one task with files that the front hands over, and asks for nothing. Both send
 * packets over a SOCK_SEQPACKET socket, which is descriptor 0 of the worker. A
 * packet of the front's may have descriptors. The worker prints into pipes,
 * its descriptors 1 and 2, which the front passes on. The worker may be in
 * somebody else's hands: the front checks what it asks for.
 */
#ifndef CLI_WIRE_WORKING_H
#define CLI_WIRE_WORKING_H

/* It changes with the records. The two programs are of one build. */
#define WORKING_VERSION 5

/* The longest path or text of a record. */
#define WORKING_TEXT_BYTES 32768

#define WORKING_TASK_FDS 3 /* the most descriptors of a task */

/* The task "keygen" runs it, and keeps so much of what it says. */
#define KEYGEN_PATH "/usr/bin/ssh-keygen"
#define KEYGEN_ANSWER_BYTES 512
/* A task copies no more of a file into memory, as if it were a file. */
#define WORKING_COPY_BYTES (16 * 1024 * 1024)

/*
 * The exit status of a worker whose conversation with the front broke. It has
 * printed nothing: the front prints why.
 */
#define WORKING_BROKEN 3

/* What the front sends. */
enum working_order {
	WORKING_VARIABLE = 1, /* NAME=VALUE, of the environment */
	WORKING_WORD,	      /* a word of the command line, in order */
	/*
	 * version, whether standard error is a terminal, the same of standard
	 * output. All were sent.
	 */
	WORKING_START,
	/*
	 * errno or 0, and what belongs to the question; with a descriptor, if
	 * that is opened.
	 */
	WORKING_ANSWER,
	/* Of a walk: path, whether it was found in a folder; with a descriptor. */
	WORKING_FOUND,
	WORKING_FOUND_PROBLEM, /* path, reason */
	WORKING_FOUND_END,     /* "" */
	/*
	 * The name of a task, and what it takes; with its descriptors. In place
	 * of words.
	 */
	WORKING_TASK,
};

/*
 * What the worker asks. Each has one WORKING_ANSWER, but for those that say
 * otherwise.
 */
enum working_question {
	WORKING_HELLO = 1, /* version, the walls that stand; no answer */
	/*
	 * path: a file that the command will replace. Only before the first
	 * question that gives the worker what others wrote.
	 */
	WORKING_PROMISE,
	WORKING_OPEN,	 /* path, whether without waiting; a descriptor */
	WORKING_STAT,	 /* path; the bytes of struct stat */
	WORKING_SCRATCH, /* the descriptor of a file without a name */
	WORKING_WALK,	 /* path. WORKING_FOUND..., for each WORKING_NEXT */
	WORKING_NEXT,
	/*
	 * path. Whether there is an old file, the bytes of its struct stat;
	 * that file's descriptor. All others of a replacement follow it.
	 */
	WORKING_REPLACE,
	WORKING_REPLACE_BEGIN,	 /* the new file's descriptor */
	WORKING_REPLACE_SCRATCH, /* the scratch file's descriptor */
	WORKING_REPLACE_AS_TEXT, /* the old file's attributes are copied */
	/*
	 * keep_beside and readable of struct replace. Whether the new file is
	 * readable for all, the kept name
	 */
	WORKING_REPLACE_COMMIT,
	WORKING_REPLACE_CLOSE,
	/* path. Whether the front is root's; why a login does not trust it */
	WORKING_DISTRUST,
	WORKING_PROGRESS, /* what, things (0, 1), done, total; no answer */
	WORKING_RESULT,	  /* of a task, or a part of it; no answer */
};

#endif
