/* SPDX-License-Identifier: ISC */
/* update/setup: what keyveto update is to do. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv_trusted.h"
#include "update/update.h"

/* Opens a file that tells root what to do: nobody else may have written it. */
static int
open_trusted(const char *path)
{
	char absolute[PATH_MAX], why[KV_TRUSTED_WHY_BYTES];
	int fd = -1;

	if (realpath(path, absolute) == NULL) {
		cli_error("%s: %s", path, strerror(errno));
		return -1;
	}
	switch (kv_trusted_open(absolute, geteuid(), &fd, why)) {
	case KV_OK:
		return fd;
	case KV_ERR_SYSTEM:
		cli_error("%s", why);
		return -1;
	default:
		cli_error("%s; correct owner and mode, since it decides what "
		    "is installed", why);
		return -1;
	}
}

static bool
is_trusted(const char *path)
{
	int fd = open_trusted(path);

	if (fd != -1)
		close(fd);
	return fd != -1;
}

/* All of a file of at most cap bytes; the length, or -1 after a message. */
static ssize_t
read_file(const char *path, int fd, char *buf, size_t cap)
{
	size_t len = 0;
	ssize_t n;

	while (len < cap && (n = read(fd, buf + len, cap - len)) != 0) {
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1) {
			cli_error("%s: %s", path, strerror(errno));
			return -1;
		}
		len += (size_t)n;
	}
	return (ssize_t)len;
}

static bool
read_settings(struct update *u)
{
	static char text[UPDATE_SETTINGS_MAX_BYTES + 1];
	const char *path = u->settings_path;
	char why[UPDATE_SETTINGS_WHY_BYTES];
	ssize_t len;
	int fd;

	if (path == NULL && access(UPDATE_SETTINGS_PATH, F_OK) == -1 &&
	    errno == ENOENT)
		return true;
	if (path == NULL)
		path = UPDATE_SETTINGS_PATH;
	if ((fd = open_trusted(path)) == -1)
		return false;
	len = read_file(path, fd, text, sizeof(text));
	close(fd);
	if (len == -1)
		return false;
	if (update_settings_parse(text, (size_t)len, path, &u->settings, why))
		return true;
	cli_error("%s", why);
	return false;
}

/* Which filter: the one named, else the first of keyveto.conf. */
static const char *
find_target(struct update *u)
{
	const char *path = u->judge.config;
	char why[KV_CONFIG_WHY_BYTES];
	enum kv_err r;
	int fd;

	if (u->judge.n_filters > 0)
		return u->judge.filter[0];
	if (path == NULL && access(KV_CONFIG_PATH, F_OK) == -1 &&
	    errno == ENOENT)
		return KV_CONFIG_FILTER_PATH;
	if (path == NULL)
		path = KV_CONFIG_PATH;
	if ((fd = open_trusted(path)) == -1)
		return NULL;
	r = kv_config_read(fd, path, &u->config, why);
	close(fd);
	if (r == KV_OK)
		return u->config.filter[0];
	cli_error("%s; correct it, or name the filter with --filter", why);
	return NULL;
}

static bool
open_signers(struct update *u)
{
	const char *path = u->settings.allowed_signers;

	if ((u->signers = open_trusted(path)) == -1)
		return false;
	if (update_state_signers(u->signers, u->settings.identity,
	    u->signers_name))
		return true;
	cli_error("%s: %s", path, strerror(errno));
	return false;
}

/* Where the filter and its signature come from. */
static bool
find_places(struct update *u)
{
	const char *url = u->url != NULL ? u->url : u->settings.url;

	if (u->settings.ca_file != NULL && !is_trusted(u->settings.ca_file))
		return false;
	if (url == NULL) {
		cli_error("no URL to fetch a filter from: give one, or set URL "
		    "in %s", u->settings_path != NULL ? u->settings_path :
		    UPDATE_SETTINGS_PATH);
		return false;
	}
	if (!fetch_place_parse(url, &u->from))
		return false;
	update_state_source(u->from.url != NULL ? u->from.url : u->from.path,
	    u->source);
	if (u->settings.allowed_signers == NULL)
		return true;
	/* Of another file than usual the signature is another, too. */
	return open_signers(u) && (u->settings.signature_url != NULL &&
	    u->url == NULL ?
	    fetch_place_parse(u->settings.signature_url, &u->signature) :
	    fetch_place_signature(&u->from, &u->signature));
}

bool
update_setup(struct update *u)
{
	update_settings_defaults(&u->settings);
	kv_config_defaults(&u->config);
	if (!read_settings(u) || (u->target.path = find_target(u)) == NULL ||
	    (!u->rollback && !find_places(u)))
		return false;
	u->limits.ca_file = u->settings.ca_file;
	u->limits.proxy = u->settings.proxy;
	u->limits.timeout = u->settings.timeout;
	u->limits.stall_timeout = u->settings.stall_timeout;
	return true;
}

void
update_teardown(struct update *u)
{
	update_settings_free(&u->settings);
	kv_config_free(&u->config);
	fetch_place_free(&u->from);
	fetch_place_free(&u->signature);
	if (u->signers != -1)
		close(u->signers);
	u->signers = -1;
}
