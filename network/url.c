/* SPDX-License-Identifier: ISC */
#include "url.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Returns a part of a URL, to be freed by free, or NULL. */
static char *
get_part(CURLU *u, CURLUPart part, unsigned int flags)
{
	char *text, *copy;

	if (curl_url_get(u, part, &text, flags) != CURLUE_OK)
		return NULL;
	copy = strdup(text);
	curl_free(text);
	return copy;
}

/* Sets p to the URL. p->shown lacks the parts that may be secret. */
static void
set_url(CURLU *u, struct network_place *p)
{
	static const CURLUPart secret[] = { CURLUPART_USER, CURLUPART_PASSWORD,
		CURLUPART_OPTIONS, CURLUPART_QUERY, CURLUPART_FRAGMENT };

	p->where = get_part(u, CURLUPART_URL, 0);
	for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++) {
		if (curl_url_set(u, secret[i], NULL, 0) != CURLUE_OK)
			return;
	}
	p->shown = get_part(u, CURLUPART_URL, 0);
}

static bool
is_https(CURLU *u)
{
	char *scheme = get_part(u, CURLUPART_SCHEME, 0);
	bool https = scheme != NULL && strcmp(scheme, "https") == 0;

	free(scheme);
	return https;
}

/* Has a URL that names no user have the user and password of another one. */
static bool
copy_user(CURLU *to, CURLU *from)
{
	static const CURLUPart part[] = { CURLUPART_USER, CURLUPART_PASSWORD };
	char *text = get_part(to, CURLUPART_USER, 0);
	bool ok = true;

	if (text != NULL) {
		free(text);
		return true;
	}
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		if ((text = get_part(from, part[i], 0)) != NULL)
			ok &= curl_url_set(to, part[i], text, 0) == CURLUE_OK;
		free(text);
	}
	return ok;
}

/* Tells if two URLs have the same scheme, host and port. */
static bool
is_same_server(CURLU *a, CURLU *b)
{
	static const CURLUPart part[] = { CURLUPART_SCHEME, CURLUPART_HOST,
		CURLUPART_PORT };
	bool same = true;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		char *one = get_part(a, part[i], CURLU_DEFAULT_PORT);
		char *other = get_part(b, part[i], CURLU_DEFAULT_PORT);

		same = same && one != NULL && other != NULL &&
		    strcasecmp(one, other) == 0;
		free(one);
		free(other);
	}
	return same;
}

static bool
add_suffix(CURLU *u, const char *suffix)
{
	char *path, *with = NULL;
	bool ok;

	if (*suffix == '\0')
		return true;
	path = get_part(u, CURLUPART_PATH, 0);
	if (path == NULL || asprintf(&with, "%s%s", path, suffix) == -1)
		with = NULL;
	ok = with != NULL &&
	    curl_url_set(u, CURLUPART_PATH, with, 0) == CURLUE_OK;
	free(with);
	free(path);
	return ok;
}

/* Sets *url to what u names. */
static void
set_found(CURLU *u, const char *suffix, struct network_place *url)
{
	char *scheme = get_part(u, CURLUPART_SCHEME, 0);

	if (scheme != NULL && strcmp(scheme, "https") != 0) {
		url->kind = NETWORK_OTHER_SCHEME;
		url->scheme = scheme;
		return;
	}
	if (scheme != NULL && add_suffix(u, suffix))
		set_url(u, url);
	if (url->where != NULL && url->shown != NULL)
		url->kind = NETWORK_HTTPS;
	free(scheme);
}

void
url_parse(const char *text, const char *suffix, struct network_place *url)
{
	CURLU *u = curl_url();

	*url = (struct network_place){ .kind = NETWORK_NO_PLACE };
	if (u != NULL &&
	    curl_url_set(u, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) ==
		CURLUE_OK)
		set_found(u, suffix, url);
	curl_url_cleanup(u);
}

void
url_resolve(const char *base, const char *text, bool other_hosts,
    struct network_place *url)
{
	CURLU *from = curl_url(), *to = curl_url();
	bool same;

	*url = (struct network_place){ .kind = NETWORK_NO_PLACE };
	/* Setting a relative URL resolves it. */
	if (from != NULL && to != NULL &&
	    curl_url_set(from, CURLUPART_URL, base, 0) == CURLUE_OK &&
	    curl_url_set(to, CURLUPART_URL, base, 0) == CURLUE_OK &&
	    curl_url_set(to, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) ==
		CURLUE_OK &&
	    is_https(to)) {
		same = is_same_server(from, to);
		if ((same || other_hosts) && (!same || copy_user(to, from)))
			set_found(to, "", url);
	}
	curl_url_cleanup(from);
	curl_url_cleanup(to);
}

void
url_free(struct network_place *url)
{
	free(url->where);
	free(url->shown);
	free(url->scheme);
	*url = (struct network_place){ .kind = NETWORK_NO_PLACE };
}
