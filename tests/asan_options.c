/* SPDX-License-Identifier: ISC */
/*
 * Linked into what `make sanitize` builds. ASan reads its environment from
 * /proc, and so does its search for leaks; some tests hide /proc. There, and
 * there only, these options hold: everywhere else the environment asks for
 * the search.
 */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
