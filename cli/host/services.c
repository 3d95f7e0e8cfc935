/* SPDX-License-Identifier: ISC */
#include "host/services.h"

/* __GLIBC__ */
#include <features.h>

#ifdef __GLIBC__

#include <nss.h>

bool
services_choose(const char *database, const char *services)
{
	return __nss_configure_lookup(database, services) == 0;
}

#else

#include <string.h>

bool
services_choose(const char *database, const char *services)
{
	(void)database;
	return strcmp(services, "files") == 0;
}

#endif
