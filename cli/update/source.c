/* SPDX-License-Identifier: ISC */
#include "update/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "kv_trusted.h"
#include "net/network.h"
#include "update/never_listed.h"
#include "upkeep/own_list.h"

const char *
update_source_config_path(const struct update_options *o)
{
	if (o->judge.config != NULL)
		return o->judge.config;
	return access(KV_CONFIG_PATH, F_OK) == 0 || errno != ENOENT ?
	    KV_CONFIG_PATH :
	    NULL;
}

/*
 * Returns the filter to replace: that of --filter or Target, else the first of
 * keyveto.conf. NULL after a message.
 */
static const char *
find_filter(struct update_source *s, const struct update_options *o)
{
	const char *path = update_source_config_path(o);
	char why[KV_CONFIG_WHY_BYTES];
	enum kv_err r;
	int fd;

	if (o->judge.n_filters > 0)
		return o->judge.filter[0];
	if (s->settings.target != NULL)
		return s->settings.target;
	if (path == NULL)
		return KV_CONFIG_FILTER_PATH;
	if ((fd = update_open_trusted(path)) == -1)
		return NULL;
	r = kv_config_read(fd, path, &s->config, why);
	close(fd);
	if (r != KV_OK)
		cli_error("%s; correct it, or name the filter with --filter",
		    why);
	else if (s->config.n_filters == 0)
		cli_error("%s names no filter; name the one to fetch with "
			  "--filter",
		    path);
	else
		return s->config.filter[0];
	return NULL;
}

/* Whether the file is the free list of an ordinary user (upkeep/own_list). */
static bool
is_own(const struct update_settings *s, const struct update_options *o)
{
	return geteuid() != 0 &&
	    o->judge.n_filters + o->judge.n_blocklists == 0 &&
	    strcmp(s->name, UPDATE_BADKEYS_NAME) == 0 && s->target != NULL &&
	    strcmp(s->target, UPDATE_BADKEYS_TARGET) == 0;
}

/* Returns the file to replace. NULL after a message. */
static const char *
find_target(struct update_source *s, const struct update_options *o)
{
	const bool is_list = s->settings.format == UPDATE_FORMAT_BADKEYS;
	const char *target = s->settings.target;

	if (is_list && o->judge.n_blocklists > 0)
		target = o->judge.blocklist[0];
	s->own = is_own(&s->settings, o);
	if (s->own && !own_list_make_folder(s->path))
		return NULL;
	if (s->own)
		target = s->path;
	else if (target != NULL && geteuid() == 0 && !o->dry_run &&
	    !o->rollback && strcmp(target, UPDATE_BADKEYS_TARGET) == 0)
		/* Before the first installation it is not there. */
		(void)mkdir(KV_STATEDIR, 0755);
	if (is_list ? o->judge.n_filters > 0 : o->judge.n_blocklists > 0)
		cli_error("source %s is of %s: name it with %s",
		    s->settings.name, is_list ? "an exact list" : "a filter",
		    is_list ? "--blocklist" : "--filter");
	else if (!is_list && s->settings.name[0] == '\0')
		return find_filter(s, o);
	else if (target == NULL && o->judge.n_filters == 0)
		cli_error("Source %s in %s needs a Target: the file to replace",
		    s->settings.name, update_conf_path(o->settings_path));
	else
		return o->judge.n_filters > 0 ? o->judge.filter[0] : target;
	return NULL;
}

/* Sets the place to fetch from. False after a message. */
static bool
find_from(struct update_source *s, const struct update_options *o)
{
	const char *text = o->url != NULL ? o->url : s->settings.url;

	if (text != NULL)
		return fetch_place_parse(text, "", &s->from);
	if (s->settings.name[0] != '\0')
		return cli_error("Source %s in %s needs a URL",
		    s->settings.name, update_conf_path(o->settings_path));
	return cli_error(
	    "no URL to fetch a filter from: give one, or set URL in %s, or "
	    "fetch the free list with --source " UPDATE_BADKEYS_NAME,
	    update_conf_path(o->settings_path));
}

/* Sets the places of the filter and of its signature. False after a message. */
static bool
find_places(struct update_source *s, const struct update_options *o)
{
	const char *url = o->url != NULL ? o->url : s->settings.url;
	const char *signers = s->settings.allowed_signers;
	int ca;

	if (s->settings.ca_file != NULL) {
		if ((ca = update_open_trusted(s->settings.ca_file)) == -1)
			return false;
		close(ca);
	}
	if (!find_from(s, o))
		return false;
	update_notes_source(s->from.where, s->name);
	if (signers == NULL)
		return true;
	if ((s->signers = update_open_trusted(signers)) == -1)
		return false;
	if (!update_notes_signers(s->signers, s->settings.identity,
		s->signers_name))
		return cli_error("%s: %s", signers, strerror(errno));
	/* SignatureURL is only for the file of URL. */
	return s->settings.signature_url != NULL && o->url == NULL ?
	    fetch_place_parse(s->settings.signature_url, "", &s->signature) :
	    fetch_place_parse(url, ".sig", &s->signature);
}

bool
update_source_open(struct update_source *s,
    const struct update_settings *settings, const struct update_options *o,
    bool (*stopped)(void), const char **pathp)
{
	*s = (struct update_source){ .settings = *settings,
		.signers = -1,
		.never_listed = -1 };
	kv_config_defaults(&s->config);
	if ((*pathp = find_target(s, o)) == NULL ||
	    (!o->rollback && !find_places(s, o)) ||
	    !update_never_listed_open(settings->never_listed, &s->never_listed))
		return false;
	s->limits = (struct https_limits){
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
	network_stop();
	kv_config_free(&s->config);
	fetch_place_free(&s->from);
	fetch_place_free(&s->signature);
	io_close(s->signers);
	io_close(s->never_listed);
	s->signers = s->never_listed = -1;
}
