/* SPDX-License-Identifier: ISC */
/* working/relay: passes on what a worker prints, so that it is harmless. */
#ifndef CLI_WORKING_RELAY_H
#define CLI_WORKING_RELAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One of the worker's outputs. All zeroes but for out at first. */
struct relay {
	FILE *out;
	/* The start of a character whose end has not come yet. */
	uint8_t part[4];
	size_t part_len;
};

/*
 * Prints the bytes. Control characters other than line ends and tabs, and what
 * is not UTF-8, become \xNN: no output of ours has them, and they could control
 * a terminal.
 */
void relay_print(struct relay *r, const uint8_t *p, size_t len);

/* Prints what is left, at the end of the output. */
void relay_end(struct relay *r);

#endif
