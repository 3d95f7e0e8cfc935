/* SPDX-License-Identifier: ISC */
#include "update/source.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/read.h"
#include "kv_trusted.h"

/*
 * Opens a file that decides what is installed: only this user or root may be
 * able to write it. -1 after a message.
 */
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
			  "is installed",
		    why);
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

static bool
read_settings(struct update_source *s, const char *path)
{
	static char text[UPDATE_SETTINGS_MAX_BYTES + 1];
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
	len = read_all(fd, text, sizeof(text));
	close(fd);
	if (len == -1)
		cli_error("%s: %s", path, strerror(errno));
	else if (!update_settings_parse(text, (size_t)len, path, &s->settings,
		     why))
		cli_error("%s", why);
	else
		return true;
	return false;
}

/*
 * Returns the filter to replace: that of --filter, else the first of
 * keyveto.conf. NULL after a message.
 */
static const char *
find_filter(struct update_source *s, const struct update_options *o)
{
	const char *path = o->judge.config;
	char why[KV_CONFIG_WHY_BYTES];
	enum kv_err r;
	int fd;

	if (o->judge.n_filters > 0)
		return o->judge.filter[0];
	if (path == NULL && access(KV_CONFIG_PATH, F_OK) == -1 &&
	    errno == ENOENT)
		return KV_CONFIG_FILTER_PATH;
	if (path == NULL)
		path = KV_CONFIG_PATH;
	if ((fd = open_trusted(path)) == -1)
		return NULL;
	r = kv_config_read(fd, path, &s->config, why);
	close(fd);
	if (r == KV_OK)
		return s->config.filter[0];
	cli_error("%s; correct it, or name the filter with --filter", why);
	return NULL;
}

static bool
open_signers(struct update_source *s)
{
	const char *path = s->settings.allowed_signers;

	if ((s->signers = open_trusted(path)) == -1)
		return false;
	if (update_notes_signers(s->signers, s->settings.identity,
		s->signers_name))
		return true;
	cli_error("%s: %s", path, strerror(errno));
	return false;
}

/* Sets the places of the filter and of its signature. False after a message. */
static bool
find_places(struct update_source *s, const struct update_options *o)
{
	const char *url = o->url != NULL ? o->url : s->settings.url;

	if (s->settings.ca_file != NULL && !is_trusted(s->settings.ca_file))
		return false;
	if (url == NULL) {
		cli_error("no URL to fetch a filter from: give one, or set URL "
			  "in %s",
		    o->settings_path != NULL ? o->settings_path :
					       UPDATE_SETTINGS_PATH);
		return false;
	}
	if (!fetch_place_parse(url, &s->from))
		return false;
	update_notes_source(s->from.url != NULL ? s->from.url : s->from.path,
	    s->name);
	if (s->settings.allowed_signers == NULL)
		return true;
	/* SignatureURL is only for the file of URL. */
	return open_signers(s) &&
	    (s->settings.signature_url != NULL && o->url == NULL ?
		    fetch_place_parse(s->settings.signature_url,
			&s->signature) :
		    fetch_place_signature(&s->from, &s->signature));
}

bool
update_source_open(struct update_source *s, const struct update_options *o,
    bool (*stopped)(void), const char **pathp)
{
	*s = (struct update_source){ .signers = -1 };
	update_settings_defaults(&s->settings);
	kv_config_defaults(&s->config);
	if (!read_settings(s, o->settings_path) ||
	    (*pathp = find_filter(s, o)) == NULL ||
	    (!o->rollback && !find_places(s, o)))
		return false;
	s->limits = (struct fetch_limits){
		.ca_file = s->settings.ca_file,
		.proxy = s->settings.proxy,
		.timeout = s->settings.timeout,
		.stall_timeout = s->settings.stall_timeout,
		.stopped = stopped,
	};
	return true;
}

void
update_source_close(struct update_source *s)
{
	update_settings_free(&s->settings);
	kv_config_free(&s->config);
	fetch_place_free(&s->from);
	fetch_place_free(&s->signature);
	if (s->signers != -1)
		close(s->signers);
	s->signers = -1;
}
