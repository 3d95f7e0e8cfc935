/* SPDX-License-Identifier: ISC */
/* update/report: what keyveto update prints on success. */
#include <inttypes.h>
#include <string.h>

#include "update/update.h"

static void
print_filter(const struct filter_facts *f)
{
	printf(", %" PRIu32 " %s, %.3g%% of the bits set, false positives "
	       "%.3g\n",
	    f->header.entries,
	    cli_plural(f->header.entries, "entry", "entries"), f->share * 100,
	    f->rate_by_bits);
}

/* Prints "PATH: ". False with --quiet. */
static bool
print_path(const struct update *u)
{
	if (u->options.quiet)
		return false;
	cli_print_safe(stdout, u->installed.path, strlen(u->installed.path));
	fputs(": ", stdout);
	return true;
}

void
update_report_replaced(const struct update *u, const struct filter_facts *fresh,
    const char *verb)
{
	const struct update_installed *t = &u->installed;

	if (!print_path(u))
		return;
	if (t->is_filter)
		printf("%s, revision %" PRIu32 " -> %" PRIu32, verb,
		    t->header.revision, fresh->header.revision);
	else
		printf("%s, revision %" PRIu32, verb, fresh->header.revision);
	print_filter(fresh);
}

void
update_report_current(const struct update *u)
{
	if (u->notes.unwanted > u->installed.header.revision) {
		if (print_path(u))
			printf("stays at revision %" PRIu32
			       ": revision %" PRId64
			       " was rolled back, and only a later one is "
			       "installed (or that one, by --force)\n",
			    u->installed.header.revision, u->notes.unwanted);
	} else if (print_path(u))
		printf("already current, revision %" PRIu32 "\n",
		    u->installed.header.revision);
}
