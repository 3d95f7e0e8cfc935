/* SPDX-License-Identifier: ISC */
/*
 * working: runs a command behind the wall, in keyveto-worker, and does for it
 * what it may not (wire/working.h).
 */
#ifndef CLI_WORKING_WORKING_H
#define CLI_WORKING_WORKING_H

/* Runs the command of these words, and returns its exit status. */
int working_run(int argc, char **argv);

#endif
