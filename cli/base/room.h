/* SPDX-License-Identifier: ISC */
/* base/room: arrays that grow by one element at a time. */
#ifndef CLI_BASE_ROOM_H
#define CLI_BASE_ROOM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes room for one element more behind n elements of this size. list points to
 * the pointer to them, which may be NULL if n is 0, and which it sets. False
 * with errno without memory: then all is as it was.
 */
bool room_for_one(void *list, size_t n, size_t size);

#endif
