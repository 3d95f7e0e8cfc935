/* SPDX-License-Identifier: ISC */
#include "why/leaks.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name, *leak;
} leaks[] = {
	{ "debianssl",
	    "it was made by the OpenSSL of Debian from 2006 to 2008, which "
	    "could make only 32,767 keys of each type and size "
	    "(CVE-2008-0166)" },
	{ "keypair",
	    "it was made by the JavaScript library keypair, which made the "
	    "same keys again (CVE-2021-41117)" },
	{ "ransomware", "its private half was published with ransomware" },
	{ "documentation", "its private half stands in documentation" },
	{ "firmware", "its private half is part of the firmware of devices" },
	{ "firmwares", "its private half is part of the firmware of devices" },
	{ "localhostcert",
	    "its private half came with software that brings a certificate "
	    "for localhost" },
	{ "localroot",
	    "its private half came with software that installs a root "
	    "certificate" },
	{ "misc", "its private half was published" },
	{ "softwaretests",
	    "its private half is part of the tests of software" },
	{ "testvectors", "its private half is a published test vector" },
	{ "rfc", "its private half stands in an RFC" },
	{ "web", "its private half was found on a web server" },
	{ "git", "its private half was found in a public git repository" },
	{ "forti",
	    "its private half was in the configurations of Fortinet devices "
	    "that were leaked" },
	{ "pkg", "its private half is part of a software package" },
	{ "new", "its private half was found lately" },
};

const char *
leak_of_source(const char *name)
{
	for (size_t i = 0; i < sizeof(leaks) / sizeof(leaks[0]); i++) {
		if (strcmp(leaks[i].name, name) == 0)
			return leaks[i].leak;
	}
	return NULL;
}
