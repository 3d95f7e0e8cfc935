/* SPDX-License-Identifier: ISC */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a decimal uid: digits only, and not the reserved (uid_t)-1. */
static bool
read_uid(const char *text, uid_t *uidp)
{
	unsigned long long n;
	char *end;

	if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno != 0 || n >= (uid_t)-1)
		return false;
	*uidp = (uid_t)n;
	return true;
}

static bool
set_why(char *why, size_t cap, const char *what, const char *which)
{
	snprintf(why, cap, "%s %.100s", what, which);
	return false;
}

/*
 * Whether every option that is needed is there, with a value that can be used.
 */
static bool
check_values(const struct guard_options *o, char *why, size_t cap)
{
	const char *missing = NULL;

	if (o->key == NULL)
		missing = "--key";
	if (o->type == NULL)
		missing = "--type";
	if (o->home == NULL && o->command == NULL)
		missing = "--home";
	if (o->user == NULL && o->command == NULL)
		missing = "--user";
	if (missing != NULL)
		return set_why(why, cap, "missing", missing);
	if (*o->key == '\0')
		return set_why(why, cap, "empty", "--key");
	if (*o->type == '\0')
		return set_why(why, cap, "empty", "--type");
	if (o->user != NULL && *o->user == '\0')
		return set_why(why, cap, "empty", "--user");
	for (size_t i = 0; i < o->n_files; i++)
		if (*o->file[i] == '\0')
			return set_why(why, cap, "empty", "--file");
	return true;
}

/* Reads the values of --strictmodes and --wildcards. NULL: not given. */
static bool
read_modes(struct guard_options *o, const char *strictmodes,
    const char *wildcards, char *why, size_t cap)
{
	o->have_strictmodes = strictmodes != NULL;
	if (strictmodes != NULL &&
	    !kv_config_read_strictmodes(strictmodes, &o->strictmodes))
		return set_why(why, cap, "bad --strictmodes", strictmodes);
	o->have_wildcards = wildcards != NULL;
	if (wildcards != NULL &&
	    !kv_config_read_wildcards(wildcards, &o->wildcards))
		return set_why(why, cap, "bad --wildcards", wildcards);
	return true;
}

bool
guard_options_read(int argc, char **argv, struct guard_options *o, char *why,
    size_t cap)
{
	const char *uid = NULL, *strictmodes = NULL, *wildcards = NULL;
	const char *file = NULL;
	const struct {
		const char *name;
		const char **valuep;
	} table[] = {
		{ "--user", &o->user },
		{ "--home", &o->home },
		{ "--type", &o->type },
		{ "--key", &o->key },
		{ "--uid", &uid },
		{ "--connection", &o->connection },
		{ "--config", &o->config },
		{ "--file", &file },
		{ "--strictmodes", &strictmodes },
		{ "--wildcards", &wildcards },
	};

	*o = (struct guard_options){ 0 };
	for (int i = 1; i < argc; i++) {
		size_t t = 0;

		if (strcmp(argv[i], "--") == 0) {
			if (i + 1 == argc)
				return set_why(why, cap, "no command after",
				    "--");
			o->command = argv + i + 1;
			break;
		}
		if (strcmp(argv[i], "--help") == 0)
			return o->help = true;
		if (strcmp(argv[i], "--version") == 0)
			return o->version = true;
		if (strcmp(argv[i], "--walls") == 0)
			return o->walls = true;
		while (t < sizeof(table) / sizeof(table[0]) &&
		    strcmp(argv[i], table[t].name) != 0)
			t++;
		if (t == sizeof(table) / sizeof(table[0]))
			return set_why(why, cap, "unknown option", argv[i]);
		if (i + 1 == argc)
			return set_why(why, cap, "missing value of", argv[i]);
		if (*table[t].valuep != NULL)
			return set_why(why, cap, "repeated option", argv[i]);
		*table[t].valuep = argv[++i];
		if (file != NULL && o->n_files == KV_CONFIG_MAX_PATTERNS)
			return set_why(why, cap, "too many times", "--file");
		if (file != NULL)
			o->file[o->n_files++] = file;
		file = NULL;
	}
	o->have_uid = uid != NULL;
	if (uid != NULL && !read_uid(uid, &o->uid))
		return set_why(why, cap, "bad --uid", uid);
	if (o->config == NULL)
		o->config = KV_CONFIG_PATH;
	return read_modes(o, strictmodes, wildcards, why, cap) &&
	    check_values(o, why, cap);
}
