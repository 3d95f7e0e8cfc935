/* SPDX-License-Identifier: ISC */
/* names: what finding the addresses of hosts, and CAs, needs of the system. */
#ifndef NETWORK_NAMES_H
#define NETWORK_NAMES_H

#include <stddef.h>

/*
 * Loads the libraries that nsswitch.conf(5) names for hosts: behind the wall no
 * code is loaded.
 */
void names_load(void);

/* Files and folders that the program reads behind the wall; *np is how many. */
const char *const *names_paths(size_t *np);

#endif
