/* SPDX-License-Identifier: ISC */
/*
 * The guard's command line. Any word may be any option here: comparing words
 * may say yes or no. The code casts -1 to uid_t, which loses bits as it should.
 *
 * source sshd-helper/options.c
 * shrink lib/kv_config.h: KV_CONFIG_MAX_PATTERNS 256 -> KV_CONFIG_MAX_PATTERNS 2
 * proof  options --no-conversion-check --unwind 13: command lines of up to WORDS words of up to TEXT characters
 */
#define WORDS 9
#define TEXT 2

#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libc.h"
#include "prove.h"

static char *argv[WORDS + 2];
static int argc;

static bool
is_argument(const char *s)
{
	for (int i = 1; i < argc; i++)
		if (s == argv[i])
			return true;
	return false;
}

int
strcmp(const char *a, const char *b)
{
	PROVE(__CPROVER_r_ok(a, 1) && __CPROVER_r_ok(b, 1), "words");
	return nondet_int();
}

bool
kv_config_read_strictmodes(const char *word, enum kv_strictmodes *mode)
{
	PROVE(is_argument(word), "a word of the command line");
	return nondet_bool();
}

bool
kv_config_read_wildcards(const char *word, enum kv_wildcards *wildcards)
{
	PROVE(is_argument(word), "a word of the command line");
	return nondet_bool();
}

unsigned long long
strtoull(const char *s, char **end, int base)
{
	errno = nondet_int();
	return nondet_u64();
}

int
snprintf(char *to, size_t cap, const char *format, ...)
{
	PROVE(cap == 8, "inside why");
	to[0] = '?';
	to[any_size_up_to(cap - 2) + 1] = '\0';
	return nondet_int();
}

void
options(void)
{
	static struct guard_options o;
	char why[8] = "";
	bool usable;

	argc = (int)any_size_up_to(WORDS + 1);
	for (int i = 0; i < WORDS + 1; i++)
		argv[i] = i < argc ? any_text(TEXT) : NULL;
	usable = guard_options_read(argc, argv, &o, why, sizeof(why));
	PROVE(usable || why[0] != '\0', "a mistake is named");
	/* CBMC does not see a write behind an array, but inside its struct. */
	PROVE(o.n_files <= KV_CONFIG_MAX_PATTERNS, "no more files");
	if (!usable || o.help || o.version || o.walls)
		return;
	PROVE(is_argument(o.key) && o.key[0] != '\0', "a key");
	PROVE(is_argument(o.type) && o.type[0] != '\0', "a type");
	PROVE(o.command != NULL || (is_argument(o.user) && is_argument(o.home)),
	    "an account, or a command");
	PROVE(o.user == NULL || o.user[0] != '\0', "no empty name");
	PROVE(o.command == NULL || is_argument(o.command[0]), "a command");
	for (size_t i = 0; i < o.n_files; i++)
		PROVE(is_argument(o.file[i]) && o.file[i][0] != '\0', "a file");
	PROVE(!o.have_uid || o.uid != (uid_t)-1, "a uid that can be had");
	PROVE(o.config != NULL, "a configuration");
}
