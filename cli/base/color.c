/* SPDX-License-Identifier: ISC */
#include "base/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static bool is_on;

/* https://no-color.org: if it is there and not empty. */
static bool
terminal_has_colors(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) == 1 && (no == NULL || *no == '\0') &&
	    (term == NULL || strcmp(term, "dumb") != 0);
}

bool
color_choose(const char *when)
{
	if (when == NULL || strcmp(when, "auto") == 0)
		is_on = terminal_has_colors();
	else if (strcmp(when, "always") == 0 || strcmp(when, "never") == 0)
		is_on = strcmp(when, "always") == 0;
	else
		return cli_error("--color takes always, never or auto, not %s",
		    when);
	return true;
}

void
color_print(FILE *out, enum color color, const char *text)
{
	/* Green, yellow, and red in bold. */
	static const char *const codes[] = { "32", "33", "1;31" };

	if (is_on)
		fprintf(out, "\033[%sm%s\033[0m", codes[color], text);
	else
		fputs(text, out);
}
