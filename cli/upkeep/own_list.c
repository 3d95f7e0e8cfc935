/* SPDX-License-Identifier: ISC */
#include "upkeep/own_list.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "kv_trusted.h"
#include "sets/list_consulted.h"
#include "upkeep/settings.h"

#define NAME "/keyveto/badkeys.dat"

/* Returns the value if it is an absolute path, else NULL. */
static const char *
get_absolute(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && *value == '/' ? value : NULL;
}

const char *
own_home(void)
{
	const char *home = get_absolute("HOME");
	const struct passwd *user;

	if (home != NULL)
		return home;
	user = getpwuid(geteuid());
	return user != NULL && user->pw_dir[0] == '/' ? user->pw_dir : NULL;
}

/* Sets path to where the list lies, which need not exist. */
static bool
find_path(char path[static PATH_MAX])
{
	const char *cache = get_absolute("XDG_CACHE_HOME");
	const char *folder = cache != NULL ? cache : own_home();
	int len;

	if (folder == NULL)
		return false;
	len = snprintf(path, PATH_MAX, "%s%s" NAME, folder,
	    cache != NULL ? "" : "/.cache");
	return len > 0 && len < PATH_MAX;
}

/*
 * Opens the list, which nobody else may be able to change. *fdp is -1 if there
 * is none. False after a message.
 */
static bool
open_own(const char *path, int *fdp)
{
	char why[KV_TRUSTED_WHY_BYTES];
	const enum kv_err err = kv_trusted_open(path, geteuid(), fdp, why);

	if (err == KV_OK || (err == KV_ERR_SYSTEM && errno == ENOENT))
		return true;
	if (err == KV_ERR_SYSTEM)
		return cli_error("%s", why);
	return cli_error("%s; your list and each folder above it must be yours "
			 "or root's, and nobody else may write them",
	    why);
}

/* Makes each folder above the file that is missing. False after a message. */
static bool
make_folders(char *path)
{
	for (char *end = strchr(path + 1, '/'); end != NULL;
	     end = strchr(end + 1, '/')) {
		bool ok;

		*end = '\0';
		ok = access(path, F_OK) == 0 || mkdir(path, 0700) == 0 ||
		    errno == EEXIST || cli_failed(path, "cannot be made");
		*end = '/';
		if (!ok)
			return false;
	}
	return true;
}

bool
own_list_make_folder(char path[static PATH_MAX])
{
	int before = -1, after = -1;
	bool ok;

	if (!find_path(path))
		return cli_error("there is no folder for a list of your own: "
				 "set HOME or XDG_CACHE_HOME to an absolute "
				 "path, or name the list with --blocklist");
	/* No folder is made behind somebody else's link. */
	ok = open_own(path, &before) && make_folders(path) &&
	    open_own(path, &after);
	io_close(before);
	io_close(after);
	return ok;
}

static bool
may_be_there(const char *path)
{
	return access(path, F_OK) == 0 || errno != ENOENT;
}

/* Whether the free list of this machine can be read. A broken one is named. */
static bool
has_free_list(void)
{
	struct kv_blocklist l;
	enum kv_err err;
	int fd;

	if (!may_be_there(UPDATE_BADKEYS_TARGET))
		return false;
	fd = open(UPDATE_BADKEYS_TARGET, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	err = fd != -1 ? kv_blocklist_open_fd(fd, &l) : KV_ERR_SYSTEM;
	if (err == KV_OK)
		kv_blocklist_close(&l);
	else {
		cli_error("note: " UPDATE_BADKEYS_TARGET
			  ": %s: not consulted; type keyveto update, or "
			  "remove it",
		    err == KV_ERR_SYSTEM ? strerror(errno) : kv_strerror(err));
		io_close(fd);
	}
	return err == KV_OK;
}

/*
 * Adds to o what the configuration consults, and own, if it is not NULL. The
 * strings are config's and own.
 */
static bool
choose(struct cli_judge_options *o, const struct kv_config *config,
    const char *own, unsigned int flags)
{
	const bool none = list_replaces_default(config);
	const bool free_list = none &&
	    ((flags & OWN_LIST_OF_LOGINS) == 0 ||
		!may_be_there(config->filter[0])) &&
	    has_free_list();

	if (own != NULL && config->n_blocklists == KV_CONFIG_MAX_BLOCKLISTS)
		return cli_error("%s: more than %d lists", own,
		    KV_CONFIG_MAX_BLOCKLISTS);
	for (size_t i = 0; i < config->n_filters; i++)
		if (!none || may_be_there(config->filter[i]))
			o->filter[o->n_filters++] = config->filter[i];
	for (size_t i = 0; i < config->n_blocklists; i++)
		o->blocklist[o->n_blocklists++] = config->blocklist[i];
	if (free_list)
		o->blocklist[o->n_blocklists++] = o->unconsulted =
		    UPDATE_BADKEYS_TARGET;
	if (free_list && (flags & OWN_LIST_QUIETLY) == 0)
		cli_error("note: no login consults " UPDATE_BADKEYS_TARGET);
	if (own != NULL)
		o->blocklist[o->n_blocklists++] = o->own_list = own;
	o->found = true;
	return true;
}

/*
 * Whether there is a list, or perhaps one. Without it nothing is said of the
 * folders above: they are no matter of whoever never asked for a list.
 */
static bool
may_exist(char path[static PATH_MAX])
{
	struct stat st;

	return find_path(path) &&
	    (lstat(path, &st) == 0 ||
		(errno != ENOENT && errno != EACCES && errno != ENOTDIR));
}

bool
own_list_add(struct cli_judge_options *o, unsigned int flags)
{
	static char path[PATH_MAX];
	static struct kv_config config;
	const char *own;
	char why[KV_CONFIG_WHY_BYTES];
	bool ok = true;
	int fd = -1;

	if (o->config != NULL || o->n_filters + o->n_blocklists > 0)
		return true;
	if (geteuid() != 0 && may_exist(path) && !open_own(path, &fd))
		return false;
	io_close(fd);
	own = fd != -1 ? path : NULL;
	kv_config_defaults(&config);
	cli_judge_choose_config(o);
	if (o->config != NULL) {
		/* Whoever judges says why it cannot be read. */
		fd = open(o->config, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		ok = fd != -1 &&
		    kv_config_read(fd, o->config, &config, why) == KV_OK;
		io_close(fd);
	}
	return !ok || choose(o, &config, own, flags);
}
