/* SPDX-License-Identifier: ISC */
#include "sets/list_consulted.h"

#include <sys/stat.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "base/io.h"

/* Whether two paths stand for the same file, which need not exist. */
static bool
is_same_file(const char *one, const char *other)
{
	const char *name = strrchr(one, '/'), *other_name = strrchr(other, '/');
	char folder[PATH_MAX], other_folder[PATH_MAX];
	struct stat st, other_st;

	if (stat(one, &st) == 0 && stat(other, &other_st) == 0)
		return io_is_same(&st, &other_st);
	if (name == NULL || other_name == NULL || strcmp(name, other_name) != 0)
		return false;
	snprintf(folder, sizeof(folder), "%.*s/", (int)(name - one), one);
	snprintf(other_folder, sizeof(other_folder), "%.*s/",
	    (int)(other_name - other), other);
	return stat(folder, &st) == 0 && stat(other_folder, &other_st) == 0 &&
	    io_is_same(&st, &other_st);
}

bool
list_is_consulted(const struct kv_config *config, const char *path)
{
	for (size_t i = 0; i < config->n_blocklists; i++)
		if (is_same_file(config->blocklist[i], path))
			return true;
	return false;
}

bool
list_replaces_default(const struct kv_config *config)
{
	struct kv_config none;

	kv_config_defaults(&none);
	return config->n_blocklists == 0 && config->n_filters == 1 &&
	    config->filter[0] == none.filter[0];
}

void
list_advise_line(const struct kv_config *config, const char *config_path,
    const char *path)
{
	const char *to = config_path != NULL ? config_path : KV_CONFIG_PATH;

	if (list_replaces_default(config))
		cli_error("note: no login consults %s yet: add the line "
			  "\"Blocklist %s\", and \"Filter %s\" if there is no "
			  "Filter line, to %s, with keyveto config edit",
		    path, path, KV_CONFIG_FILTER_PATH, to);
	else
		cli_error("note: no login consults %s yet: add the line "
			  "\"Blocklist %s\" to %s, with keyveto config edit",
		    path, path, to);
}
