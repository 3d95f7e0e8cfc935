/* SPDX-License-Identifier: ISC */
#include "names.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char *const paths[] = {
	"/etc/gai.conf",
	"/etc/host.conf",
	"/etc/hostname",
	"/etc/hosts",
	"/etc/mdns.allow",
	"/etc/nsswitch.conf",
	"/etc/resolv.conf",
	"/etc/services",
	"/run/systemd/resolve",
	/* Public certificates: keys are in folders beside these. */
	"/etc/ca-certificates",
	"/etc/pki/ca-trust",
	"/etc/pki/tls/cert.pem",
	"/etc/pki/tls/certs",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
	"/etc/ssl/certs",
	"/usr/local/share/ca-certificates",
	"/usr/share/ca-certificates",
	"/usr/share/pki",
	"/var/lib/ca-certificates",
};

const char *const *
names_paths(size_t *np)
{
	*np = sizeof(paths) / sizeof(paths[0]);
	return paths;
}

#ifdef __GLIBC__

/* A service is a word; actions are in brackets. */
static void
load_services(char *line)
{
	char library[64], *rest;

	for (char *word = strtok_r(line, " \t\n", &rest); word != NULL;
	     word = strtok_r(NULL, " \t\n", &rest)) {
		if (*word == '#')
			return;
		/* No folder may be in it: glibc takes none, either. */
		if (*word == '[' || strchr(word, '/') != NULL)
			continue;
		snprintf(library, sizeof(library), "libnss_%.40s.so.2", word);
		(void)dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	}
}

void
names_load(void)
{
	static const char start[] = "hosts:";
	FILE *f = fopen("/etc/nsswitch.conf", "re");
	char line[1024];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		const char *p = line + strspn(line, " \t");

		if (strncmp(p, start, sizeof(start) - 1) == 0)
			load_services(line + (p - line) + sizeof(start) - 1);
	}
	if (f != NULL)
		fclose(f);
}

#else

/* musl has no such libraries, and glibc's would not work in it. */
void
names_load(void)
{
}

#endif
