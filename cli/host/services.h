/* SPDX-License-Identifier: ISC */
/*
 * services: which services libc asks for accounts and groups (nsswitch.conf(5)).
 * Only glibc asks any but files.
 */
#ifndef SERVICES_H
#define SERVICES_H

#include <stdbool.h>

/*
 * Has libc ask these services for a database, from now on. False if it cannot
 * do so.
 */
bool services_choose(const char *database, const char *services);

#endif
