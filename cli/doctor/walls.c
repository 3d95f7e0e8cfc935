/* SPDX-License-Identifier: ISC */
/* Which walls stand around the process that reads what others wrote? */
#include <stdio.h>

#include "doctor/doctor.h"
#include "reading/walls.h"

#define NAMES_BYTES 64

/* Writes the names of walls, with commas between them. */
static void
write_names(unsigned int walls, char names[static NAMES_BYTES])
{
	size_t n = 0;

	names[0] = '\0';
	for (unsigned int w = WALL_ACCOUNT; w <= WALL_LANDLOCK; w *= 2)
		if ((walls & w) != 0 && n < NAMES_BYTES)
			n += (size_t)snprintf(names + n, NAMES_BYTES - n,
			    "%s%s", n > 0 ? ", " : "", wall_name((enum wall)w));
}

void
doctor_walls(struct doctor *d)
{
	char why[WALL_WHY_BYTES], standing[NAMES_BYTES], missing[NAMES_BYTES];
	unsigned int walls;

	if (!reading_find_walls(&walls, why)) {
		doctor_add(d, DOCTOR_WARNING, "install keyveto again",
		    "keyveto check cannot read files: %s", why);
		return;
	}
	write_names(walls, standing);
	write_names(WALL_ALL & ~walls, missing);
	if (walls == WALL_ALL)
		doctor_add(d, DOCTOR_OK, NULL,
		    "files of others are read behind %s", standing);
	/* Seccomp prevents all that Landlock does. */
	else if ((walls | WALL_LANDLOCK) == WALL_ALL)
		doctor_add(d, DOCTOR_OK, NULL,
		    "files of others are read behind %s; this kernel has no "
		    "landlock",
		    standing);
	else
		doctor_add(d, DOCTOR_WARNING,
		    "let the container or the service that runs keyveto allow "
		    "it",
		    "files of others are read without %s, which this system "
		    "refuses",
		    missing);
}
